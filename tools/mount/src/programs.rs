// SPDX-License-Identifier: Apache-2.0
//! Which programs the processes of a daemon execute. The server is replaced by a hand-over, the
//! supervisor only by a restart, and a package replaces the file under both.
use crate::generation::Generation;
use crate::process::{command_name, DAEMON};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is at the path of the server's program now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    TheSame,
    Another,
    None,
}

#[derive(Debug)]
pub struct Programs {
    /// Where the server's program was when it was started.
    pub path: PathBuf,
    pub installed: Installed,
    /// The supervisor executes the same file as the server.
    pub supervisor_is_same: bool,
}

/// What the kernel adds to the path of a file that has no name any more.
const DELETED: &[u8] = b" (deleted)";

fn without_mark(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(
        bytes.strip_suffix(DELETED).unwrap_or(bytes),
    ))
}

/// A daemon of this user or of root. That of another user may name any process, and its files may
/// never answer.
fn is_trusted(pid: u32) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|data| data.uid());
    command_name(pid) == DAEMON && owner.is_ok_and(|owner| owner == 0 || owner == user)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

impl Programs {
    /// None: the processes cannot be looked at, being another user's or in another container.
    pub fn of(now: &Generation) -> Option<Programs> {
        if !is_trusted(now.server) || !is_trusted(now.supervisor) {
            return None;
        }
        let program = |pid: u32| PathBuf::from(format!("/proc/{pid}/exe"));
        let server = program(now.server).metadata().ok()?;
        let supervisor = program(now.supervisor).metadata().ok()?;
        let path = without_mark(&program(now.server).read_link().ok()?);
        let mut seen = PathBuf::from(format!("/proc/{}/root", now.server)).into_os_string();
        seen.push(&path);
        Some(Programs {
            installed: match Path::new(&seen).metadata() {
                Ok(data) if is_same(&data, &server) => Installed::TheSame,
                Ok(_) => Installed::Another,
                Err(_) => Installed::None,
            },
            supervisor_is_same: is_same(&supervisor, &server),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_removed_file_is_not_of_its_path() {
        let of = |path: &str| without_mark(Path::new(path)).display().to_string();
        assert_eq!(of("/usr/bin/anybinderd (deleted)"), "/usr/bin/anybinderd");
        assert_eq!(of("/usr/bin/anybinderd"), "/usr/bin/anybinderd");
    }

    #[test]
    fn this_program_is_no_daemon() {
        let now = Generation {
            server: std::process::id(),
            supervisor: std::process::id(),
            ..Generation::default()
        };
        assert!(Programs::of(&now).is_none());
    }
}
