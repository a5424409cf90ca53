// SPDX-License-Identifier: Apache-2.0
//! What a daemon says of itself in `binder_logs/daemon`: which of its servers serves the mount, and
//! how the last hand-over to another one ended. Kernel drivers and older daemons have no such file.
use crate::daemon_processes;
use crate::mount::{Backend, Mount};
use crate::process::{command_name, Process, Running, DAEMON};
use crate::record::Record;
use anybinder_cli::error::{Error, Kind, Result};
use rustix::process::Signal;
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The supervisor gives a successor less time than this.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The file, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Generation {
    /// The version of the program that serves.
    pub version: String,
    /// The server's pid, in the daemon's pid namespace.
    pub server: u32,
    /// The pid of the process that was started, and that starts the servers.
    pub supervisor: u32,
    /// 1 for the first server; one more for each that took over or followed a crash.
    pub generation: u64,
    /// Servers that crashed since the daemon was started.
    pub crashes: u64,
    /// Hand-overs that were asked for and have ended, rehearsals included.
    pub attempts: u64,
    /// How the last of them ended: `none`, `done`, `dry-run-done`, `refused`, `failed` or
    /// `too-long`
    pub last: String,
    /// Why it did not take place.
    pub reason: Option<String>,
    /// How long no request was served.
    pub pause_us: Option<u64>,
    /// Calls that ended with an error because they could not be moved in time.
    pub left_behind: Option<u64>,
}

impl Generation {
    /// Reads the file of a mount. None: what serves it has no such file.
    pub fn load(mount: &Mount) -> Result<Option<Generation>> {
        let path = mount.file("binder_logs").join("daemon");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(parse(&text))),
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
            Err(err) => Err(mount.unreadable(
                &path,
                &err,
                "Run this command as root or as the user who started the daemon.",
            )),
        }
    }
}

/// Lines `key: value`; what is not known or not a number is left out.
fn parse(text: &str) -> Generation {
    let lines: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let number = |key: &str| lines.get(key).and_then(|value| value.parse::<u64>().ok());
    let pid = |key: &str| number(key).and_then(|pid| pid.try_into().ok()).unwrap_or(0);
    let word = |key: &str| lines.get(key).map(|value| value.to_string());
    Generation {
        version: word("version").unwrap_or_default(),
        server: pid("server"),
        supervisor: pid("supervisor"),
        generation: number("generation").unwrap_or(0),
        crashes: number("crashes").unwrap_or(0),
        attempts: number("attempts").unwrap_or(0),
        last: word("last").unwrap_or_default(),
        reason: word("reason"),
        pause_us: number("pause_us"),
        left_behind: number("left_behind"),
    }
}

/// The daemon of a mount, to be signalled: the one that `up` started, or the process of this user
/// whose command line names the mount. What the mount itself says of a pid is not used: it may be
/// another user's.
fn daemon(mount: &Mount) -> Result<Running> {
    if let Some((_, daemon)) = Record::load_running(mount)? {
        return Ok(daemon);
    }
    let path = mount.path.display();
    let Some(found) = daemon_processes::serving(&mount.path) else {
        return Err(Error::with_advice(
            format!("The daemon that serves {path} is not among the processes that you can see."),
            "Run this command as the user who started it, in the same container; where /proc is \
             mounted with hidepid, outside of `anybinder run`.",
        ));
    };
    let process = Process::now(found.pid);
    process
        .and_then(|process| process.open(DAEMON, mount.path.as_os_str()))
        .ok_or_else(|| {
            Error::with_advice(
                format!(
                    "The daemon of {path} is process {} ({}), which you may not signal.",
                    found.pid, found.started_by
                ),
                "Run this command as the user who started it.",
            )
            .of(Kind::Denied)
        })
}

/// How a daemon is to hand over.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandOver {
    /// The new program only restores the state and compares, and ends.
    pub rehearse: bool,
    /// For how long calls may wait; 0: for as long as the daemon ever lets them.
    pub max_pause_ms: u16,
}

