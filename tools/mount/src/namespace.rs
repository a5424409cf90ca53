// SPDX-License-Identifier: Apache-2.0
//! Mount namespaces, for programs that know only `/dev/binderfs` and for mounts without root.
//!
//! Binder clients open fixed paths: `/dev/binderfs/...` and `/dev/binder`. To point an
//! unmodified program at another mount, the program runs in a mount namespace of its own, where
//! `/dev` is a small tmpfs with everything of the real `/dev`, the mount as `binderfs`, and
//! links to its devices. Nothing outside that program sees any of it.
//!
//! A user without CAP_SYS_ADMIN can do the same inside a user namespace. FUSE refuses callers
//! outside the user namespace of its daemon, so a daemon started without privileges shares one
//! user namespace (`unshare_all`) with its clients, which later commands enter (`join`). Owning
//! that namespace also gives the daemon the right to read its clients' memory where the
//! system restricts ptrace to descendants (Yama).
//!
//! All of this changes the calling process, and is allowed only while it has one thread.
use crate::mount::{Mount, DEFAULT_PATH};
use crate::process::Running;
use anybinder_cli::error::{Doing, Error, Result};
use rustix::fs::{Mode, OFlags, CWD};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{pidfd_open, PidfdFlags};
use rustix::thread::{CapabilitySet, ThreadNameSpaceType, UnshareFlags};
use std::ffi::CString;
use std::fs::{self, DirEntry};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};

const DEV: &str = "/dev";
/// In a private `/dev`: files that stand in place of others.
const LAYER: &str = ".anybinder";

/// The daemon needs these inside a user namespace: to mount, and to read its clients' memory.
const DAEMON_CAPABILITIES: [CapabilitySet; 2] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_PTRACE];

/// Whether this process may mount in its present namespaces.
pub fn can_mount() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

fn unshare(flags: UnshareFlags) -> Result<()> {
    // SAFETY: the flags are namespaces only; the file descriptor table stays shared.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|err| {
        Error::with_advice(
            format!("This system does not allow you to make a namespace: {err}."),
            "Run this as root, or ask an administrator to allow user namespaces \
             (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone).",
        )
    })
}

/// Moves this process into a new mount namespace, from which no mount propagates out; without the
/// right to mount, into a new user namespace as well. Fails where the system forbids that.
pub fn unshare_all() -> Result<()> {
    if can_mount() {
        unshare(UnshareFlags::NEWNS)?;
    } else {
        unshare_user(UnshareFlags::NEWNS)?;
    }
    receive_only().doing(|| "making the mounts private".to_string())
}

/// From this call on no mount of this namespace propagates out of it. In a plain chroot `/` is no
/// mount point, and the mount that it is part of cannot be named: then this is done at the root of
/// the namespace, and the process returns to its own root.
fn receive_only() -> rustix::io::Result<()> {
    let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    match rustix::mount::mount_change("/", flags) {
        Err(Errno::INVAL) => {}
        other => return other,
    }
    let open = |path| rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let (root, here) = (open("/")?, open(".")?);
    let ourselves = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    // Entering a mount namespace, also the present one, moves a process to its root.
    rustix::thread::move_into_thread_name_spaces(ourselves.as_fd(), ThreadNameSpaceType::MOUNT)?;
    let changed = rustix::mount::mount_change("/", flags);
    rustix::process::fchdir(&root)?;
    rustix::process::chroot(".")?;
    rustix::process::fchdir(&here)?;
    changed
}

/// A new user namespace in which uid and gid stay the same, with every capability over it.
fn unshare_user(more: UnshareFlags) -> Result<()> {
    let uid = rustix::process::geteuid();
    let gid = rustix::process::getegid();
    unshare(UnshareFlags::NEWUSER | more)?;
    let maps = [
        ("setgroups", "deny".to_string()),
        ("uid_map", format!("{uid} {uid} 1")),
        ("gid_map", format!("{gid} {gid} 1")),
    ];
    for (file, text) in maps {
        let path = format!("/proc/self/{file}");
        fs::write(&path, text).doing(|| format!("writing {path}"))?;
    }
    Ok(())
}

/// From this call on programs that this one starts inherit the capabilities that the daemon needs,
/// until `revoke_capabilities`. Only inside a user namespace made by `unshare_all`.
pub fn grant_daemon_capabilities() -> Result<()> {
    let doing = || "passing capabilities to the daemon".to_string();
    let mut sets = rustix::thread::capabilities(None).doing(doing)?;
    for capability in DAEMON_CAPABILITIES {
        sets.inheritable |= capability;
    }
    rustix::thread::set_capabilities(None, sets).doing(doing)?;
    for capability in DAEMON_CAPABILITIES {
        rustix::thread::configure_capability_in_ambient_set(capability, true).doing(doing)?;
    }
    Ok(())
}

/// From this call on programs that this one starts inherit no capability.
pub fn revoke_capabilities() -> Result<()> {
    rustix::thread::clear_ambient_capability_set().doing(|| "revoking capabilities".to_string())
}

