// SPDX-License-Identifier: Apache-2.0
//! Daemons that another command started: by hand, by systemd, by another user. They are found in
//! `/proc`, only shown, and never signalled.
use crate::mount::Mount;
use crate::process::command_name;
use crate::record::DAEMON;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A process that this command did not start.
pub struct Found {
    pub pid: u32,
    /// Which unit of systemd it belongs to, or which user.
    pub started_by: String,
}

/// The daemon whose command line names the mount; None if there is none, or if it is hidden from
/// this user. Of a daemon with helper processes it is the oldest.
pub fn daemon(mount: &Mount) -> Option<Found> {
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| command_name(*pid) == DAEMON && serves(*pid, &mount.path))
        .collect();
    pids.sort_by_key(|pid| crate::process::Process::now(*pid).map(|one| one.start_ticks()));
    let pid = *pids.first()?;
    Some(Found {
        pid,
        started_by: started_by(pid),
    })
}

/// Whether one of the arguments is this path, for a process whose mounts are ours.
fn serves(pid: u32, path: &Path) -> bool {
    let ours = fs::read_link("/proc/self/ns/mnt").ok();
    let theirs = fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    if theirs.is_some() && theirs != ours {
        return false;
    }
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    line.split(|byte| *byte == 0).skip(1).any(|word| {
        let word: PathBuf = directory.join(OsStr::from_bytes(word));
        word.components().eq(path.components())
    })
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
