// SPDX-License-Identifier: Apache-2.0
//! Who may open a device, by its owner, group and mode, and what lets another user in.
use rustix::process::{getegid, geteuid, getgroups};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

const GROUP_READ_WRITE: u32 = 0o060;

/// A line of a database of names, wherever the system has it; None without the entry or `getent`.
fn entry(database: &str, id: u32) -> Option<String> {
    let output = Command::new("getent")
        .args([database, &id.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    Some(text.trim_end().to_string()).filter(|line| line.contains(':'))
}

/// The name in a line of a database.
fn name(line: &str) -> &str {
    line.split(':').next().unwrap_or(line)
}

fn user_name(uid: u32) -> String {
    entry("passwd", uid).map_or_else(|| uid.to_string(), |line| name(&line).to_string())
}

/// The group that may open the device, with its line in the database.
fn group(found: &Metadata) -> Option<(String, Option<String>)> {
    let is_open = found.mode() & GROUP_READ_WRITE == GROUP_READ_WRITE;
    // The group of root has no members.
    if !is_open || found.gid() == 0 {
        return None;
    }
    let line = entry("group", found.gid());
    let name = line
        .as_deref()
        .map_or_else(|| found.gid().to_string(), |line| name(line).to_string());
    Some((name, line))
}

/// The users who may open a device that is closed to others, in words.
pub fn who(found: &Metadata) -> String {
    let owner = match found.uid() {
        0 => "root".to_string(),
        uid => format!("user {}", user_name(uid)),
    };
    match group(found) {
        Some((group, _)) => format!("{owner} and the members of the group {group}"),
        None => owner,
    }
}

/// Whether a line of the group database names the user as a member.
fn has_member(line: &str, user: &str) -> bool {
    let members = line.rsplit(':').next().unwrap_or_default();
    members.split(',').any(|member| member == user)
}

/// What this user can do who may not open the device.
pub fn advice(path: &Path) -> String {
    let Ok(found) = std::fs::metadata(path) else {
        return "Run this as the user who started the daemon.".to_string();
    };
    let Some((group, line)) = group(&found) else {
        return format!(
            "Run this as {}, or have the daemon started with another --mode or --gid.",
            who(&found)
        );
    };
    let user = user_name(geteuid().as_raw());
    let has_group = getegid().as_raw() == found.gid()
        || getgroups().is_ok_and(|all| all.iter().any(|one| one.as_raw() == found.gid()));
    let is_member = line.is_some_and(|line| has_member(&line, &user));
    match (has_group, is_member) {
        // Something else than the mode forbids it: a security module.
        (true, _) => format!("The mode lets the group {group} in: ask what else forbids it."),
        (false, true) => {
            format!("You are a member of {group} since your last login: log in again.")
        }
        (false, false) => format!("As root: `adduser {user} {group}`; then log in again."),
    }
}
