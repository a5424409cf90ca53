// SPDX-License-Identifier: Apache-2.0
//! Devices of a driver in the kernel outside a binderfs, as `/dev/binder`: the driver makes those
//! that its parameter `devices` names.
use rustix::fs::{major, minor};
use std::fs::{read_dir, read_to_string};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The major number of the devices in `/proc/misc`.
const MISC: u32 = 10;

/// The driver built in, and as Debian's module; this project's module.
const PARAMETERS: [&str; 3] = [
    "/sys/module/binder/parameters/devices",
    "/sys/module/binder_linux/parameters/devices",
    "/sys/module/anybinder/parameters/devices",
];

/// The name of the device with this minor number.
fn misc_name(table: &str, minor: u32) -> Option<&str> {
    table.lines().find_map(|line| {
        let (number, name) = line.trim().split_once(' ')?;
        (number.parse() == Ok(minor)).then(|| name.trim())
    })
}

/// The names of the driver's devices in this directory, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let made: Vec<String> = PARAMETERS
        .iter()
        .filter_map(|path| read_to_string(path).ok())
        .flat_map(|names| {
            names
                .trim()
                .split(',')
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .filter(|name| !name.is_empty())
        .collect();
    let (false, Ok(table), Ok(entries)) = (
        made.is_empty(),
        read_to_string("/proc/misc"),
        read_dir(directory),
    ) else {
        return Vec::new();
    };
    let is_of_driver = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| {
            found.file_type().is_char_device()
                && major(found.rdev()) == MISC
                && misc_name(&table, minor(found.rdev()))
                    .is_some_and(|name| made.iter().any(|made| made == name))
        })
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| is_of_driver(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_number_has_its_name() {
        let table = "124 binder\n  1 psaux\n229 fuse\n";
        assert_eq!(misc_name(table, 124), Some("binder"));
        assert_eq!(misc_name(table, 1), Some("psaux"));
        assert_eq!(misc_name(table, 24), None);
    }

    #[test]
    fn other_devices_are_none_of_the_driver() {
        assert!(!names_in(Path::new("/dev")).contains(&"null".to_string()));
        assert!(names_in(Path::new("/nonexistent")).is_empty());
    }
}
