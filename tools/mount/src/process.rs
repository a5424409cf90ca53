// SPDX-License-Identifier: Apache-2.0
//! Processes: one that is remembered across commands, and finding and starting our own programs.
//!
//! A pid may be reused, so a remembered process is known by its start time as well.
use crate::error::{Doing, Error, Result};
use crate::mount::Mount;
use rustix::process::{kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// One process, distinguished from a later one with the same pid.
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

    /// Whether it still runs; a zombie does not.
    pub fn is_running(&self) -> bool {
        state_and_start(self.pid)
            .is_some_and(|(state, start)| start == self.start_ticks && !"ZX".contains(state))
    }

    /// A field of `/proc/PID/status`, e.g. `VmRSS`, without surrounding white space; None if the
    /// process has ended or has no such field.
    pub fn status_field(&self, name: &str) -> Option<String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().to_string())
    }

    /// Sends SIGTERM and waits until the process has ended; sends SIGKILL after `timeout`. No
    /// error if it had ended before. Fails if the user may not signal it, or if it still runs
    /// `timeout` after SIGKILL.
    pub fn stop(&self, timeout: Duration) -> Result<()> {
        for signal in [Signal::TERM, Signal::KILL] {
            if !self.is_running() {
                return Ok(());
            }
            let pid = Pid::from_raw(self.pid as i32).expect("a running process has a pid above 0");
            match kill_process(pid, signal) {
                Err(rustix::io::Errno::PERM) => {
                    return Err(Error::with_advice(
                        format!("You may not stop process {}.", self.pid),
                        "Run this command as the user who started it.",
                    ));
                }
                Err(rustix::io::Errno::SRCH) => return Ok(()),
                other => other.doing(|| format!("stopping process {}", self.pid))?,
            }
            if self.wait_end(timeout) {
                return Ok(());
            }
        }
        Err(Error::new(format!("Process {} does not end.", self.pid)))
    }

    /// Returns whether it ended within `timeout`.
    fn wait_end(&self, timeout: Duration) -> bool {
        let start = Instant::now();
        while self.is_running() {
            if start.elapsed() > timeout {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

/// The name of the program that a process runs, `-` if it has ended.
pub fn command_name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .map(|name| name.trim().to_string())
        .unwrap_or_else(|_| "-".to_string())
}

/// The path of a program: beside this one, in a library directory of this project, or on PATH.
/// Fails, with advice, if it is in none of them.
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
            Error::with_advice(
                format!("The program {name} was found neither beside this one nor on PATH."),
                "Build it with `make`, or install it into the same directory as anybinder.",
            )
        })
}

/// A command that runs this program again, with `subcommand`, on `mount`.
pub fn own_command(mount: &Mount, subcommand: &str) -> Result<Command> {
    let program = std::env::current_exe().doing(|| "finding this program".to_string())?;
    let mut command = Command::new(program);
    command.arg("--mount").arg(&mount.path).arg(subcommand);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_not_running() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = Process::now(child.id()).unwrap();
        assert!(process.is_running());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_running());
    }

    #[test]
    fn another_process_with_the_same_pid_is_not_it() {
        let mut process = Process::now(std::process::id()).unwrap();
        assert!(process.is_running());
        process.start_ticks += 1;
        assert!(!process.is_running());
    }
}
