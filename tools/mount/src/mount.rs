// SPDX-License-Identifier: Apache-2.0
//! A directory where a Binder file system is or shall be mounted.
use crate::daemon_processes;
use crate::mount_table::{mounted_fstype, unescape};
use crate::private_directory::Directory;
use crate::probe::{self, Outcome};
use anybinder_cli::error::{Doing, Error, Result};
use rustix::fs::{major, minor};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{read_dir, read_to_string};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where clients look for a Binder file system.
pub const DEFAULT_PATH: &str = "/dev/binderfs";

/// Where nodes of a cluster mount. Runtimes walk through `/dev` for each privileged container, and
/// so would into a mount there, whose daemon may be stopped or dead.
pub const NODE_PATH: &str = "/run/anybinder-node/binderfs";

/// How long a file system may take to answer the smallest request before it counts as stuck; a
/// daemon on a busy machine takes some milliseconds.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A mount directory, and where this user keeps files about it.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Absolute, no trailing slash.
    pub path: PathBuf,
    pub(crate) state_dir: PathBuf,
}

/// The context of a pod that a device belongs to, as `pod7` for `pod7-binder`: the device plugin of
/// Kubernetes makes them. None: the device is the machine's.
pub fn pod_of(device: &str) -> Option<&str> {
    let (context, _) = device.split_once('-')?;
    let number = context.strip_prefix("pod")?;
    number.parse::<u32>().ok().map(|_| context)
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
    /// A FUSE daemon that does not answer: every access to the mount would wait for it.
    Stuck,
    /// A driver in the kernel: its binderfs, or a directory with its devices, as `/dev`.
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

/// The mount that DEFAULT_PATH is a link to, as on nodes; else that path itself.
fn behind_link(path: PathBuf) -> PathBuf {
    let target = match path == Path::new(DEFAULT_PATH) {
        true => std::fs::read_link(DEFAULT_PATH).ok(),
        false => None,
    };
    target.filter(|target| target.is_absolute()).unwrap_or(path)
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
            path: behind_link(path.components().collect()),
            state_dir: state_dir.unwrap_or_else(default_state_dir),
        })
    }

    /// As `new`, but finds the mount that a user other than root has not named: the user's own if
    /// `up` started it or something is mounted there, else the system's if there is one.
    pub fn existing(path: Option<PathBuf>, state_dir: Option<PathBuf>) -> Result<Self> {
        let is_default = path.is_none() && !is_root();
        let own = Mount::new(path, state_dir)?;
        let is_used = own.state_file("json").exists() || mounted_fstype(&own.path).is_some();
        if !is_default || is_used || !Mount::is_system_mounted() {
            return Ok(own);
        }
        Mount::new(Some(PathBuf::from(DEFAULT_PATH)), Some(own.state_dir))
    }

    /// Whether something is mounted where root's mounts are.
    pub fn is_system_mounted() -> bool {
        mounted_fstype(&behind_link(DEFAULT_PATH.into())).is_some()
    }

    /// The path of a device, or of another file or directory of the mount.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The name of a file of ours about this mount, e.g. `dev-binderfs.json` for the suffix
    /// `json`. No two mounts have the same: what is neither a letter nor a digit is escaped.
    pub(crate) fn state_name(&self, suffix: &str) -> String {
        let path = self.path.as_os_str().as_bytes();
        let mut name = String::new();
        for byte in path.strip_prefix(b"/").unwrap_or(path) {
            match byte {
                b'/' => name.push('-'),
                b'.' | b'_' => name.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => name.push(char::from(*byte)),
                byte => write!(name, "\\x{byte:02x}").expect("a string takes everything"),
            }
        }
        format!("{name}.{suffix}")
    }

    /// The path of a file of ours about this mount: for messages, and for programs that get it as
    /// an argument.
    pub fn state_file(&self, suffix: &str) -> PathBuf {
        self.state_dir.join(self.state_name(suffix))
    }

    /// Opens the state directory; None if there is none. Fails, with advice, if another user
    /// could change it, or the default mount.
    pub fn state(&self) -> Result<Option<Directory>> {
        self.check_default_path()?;
        Directory::open_private(&self.state_dir)
    }

    /// As `state`, but makes the directory if there is none.
    pub fn make_state(&self) -> Result<Directory> {
        self.check_default_path()?;
        Directory::make_private(&self.state_dir)
    }

    /// A mount that the user named is the user's choice; the default one must not be another
    /// user's.
    fn check_default_path(&self) -> Result<()> {
        if !is_root() && self.path == default_path() {
            Directory::open(&runtime_dir())?;
        }
        Ok(())
    }

    /// The directory above the mount and the mount's name in it; None if there is none. Fails,
    /// with advice, if another user could change it.
    pub(crate) fn parent(&self) -> Result<Option<(Directory, &OsStr)>> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(Error::with_advice(
                format!("{} cannot be a mount.", self.path.display()),
                "Choose another directory with --mount.",
            ));
        };
        Ok(Directory::open(parent)?.map(|directory| (directory, name)))
    }

    /// Whether a Binder file system is mounted here; else it may be a directory with devices.
    pub fn is_binderfs(&self) -> bool {
        mounted_fstype(&self.path)
            .is_some_and(|fstype| is_kernels(&fstype) || fstype.starts_with("fuse"))
    }

    /// Whether a Binder file system, or a device of one, is mounted here for this process.
    pub(crate) fn is_seen(&self) -> bool {
        self.is_binderfs() || !self.bound_devices().is_empty()
    }

    /// The devices of a daemon that are bound into this directory one by one, as a container may
    /// have them; sorted.
    fn bound_devices(&self) -> Vec<String> {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        devices_in_table(&table, &self.path)
    }

    /// What serves the mount now. Takes at most ANSWER_TIMEOUT, and a moment if a process of the
    /// daemon is stopped.
    pub fn backend(&self) -> Backend {
        let fstype = mounted_fstype(&self.path).unwrap_or_default();
        let mut asked = self.path.clone();
        if is_kernels(&fstype) {
            return Backend::Kernel;
        }
        if !fstype.starts_with("fuse") {
            if !nodes_in(&self.path).is_empty() {
                return Backend::Kernel;
            }
            match self.bound_devices().first() {
                Some(device) => asked = self.file(device),
                None => return Backend::None,
            }
        }
        let is_stopped = || daemon_processes::stopped_server(&self.path).is_some();
        match probe::statfs(&asked, ANSWER_TIMEOUT, &is_stopped) {
            Outcome::Failed(Errno::NOTCONN | Errno::CONNABORTED) => Backend::DeadDaemon,
            Outcome::NoAnswer => Backend::Stuck,
            Outcome::Done | Outcome::Failed(_) => Backend::Daemon,
        }
    }

    /// Whether the devices are those of mainline's driver in Rust. The type of its file system is
    /// that of the driver in C, the name of its device numbers is its own.
    pub fn is_rust_driver(&self) -> bool {
        let control = std::iter::once("binder-control".to_string());
        let names = control.chain(self.devices());
        let mut found = names.filter_map(|name| self.file(&name).metadata().ok());
        let table = read_to_string("/proc/devices").unwrap_or_default();
        found
            .next()
            .is_some_and(|device| driver_name(&table, major(device.rdev())) == Some("rust_binder"))
    }

    /// A command that runs this program again, with `subcommand`, on this mount.
    pub fn own_command(&self, subcommand: &str) -> Result<Command> {
        let program = std::env::current_exe().doing(|| "finding this program".to_string())?;
        let mut command = Command::new(program);
        command
            .arg("--mount")
            .arg(&self.path)
            .arg("--state-dir")
            .arg(&self.state_dir)
            .arg(subcommand);
        Ok(command)
    }

    /// The names of the devices that the mount offers, sorted; empty if nothing is mounted.
    pub fn devices(&self) -> Vec<String> {
        if !self.is_binderfs() {
            let nodes = nodes_in(&self.path);
            return if nodes.is_empty() {
                self.bound_devices()
            } else {
                nodes
            };
        }
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

    /// As `devices`, without those that were made for pods.
    pub fn devices_of_machine(&self) -> Vec<String> {
        let mut names = self.devices();
        names.retain(|name| pod_of(name).is_none());
        names
    }
}

