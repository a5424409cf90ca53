// SPDX-License-Identifier: Apache-2.0
//! A time limit for a whole command, and what happens when its output is closed.
//!
//! The command runs in a child process, whose output is passed on, and which is abandoned when its
//! time is over: a thread of it that waits for a file system which does not answer may never end,
//! and the shell would wait for a process with such a thread. When the reader of the output is
//! gone, a short command still finishes what it does; a long one is asked to end. Output that
//! cannot be written for another reason is an error. Why it did not finish, the child knows better
//! than its parent, and leaves a sentence in memory of both (`waits_because`).
use crate::error::{Doing, Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitStatus};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long the child may clean up after SIGTERM.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// How a command runs.
pub struct Terms<'a> {
    /// When to give up; None for never.
    pub limit: Option<Duration>,
    /// What the error says when the time is over and the command has not said why it waits.
    pub advice: &'a str,
    /// The command lasts long and is of no use without a reader: it ends when its output is
    /// closed. Its standard error is not passed on, so that it can show progress on a terminal.
    pub long: bool,
}

/// Reads a duration of a command line, in seconds.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let number = text.parse().ok();
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration.ok_or_else(|| "not a number of seconds".to_string())
}

/// Reads a time of a command line, with its unit.
pub fn span(text: &str) -> std::result::Result<Duration, String> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let wrong = || "not a time".to_string();
    let number: f64 = text[..end].parse().map_err(|_| wrong())?;
    let unit = match &text[end..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err("the unit is missing: us, ms or s".to_string()),
    };
    Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())
}

/// The output of the child: standard output and standard error, None once it is closed.
struct Output {
    ends: [Option<OwnedFd>; 2],
    /// Our standard output takes nothing any more: its reader is gone, or it has failed.
    closed: bool,
    /// Why it has failed, a full disk for example.
    failure: Option<std::io::Error>,
}

/// When the time of this command is over.
static DEADLINE: OnceLock<Instant> = OnceLock::new();

/// The child, for the signal handler; 0 for none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Why the child waits, a line that the parent reads when the time is over.
static REASON: OnceLock<File> = OnceLock::new();

/// Says why this command has not finished, for the error of its time limit; holds until the next
/// reason. Does nothing in a command without a limit.
pub fn waits_because(reason: &Error) {
    if let Some(file) = REASON.get() {
        // A reason that cannot be kept is replaced by the usual advice.
        let emptied = file.set_len(0);
        let _ = emptied.and_then(|()| file.write_all_at(reason.line().as_bytes(), 0));
    }
}

/// How long this command may still wait for something, so that it has some of its time left to undo
/// what it began; None if it has no limit.
pub fn left() -> Option<Duration> {
    let left = DEADLINE.get()?.saturating_duration_since(Instant::now());
    Some(left - CLEAN_UP.min(left / 4))
}

/// What the child has said.
fn reason() -> Option<String> {
    let mut file = REASON.get()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    (!text.is_empty()).then_some(text)
}

extern "C" fn pass_on_signal(signal: libc::c_int) {
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        // SAFETY: kill is async-signal-safe, and CHILD is cleared before the child is waited for.
        unsafe { libc::kill(child, signal) };
    }
}

fn handle_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::signal(signal, pass_on_signal as *const () as libc::sighandler_t) };
    }
}

/// Runs `work` in a child process and returns its exit status. When the time is over the child is
/// asked to end, then killed, or abandoned if that is not possible, and this fails. A signal that
/// ends the child ends this process too. Must be called while this process has one thread.
pub fn run(terms: &Terms, work: impl FnOnce() -> ExitCode) -> Result<ExitCode> {
    let doing = || "starting the command".to_string();
    let out = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(doing)?;
    let err = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(doing)?;
    let shared = rustix::fs::memfd_create("reason", MemfdFlags::CLOEXEC).doing(doing)?;
    REASON.get_or_init(|| shared.into());
    let deadline = terms.limit.map(|limit| Instant::now() + limit);
    if let Some(deadline) = deadline {
        DEADLINE.get_or_init(|| deadline);
    }
    let parent = std::process::id();
    // SAFETY: this process has one thread, so that the child may do all that it may.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(std::io::Error::last_os_error()).doing(doing),
        0 => {
            become_child(parent, &out.1, (!terms.long).then_some(&err.1));
            drop((out, err));
            return Ok(work());
        }
        child => Pid::from_raw(child).expect("fork returns a pid above 0"),
    };
    CHILD.store(child.as_raw_nonzero().get(), Ordering::Relaxed);
    handle_signals();
    let pidfd = rustix::process::pidfd_open(child, PidfdFlags::empty()).doing(doing)?;
    drop((out.1, err.1));
    let mut output = Output {
        ends: [Some(out.0), Some(err.0)],
        closed: false,
        failure: None,
    };
    let in_time = follow(&pidfd, &mut output, deadline, terms.long)?;
    CHILD.store(0, Ordering::Relaxed);
    if !in_time {
        return Err(give_up(&pidfd, &mut output, terms));
    }
    let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
        .doing(|| "waiting for the command".to_string())?;
    let (_, status) = status.expect("a wait without NOHANG returns a status");
    // An error of the command itself comes first; but a long one ended because of this.
    let has_own_error = !terms.long && status.exit_status() != Some(0);
    if let (Some(err), false) = (output.failure, has_own_error) {
        return Err(err).doing(|| "writing the output".to_string());
    }
    if output.closed && terms.long {
        return Ok(end_by(libc::SIGPIPE));
    }
    Ok(pass_on_status(status))
}

