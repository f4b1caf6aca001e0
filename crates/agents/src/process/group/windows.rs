//! Job objects.

use super::super::Exit;
use super::{Pipes, pipes};
use process_wrap::std::{ChildWrapper, CommandWrap, JobObject};
use std::io;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often it is asked whether the agent has ended: a wait would keep it locked against being killed.
const POLL: Duration = Duration::from_millis(50);

/// The job of a host that was killed runs on; `end_orphans` finds it by its environment.
#[derive(Debug)]
pub(in super::super) struct Group {
    pid: u32,
    child: Mutex<Box<dyn ChildWrapper>>,
}

/// Starts an agent in a new job.
pub(in super::super) fn start(command: Command) -> io::Result<(Group, Pipes)> {
    let mut child = CommandWrap::from(command).wrap(JobObject).spawn()?;
    let pipes = pipes(child.stdin().take(), child.stdout().take(), child.stderr().take())?;
    Ok((Group { pid: child.id(), child: Mutex::new(child) }, pipes))
}

impl Group {
    pub(in super::super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Windows has no signal that asks: the end of its input was the agent's notice.
    pub(in super::super) fn terminate(&self) {}

    /// Ends every process of the job.
    pub(in super::super) fn kill(&self) {
        // Nothing is left of a job that cannot be reached.
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).start_kill();
    }

    /// Waits for the agent itself, then ends what is left of its job. Blocks; to be called once.
    pub(in super::super) fn wait(&self) -> Exit {
        loop {
            let state = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            match state {
                Ok(None) => thread::sleep(POLL),
                Ok(Some(status)) => {
                    self.kill();
                    return Exit { code: status.code(), signal: None };
                }
                Err(_) => return Exit { code: None, signal: None },
            }
        }
    }
}
