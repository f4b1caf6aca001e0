//! A started agent with all that shares its process group, or its job object.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{Group, start};
#[cfg(windows)]
pub(super) use windows::{Group, start};

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout};

/// The pipes of a started agent.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

fn pipes(stdin: Option<ChildStdin>, stdout: Option<ChildStdout>, stderr: Option<ChildStderr>) -> io::Result<Pipes> {
    match (stdin, stdout, stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Pipes { stdin, stdout, stderr }),
        _ => Err(io::Error::other("it was started without pipes")),
    }
}
