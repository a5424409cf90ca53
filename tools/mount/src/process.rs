// SPDX-License-Identifier: Apache-2.0
//! A process of which we keep a note across commands.
//!
//! A pid alone may mean another process by the time it is used, so the note also holds the
//! moment at which that process started, as the kernel tells it.
use crate::trouble::{Doing, Result, Trouble};
use rustix::process::{kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// Clock ticks from boot to the start of the process.
    start_ticks: u64,
}

/// State letter and start time out of `/proc/PID/stat`. The name in the second field may hold
/// spaces and brackets, so the fields are counted from the last bracket.
fn state_and_start(pid: u32) -> Option<(char, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let start_ticks = fields.nth(18)?.parse().ok()?;
    Some((state, start_ticks))
}

impl Process {
    /// The process that has this pid now; None if there is none.
    pub fn now(pid: u32) -> Option<Self> {
        let (_, start_ticks) = state_and_start(pid)?;
        Some(Process { pid, start_ticks })
    }

    /// A zombie counts as gone: it serves nobody.
    pub fn is_running(&self) -> bool {
        state_and_start(self.pid)
            .is_some_and(|(state, start)| start == self.start_ticks && !"ZX".contains(state))
    }

    /// The field of `/proc/PID/status`, e.g. `VmRSS`.
    pub fn status_field(&self, name: &str) -> Option<String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().to_string())
    }

    /// Asks the process to end and waits for it; kills it after `patience`.
    pub fn stop(&self, patience: Duration) -> Result<()> {
        for signal in [Signal::TERM, Signal::KILL] {
            if !self.is_running() {
                return Ok(());
            }
            let pid = Pid::from_raw(self.pid as i32).expect("a running process has a pid above 0");
            match kill_process(pid, signal) {
                Err(rustix::io::Errno::PERM) => {
                    return Err(Trouble::with_advice(
                        format!("You may not stop process {}.", self.pid),
                        "Run this command as the user who started it.",
                    ));
                }
                Err(rustix::io::Errno::SRCH) => return Ok(()),
                other => other.doing(|| format!("stopping process {}", self.pid))?,
            }
            if self.wait_end(patience) {
                return Ok(());
            }
        }
        Err(Trouble::new(format!("Process {} does not end.", self.pid)))
    }

    fn wait_end(&self, patience: Duration) -> bool {
        let start = Instant::now();
        while self.is_running() {
            if start.elapsed() > patience {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

/// The name of the program that a process runs, `-` if it cannot be told.
pub fn command_name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .map(|name| name.trim().to_string())
        .unwrap_or_else(|_| "-".to_string())
}

/// Where a program of this project is: beside this one, in the library directory, or on PATH.
pub fn find_program(name: &str) -> Result<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(Path::to_path_buf));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(["/usr/local/libexec/anybinder", "/usr/libexec/anybinder"].map(PathBuf::from))
        .chain(std::env::split_paths(&on_path))
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Trouble::with_advice(
                format!("The program {name} was not found beside this one nor on PATH."),
                "Build it with `make`, or install it into the same directory as anybinder.",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_outlives_its_process_and_says_so() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let note = Process::now(child.id()).unwrap();
        assert!(note.is_running());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!note.is_running());
    }

    #[test]
    fn another_process_with_the_same_pid_is_not_it() {
        let mut note = Process::now(std::process::id()).unwrap();
        assert!(note.is_running());
        note.start_ticks += 1;
        assert!(!note.is_running());
    }
}
