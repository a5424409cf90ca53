// SPDX-License-Identifier: Apache-2.0
//! The user who is charged for what a process registers: the caller's, or of a process in a user
//! namespace the one who made that, as in the daemon. A user with many ids in a namespace so counts
//! as one. A namespace of root, or of the user that runs the service manager, is a user of its own.
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// `linux/nsfs.h`: `_IO(0xb7, ...)`.
const NS_GET_PARENT: libc::Ioctl = 0xb702;
const NS_GET_OWNER_UID: libc::Ioctl = 0xb704;

/// The kernel allows 32 levels.
const MAX_LEVELS: usize = 33;

fn parent(namespace: &File) -> Option<File> {
    // SAFETY: it takes no argument and returns a descriptor or -1.
    let fd = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_PARENT) };
    // SAFETY: a descriptor that nothing else owns.
    (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })
}

fn owner(namespace: &File) -> Option<u32> {
    let mut uid: libc::uid_t = 0;
    // SAFETY: a live integer.
    let outcome = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_OWNER_UID, &raw mut uid) };
    (outcome == 0).then_some(uid)
}

/// Namespaces are numbered from 0xf0000000 on, where there are no users.
fn inode(namespace: &File) -> Option<u32> {
    namespace.metadata().ok()?.ino().try_into().ok()
}

/// The number of our namespace, which this process never leaves.
fn ours() -> Option<u32> {
    static OURS: OnceLock<u32> = OnceLock::new();
    if OURS.get().is_none() {
        let _ = OURS.set(inode(&File::open("/proc/self/ns/user").ok()?)?);
    }
    OURS.get().copied()
}

/// The outermost namespace below ours that the process is in: its number and its maker. None: it is
/// in ours, or that cannot be found out.
fn outermost(pid: i32) -> Option<(u32, u32)> {
    let ours = ours()?;
    let mut namespace = File::open(format!("/proc/{pid}/ns/user")).ok()?;
    let mut found = None;
    for _ in 0..MAX_LEVELS {
        let number = inode(&namespace)?;
        if number == ours {
            return found;
        }
        found = Some((number, owner(&namespace)?));
        namespace = parent(&namespace)?;
    }
    None
}

/// Users without a limit of their own.
pub fn is_privileged(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::getuid().as_raw()
}

/// * `pid`: of the caller, which waits for its reply; 0 if it has none here
pub fn charged(pid: i32, uid: u32) -> u32 {
    match pid {
        0 => uid,
        pid => match outermost(pid) {
            Some((number, maker)) if is_privileged(maker) => number,
            Some((_, maker)) => maker,
            None => uid,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_namespace_counts_as_its_user() {
        assert_eq!(charged(std::process::id() as i32, 7), 7);
        assert_eq!((charged(0, 7), charged(i32::MAX, 7)), (7, 7));
    }
}
