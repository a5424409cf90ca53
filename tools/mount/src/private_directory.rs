// SPDX-License-Identifier: Apache-2.0
//! Directories that no other user can change, and this user's files in them.
//!
//! A path is opened one component at a time, each relative to the directory before it, so that
//! what was checked is what is used. A component must be a directory of root or of this user that
//! no other user can write; in a directory that every user can write (`/tmp`) the sticky bit must
//! be set, and only entries of this user or root are accepted. A symbolic link is followed only
//! out of a directory in which no other user could have placed it.
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, CWD};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The kernel follows as many links in one path.
const LINKS_MAX: usize = 40;
/// A record is some hundred bytes long.
const RECORD_SIZE_MAX: u64 = 64 * 1024;
const GROUP_OR_OTHERS_WRITE: RawMode = 0o022;
const STICKY: RawMode = 0o1000;

const OWN_DIRECTORY: &str = "Another user may have made it to interfere with this command. \
     Set XDG_RUNTIME_DIR to a directory of your own, or name directories of your own with \
     --state-dir and --mount.";

/// An open directory that passed the checks of this module.
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
}

/// The users whose directories are trusted.
struct Owners {
    user: u32,
    /// The owner of `/`, which can replace every directory anyway. In a user namespace without a
    /// mapping of root it is the overflow uid, as which other users appear too; entries of a
    /// sticky directory that belong to it are therefore not accepted.
    system: u32,
}

impl Owners {
    fn accept(&self, stat: &Stat, in_sticky: bool) -> bool {
        let uid = stat.st_uid;
        uid == self.user || uid == 0 || (uid == self.system && !in_sticky)
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode as RawMode)
}

fn others_write(stat: &Stat) -> bool {
    stat.st_mode as RawMode & GROUP_OR_OTHERS_WRITE != 0
}

fn is_sticky(stat: &Stat) -> bool {
    stat.st_mode as RawMode & STICKY != 0
}

fn check_owner(path: &Path, stat: &Stat, owners: &Owners, in_sticky: bool) -> Result<()> {
    if owners.accept(stat, in_sticky) {
        return Ok(());
    }
    Err(Error::with_advice(
        format!("{} belongs to user {}.", path.display(), stat.st_uid),
        OWN_DIRECTORY,
    ))
}

/// Directories that were accepted, by device, inode and mode. They stay so when this process enters
/// a user namespace, where root appears as every other user that has no mapping.
static ACCEPTED: Mutex<BTreeSet<(u64, u64, u32)>> = Mutex::new(BTreeSet::new());

/// Fails, with advice, if another user could change the directory, unless it was accepted before.
fn judge(path: &Path, stat: &Stat, owners: &Owners, in_sticky: bool) -> Result<()> {
    let mut accepted = ACCEPTED.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = (stat.st_dev as u64, stat.st_ino as u64, stat.st_mode as u32);
    if !accepted.contains(&identity) {
        check_directory(path, stat, owners, in_sticky)?;
        accepted.insert(identity);
    }
    Ok(())
}

fn check_directory(path: &Path, stat: &Stat, owners: &Owners, in_sticky: bool) -> Result<()> {
    let shown = path.display();
    if kind(stat) != FileType::Directory {
        return Err(Error::with_advice(
            format!("{shown} is not a directory."),
            "Remove it, or name another directory with --state-dir or --mount.",
        ));
    }
    check_owner(path, stat, owners, in_sticky)?;
    if others_write(stat) && !is_sticky(stat) {
        return Err(Error::with_advice(
            format!(
                "Other users can write to the directory {shown} (its mode is {:o}).",
                stat.st_mode as RawMode & 0o7777
            ),
            format!("If it is yours, `chmod go-w {shown}`; else name another directory."),
        ));
    }
    Ok(())
}

fn open_at(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

fn push_components(rest: &mut Vec<OsString>, path: &Path) {
    rest.extend(
        path.components()
            .rev()
            .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir))
            .map(|component| component.as_os_str().to_owned()),
    );
}

