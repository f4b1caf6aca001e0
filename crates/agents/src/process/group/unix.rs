//! Process groups.

use super::super::Exit;
use super::{Pipes, pipes};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

/// Signals reach the group only while its leader is not reaped: till then the system gives its id to nobody else.
#[derive(Debug)]
pub(in super::super) struct Group {
    pid: Pid,
    leader: Mutex<Option<Child>>,
}

/// Starts an agent as the leader of a new group.
pub(in super::super) fn start(mut command: Command) -> io::Result<(Group, Pipes)> {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    super::super::parent_death::follow_parent(&mut command);
    let mut child = command.spawn()?;
    let pipes = pipes(child.stdin.take(), child.stdout.take(), child.stderr.take())?;
    Ok((Group { pid: Pid::from_child(&child), leader: Mutex::new(Some(child)) }, pipes))
}

impl Group {
    pub(in super::super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Asks every process of the group to end.
    pub(in super::super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the group.
    pub(in super::super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits for the agent itself, then ends what is left of its group. Blocks; to be called once.
    pub(in super::super) fn wait(&self) -> Exit {
        // Not reaped yet, so that nothing else can have its id while the rest of the group is ended.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = retry_on_intr(|| waitid(WaitId::Pid(self.pid), options));
        self.kill();
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        match leader.take().map(|mut child| child.wait()) {
            Some(Ok(status)) => Exit { code: status.code(), signal: status.signal() },
            // Another part of the program has reaped it.
            Some(Err(_)) | None => Exit { code: None, signal: None },
        }
    }

    fn signal(&self, signal: Signal) {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if leader.is_some() {
            // Nothing is left of a group that cannot be reached.
            let _ = kill_process_group(self.pid, signal);
        }
    }
}