/// Whether a file system is binderfs of a driver in the kernel: by the name that drivers share, or
/// by that of this project's module.
fn is_kernels(fstype: &str) -> bool {
    matches!(fstype, "binder" | "anybinder")
}

/// The names in `directory` where a file of a daemon is mounted, but for those of binderfs that are
/// no devices.
fn devices_in_table(table: &str, directory: &Path) -> Vec<String> {
    let device = |line: &str| {
        let path = PathBuf::from(unescape(line.split(' ').nth(4)?));
        let fstype = line.split_once(" - ")?.1.split(' ').next()?;
        let name = path.file_name()?.to_str()?;
        let is_other = matches!(name, "binder-control" | "binder_logs" | "features");
        (fstype == "fuse.anybinder" && path.parent()? == directory && !is_other)
            .then(|| name.to_string())
    };
    let mut names: Vec<String> = table.lines().filter_map(device).collect();
    names.sort();
    names.dedup();
    names
}

/// The major number of the devices in `/proc/misc`.
const MISC: u32 = 10;

/// The driver built in, and as Debian's module; this project's module.
const PARAMETERS: [&str; 3] = [
    "/sys/module/binder/parameters/devices",
    "/sys/module/binder_linux/parameters/devices",
    "/sys/module/anybinder/parameters/devices",
];

