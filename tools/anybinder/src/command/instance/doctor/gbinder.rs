// SPDX-License-Identifier: Apache-2.0
//! Whether libgbinder's configuration speaks of both paths of a device, `/dev/NAME` and
//! `/dev/binderfs/NAME`. At a path that it does not know libgbinder speaks the protocols of Android
//! 9, which services and clients with newer libraries do not understand.
use super::finding::Check;
use std::fs;
use std::path::PathBuf;

const FILE: &str = "/etc/gbinder.conf";
/// The files here are read after that one.
const DIRECTORY: &str = "/etc/gbinder.d";
const GROUPS: [&str; 2] = ["Protocol", "ServiceManager"];
/// What a level in `[General]` sets, at these paths only.
const LEVEL: &str = "ApiLevel";
const WITH_LEVEL: [&str; 2] = ["/dev/binder", "/dev/vndbinder"];
/// This path has a protocol of its own without a configuration, in place of `Default`.
const WITHOUT_DEFAULT: &str = "/dev/binder";

/// The groups and keys of a configuration.
fn keys(text: &str) -> Vec<(&str, &str)> {
    let mut group = "";
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            group = name.trim_end_matches(']');
        } else if let (false, Some((key, _))) = (line.starts_with('#'), line.split_once('=')) {
            found.push((group, key.trim()));
        }
    }
    found
}

/// The paths of a device that a configuration does not speak of, of a device of which it speaks,
/// and of `binder` in any case.
fn missing(keys: &[(&str, &str)], device: &str) -> Vec<String> {
    let has = |group: &str, key: &str| keys.contains(&(group, key));
    let is_named = |path: &str| {
        let by_level = WITH_LEVEL.contains(&path) && has("General", LEVEL);
        let named =
            |group: &&str| has(group, path) || (path != WITHOUT_DEFAULT && has(group, "Default"));
        by_level || GROUPS.iter().all(named)
    };
    let paths = [format!("/dev/{device}"), format!("/dev/binderfs/{device}")];
    let (named, missing): (Vec<String>, _) = paths.into_iter().partition(|path| is_named(path));
    match named.is_empty() && device != "binder" {
        true => Vec::new(),
        false => missing,
    }
}

/// The check of the configuration in these texts.
fn check_of(text: &str, devices: &[String]) -> Check {
    let name = "gbinder";
    let keys = keys(text);
    let missing: Vec<String> = devices.iter().flat_map(|one| missing(&keys, one)).collect();
    if missing.is_empty() {
        return Check::ok(
            name,
            "libgbinder's configuration has both paths of the devices",
        );
    }
    Check::limited(
        name,
        format!(
            "libgbinder speaks the protocols of Android 9 at {}",
            missing.join(", ")
        ),
        format!("name each in [Protocol] and [ServiceManager] of {FILE}: examples/gbinder.conf"),
    )
}

/// Nothing where libgbinder has no configuration.
pub fn gbinder(devices: &[String]) -> Option<Check> {
    let mut files: Vec<PathBuf> = vec![FILE.into()];
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let path = entry.path();
        files.extend(
            path.extension()
                .is_some_and(|it| it == "conf")
                .then_some(path),
        );
    }
    let texts: Vec<String> = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    (!texts.is_empty()).then(|| check_of(&texts.join("\n"), devices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_paths_are_wanted_in_both_groups() {
        let example = include_str!("../../../../../../examples/gbinder.conf");
        let by_default = "[Protocol]\nDefault = aidl3\n[ServiceManager]\nDefault = aidl6\n";
        let half = "[Protocol]\n/dev/binder=aidl3\n/dev/binderfs/binder=aidl3\n#[ServiceManager]\n";
        for (text, device, wanted) in [
            (example, "binder", [].as_slice()),
            (example, "hwbinder", &[]),
            (
                "[General]\nApiLevel = 34\n",
                "binder",
                &["/dev/binderfs/binder"],
            ),
            (
                "[General]\nApiLevel=34",
                "vndbinder",
                &["/dev/binderfs/vndbinder"],
            ),
            ("[General]\nApiLevel=34", "hwbinder", &[]),
            (by_default, "binder", &["/dev/binder"]),
            (by_default, "hwbinder", &[]),
            (half, "binder", &["/dev/binder", "/dev/binderfs/binder"]),
            ("", "binder", &["/dev/binder", "/dev/binderfs/binder"]),
        ] {
            assert_eq!(missing(&keys(text), device), wanted, "{text} {device}");
        }
    }
}