/// The walk along a path: the directory that was reached, and what is left of the path.
struct Walk {
    owners: Owners,
    fd: OwnedFd,
    stat: Stat,
    path: PathBuf,
    rest: Vec<OsString>,
    links: usize,
}

impl Walk {
    fn new(path: &Path) -> Result<Self> {
        let doing = || "looking at /".to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, "/", flags, Mode::empty()).doing(doing)?;
        let stat = rustix::fs::fstat(&fd).doing(doing)?;
        let owners = Owners {
            user: rustix::process::geteuid().as_raw(),
            system: stat.st_uid,
        };
        judge(Path::new("/"), &stat, &owners, false)?;
        let mut rest = Vec::new();
        push_components(&mut rest, path);
        Ok(Walk {
            owners,
            fd,
            stat,
            path: PathBuf::from("/"),
            rest,
            links: 0,
        })
    }

    /// Opens an entry of the directory that was reached; makes a directory if there is none and
    /// `make` gives its mode. None if there is none.
    fn open(&self, name: &OsStr, make: Option<Mode>) -> rustix::io::Result<Option<OwnedFd>> {
        match (open_at(&self.fd, name), make) {
            (Err(Errno::NOENT), None) => return Ok(None),
            (Err(Errno::NOENT), Some(mode)) => match rustix::fs::mkdirat(&self.fd, name, mode) {
                // An entry that was made in the meantime is checked as any other.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(err) => return Err(err),
            },
            (other, _) => return other.map(Some),
        }
        open_at(&self.fd, name).map(Some)
    }

    /// Continues at the target of a symbolic link.
    fn follow(&mut self, path: &Path, link: &OwnedFd, stat: &Stat) -> Result<()> {
        let shown = path.display();
        if others_write(&self.stat) {
            return Err(Error::with_advice(
                format!("{shown} is a symbolic link in a directory that other users can write."),
                OWN_DIRECTORY,
            ));
        }
        check_owner(path, stat, &self.owners, false)?;
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Error::new(format!("{shown}: too many symbolic links.")));
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new())
            .doing(|| format!("reading the link {shown}"))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            let start = Walk::new(Path::new("/"))?;
            (self.fd, self.stat, self.path) = (start.fd, start.stat, start.path);
        }
        push_components(&mut self.rest, &target);
        Ok(())
    }

    /// One component further. False: it does not exist, and `make` is None.
    fn step(&mut self, name: &OsStr, make: Option<Mode>) -> Result<bool> {
        let path = match name == ".." {
            // `path` has no links, so that its parent is that of the directory.
            true => self.path.parent().unwrap_or(&self.path).to_path_buf(),
            false => self.path.join(name),
        };
        let opened = self.open(name, make).map_err(|err| {
            let verb = if make.is_some() { "made" } else { "opened" };
            Error::with_advice(
                format!("The directory {} cannot be {verb}: {err}.", path.display()),
                "Run this as a user who may, or name another directory \
                 with --state-dir or --mount.",
            )
            .of(Kind::of_io(err.kind()))
        })?;
        let Some(fd) = opened else { return Ok(false) };
        let stat = rustix::fs::fstat(&fd).doing(|| format!("looking at {}", path.display()))?;
        if kind(&stat) == FileType::Symlink {
            self.follow(&path, &fd, &stat)?;
            return Ok(true);
        }
        let in_sticky = others_write(&self.stat) && name != "..";
        judge(&path, &stat, &self.owners, in_sticky)?;
        (self.fd, self.stat, self.path) = (fd, stat, path);
        Ok(true)
    }
}

