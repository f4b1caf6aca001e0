//! Which process this is, and whether another one still runs.

/// What tells a process from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: u32,
    /// When it started, in the system's own unit.
    pub(crate) started: i64,
    /// Where process ids and start times mean the same: a boot of a machine, and on Linux a namespace of process ids in it.
    /// Empty where the system does not say.
    pub(crate) boot: String,
    pub(crate) namespace: String,
    /// The same over reboots; empty where the system does not say.
    pub(crate) machine: String,
}

/// What is known about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessState {
    Running { started: i64 },
    Gone,
    Unknown,
}

impl ProcessIdentity {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        match platform::look_up(pid) {
            ProcessState::Running { started } => platform::identity(pid, started),
            // Without its start a process id proves nothing: an empty boot leaves the judgement to the heartbeat.
            ProcessState::Gone | ProcessState::Unknown => Self { boot: String::new(), ..platform::identity(pid, 0) },
        }
    }
}

pub(crate) use platform::look_up;

// Read from /proc rather than through `sysinfo`: its start times are of the wall clock and shift when the clock is set, which
// would make a live host look dead.
#[cfg(target_os = "linux")]
mod platform {
    use super::{ProcessIdentity, ProcessState};
    use std::fs;
    use std::io::ErrorKind;

    pub(super) fn identity(pid: u32, started: i64) -> ProcessIdentity {
        let text = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
        let boot = text("/proc/sys/kernel/random/boot_id");
        ProcessIdentity {
            pid,
            started,
            // A container shares its kernel's boot id, so that the boot counts only together with the namespace.
            boot: if namespace.is_empty() { String::new() } else { boot },
            namespace,
            // Copies of one disk image share the machine id.
            machine: format!("{} {}", text("/etc/machine-id"), text("/proc/sys/kernel/hostname")).trim().to_owned(),
        }
    }

    pub(crate) fn look_up(pid: u32) -> ProcessState {
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => parse(&stat).unwrap_or(ProcessState::Unknown),
            Err(error) if error.kind() == ErrorKind::NotFound && fs::exists("/proc/self/stat").unwrap_or(false) => {
                ProcessState::Gone
            }
            Err(_) => ProcessState::Unknown,
        }
    }

    // The command stands in parentheses and may hold anything; state and start time are the 3rd and the 22nd field.
    fn parse(stat: &str) -> Option<ProcessState> {
        let (_, after_command) = stat.rsplit_once(')')?;
        let mut fields = after_command.split_whitespace();
        // A zombie has ended and only waits for its parent.
        if matches!(fields.next()?, "Z" | "X") {
            return Some(ProcessState::Gone);
        }
        Some(ProcessState::Running { started: fields.nth(18)?.parse().ok()? })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_command_with_parentheses_and_spaces_is_skipped() {
            let stat = "12 (a) b) c) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8736 9 10";
            assert_eq!(parse(stat), Some(ProcessState::Running { started: 8736 }));
        }

        #[test]
        fn a_zombie_is_gone() {
            let stat = "12 (node) Z 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8736 9 10";
            assert_eq!(parse(stat), Some(ProcessState::Gone));
        }
    }
}

// Start times are fixed points in time here, so that they tell boots apart by themselves.
#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{ProcessIdentity, ProcessState};
    use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

    pub(super) fn identity(pid: u32, started: i64) -> ProcessIdentity {
        let machine = System::host_name().unwrap_or_default();
        ProcessIdentity { pid, started, boot: machine.clone(), namespace: String::new(), machine }
    }

    pub(crate) fn look_up(pid: u32) -> ProcessState {
        let pid = Pid::from_u32(pid);
        let Ok(mut system) = System::new() else { return ProcessState::Unknown };
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
        match system.process(pid) {
            Some(process) if process.status() == ProcessStatus::Zombie => ProcessState::Gone,
            Some(process) => {
                i64::try_from(process.start_time()).map_or(ProcessState::Unknown, |started| ProcessState::Running { started })
            }
            None => ProcessState::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_runs_and_a_reaped_child_does_not() {
        let me = ProcessIdentity::current();
        assert_eq!(look_up(me.pid), ProcessState::Running { started: me.started });

        let mut child = Command::new(std::env::current_exe().unwrap()).arg("--list").stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(look_up(pid), ProcessState::Gone);
    }
}
