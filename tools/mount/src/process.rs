// SPDX-License-Identifier: Apache-2.0
//! Processes: one that is remembered across commands, and finding and starting our own programs.
//!
//! A pid may be reused, so a remembered process is known by its start time as well. It is signalled
//! through a pidfd, which is opened before the process is looked at, so that the signal cannot
//! reach another one.
use anybinder_cli::error::{Doing, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The programs of a daemon and of a service manager; `anybinder servicemanager` takes the name of
/// Android's program.
pub const DAEMON: &str = "anybinderd";
pub const SERVICE_MANAGER: &str = "servicemanager";

/// One process, distinguished from a later one with the same pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// Clock ticks from boot to the start of the process.
    start_ticks: u64,
}

/// What `/proc/PID/stat` says of a process.
struct Stat {
    program: String,
    state: char,
    start_ticks: u64,
}

/// The name in the second field may hold spaces and brackets, so the fields are counted from the
/// last bracket.
fn stat(pid: u32) -> Option<Stat> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(')')?;
    let mut fields = tail.split_whitespace();
    Some(Stat {
        program: head.split_once('(')?.1.to_string(),
        state: fields.next()?.chars().next()?,
        start_ticks: fields.nth(18)?.parse().ok()?,
    })
}

impl Process {
    /// Orders processes by age.
    pub(crate) fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// The process that has this pid now; None if there is none.
    pub fn now(pid: u32) -> Option<Self> {
        let start_ticks = stat(pid)?.start_ticks;
        Some(Process { pid, start_ticks })
    }

    /// Whether a signal or a debugger has stopped it.
    pub fn is_stopped(&self) -> bool {
        stat(self.pid).is_some_and(|stat| "Tt".contains(stat.state))
    }

    /// Opens the process, so that it can be signalled and waited for. None if it has ended (a
    /// zombie has), or if its pid belongs to another process now: one of another user, of another
    /// program, or without `argument` on its command line.
    pub fn open(&self, program: &str, argument: &OsStr) -> Option<Running> {
        let pid = Pid::from_raw(i32::try_from(self.pid).ok()?)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let stat = stat(self.pid)?;
        let ours = stat.start_ticks == self.start_ticks
            && !"ZX".contains(stat.state)
            && stat.program == program
            && self.is_of_this_user()
            && self.has_argument(argument);
        let running = Running {
            pid: self.pid,
            pidfd,
        };
        // While it has not ended, what was read above was about this process.
        (ours && !running.wait_end(Duration::ZERO)).then_some(running)
    }

    /// Real, effective, saved and file system uid.
    fn is_of_this_user(&self) -> bool {
        let user = rustix::process::geteuid().to_string();
        self.status_field("Uid")
            .is_some_and(|ids| ids.split_whitespace().all(|id| id == user))
    }

    fn has_argument(&self, argument: &OsStr) -> bool {
        std::fs::read(format!("/proc/{}/cmdline", self.pid)).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == argument.as_bytes())
        })
    }

    /// The children of all its threads.
    pub(crate) fn children(&self) -> impl Iterator<Item = Process> {
        children(self.pid).into_iter().filter_map(Process::now)
    }

    /// The sum of a numeric field of `/proc/PID/status` over the process and its descendants.
    pub fn status_sum(&self, name: &str) -> Option<u64> {
        let of_one = |pid| {
            let field = Process::now(pid)?.status_field(name)?;
            field.split_whitespace().next()?.parse::<u64>().ok()
        };
        family(self.pid).into_iter().map(of_one).sum()
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
}

/// The children of the threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let texts = tasks.map(|task| {
        let children = std::fs::read_to_string(task.path().join("children"));
        children.unwrap_or_default()
    });
    let pids = |text: String| -> Vec<u32> {
        let words = text.split_whitespace();
        words.filter_map(|one| one.parse().ok()).collect()
    };
    texts.flat_map(pids).collect()
}

/// A process and its descendants.
fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    found.extend(children(pid).into_iter().flat_map(family));
    found
}