fn walk(path: &Path, make: Option<Mode>) -> Result<Option<(Directory, Stat)>> {
    // What does not exist nobody has made, whoever may write to the directories on the way.
    let is_missing = |err: &std::io::Error| err.kind() == std::io::ErrorKind::NotFound;
    if make.is_none() && path.metadata().is_err_and(|err| is_missing(&err)) {
        return Ok(None);
    }
    let mut walk = Walk::new(path)?;
    while let Some(name) = walk.rest.pop() {
        if !walk.step(&name, make)? {
            return Ok(None);
        }
    }
    let directory = Directory {
        fd: walk.fd,
        path: walk.path,
    };
    Ok(Some((directory, walk.stat)))
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Directory {
    /// Opens a directory; None if it does not exist. Fails, with advice, if another user could
    /// change it or a directory above it.
    ///
    /// * `path`: absolute
    pub fn open(path: &Path) -> Result<Option<Self>> {
        Ok(walk(path, None)?.map(|(directory, _)| directory))
    }

    /// As `open`, but makes what is missing: for this user alone, or for all to see if this is
    /// root.
    pub fn open_or_make(path: &Path) -> Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let mode = Mode::from_raw_mode(if is_root { 0o755 } else { 0o700 });
        let opened = walk(path, Some(mode))?;
        Ok(opened.expect("what is missing is made").0)
    }

    /// As `open`, for a directory that holds files of this user only.
    pub fn open_private(path: &Path) -> Result<Option<Self>> {
        walk(path, None)?.map(check_private).transpose()
    }

    /// As `open_private`, but makes what is missing, for this user alone.
    pub fn make_private(path: &Path) -> Result<Self> {
        let opened = walk(path, Some(Mode::RWXU))?;
        check_private(opened.expect("what is missing is made"))
    }

    fn doing<'a>(&'a self, verb: &'a str, name: &'a str) -> impl Fn() -> String + Copy + 'a {
        move || format!("{verb} {}", self.path.join(name).display())
    }

    /// The text of a file; None if there is none. Fails, with advice, unless it is a plain file of
    /// this user that no other user can write.
    pub fn read(&self, name: &str) -> Result<Option<String>> {
        let doing = self.doing("reading", name);
        // A FIFO would block the open without NONBLOCK.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.not_a_file(name, "is a symbolic link")),
            other => other.doing(doing)?,
        };
        self.check_file(name, &rustix::fs::fstat(&fd).doing(doing)?)?;
        let mut text = String::new();
        File::from(fd)
            .take(RECORD_SIZE_MAX)
            .read_to_string(&mut text)
            .doing(doing)?;
        Ok(Some(text))
    }

    fn check_file(&self, name: &str, stat: &Stat) -> Result<()> {
        if kind(stat) != FileType::RegularFile {
            return Err(self.not_a_file(name, "is not a plain file"));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(self.not_a_file(name, &format!("belongs to user {}", stat.st_uid)));
        }
        if others_write(stat) {
            return Err(self.not_a_file(name, "can be written by other users"));
        }
        Ok(())
    }

    fn not_a_file(&self, name: &str, what: &str) -> Error {
        let path = self.path.join(name);
        Error::with_advice(
            format!("{} {what}; it is not used.", path.display()),
            format!("Look at what it is, and remove it: rm {}", path.display()),
        )
    }

    /// Replaces a file: the new one appears complete, or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let doing = self.doing("writing", name);
        let partial = format!("{name}.{}", std::process::id());
        let outcome = self
            .create(&partial)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| Ok(rustix::fs::renameat(&self.fd, &partial, &self.fd, name)?));
        if outcome.is_err() {
            self.remove(&partial);
        }
        outcome.doing(doing)
    }

    /// An empty file in place of the one that was there, opened for appending.
    pub fn create(&self, name: &str) -> std::io::Result<File> {
        self.remove(name);
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.fd, name, flags, mode)?.into())
    }

    /// A file opened for appending, made if there is none. Fails as `read` does.
    pub fn append(&self, name: &str) -> Result<File> {
        let doing = self.doing("writing", name);
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = match rustix::fs::openat(&self.fd, name, flags, mode) {
            Err(Errno::LOOP) => return Err(self.not_a_file(name, "is a symbolic link")),
            other => other.doing(doing)?,
        };
        self.check_file(name, &rustix::fs::fstat(&fd).doing(doing)?)?;
        Ok(fd.into())
    }

    /// Removes an empty directory; no error if there is none, or if it is in use.
    pub fn remove_directory(&self, name: &OsStr) {
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
    }

    /// Removes a file; a missing one is no error.
    pub fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
    }
}