/// Ends the child, which may clean up first.
fn give_up(pidfd: &OwnedFd, output: &mut Output, terms: &Terms) -> Error {
    let _ = rustix::process::pidfd_send_signal(pidfd, Signal::TERM);
    let _ = follow(pidfd, output, Some(Instant::now() + CLEAN_UP), false);
    let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
    let limit_s = terms.limit.unwrap_or_default().as_secs();
    let what = format!("The command did not finish within {limit_s} s.");
    let why = reason().unwrap_or_else(|| terms.advice.to_string());
    Error::with_advice(what, format!("{why} To wait longer, use --timeout.")).of(Kind::TimedOut)
}

fn pass_on_status(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal() {
        return end_by(signal);
    }
    let code = status.exit_status().map(u8::try_from);
    code.and_then(std::result::Result::ok)
        .map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Ends this process as the signal does. Returns only if the signal is blocked.
fn end_by(signal: i32) -> ExitCode {
    // SAFETY: plain calls.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    ExitCode::FAILURE
}

/// In the child: its output goes to the pipes, and it ends when its parent does.
fn become_child(parent: u32, out: &OwnedFd, err: Option<&OwnedFd>) {
    // SAFETY: the pipes replace descriptors that nothing owns.
    unsafe {
        libc::dup2(out.as_raw_fd(), libc::STDOUT_FILENO);
        if let Some(err) = err {
            libc::dup2(err.as_raw_fd(), libc::STDERR_FILENO);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() != parent as i32 {
            libc::_exit(1);
        }
    }
}

impl Output {
    /// Passes on what has arrived at one of the two ends.
    fn pass_on(&mut self, index: usize) {
        let Some(end) = &self.ends[index] else { return };
        let mut buffer = [0u8; 4096];
        match rustix::io::read(end, &mut buffer) {
            Ok(0) | Err(_) => self.ends[index] = None,
            Ok(length) if index == 0 => {
                let mut stdout = std::io::stdout();
                let written = stdout.write_all(&buffer[..length]);
                let Err(err) = written.and_then(|()| stdout.flush()) else {
                    return;
                };
                self.closed = true;
                if err.kind() != std::io::ErrorKind::BrokenPipe {
                    self.failure.get_or_insert(err);
                }
            }
            Ok(length) => {
                let _ = std::io::stderr().write_all(&buffer[..length]);
            }
        }
    }
}

/// Passes on the output until the child has ended and all its output is read, also that of a
/// program which it started and which ends with it. False: the time was over before.
///
/// * `end_if_closed`: ask the child to end when the reader of our output is gone
fn follow(
    pidfd: &OwnedFd,
    output: &mut Output,
    deadline: Option<Instant>,
    end_if_closed: bool,
) -> Result<bool> {
    let mut ended = false;
    let mut asked = false;
    loop {
        if output.closed && end_if_closed && !asked {
            asked = true;
            let _ = rustix::process::pidfd_send_signal(pidfd, Signal::PIPE);
        }
        let left = match (ended, deadline) {
            (true, _) => Some(Duration::ZERO),
            (false, None) => None,
            (false, Some(deadline)) => Some(deadline.saturating_duration_since(Instant::now())),
        };
        let open: Vec<usize> = (0..2).filter(|end| output.ends[*end].is_some()).collect();
        let mut fds: Vec<PollFd> = open
            .iter()
            .filter_map(|end| output.ends[*end].as_ref())
            .map(|end| PollFd::new(end, PollFlags::IN))
            .collect();
        if !ended {
            fds.push(PollFd::new(pidfd, PollFlags::IN));
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            Ok(0) => return Ok(ended),
            other => other.doing(|| "waiting for the command".to_string())?,
        };
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        ended |= !ended && ready[open.len()];
        for (index, end) in open.into_iter().enumerate() {
            if ready[index] {
                output.pass_on(end);
            }
        }
        if ended && output.ends.iter().all(Option::is_none) {
            return Ok(true);
        }
    }
}