/// Moves this process from outside into the user and mount namespaces of a daemon that has its own,
/// and keeps the working directory.
pub fn join(daemon: &Running) -> Result<()> {
    let doing = || {
        format!(
            "joining the namespaces of the daemon, process {}",
            daemon.pid
        )
    };
    let here = std::env::current_dir();
    let both = ThreadNameSpaceType::USER | ThreadNameSpaceType::MOUNT;
    rustix::thread::move_into_thread_name_spaces(daemon.as_fd(), both).doing(doing)?;
    // Entering a mount namespace moves us to its root.
    if let Ok(here) = here {
        let _ = std::env::set_current_dir(here);
    }
    Ok(())
}

/// The mount namespace of this process: the inode of its file in `/proc`. That of the daemon cannot
/// be asked for from inside its user namespace, where it has more capabilities than its clients.
pub fn mount_namespace() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/mnt").ok()?.ino())
}

/// What `anybinder run` tells its program about where a nested command keeps its records: none are
/// there.
pub const STATE_DIR_VARIABLE: &str = "ANYBINDER_STATE_DIR";
const INSIDE: &str = "inside";

/// The state directory of the commands inside `anybinder run`.
pub fn state_dir_inside(mount: &Mount) -> PathBuf {
    mount.state_file(INSIDE)
}

/// Whether this is a command inside `anybinder run`.
pub fn is_in_run() -> bool {
    let directory = std::env::var_os(STATE_DIR_VARIABLE);
    directory.is_some_and(|path| Path::new(&path).extension() == Some(INSIDE.as_ref()))
}

/// Whether the default paths already lead to the devices of this mount.
fn is_default(mount: &Mount) -> bool {
    let same = |default: &str, ours: &Path| match (fs::metadata(default), fs::metadata(ours)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    };
    // The kernel's devices without a binderfs.
    if mount.path == Path::new(DEV) {
        return true;
    }
    if !same(DEFAULT_PATH, &mount.path) {
        return false;
    }
    mount
        .devices()
        .iter()
        .all(|name| same(&format!("{DEV}/{name}"), &mount.file(name)))
}

/// Where the mount is after `enter`.
pub fn path_inside(mount: &Mount) -> &Path {
    match mount.path == Path::new(DEV) {
        true => &mount.path,
        false => Path::new(DEFAULT_PATH),
    }
}

/// Moves this process into a mount namespace where `/dev/binderfs` is this mount, and `/dev/binder`
/// and the others are links to its devices. Does nothing, and returns false, if the paths lead
/// there already.
pub fn enter(mount: &Mount) -> Result<bool> {
    if is_default(mount) {
        return Ok(false);
    }
    let devices = mount.devices();
    unshare_all()?;
    let ours = open_path(&mount.path)?;
    let old_dev = open_path(Path::new(DEV))?;
    rustix::mount::mount(
        "tmpfs",
        DEV,
        "tmpfs",
        MountFlags::NOSUID,
        c"mode=755,size=1m",
    )
    .doing(|| format!("mounting a private {DEV}"))?;

    let binderfs = Path::new(DEFAULT_PATH);
    fs::create_dir(binderfs).doing(|| format!("making {}", binderfs.display()))?;
    rustix::mount::mount_bind_recursive(through(&ours), binderfs)
        .doing(|| format!("binding {} to {}", mount.path.display(), binderfs.display()))?;
    for name in &devices {
        symlink(Path::new("binderfs").join(name), Path::new(DEV).join(name))
            .doing(|| format!("linking {DEV}/{name}"))?;
    }

    let entries = fs::read_dir(through(&old_dev)).doing(|| format!("listing {DEV}"))?;
    for entry in entries.flatten().filter(|one| one.file_name() != LAYER) {
        carry_over(&entry)
            .doing(|| format!("binding {} into a private {DEV}", entry.path().display()))?;
    }
    Ok(true)
}

/// Lets a file have another text in the namespace of `enter`. In place of one that does not exist,
/// its directory gets a layer with it, and cannot be written to there.
///
/// * `path`: of a file in a directory that exists
pub fn place_file(path: &Path, text: &str) -> std::io::Result<()> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let layer = Path::new(DEV).join(LAYER);
    fs::create_dir(&layer)?;
    let file = layer.join(name);
    fs::write(&file, text)?;
    if path.exists() {
        return Ok(rustix::mount::mount_bind(&file, path)?);
    }
    let layers = format!("lowerdir={}:{}", layer.display(), directory.display());
    let layers = CString::new(layers)?;
    let flags = MountFlags::RDONLY;
    let mounted = rustix::mount::mount("overlay", directory, "overlay", flags, layers.as_c_str());
    Ok(mounted?)
}

/// Binds an entry of the old `/dev` into the new one, unless the new one has that name already.
fn carry_over(entry: &DirEntry) -> std::io::Result<()> {
    let target = Path::new(DEV).join(entry.file_name());
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return symlink(fs::read_link(entry.path())?, &target);
    }
    if kind.is_dir() {
        fs::create_dir(&target)?;
    } else {
        fs::write(&target, "")?;
    }
    Ok(rustix::mount::mount_bind_recursive(entry.path(), &target)?)
}

fn open_path(path: &Path) -> Result<OwnedFd> {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .doing(|| format!("opening {}", path.display()))
}

/// The path to an open directory that still works when something is mounted over it.
fn through(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}