/// The name that a driver has given to a major number of character devices.
fn driver_name(table: &str, major: u32) -> Option<&str> {
    // Those of block devices follow.
    let lines = table.lines().take_while(|line| !line.starts_with("Block"));
    let mut numbers = lines.filter_map(|line| line.trim().split_once(' '));
    let found = numbers.find(|(number, _)| number.parse() == Ok(major));
    found.map(|(_, name)| name.trim())
}

/// The name of the device with this minor number.
fn misc_name(table: &str, minor: u32) -> Option<&str> {
    table.lines().find_map(|line| {
        let (number, name) = line.trim().split_once(' ')?;
        (number.parse() == Ok(minor)).then(|| name.trim())
    })
}

/// The names of the devices of a driver in the kernel in a directory outside a binderfs, as `/dev`,
/// sorted: the driver makes those that its parameter `devices` names.
fn nodes_in(directory: &Path) -> Vec<String> {
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
    fn devices_of_pods_have_their_number() {
        assert_eq!(pod_of("pod17-hwbinder"), Some("pod17"));
        for name in ["binder", "pod-binder", "podx-binder", "pod1", "my-binder"] {
            assert_eq!(pod_of(name), None);
        }
    }

    #[test]
    fn devices_may_be_bound_one_by_one() {
        const POD: &str = "\
22 1 0:5 / /dev rw - tmpfs tmpfs rw
31 22 0:40 /pod0-hwbinder /dev/binderfs/hwbinder rw - fuse.anybinder anybinder rw
32 22 0:40 /pod0-binder /dev/binderfs/binder rw - fuse.anybinder anybinder rw
33 22 0:40 /pod0-binder /dev/binder rw - fuse.anybinder anybinder rw
34 22 0:40 /features /dev/binderfs/features ro - fuse.anybinder anybinder rw
35 22 0:41 / /dev/binderfs/other rw - fuse.sshfs a:/b rw
";
        let of = |directory: &str| devices_in_table(POD, Path::new(directory));
        assert_eq!(of("/dev/binderfs"), ["binder", "hwbinder"]);
        assert_eq!(of("/dev"), ["binder"]);
        assert!(of("/").is_empty());
    }

    #[test]
    fn a_driver_is_known_by_the_name_of_its_number() {
        let table = "Character devices:\n  1 mem\n234 rust_binder\n235 binder\n\n\
                     Block devices:\n234 other\n  7 loop\n";
        assert_eq!(driver_name(table, 234), Some("rust_binder"));
        assert_eq!(driver_name(table, 235), Some("binder"));
        assert_eq!(driver_name(table, 7), None);
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

    #[test]
    fn no_two_mounts_share_a_record() {
        let name = |path: &str| {
            let dir = Some(PathBuf::from("/nowhere"));
            let mount = Mount::new(Some(PathBuf::from(path)), dir).unwrap();
            mount.state_name("json")
        };
        assert_eq!(name("/a/b"), "a-b.json");
        assert_eq!(name("/a-b"), "a\\x2db.json");
        assert_ne!(name("/a\\x2db"), name("/a-b"));
    }

    #[test]
    fn a_minor_number_has_its_name() {
        let table = "124 binder\n  1 psaux\n229 fuse\n";
        assert_eq!(misc_name(table, 124), Some("binder"));
        assert_eq!(misc_name(table, 1), Some("psaux"));
        assert_eq!(misc_name(table, 24), None);
    }

    #[test]
    fn other_devices_are_none_of_the_driver() {
        assert!(!nodes_in(Path::new("/dev")).contains(&"null".to_string()));
        assert!(nodes_in(Path::new("/nonexistent")).is_empty());
    }
}
