// SPDX-License-Identifier: Apache-2.0
//! A place: the directory where a Binder file system is mounted, and our note of who serves it.
//!
//! The note (a small JSON file in the state directory) is written by `up` and removed by `down`.
//! Everything that can be seen from the mount itself is looked at there, never in the note: a
//! place whose daemon was started by systemd, or that the kernel serves, has no note at all.
use crate::process::Process;
use crate::trouble::{Doing, Result, Trouble};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What clients look at without being told.
pub const DEFAULT_MOUNT: &str = "/dev/binderfs";

#[derive(Clone, Debug)]
pub struct Place {
    /// Absolute, no trailing slash.
    pub mount: PathBuf,
    state_dir: PathBuf,
}

/// One service manager and the device whose context it manages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manager {
    pub device: String,
    pub process: Process,
}

/// What `up` leaves behind for the commands after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    pub mount: PathBuf,
    pub daemon: Process,
    pub managers: Vec<Manager>,
    /// The mount is in namespaces of the daemon's own, made by a user without privileges.
    pub private: bool,
    /// `up` made the mount directory, so `down` removes it.
    pub made_directory: bool,
}

/// Who serves the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// No Binder file system is mounted there.
    Not,
    /// A FUSE daemon answers.
    Daemon,
    /// A FUSE daemon was there and died.
    Stale,
    /// The kernel's own binderfs.
    Kernel,
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory for files of this user that go away with the session.
fn runtime_dir() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => std::env::temp_dir().join(format!("anybinder-{}", rustix::process::geteuid())),
    }
}

fn default_mount() -> PathBuf {
    if is_root() {
        PathBuf::from(DEFAULT_MOUNT)
    } else {
        runtime_dir().join("anybinder")
    }
}

fn default_state_dir() -> PathBuf {
    if is_root() {
        PathBuf::from("/run/anybinder")
    } else {
        runtime_dir().join("anybinder-state")
    }
}

impl Place {
    pub fn new(mount: Option<PathBuf>, state_dir: Option<PathBuf>) -> Result<Self> {
        let mount = mount.unwrap_or_else(default_mount);
        let mount = std::path::absolute(&mount).doing(|| format!("{}", mount.display()))?;
        // `absolute` keeps a trailing slash; collecting the components drops it.
        Ok(Place {
            mount: mount.components().collect(),
            state_dir: state_dir.unwrap_or_else(default_state_dir),
        })
    }

    pub fn device(&self, name: &str) -> PathBuf {
        self.mount.join(name)
    }

    /// A file of our own about this place, e.g. `dev-binderfs.json`.
    pub fn state_file(&self, suffix: &str) -> PathBuf {
        let name = self
            .mount
            .to_string_lossy()
            .trim_start_matches('/')
            .replace('/', "-");
        self.state_dir.join(format!("{name}.{suffix}"))
    }

    /// Makes the state directory; refuses one that another user could have prepared.
    pub fn make_state_dir(&self) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(&self.state_dir)
            .doing(|| format!("making the directory {}", self.state_dir.display()))?;
        let owner = std::fs::metadata(&self.state_dir)
            .doing(|| format!("{}", self.state_dir.display()))?
            .uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(Trouble::with_advice(
                format!("{} belongs to another user.", self.state_dir.display()),
                "Give a directory of your own with --state-dir.",
            ));
        }
        Ok(())
    }

    /// The note, if `up` left one and its daemon still runs.
    pub fn note(&self) -> Option<Note> {
        self.any_note().filter(|note| note.daemon.is_running())
    }

    /// The note whether or not its daemon still runs.
    pub fn any_note(&self) -> Option<Note> {
        let text = std::fs::read_to_string(self.state_file("json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub fn write_note(&self, note: &Note) -> Result<()> {
        let text = serde_json::to_string_pretty(note).doing(|| "writing the note".to_string())?;
        let path = self.state_file("json");
        std::fs::write(&path, text + "\n").doing(|| format!("writing {}", path.display()))
    }

    /// Removes the note and the log files; what is not there is no error.
    pub fn forget(&self) {
        for suffix in ["json", "pid", "daemon.log", "manager.log"] {
            let _ = std::fs::remove_file(self.state_file(suffix));
        }
        // Goes only if this was the last place.
        let _ = std::fs::remove_dir(&self.state_dir);
    }

    pub fn served(&self) -> Served {
        let Some(fstype) = mounted_fstype(&self.mount) else {
            return Served::Not;
        };
        if fstype == "binder" {
            return Served::Kernel;
        }
        if !fstype.starts_with("fuse") {
            return Served::Not;
        }
        match std::fs::metadata(self.device("binder-control")) {
            Err(err) if is_dead_mount(&err) => Served::Stale,
            _ => Served::Daemon,
        }
    }

    /// The devices that the mount offers, sorted by name.
    pub fn devices(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.mount) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name != "binder-control")
            .collect();
        names.sort();
        names
    }
}

fn is_dead_mount(err: &std::io::Error) -> bool {
    matches!(
        err.raw_os_error(),
        Some(libc::ENOTCONN) | Some(libc::ECONNABORTED)
    )
}

/// The type of the topmost file system mounted exactly at `mount`.
fn mounted_fstype(mount: &Path) -> Option<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    fstype_in_table(&table, &mount.to_string_lossy())
}

fn fstype_in_table(table: &str, mount: &str) -> Option<String> {
    let line = table
        .lines()
        .rfind(|line| line.split(' ').nth(4).map(unescape).as_deref() == Some(mount))?;
    Some(line.split_once(" - ")?.1.split(' ').next()?.to_string())
}

/// Undoes the octal escapes of `/proc/self/mountinfo` (space is `\040`).
fn unescape(field: &str) -> String {
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

    #[test]
    fn a_trailing_slash_names_the_same_place() {
        let dir = Some(PathBuf::from("/nowhere"));
        let with = Place::new(Some(PathBuf::from("/dev/binderfs/")), dir.clone()).unwrap();
        let without = Place::new(Some(PathBuf::from("/dev/binderfs")), dir).unwrap();
        assert_eq!(with.mount, without.mount);
        assert_eq!(
            with.state_file("json"),
            PathBuf::from("/nowhere/dev-binderfs.json")
        );
    }
}
