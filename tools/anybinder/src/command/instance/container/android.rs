// SPDX-License-Identifier: Apache-2.0
//! `anybinder container waydroid` and `redroid`: Android in a container, which starts service
//! managers of its own. None of ours may be on its devices, nor have been there: a device remembers
//! the user of its first one and refuses another's. What has to be set is printed, and looked at.
use super::Tool;
use crate::command::instance::doctor::finding::Check;
use anybinder_cli::error::Result;
use anybinder_client::restarts::Asker;
use anybinder_mount::device_check::{Depth, ManagerState};
use anybinder_mount::mount::Mount;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What Waydroid keeps of its devices.
const CONFIG: &str = "/var/lib/waydroid/waydroid.cfg";
const SETTINGS: &str = "/etc/default/anybinder";
const FILE_SYSTEMS: &str = "/proc/filesystems";

/// For each device of Android, the names in /dev at which Waydroid looks, of which it takes the
/// last that exists.
const NAMES: [(&str, [&str; 4]); 3] = [
    (
        "binder",
        ["anbox-binder", "puddlejumper", "bonder", "binder"],
    ),
    (
        "vndbinder",
        [
            "anbox-vndbinder",
            "vndpuddlejumper",
            "vndbonder",
            "vndbinder",
        ],
    ),
    (
        "hwbinder",
        ["anbox-hwbinder", "hwpuddlejumper", "hwbonder", "hwbinder"],
    ),
];

const OURS_ADVICE: &str =
    "set ANDROID=yes in /etc/default/anybinder and restart anybinderd.service, or without the \
     package `anybinder up --mode 0666 --managers ''`: a device that had a service manager has to \
     be made anew";

/// The value of a setting in a file of lines KEY = VALUE or KEY=VALUE.
fn setting<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    let found = pairs.find(|(name, _)| name.trim() == key);
    found.map(|(_, value)| value.trim())
}

/// Whether the package was told that the devices are for Android.
fn is_set() -> bool {
    let text = std::fs::read_to_string(SETTINGS).unwrap_or_default();
    setting(&text, "ANDROID").is_some_and(|value| !value.is_empty())
}

/// Whether Android in a container is set up, whose service managers the devices are for.
pub fn brings_managers() -> bool {
    is_set() || Path::new(CONFIG).exists()
}

/// The names of the three devices: those that Waydroid has noted, or would take now.
fn waydroid_names(config: Option<&str>, exists: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let name = |(device, all): &(&str, [&str; 4])| {
        let noted = config.and_then(|text| setting(text, device));
        let there = all.iter().rev().copied().find(|name| exists(name));
        let name = noted.or(there).unwrap_or(device);
        ((*device).to_string(), name.to_string())
    };
    NAMES.iter().map(name).collect()
}

/// The three settings of Waydroid: for each device the name of its node.
fn names() -> Vec<(String, String)> {
    let config = std::fs::read_to_string(CONFIG).ok();
    waydroid_names(config.as_deref(), |name| node(name).exists())
}

fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

/// The device of the mount that a name in /dev leads to.
fn device(mount: &Mount, name: &str) -> Option<String> {
    let path = node(name).canonicalize().ok()?;
    let is_of_mount = path.parent() == Some(&mount.path.canonicalize().ok()?);
    let device = path.file_name()?.to_str()?;
    is_of_mount.then(|| device.to_string())
}

/// A node that Android opens.
fn node_check(mount: &Mount, name: &str) -> Check {
    let path = node(name);
    let shown = path.display();
    let Ok(found) = std::fs::metadata(&path) else {
        let advice = "load the module, or start the daemon and link its devices in /dev; then \
                      `waydroid init -f`";
        return Check::no("node", format!("{shown} does not exist"), advice);
    };
    if found.permissions().mode() & 0o006 != 0o006 {
        let advice = "ANDROID=yes or MODE=0666 in /etc/default/anybinder, or `anybinder up --mode \
                      0666`";
        return Check::no("node", format!("{shown} is not for all users"), advice);
    }
    match device(mount, name) {
        Some(_) => Check::ok("node", format!("{shown}, for all users")),
        None => Check::limited(
            "node",
            format!("{shown} is no device of {}", mount.path.display()),
            "nothing to do if another driver serves it; else name the mount with --mount",
        ),
    }
}

