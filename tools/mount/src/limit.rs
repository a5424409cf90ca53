// SPDX-License-Identifier: Apache-2.0
//! A time limit for a whole command.
//!
//! The command runs in a child process, whose output is passed on, and which is abandoned when its
//! time is over: a thread of it that waits for a file system which does not answer may never end,
//! and the shell would wait for a process with such a thread.
use crate::error::{Doing, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const SIGNALLED: &str = "The command was ended by a signal.";

/// The output of the child: standard output and standard error, None once it is closed.
struct Output {
    ends: [Option<OwnedFd>; 2],
}

/// Runs `work` in a child process and returns its exit status. After `limit` the child is killed,
/// or abandoned if that is not possible, and this fails with an error that has `advice`. Must be
/// called while this process has one thread.
pub fn run(limit: Duration, advice: &str, work: impl FnOnce() -> ExitCode) -> Result<ExitCode> {
    let doing = || "starting the command".to_string();
    let out = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(doing)?;
    let err = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(doing)?;
    let parent = std::process::id();
    // SAFETY: this process has one thread, so that the child may do all that it may.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(std::io::Error::last_os_error()).doing(doing),
        0 => {
            become_child(parent, &out.1, &err.1);
            drop((out, err));
            return Ok(work());
        }
        child => Pid::from_raw(child).expect("fork returns a pid above 0"),
    };
    let pidfd = rustix::process::pidfd_open(child, PidfdFlags::empty()).doing(doing)?;
    drop((out.1, err.1));
    let output = Output {
        ends: [Some(out.0), Some(err.0)],
    };
    if !follow(&pidfd, output, Instant::now() + limit)? {
        let _ = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
        return Err(Error::with_advice(
            format!("The command did not finish within {} s.", limit.as_secs()),
            advice,
        ));
    }
    let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
        .doing(|| "waiting for the command".to_string())?;
    let code = status.and_then(|(_, status)| status.exit_status());
    code.and_then(|code| u8::try_from(code).ok())
        .map(ExitCode::from)
        .ok_or_else(|| Error::new(SIGNALLED))
}

/// In the child: its output goes to the pipes, and it ends when its parent does.
fn become_child(parent: u32, out: &OwnedFd, err: &OwnedFd) {
    // SAFETY: the pipes replace descriptors that nothing owns.
    unsafe {
        libc::dup2(out.as_raw_fd(), libc::STDOUT_FILENO);
        libc::dup2(err.as_raw_fd(), libc::STDERR_FILENO);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() != parent as i32 {
            libc::_exit(1);
        }
    }
}

impl Output {
    /// Passes on what has arrived at one of the two ends. A reader of ours that is gone is no
    /// concern of the child.
    fn pass_on(&mut self, index: usize) {
        let Some(end) = &self.ends[index] else { return };
        let mut buffer = [0u8; 4096];
        match rustix::io::read(end, &mut buffer) {
            Ok(0) | Err(_) => self.ends[index] = None,
            Ok(length) if index == 0 => {
                let mut stdout = std::io::stdout();
                let _ = stdout.write_all(&buffer[..length]);
                let _ = stdout.flush();
            }
            Ok(length) => {
                let _ = std::io::stderr().write_all(&buffer[..length]);
            }
        }
    }
}

/// Passes on the output until the child has ended and all its output is read, also that of a
/// program which it started and which ends with it. False: the time was over before.
fn follow(pidfd: &OwnedFd, mut output: Output, deadline: Instant) -> Result<bool> {
    let mut ended = false;
    loop {
        let left = match ended {
            true => Duration::ZERO,
            false => deadline.saturating_duration_since(Instant::now()),
        };
        let mut open: Vec<usize> = (0..2).filter(|end| output.ends[*end].is_some()).collect();
        let mut fds: Vec<PollFd> = open
            .iter()
            .filter_map(|end| output.ends[*end].as_ref())
            .map(|end| PollFd::new(end, PollFlags::IN))
            .collect();
        if !ended {
            fds.push(PollFd::new(pidfd, PollFlags::IN));
        }
        let timeout = Timespec::try_from(left).ok();
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            Ok(0) => return Ok(ended),
            other => other.doing(|| "waiting for the command".to_string())?,
        };
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        ended |= !ended && ready[open.len()];
        for (index, end) in open.drain(..).enumerate() {
            if ready[index] {
                output.pass_on(end);
            }
        }
        if ended && output.ends.iter().all(Option::is_none) {
            return Ok(true);
        }
    }
}
