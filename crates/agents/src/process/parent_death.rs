//! Ends an agent with its host, also where the host is killed.
#![allow(unsafe_code, reason = "what runs between fork and exec can only be said through pre_exec")]

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the system kill what `command` starts as soon as the thread that starts it has ended, which the end of the whole process
/// includes. The thread must therefore live as long as the child.
pub(super) fn follow_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: between fork and exec of a process with threads only async-signal-safe calls are allowed. The closure makes two
    // system calls, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || die_with(parent));
    }
}

fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before the call sends no signal any more.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotConnected)) }
}
