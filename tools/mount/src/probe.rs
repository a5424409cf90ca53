// SPDX-License-Identifier: Apache-2.0
//! System calls that a file system may never answer.
//!
//! A thread that waits for an answer of a FUSE daemon cannot be ended once the daemon has read the
//! request, and a process with such a thread never ends. These calls are therefore made by a
//! child process that is abandoned when it takes too long: it keeps no descriptor of this process,
//! so that neither a pipe nor a terminal waits for it.
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use rustix::pipe::PipeFlags;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(Errno),
    /// The call did not return in time; the child that made it was abandoned.
    NoAnswer,
}

/// How long a call may take before it is asked whether it is worth waiting for.
const DOUBT_AFTER: Duration = Duration::from_millis(200);

/// When to give up.
struct Limit<'a> {
    time: Duration,
    /// Asked every DOUBT_AFTER: whether no answer can come.
    is_hopeless: &'a dyn Fn() -> bool,
}

impl From<Duration> for Limit<'_> {
    fn from(time: Duration) -> Self {
        Limit {
            time,
            is_hopeless: &|| false,
        }
    }
}

/// Asks a file system for its statistics, which no cache of the kernel answers.
///
/// * `is_hopeless`: asked every now and then while no answer comes; true gives up at once
pub fn statfs(path: &Path, time: Duration, is_hopeless: &dyn Fn() -> bool) -> Outcome {
    let limit = Limit { time, is_hopeless };
    in_child(None, path, &limit, |path| {
        rustix::fs::statfs(path).map(|_| ())
    })
}

/// Whether a directory is there, looked at without following a link.
pub fn exists(path: &Path, limit: Duration) -> Outcome {
    in_child(None, path, &limit.into(), |path| {
        rustix::fs::statat(CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).map(|_| ())
    })
}

/// Detaches a mount. With the right to do so, its requests are aborted first, which releases the
/// threads that wait in it.
///
/// * `directory`: where `name` is; no link is followed
pub fn unmount(directory: BorrowedFd<'_>, name: &OsStr, limit: Duration) -> Outcome {
    in_child(Some(directory), Path::new(name), &limit.into(), |name| {
        let detach = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        rustix::mount::unmount(name, detach | UnmountFlags::FORCE).or_else(|err| match err {
            Errno::PERM => rustix::mount::unmount(name, detach),
            other => Err(other),
        })
    })
}

/// Calls `work` in a child process and waits for it.
///
/// * `directory`: the working directory of the child; None for that of this process
/// * `work`: makes system calls only; it must not allocate, because other threads of this process
///   may have been in the allocator when the child was made
fn in_child(
    directory: Option<BorrowedFd<'_>>,
    path: &Path,
    limit: &Limit,
    work: fn(&std::ffi::CStr) -> rustix::io::Result<()>,
) -> Outcome {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return Outcome::Failed(Errno::INVAL);
    };
    let (ours, theirs) = match rustix::pipe::pipe_with(PipeFlags::CLOEXEC) {
        Ok(ends) => ends,
        Err(err) => return Outcome::Failed(err),
    };
    // SAFETY: the child makes system calls only, and leaves by _exit.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Outcome::Failed(last_error()),
        0 => {
            let entered = directory.map_or(Ok(()), rustix::process::fchdir);
            keep_only(&theirs);
            let error = entered.and_then(|()| work(&path));
            let error = error.err().map_or(0, Errno::raw_os_error);
            // SAFETY: descriptor 0 is the pipe, the buffer lives until the call returns.
            unsafe {
                libc::write(0, (&raw const error).cast(), size_of::<i32>());
                libc::_exit(0);
            }
        }
        child => {
            drop(theirs);
            let outcome = wait_answer(&ours, limit);
            // SAFETY: plain calls; the child was not waited for, so the pid is still its own.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                let options = if outcome == Outcome::NoAnswer {
                    libc::WNOHANG
                } else {
                    0
                };
                libc::waitpid(child, std::ptr::null_mut(), options);
            }
            outcome
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// In the child: the pipe becomes descriptor 0, every other one is closed.
fn keep_only(pipe: &OwnedFd) {
    // SAFETY: the child uses no descriptor but the pipe, and never returns to code that owns one.
    unsafe {
        libc::dup2(pipe.as_raw_fd(), 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
    }
}

fn wait_answer(pipe: &OwnedFd, limit: &Limit) -> Outcome {
    let deadline = Instant::now() + limit.time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left.min(DOUBT_AFTER)).ok();
        match rustix::event::poll(&mut [PollFd::new(pipe, PollFlags::IN)], timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            Err(err) => return Outcome::Failed(err),
            Ok(0) if left.is_zero() || (limit.is_hopeless)() => return Outcome::NoAnswer,
            Ok(0) => continue,
            Ok(_) => {}
        }
        let mut answer = [0u8; size_of::<i32>()];
        return match rustix::io::read(pipe, &mut answer) {
            Ok(length) if length == answer.len() => match i32::from_ne_bytes(answer) {
                0 => Outcome::Done,
                error => Outcome::Failed(Errno::from_raw_os_error(error)),
            },
            Ok(_) => Outcome::Failed(Errno::IO),
            Err(err) => Outcome::Failed(err),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn an_answer_is_passed_on() {
        assert_eq!(statfs(Path::new("/"), LIMIT, &|| false), Outcome::Done);
        let missing = Path::new("/nonexistent");
        assert_eq!(
            statfs(missing, LIMIT, &|| false),
            Outcome::Failed(Errno::NOENT)
        );
        assert_eq!(exists(missing, LIMIT), Outcome::Failed(Errno::NOENT));
    }

    #[test]
    fn an_unmount_is_made_relative_to_the_directory() {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let mode = rustix::fs::Mode::empty();
        let root = rustix::fs::openat(CWD, "/", flags, mode).unwrap();
        let outcome = unmount(root.as_fd(), OsStr::new("nonexistent"), LIMIT);
        assert_eq!(outcome, Outcome::Failed(Errno::NOENT));
    }

    #[test]
    fn a_call_that_does_not_return_is_abandoned() {
        let outcome = in_child(
            None,
            Path::new("/"),
            &Duration::from_millis(100).into(),
            sleep,
        );
        assert_eq!(outcome, Outcome::NoAnswer);
    }

    #[test]
    fn a_call_without_hope_is_abandoned_before_its_time_is_over() {
        let limit = Limit {
            time: Duration::from_secs(3600),
            is_hopeless: &|| true,
        };
        let outcome = in_child(None, Path::new("/"), &limit, sleep);
        assert_eq!(outcome, Outcome::NoAnswer);
    }

    fn sleep(_path: &std::ffi::CStr) -> rustix::io::Result<()> {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}