/// Who is the context manager of a device of the mount.
fn manager_check(mount: &Mount, name: &str) -> Result<Option<Check>> {
    let Some(device) = device(mount, name) else {
        return Ok(None);
    };
    let asked = mount.ask_each(std::slice::from_ref(&device), Depth::Manager)?;
    let state = asked.first().map(|one| one.state);
    Ok(Some(match state {
        Some(ManagerState::None) => Check::ok("manager", format!("{name}: none is there yet")),
        Some(ManagerState::Answers) if is_ours(mount, &device) => in_its_way("manager", name),
        Some(ManagerState::Answers) => Check::ok("manager", format!("{name}: Android's is there")),
        _ => Check::limited(
            "manager",
            format!("{name}: whether one is there is not known"),
            "see `anybinder doctor`",
        ),
    }))
}

fn in_its_way(check: &'static str, name: &str) -> Check {
    let text = format!("{name}: a service manager of anybinder stands where Android's has to");
    Check::no(check, text, OURS_ADVICE)
}

/// Ours alone tells how often services were restarted.
fn is_ours(mount: &Mount, name: &str) -> bool {
    Asker::new(mount, name).ask().is_some()
}

fn file_system_check() -> Check {
    let known = std::fs::read_to_string(FILE_SYSTEMS).unwrap_or_default();
    let is_known = known
        .lines()
        .any(|line| line.split_whitespace().last() == Some("binder"));
    match is_known {
        true => Check::ok("binderfs", "the kernel can mount `binder`"),
        false => Check::no(
            "binderfs",
            "the kernel has no file system type `binder`, which the daemon cannot provide",
            "load the module: docs/KERNEL-MODULE.md",
        ),
    }
}

/// The lines to be set, or the options of a container.
pub fn settings(tool: Tool) -> Vec<String> {
    if tool == Tool::Redroid {
        return vec!["--privileged".to_string()];
    }
    let mut lines = vec![
        format!("# in {SETTINGS}, for the daemon; the module needs none"),
        "ANDROID=yes".to_string(),
        format!("# in {CONFIG}, by `waydroid init -f`"),
        "[waydroid]".to_string(),
    ];
    let names = names().into_iter();
    lines.extend(names.map(|(device, name)| format!("{device} = {name}")));
    lines
}

/// Whether they hold.
pub fn checks(mount: &Mount, tool: Tool) -> Result<Vec<Check>> {
    if tool == Tool::Redroid {
        return Ok(vec![file_system_check()]);
    }
    let mut checks = Vec::new();
    for (_, name) in names() {
        checks.push(node_check(mount, &name));
        checks.extend(manager_check(mount, &name)?);
    }
    Ok(checks)
}

/// For `anybinder doctor`, where Android in a container is set up: the service managers of ours
/// that are in its way.
///
/// * `answering`: the devices with a service manager
pub fn in_the_way(mount: &Mount, answering: &[String]) -> Vec<Check> {
    if !brings_managers() {
        return Vec::new();
    }
    let devices = names()
        .into_iter()
        .filter_map(|(_, name)| device(mount, &name));
    let ours = devices.filter(|name| answering.contains(name) && is_ours(mount, name));
    ours.map(|name| in_its_way("android", &name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waydroid_takes_what_it_noted_or_the_last_that_exists() {
        let names = |config, there: &[&str]| {
            let all = waydroid_names(config, |name| there.contains(&name));
            all.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(None, &[]), ["binder", "vndbinder", "hwbinder"]);
        let there = ["anbox-binder", "bonder", "vndpuddlejumper"];
        assert_eq!(
            names(None, &there),
            ["bonder", "vndpuddlejumper", "hwbinder"]
        );
        let config = "[waydroid]\narch = x86_64\nbinder = anbox-binder\n";
        assert_eq!(names(Some(config), &there)[0], "anbox-binder");
    }
}
