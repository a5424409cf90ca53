// SPDX-License-Identifier: Apache-2.0
//! A directory where a Binder file system is or shall be mounted.
use crate::error::{Doing, Error, Result};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where clients look for a Binder file system.
pub const DEFAULT_PATH: &str = "/dev/binderfs";

/// A mount directory, and where this user keeps files about it.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Absolute, no trailing slash.
    pub path: PathBuf,
    pub(crate) state_dir: PathBuf,
}

/// What serves a mount directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// No Binder file system is mounted there.
    None,
    /// A FUSE daemon that runs.
    Daemon,
    /// A FUSE daemon that died and left its mount behind.
    DeadDaemon,
    /// A driver in the kernel.
    Kernel,
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory for files of this user that are removed when the session ends.
fn runtime_dir() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => std::env::temp_dir().join(format!("anybinder-{}", rustix::process::geteuid())),
    }
}

fn default_path() -> PathBuf {
    if is_root() {
        PathBuf::from(DEFAULT_PATH)
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

impl Mount {
    /// The mount at `path` (default: `/dev/binderfs` for root, `$XDG_RUNTIME_DIR/anybinder` for
    /// others), with files about it in `state_dir` (default: `/run/anybinder` for root,
    /// `$XDG_RUNTIME_DIR/anybinder-state` for others). Looks at neither directory. Fails if the
    /// working directory is needed to make `path` absolute and cannot be found.
    pub fn new(path: Option<PathBuf>, state_dir: Option<PathBuf>) -> Result<Self> {
        let path = path.unwrap_or_else(default_path);
        let path = std::path::absolute(&path)
            .doing(|| format!("making {} an absolute path", path.display()))?;
        // `absolute` keeps a trailing slash; collecting the components drops it.
        Ok(Mount {
            path: path.components().collect(),
            state_dir: state_dir.unwrap_or_else(default_state_dir),
        })
    }

    /// The path of a device, or of another file or directory of the mount.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file of ours about this mount, e.g. `dev-binderfs.json` for the suffix `json`.
    pub fn state_file(&self, suffix: &str) -> PathBuf {
        let name = self
            .path
            .to_string_lossy()
            .trim_start_matches('/')
            .replace('/', "-");
        self.state_dir.join(format!("{name}.{suffix}"))
    }

    /// Makes the state directory; fails if it belongs to another user.
    pub fn make_state_dir(&self) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let directory = self.state_dir.display();
        builder
            .create(&self.state_dir)
            .doing(|| format!("making the directory {directory}"))?;
        let owner = std::fs::metadata(&self.state_dir)
            .doing(|| format!("looking at {directory}"))?
            .uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(Error::with_advice(
                format!("{directory} belongs to another user."),
                "Name a directory of your own with --state-dir.",
            ));
        }
        Ok(())
    }

    /// What serves the mount now.
    pub fn backend(&self) -> Backend {
        let Some(fstype) = mounted_fstype(&self.path) else {
            return Backend::None;
        };
        if fstype == "binder" {
            return Backend::Kernel;
        }
        if !fstype.starts_with("fuse") {
            return Backend::None;
        }
        match std::fs::metadata(self.file("binder-control")) {
            Err(err) if is_dead_mount(&err) => Backend::DeadDaemon,
            _ => Backend::Daemon,
        }
    }

    /// Fails, with advice, unless a daemon or the kernel serves the mount.
    pub fn check_served(&self) -> Result<()> {
        match self.backend() {
            Backend::Daemon | Backend::Kernel => Ok(()),
            Backend::None => Err(Error::with_advice(
                format!("Nothing is mounted at {}.", self.path.display()),
                "Start it with `anybinder up`, or name the right directory with --mount.",
            )),
            Backend::DeadDaemon => Err(Error::with_advice(
                format!("The daemon of {} is gone.", self.path.display()),
                "Start it again with `anybinder up`.",
            )),
        }
    }

    /// Fails, with the reason and advice, if a device cannot be opened.
    pub fn check_device(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        let Err(err) = std::fs::File::options().read(true).write(true).open(&path) else {
            return Ok(());
        };
        self.check_served()?;
        let path = path.display();
        Err(match err.kind() {
            ErrorKind::NotFound => Error::with_advice(
                format!("There is no device {path}."),
                format!("The mount offers: {}.", self.devices().join(", ")),
            ),
            ErrorKind::PermissionDenied => Error::with_advice(
                format!("You have no permission to open {path}."),
                "Run this as a user who has it, or start the daemon with another --mode or --gid.",
            ),
            _ => Error::new(format!("{path} cannot be opened: {err}.")),
        })
    }

    /// The names of the devices that the mount offers, sorted; empty if nothing is mounted.
    pub fn devices(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.path) else {
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
    fn a_trailing_slash_names_the_same_mount() {
        let dir = Some(PathBuf::from("/nowhere"));
        let with = Mount::new(Some(PathBuf::from("/dev/binderfs/")), dir.clone()).unwrap();
        let without = Mount::new(Some(PathBuf::from("/dev/binderfs")), dir).unwrap();
        assert_eq!(with.path, without.path);
        assert_eq!(
            with.state_file("json"),
            PathBuf::from("/nowhere/dev-binderfs.json")
        );
    }
}