fn check_private((directory, stat): (Directory, Stat)) -> Result<Directory> {
    let shown = directory.path.display();
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Error::with_advice(
            format!("{shown} belongs to user {}.", stat.st_uid),
            OWN_DIRECTORY,
        ));
    }
    if others_write(&stat) {
        return Err(Error::with_advice(
            format!("Other users can write to the directory {shown}."),
            "Name a directory of your own with --state-dir.",
        ));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::fs::{symlink, PermissionsExt};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("anybinder-directory-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(name);
            std::fs::create_dir(&path).unwrap();
            chmod(&path, 0o755);
            Scratch(path)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn error<T>(outcome: Result<T>) -> String {
        outcome.err().expect("an error").to_string()
    }

    #[test]
    fn what_is_missing_is_made_for_this_user_alone() {
        let scratch = Scratch::new("made");
        let path = scratch.file("a/b");
        assert!(Directory::open_private(&path).unwrap().is_none());
        Directory::make_private(&path).unwrap();
        for path in [&path, &scratch.file("a")] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700);
        }
        assert!(Directory::open_private(&path).unwrap().is_some());
    }

    #[test]
    fn a_link_is_followed_only_where_no_other_user_could_place_it() {
        let scratch = Scratch::new("link");
        let target = scratch.file("target");
        let link = scratch.file("link");
        Directory::make_private(&target).unwrap();
        symlink(&target, &link).unwrap();
        assert!(Directory::open_private(&link).unwrap().is_some());
        symlink("../link/./", scratch.file("target/relative")).unwrap();
        let relative = scratch.file("target/relative");
        assert_eq!(Directory::open(&relative).unwrap().unwrap().path, target);
        chmod(&scratch.0, 0o1777);
        assert!(error(Directory::open_private(&link)).contains("symbolic link"));
        chmod(&scratch.0, 0o755);
        symlink(scratch.file("loop"), scratch.file("loop")).unwrap();
        assert!(error(Directory::open(&scratch.file("loop"))).contains("too many"));
    }

    #[test]
    fn a_file_in_the_way_is_no_directory() {
        let scratch = Scratch::new("file");
        std::fs::write(scratch.file("file"), "").unwrap();
        let outcome = Directory::make_private(&scratch.file("file/state"));
        assert!(error(outcome).contains("is not a directory"));
    }

    #[test]
    fn only_plain_files_of_this_user_are_read() {
        let scratch = Scratch::new("read");
        let directory = Directory::open_private(&scratch.0).unwrap().unwrap();
        assert!(directory.read("a").unwrap().is_none());
        directory.write("a", "text").unwrap();
        assert_eq!(directory.read("a").unwrap().as_deref(), Some("text"));
        symlink("a", scratch.file("link")).unwrap();
        assert!(error(directory.read("link")).contains("symbolic link"));
        let fifo = CString::new(scratch.file("fifo").to_str().unwrap()).unwrap();
        // SAFETY: the path is a string that ends with NUL.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        assert!(error(directory.read("fifo")).contains("not a plain file"));
        chmod(&scratch.file("a"), 0o666);
        assert!(error(directory.read("a")).contains("written by other users"));
    }

    #[test]
    fn directories_of_other_users_are_refused() {
        let owners = Owners {
            user: 1000,
            system: 65534,
        };
        let mut stat = rustix::fs::stat("/").unwrap();
        for (uid, in_sticky, accepted) in [
            (1000, true, true),
            (0, true, true),
            (65534, false, true),
            (65534, true, false),
            (1001, false, false),
        ] {
            stat.st_uid = uid;
            let verdict = check_directory(Path::new("/x"), &stat, &owners, in_sticky);
            assert_eq!(verdict.is_ok(), accepted, "{uid} {in_sticky}");
        }
    }
}