/// Has the daemon start the program that is installed now, and hand the mount over to it with all
/// that its clients have; returns when that has ended, well or not.
pub fn hand_over(mount: &Mount, how: HandOver) -> Result<Generation> {
    let path = mount.path.display();
    mount.check_served()?;
    let before = match (Generation::load(mount)?, mount.backend()) {
        (Some(before), _) => before,
        (None, Backend::Daemon) => {
            return Err(Error::with_advice(
                format!("The daemon of {path} is too old to be replaced while it serves."),
                "Restart it once; its clients then open their devices again.",
            ));
        }
        (None, _) => {
            return Err(Error::with_advice(
                format!("{path} is served by the kernel's driver, not by a daemon."),
                "A driver in the kernel is replaced by loading another one.",
            ));
        }
    };
    let signal = match how.rehearse {
        true => Signal::USR1,
        false => Signal::HUP,
    };
    daemon(mount)?.signal_with(signal, how.max_pause_ms.into())?;
    let start = Instant::now();
    while start.elapsed() < HAND_OVER_TIMEOUT {
        if let Some(now) = Generation::load(mount)? {
            if now.attempts != before.attempts {
                return Ok(now);
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err(Error::with_advice(
        format!(
            "The daemon of {path} did not say within {} s how the hand-over ended.",
            HAND_OVER_TIMEOUT.as_secs()
        ),
        "Its log says more. It still serves if `anybinder status` says so.",
    )
    .of(Kind::NotWorking))
}

/// What is at the path of the server's program now. A hand-over replaces the server, a restart the
/// supervisor, and a package the file under both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    TheSame,
    Another,
    None,
}

#[derive(Debug)]
pub struct Programs {
    /// Where the server's program was when it was started.
    pub path: PathBuf,
    pub installed: Installed,
    /// The supervisor executes the same file as the server.
    pub supervisor_is_same: bool,
}

/// What the kernel adds to the path of a file that has no name any more.
const DELETED: &[u8] = b" (deleted)";

fn without_mark(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(
        bytes.strip_suffix(DELETED).unwrap_or(bytes),
    ))
}

/// A daemon of this user or of root. That of another user may name any process, and its files may
/// never answer.
fn is_trusted(pid: u32) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|data| data.uid());
    command_name(pid) == DAEMON && owner.is_ok_and(|owner| owner == 0 || owner == user)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

impl Programs {
    /// The programs of the processes; None if these are another user's or in another container, and
    /// cannot be looked at.
    pub fn of(now: &Generation) -> Option<Programs> {
        if !is_trusted(now.server) || !is_trusted(now.supervisor) {
            return None;
        }
        let program = |pid: u32| PathBuf::from(format!("/proc/{pid}/exe"));
        let server = program(now.server).metadata().ok()?;
        let supervisor = program(now.supervisor).metadata().ok()?;
        let path = without_mark(&program(now.server).read_link().ok()?);
        let mut seen = PathBuf::from(format!("/proc/{}/root", now.server)).into_os_string();
        seen.push(&path);
        Some(Programs {
            installed: match Path::new(&seen).metadata() {
                Ok(data) if is_same(&data, &server) => Installed::TheSame,
                Ok(_) => Installed::Another,
                Err(_) => Installed::None,
            },
            supervisor_is_same: is_same(&supervisor, &server),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_removed_file_is_not_of_its_path() {
        let of = |path: &str| without_mark(Path::new(path)).display().to_string();
        assert_eq!(of("/usr/bin/anybinderd (deleted)"), "/usr/bin/anybinderd");
        assert_eq!(of("/usr/bin/anybinderd"), "/usr/bin/anybinderd");
    }

    #[test]
    fn this_program_is_no_daemon() {
        let now = Generation {
            server: std::process::id(),
            supervisor: std::process::id(),
            ..Generation::default()
        };
        assert!(Programs::of(&now).is_none());
    }
}
