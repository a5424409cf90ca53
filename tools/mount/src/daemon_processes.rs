// SPDX-License-Identifier: Apache-2.0
//! Daemons that another command started: by hand, by systemd, by another user. They are found in
//! `/proc`, only shown, and never signalled.
use crate::mount_table::device_mounted_for;
use crate::process::{command_name, Process, DAEMON};
use serde::Serialize;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the command line of a server begins with.
const SERVER: &[u8] = b"anybinderd-server\0";

/// A process that this command did not start.
pub struct Found {
    pub pid: u32,
    /// Which unit of systemd it belongs to, or which user.
    pub started_by: String,
}

/// What a process of the daemon does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The process that was started, and that starts the servers.
    Supervisor,
    /// The process that answers the clients.
    Server,
}

/// A process of the daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    pub pid: u32,
    pub role: Role,
    /// The process does nothing until it gets SIGCONT.
    pub is_stopped: bool,
}

impl Part {
    fn of(process: &Process, role: Role) -> Part {
        Part {
            pid: process.pid,
            role,
            is_stopped: process.is_stopped(),
        }
    }
}

/// All processes of this name.
fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| command_name(*pid) == DAEMON)
}

/// The supervisor of the daemon whose command line names the mount directory; None if there is
/// none, or if it is hidden from this user.
pub fn serving(mount: &Path) -> Option<Found> {
    let daemons = all().filter(|pid| serves(*pid, mount));
    let oldest = daemons
        .filter_map(Process::now)
        .min_by_key(Process::start_ticks);
    let pid = oldest?.pid;
    Some(Found {
        pid,
        started_by: started_by(pid),
    })
}

/// The pid of the mount's server if it is stopped. The command line of a process that is not
/// stopped is not read, nor that of another user's: its memory may never be there.
pub fn stopped_server(mount: &Path) -> Option<u32> {
    let user = rustix::process::geteuid().as_raw();
    let is_trusted = |pid: &u32| {
        let owner = fs::metadata(format!("/proc/{pid}")).map(|data| data.uid());
        owner.is_ok_and(|owner| owner == 0 || owner == user)
    };
    let is_server = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline"));
        line.is_ok_and(|line| line.starts_with(SERVER)) && serves(*pid, mount)
    };
    let stopped = all().filter_map(Process::now).filter(Process::is_stopped);
    let mut pids = stopped.map(|process| process.pid);
    pids.find(|pid| is_trusted(pid) && is_server(pid))
}

/// The supervisor, which is known, and its servers: one, and during a hand-over two.
pub fn parts(supervisor: &Process) -> Vec<Part> {
    let servers = supervisor
        .children()
        .filter(|child| command_name(child.pid) == DAEMON);
    let servers = servers.map(|child| Part::of(&child, Role::Server));
    std::iter::once(Part::of(supervisor, Role::Supervisor))
        .chain(servers)
        .collect()
}

/// Whether one of the arguments is this path, for a process that has mounted there what is mounted
/// for us: with the same path it may serve another mount in another mount namespace. Where nothing
/// is mounted, for one whose mounts are ours.
fn serves(pid: u32, path: &Path) -> bool {
    let is_ours = match device_mounted_for("self", path) {
        Some(Some(device)) => device_mounted_for(&pid.to_string(), path) == Some(Some(device)),
        _ => {
            let theirs = fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
            theirs.is_some() && theirs == fs::read_link("/proc/self/ns/mnt").ok()
        }
    };
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let names_it = |word: &[u8]| {
        let word: PathBuf = directory.join(OsStr::from_bytes(word));
        word.components().eq(path.components())
    };
    is_ours && line.split(|byte| *byte == 0).skip(1).any(names_it)
}

/// What started a process: its unit of systemd if it has one, else its user.
pub fn started_by(pid: u32) -> String {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    if let Some(unit) = unit(&groups) {
        return format!("unit {unit}");
    }
    match fs::metadata(format!("/proc/{pid}")).map(|data| data.uid()) {
        Ok(0) => "user root".to_string(),
        Ok(uid) => format!("user {uid}"),
        Err(_) => "unknown".to_string(),
    }
}

/// The service in the last component of a control group; a login session is no service.
fn unit(groups: &str) -> Option<&str> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let name = group.rsplit('/').next()?;
    (name.ends_with(".service") && !name.starts_with("user@")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_is_a_unit() {
        let of = |group: &str| unit(group).map(str::to_string);
        assert_eq!(
            of("0::/system.slice/anybinderd.service\n").as_deref(),
            Some("anybinderd.service")
        );
        assert_eq!(of("0::/user.slice/user-0.slice/session-3.scope\n"), None);
        assert_eq!(of("0::/user.slice/user@1000.service\n"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn a_process_has_a_user() {
        assert!(started_by(std::process::id()).contains(' '));
    }
}
