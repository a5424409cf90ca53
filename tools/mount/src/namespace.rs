// SPDX-License-Identifier: Apache-2.0
//! Mount namespaces: how a program that knows only `/dev/binderfs` gets any mount we like.
//!
//! Binder clients look at fixed paths: `/dev/binderfs/...` and `/dev/binder`. To point an
//! unmodified program at another mount, the program runs in a mount namespace of its own, where
//! `/dev` is a small tmpfs that holds everything the real `/dev` holds plus our mount as
//! `binderfs` and links to its devices. Nothing outside that program sees any of it.
//!
//! A user without CAP_SYS_ADMIN may do the same inside a user namespace. FUSE refuses callers
//! outside the user namespace of its daemon, so a home brought up without privileges lives with
//! all its clients in one user namespace (`found`), which later commands join (`join`). Being the
//! owner of that namespace also gives the daemon the right to read its clients' memory where the
//! system restricts ptrace to descendants (Yama).
//!
//! All of this changes the calling process, and is allowed only while it has one thread.
use crate::place::{Note, Place};
use crate::trouble::{Doing, Result, Trouble};
use rustix::fs::{Mode, OFlags, CWD};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Pid, PidfdFlags};
use rustix::thread::{CapabilitySet, ThreadNameSpaceType, UnshareFlags};
use std::fs::{self, DirEntry};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};

const DEV: &str = "/dev";

/// What the daemon needs inside a user namespace: to mount, and to read its clients' memory.
const DAEMON_CAPABILITIES: [CapabilitySet; 2] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_PTRACE];

/// May this process mount in its present namespaces?
pub fn can_mount() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

fn unshare(flags: UnshareFlags) -> Result<()> {
    // SAFETY: the flags are namespaces only; the file descriptor table stays shared.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|err| {
        Trouble::with_advice(
            format!("This system does not let you make a namespace: {err}."),
            "Run this as root, or let an administrator allow user namespaces \
             (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone).",
        )
    })
}

/// A mount namespace of our own, from which no mount leaks out.
fn unshare_mounts() -> Result<()> {
    if can_mount() {
        unshare(UnshareFlags::NEWNS)?;
    } else {
        unshare_user(UnshareFlags::NEWNS)?;
    }
    let quiet = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", quiet).doing(|| "making the mounts private".to_string())
}

/// A user namespace where we are who we were, and hold every capability over it.
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

/// Makes the namespaces of a home without privileges and moves there.
pub fn found() -> Result<()> {
    unshare_mounts()
}

/// Lets the next program that is started keep what the daemon needs; `revoke` ends it.
pub fn grant_daemon_capabilities() -> Result<()> {
    let doing = || "handing capabilities to the daemon".to_string();
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

/// No program started from now on gets a capability from us.
pub fn revoke_capabilities() -> Result<()> {
    rustix::thread::clear_ambient_capability_set().doing(|| "taking capabilities back".to_string())
}

/// Moves into the namespaces of a home that has its own; does nothing for one that has not.
pub fn join(note: &Note) -> Result<()> {
    if !note.private || in_mount_namespace_of(note.daemon.pid) {
        return Ok(());
    }
    let doing = || {
        format!(
            "joining the namespaces of the daemon, process {}",
            note.daemon.pid
        )
    };
    let here = std::env::current_dir();
    let pid = Pid::from_raw(note.daemon.pid as i32).expect("a note holds a pid above 0");
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).doing(doing)?;
    let both = ThreadNameSpaceType::USER | ThreadNameSpaceType::MOUNT;
    rustix::thread::move_into_thread_name_spaces(pidfd.as_fd(), both).doing(doing)?;
    // Entering a mount namespace moves us to its root.
    if let Ok(here) = here {
        let _ = std::env::set_current_dir(here);
    }
    Ok(())
}

fn in_mount_namespace_of(pid: u32) -> bool {
    let theirs = fs::read_link(format!("/proc/{pid}/ns/mnt"));
    let ours = fs::read_link("/proc/self/ns/mnt");
    matches!((theirs, ours), (Ok(theirs), Ok(ours)) if theirs == ours)
}

/// Do the usual paths name the devices of this place already?
fn is_usual(place: &Place) -> bool {
    let same = |usual: &str, ours: &Path| match (fs::metadata(usual), fs::metadata(ours)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    };
    if place.mount != Path::new(crate::place::DEFAULT_MOUNT) {
        return false;
    }
    place
        .devices()
        .iter()
        .all(|name| same(&format!("{DEV}/{name}"), &place.device(name)))
}

/// Only `/dev/binderfs` has to be right: enough for a program known to look nowhere else.
pub fn enter_binderfs(place: &Place) -> Result<()> {
    if place.mount == Path::new(crate::place::DEFAULT_MOUNT) {
        return Ok(());
    }
    enter(place)
}

/// From here on `/dev/binderfs` is the mount of the place, and `/dev/binder` and the others are
/// links to its devices, for this process and those it starts.
pub fn enter(place: &Place) -> Result<()> {
    if is_usual(place) {
        return Ok(());
    }
    let devices = place.devices();
    unshare_mounts()?;
    let mount = open_path(&place.mount)?;
    let old_dev = open_path(Path::new(DEV))?;
    rustix::mount::mount(
        "tmpfs",
        DEV,
        "tmpfs",
        MountFlags::NOSUID,
        c"mode=755,size=1m",
    )
    .doing(|| format!("mounting a private {DEV}"))?;

    let binderfs = Path::new(crate::place::DEFAULT_MOUNT);
    fs::create_dir(binderfs).doing(|| format!("making {}", binderfs.display()))?;
    rustix::mount::mount_bind_recursive(through(&mount), binderfs).doing(|| {
        format!(
            "binding {} to {}",
            place.mount.display(),
            binderfs.display()
        )
    })?;
    for name in &devices {
        symlink(Path::new("binderfs").join(name), Path::new(DEV).join(name))
            .doing(|| format!("linking {DEV}/{name}"))?;
    }

    let entries = fs::read_dir(through(&old_dev)).doing(|| format!("listing {DEV}"))?;
    for entry in entries.flatten() {
        carry_over(&entry).doing(|| format!("carrying over {DEV}/{:?}", entry.file_name()))?;
    }
    Ok(())
}

/// Puts an entry of the old `/dev` into the new one, unless something of ours has its name.
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
