// SPDX-License-Identifier: Apache-2.0
//! What is mounted where, as `/proc/PID/mountinfo` says it. Nothing that is mounted is looked at.
use std::path::Path;

/// The type of the topmost file system mounted exactly at `mount`.
pub(crate) fn mounted_fstype(mount: &Path) -> Option<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    fstype_in_table(&table, &mount.to_string_lossy())
}

/// The line of the topmost mount.
fn line_of<'a>(table: &'a str, mount: &str) -> Option<&'a str> {
    let is_of = |line: &&str| line.split(' ').nth(4).map(unescape).as_deref() == Some(mount);
    table.lines().rfind(is_of)
}

fn fstype_in_table(table: &str, mount: &str) -> Option<String> {
    let line = line_of(table, mount)?;
    Some(line.split_once(" - ")?.1.split(' ').next()?.to_string())
}

/// Which file system a process sees mounted exactly at `mount`, by the number of its device; the
/// inner None: nothing is mounted there. None: the process cannot be looked at.
pub(crate) fn device_mounted_for(process: &str, mount: &Path) -> Option<Option<String>> {
    let table = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).ok()?;
    let line = line_of(&table, &mount.to_string_lossy());
    Some(line.and_then(|line| Some(line.split(' ').nth(2)?.to_string())))
}

/// Undoes the octal escapes of `/proc/self/mountinfo` (space is `\040`).
pub(crate) fn unescape(field: &str) -> String {
    let mut out = Vec::new();
    let bytes = field.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = field
            .get(at + 1..at + 4)
            .filter(|_| bytes[at] == b'\\')
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 0:5 / /dev rw,relatime shared:2 - devtmpfs devtmpfs rw
31 22 0:40 / /dev/binderfs rw - binder binder rw
32 31 0:41 / /dev/binderfs rw,nosuid shared:9 - fuse.anybinder anybinder rw
33 22 0:42 / /mnt/a\\040b rw - fuse anybinder rw
";

    #[test]
    fn the_topmost_mount_counts() {
        assert_eq!(
            fstype_in_table(TABLE, "/dev/binderfs").as_deref(),
            Some("fuse.anybinder")
        );
        assert_eq!(fstype_in_table(TABLE, "/mnt/a b").as_deref(), Some("fuse"));
        assert_eq!(fstype_in_table(TABLE, "/mnt"), None);
    }
}
