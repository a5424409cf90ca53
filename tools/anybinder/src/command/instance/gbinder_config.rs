// SPDX-License-Identifier: Apache-2.0
//! libgbinder's configuration, which says which protocols are spoken at which path: whether it has
//! both paths of a device, `/dev/NAME` and `/dev/binderfs/NAME`, and what it lacks. At a path that
//! it does not know libgbinder speaks the protocols of Android 9, which services and clients with
//! newer libraries do not understand, and python3-gbinder ends with a segmentation fault.
use std::fs;
use std::path::{Path, PathBuf};

pub const FILE: &str = "/etc/gbinder.conf";
/// The files here are read after that one.
const DIRECTORY: &str = "/etc/gbinder.d";
/// Each group with its protocol in Android 16, and that of HIDL.
const GROUPS: [(&str, &str); 2] = [("Protocol", "aidl3"), ("ServiceManager", "aidl6")];
const DEFAULT: &str = "Default";
const HIDL: &str = "hidl";
const HIDL_DEVICE: &str = "hwbinder";
const LIBRARY: &str = "libgbinder.so.1";
const LIBRARY_PLACES: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
/// What a level in `[General]` sets, at these paths only.
const LEVEL: &str = "ApiLevel";
const WITH_LEVEL: [&str; 2] = ["/dev/binder", "/dev/vndbinder"];
/// This path has a protocol of its own without a configuration, in place of `Default`.
const WITHOUT_DEFAULT: &str = "/dev/binder";

/// The settings of a configuration: by group and key, as they stand.
pub struct Settings<'a>(Vec<(&'a str, &'a str, &'a str)>);

impl<'a> Settings<'a> {
    pub fn read(text: &'a str) -> Settings<'a> {
        let mut group = "";
        let mut found = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                group = name.trim_end_matches(']');
            } else if let (false, Some((key, value))) =
                (line.starts_with('#'), line.split_once('='))
            {
                found.push((group, key.trim(), value.trim()));
            }
        }
        Settings(found)
    }

    /// The last one counts.
    fn value(&self, group: &str, key: &str) -> Option<&'a str> {
        let mut all = self.0.iter().rev();
        let found = all.find(|(of, name, _)| (*of, *name) == (group, key));
        found.map(|(_, _, value)| *value)
    }

    /// Whether a level covers a path.
    fn has_level(&self, path: &str) -> bool {
        WITH_LEVEL.contains(&path) && self.value("General", LEVEL).is_some()
    }

    /// Whether a group says what is spoken at a path.
    fn covers(&self, group: &str, path: &str) -> bool {
        let by_default = path != WITHOUT_DEFAULT && self.value(group, DEFAULT).is_some();
        by_default || self.value(group, path).is_some()
    }

    /// The paths of a device of which it does not speak, of a device of which it speaks, and of
    /// `binder` in any case.
    pub fn missing(&self, device: &str) -> Vec<String> {
        let is_named = |path: &String| {
            let mut groups = GROUPS.iter();
            self.has_level(path) || groups.all(|(group, _)| self.covers(group, path))
        };
        let (named, missing): (Vec<String>, _) = paths(device).into_iter().partition(is_named);
        match named.is_empty() && device != "binder" {
            true => Vec::new(),
            false => missing,
        }
    }

    /// The lines to add for both paths of each device; empty: it has them. One path is spoken at as
    /// the other is.
    pub fn additions(&self, devices: &[String]) -> String {
        let mut added = String::new();
        for (group, newest) in GROUPS {
            let mut lines = String::new();
            for device in devices {
                let paths = paths(device);
                let known = paths.iter().find_map(|path| self.value(group, path));
                let is_hidl = device.starts_with(HIDL_DEVICE);
                let protocol = known
                    .or_else(|| self.value(group, DEFAULT))
                    .unwrap_or(if is_hidl { HIDL } else { newest });
                let is_new = |path: &&String| !self.has_level(path) && !self.covers(group, path);
                for path in paths.iter().filter(is_new) {
                    lines += &format!("{path} = {protocol}\n");
                }
            }
            if !lines.is_empty() {
                added += &format!("\n[{group}]\n{lines}");
            }
        }
        added
    }
}

fn paths(device: &str) -> [String; 2] {
    [format!("/dev/{device}"), format!("/dev/binderfs/{device}")]
}

/// The texts of the configuration of this system.
pub fn texts() -> Vec<String> {
    let mut files: Vec<PathBuf> = vec![FILE.into()];
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let path = entry.path();
        files.extend(
            path.extension()
                .is_some_and(|it| it == "conf")
                .then_some(path),
        );
    }
    let texts = files.iter().map(fs::read_to_string);
    texts.flatten().collect()
}

/// Whether a program may be one of libgbinder: it is installed.
pub fn has_library() -> bool {
    LIBRARY_PLACES.iter().map(Path::new).any(|place| {
        let inner = fs::read_dir(place).into_iter().flatten().flatten();
        let mut all = inner.map(|entry| entry.path()).chain([place.to_path_buf()]);
        all.any(|directory| directory.join(LIBRARY).exists())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, devices: &[&str]) -> String {
        let devices: Vec<String> = devices.iter().map(|one| one.to_string()).collect();
        Settings::read(text).additions(&devices)
    }

    #[test]
    fn what_is_missing_is_added() {
        let example = include_str!("../../../../../examples/gbinder.conf");
        assert_eq!(added(example, &["binder"]), "");
        assert_eq!(
            added("", &["binder", "hwbinder"]),
            "\n[Protocol]\n/dev/binder = aidl3\n/dev/binderfs/binder = aidl3\n\
             /dev/hwbinder = hidl\n/dev/binderfs/hwbinder = hidl\n\
             \n[ServiceManager]\n/dev/binder = aidl6\n/dev/binderfs/binder = aidl6\n\
             /dev/hwbinder = hidl\n/dev/binderfs/hwbinder = hidl\n"
        );
        let old = "[Protocol]\n/dev/binder=aidl2\n[ServiceManager]\nDefault = aidl4\n";
        assert_eq!(
            added(old, &["binder"]),
            "\n[Protocol]\n/dev/binderfs/binder = aidl2\n\
             \n[ServiceManager]\n/dev/binder = aidl4\n"
        );
        let level = "[General]\nApiLevel = 34\n";
        assert!(!added(level, &["binder"]).contains("\n/dev/binder ="));
    }
}
