//! Processes of agents: how they are started, read and ended, and that none outlives its host.
//!
//! Every agent has a thread of its own, which starts it, waits for it, and then ends what it left behind: its process group, and
//! whatever carries its id in the environment. The thread lives as long as the agent, since the system's parent-death signal
//! comes when the thread that started a process ends.

mod agent;
mod group;
mod orphans;
#[cfg(target_os = "linux")]
mod parent_death;
mod stderr;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub(crate) use agent::AgentProcess;

use crate::recorder::Recorder;
use group::{Group, Pipes};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

/// The variable that names the host of an agent, in the agent and all that it starts. Agents keep variables whose names hold KEY,
/// SECRET or TOKEN from their commands (Codex 0.171), so the name holds none.
const HOST_VARIABLE: &str = "CHAT_NATIVE_HOST";
/// The variable that names one process of an agent.
const AGENT_VARIABLE: &str = "CHAT_NATIVE_AGENT";

/// What to start.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The complete environment, but for the ids that `spawn` adds.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
}

// Values of the environment are secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.keys().collect();
        formatter
            .debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// How a process ended. Neither where the system did not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

/// How far the life of an agent's process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    Exited(Exit),
    /// Nothing that it started is left either.
    Swept(Exit),
}

/// The live agents of one runtime.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    live: Arc<Mutex<Live>>,
}

#[derive(Debug, Default)]
struct Live {
    killed: bool,
    agents: BTreeMap<Uuid, Arc<Group>>,
}

struct Started {
    group: Arc<Group>,
    pipes: Pipes,
    life: watch::Receiver<Life>,
}

impl Processes {
    /// Starts an agent in a process group of its own. Everything that is said either way goes to `recorder`, where there is one.
    ///
    /// # Errors
    /// What was wrong, such as that there is no such program.
    pub(crate) async fn spawn(
        &self,
        launch: &Launch,
        host_id: &str,
        recorder: Option<Recorder>,
    ) -> Result<AgentProcess, String> {
        let id = Uuid::new_v4();
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).current_dir(&launch.cwd).env_clear().envs(&launch.env);
        let marks =
            BTreeMap::from([(HOST_VARIABLE.to_owned(), host_id.to_owned()), (AGENT_VARIABLE.to_owned(), id.to_string())]);
        command.envs(&marks);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let problem = |error: &dyn fmt::Display| format!("{} cannot be started: {error}", launch.program.display());
        // Its error would be the program's.
        if !launch.cwd.is_dir() {
            return Err(problem(&format_args!("its working directory {} does not exist", launch.cwd.display())));
        }
        let (answer, started) = oneshot::channel();
        let processes = self.clone();
        thread::Builder::new()
            .name("agent process".to_owned())
            .spawn(move || processes.keep(id, command, answer))
            .map_err(|error| problem(&error))?;
        let started = started.await.map_err(|_| problem(&"its thread has failed"))?.map_err(|error| problem(&error))?;
        AgentProcess::new(started, marks, recorder).map_err(|error| problem(&error))
    }

    /// Kills every agent and what it started, without asking and without waiting, and starts no more. For the end of the process,
    /// after which nobody is left to do it.
    pub fn kill_now(&self) {
        let agents = {
            let mut live = self.lock();
            live.killed = true;
            live.agents.clone()
        };
        for group in agents.values() {
            group.kill();
        }
        if !agents.is_empty() {
            orphans::kill(&agents.keys().map(carries_agent).collect::<Vec<_>>());
        }
    }

    /// The life of one agent, on its own thread.
    fn keep(&self, id: Uuid, command: Command, answer: oneshot::Sender<std::io::Result<Started>>) {
        let started = {
            // Held while it starts, so that `kill_now` misses none.
            let mut live = self.lock();
            let started = if live.killed { Err(std::io::Error::other("the host is ending")) } else { group::start(command) };
            started.map(|(group, pipes)| {
                let group = Arc::new(group);
                live.agents.insert(id, Arc::clone(&group));
                (group, pipes)
            })
        };
        let (group, pipes) = match started {
            Ok(started) => started,
            Err(error) => {
                // Nobody waits for it any more where this fails.
                let _ = answer.send(Err(error));
                return;
            }
        };
        let (life, watched) = watch::channel(Life::Running);
        if answer.send(Ok(Started { group: Arc::clone(&group), pipes, life: watched })).is_err() {
            group.kill();
        }
        let exit = group.wait();
        life.send_replace(Life::Exited(exit));
        orphans::end(&[carries_agent(&id)]);
        self.lock().agents.remove(&id);
        life.send_replace(Life::Swept(exit));
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends all processes of this user that agents of the given hosts have left: asks them, kills those that do not, and looks again
/// until there is none. Never the own process. Returns how many there were.
pub async fn end_orphans(host_ids: &[String]) -> usize {
    if host_ids.is_empty() {
        return 0;
    }
    let entries: Vec<String> = host_ids.iter().map(|id| format!("{HOST_VARIABLE}={id}")).collect();
    tokio::task::spawn_blocking(move || orphans::end(&entries)).await.unwrap_or(0)
}

fn carries_agent(id: &Uuid) -> String {
    format!("{AGENT_VARIABLE}={id}")
}