/// An open process: while this exists, no other process can be taken for it.
pub struct Running {
    pub pid: u32,
    pidfd: OwnedFd,
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Running {
    /// Sends SIGTERM and waits until the process has ended, all its threads included; sends
    /// SIGKILL after `timeout`. No error if it had ended before. Fails if the user may not signal
    /// it, or if it still runs `timeout` after SIGKILL.
    pub fn stop(&self, timeout: Duration) -> Result<()> {
        for signal in [Signal::TERM, Signal::KILL] {
            match pidfd_send_signal(&self.pidfd, signal) {
                Err(Errno::PERM) => {
                    return Err(Error::with_advice(
                        format!("You may not stop process {}.", self.pid),
                        "Run this command as the user who started it.",
                    ));
                }
                Err(Errno::SRCH) => return Ok(()),
                other => other.doing(|| format!("stopping process {}", self.pid))?,
            }
            // A stopped process handles SIGTERM once it continues.
            let _ = pidfd_send_signal(&self.pidfd, Signal::CONT);
            if self.wait_end(timeout) {
                return Ok(());
            }
        }
        Err(Error::with_advice(
            format!("Process {} does not end.", self.pid),
            "A thread of it waits in the kernel for a file system that does not answer. \
             End the program that serves that file system, or restart the system.",
        ))
    }

    /// Sends a signal with a value, as sigqueue(3) does. Fails if the process has ended, or if this
    /// user may not signal it.
    pub fn signal_with(&self, signal: Signal, value: i32) -> Result<()> {
        // a siginfo_t, whose si_pid, si_uid and si_value begin where a pointer may
        let mut info = [0i32; 32];
        let at = if size_of::<usize>() == 8 { 4 } else { 3 };
        info[0] = signal.as_raw();
        info[2] = libc::SI_QUEUE;
        info[at + 2] = value;
        // SAFETY: the kernel reads 128 bytes.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.pidfd.as_raw_fd(),
                signal.as_raw(),
                info.as_ptr(),
                0,
            )
        };
        match sent {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error())
                .doing(|| format!("signalling process {}", self.pid)),
        }
    }

    /// Returns whether it ended within `timeout`.
    pub fn wait_end(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let limit = Timespec::try_from(left).ok();
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            match rustix::event::poll(&mut fds, limit.as_ref()) {
                Err(Errno::INTR) => continue,
                Ok(count) => return count > 0,
                Err(_) => return false,
            }
        }
    }
}

/// The name of the program that a process runs, `-` if it has ended.
pub fn command_name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .map(|name| name.trim().to_string())
        .unwrap_or_else(|_| "-".to_string())
}

/// The path of a program: beside this one, in the library directory of the same installation, or on
/// PATH. Fails, with advice, if it is in none of them.
pub fn find_program(name: &str) -> Result<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(Path::to_path_buf));
    let library = beside
        .as_ref()
        .and_then(|bin| bin.parent())
        .map(|prefix| prefix.join("libexec/anybinder"));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    [beside, library]
        .into_iter()
        .flatten()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn sleep() -> (Child, Process) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::now(child.id()).unwrap();
        // Between fork and exec it still has our name.
        while process.open("sleep", OsStr::new("60")).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        (child, process)
    }

    #[test]
    fn a_process_that_ended_is_not_running() {
        let (mut child, process) = sleep();
        let running = process.open("sleep", OsStr::new("60")).unwrap();
        assert!(!running.wait_end(Duration::ZERO));
        child.kill().unwrap();
        assert!(running.wait_end(Duration::from_secs(60)));
        assert!(process.open("sleep", OsStr::new("60")).is_none());
        child.wait().unwrap();
        assert!(process.open("sleep", OsStr::new("60")).is_none());
        assert!(running.stop(Duration::ZERO).is_ok());
    }

    #[test]
    fn another_process_with_the_same_pid_is_not_it() {
        let (mut child, process) = sleep();
        let later = Process {
            start_ticks: process.start_ticks + 1,
            ..process
        };
        assert!(later.open("sleep", OsStr::new("60")).is_none());
        assert!(process.open("anybinderd", OsStr::new("60")).is_none());
        assert!(process.open("sleep", OsStr::new("61")).is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_stopped_process_is_ended_by_sigterm() {
        let (mut child, process) = sleep();
        assert!(!process.is_stopped());
        // SAFETY: the child was not waited for, so the pid is its own.
        unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
        while !process.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let running = process.open("sleep", OsStr::new("60")).unwrap();
        running.stop(Duration::from_secs(60)).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
