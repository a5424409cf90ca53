// SPDX-License-Identifier: Apache-2.0
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
fn a_directory_that_others_can_write_is_refused() {
    let scratch = Scratch::new("write");
    let path = scratch.file("state");
    Directory::make_private(&path).unwrap();
    chmod(&path, 0o777);
    assert!(error(Directory::open_private(&path)).contains("Other users can write"));
    chmod(&path, 0o1777);
    assert!(error(Directory::open_private(&path)).contains("Other users can write"));
    assert!(Directory::open(&path).unwrap().is_some());
    chmod(&path, 0o700);
    chmod(&scratch.0, 0o770);
    assert!(error(Directory::open_private(&path)).contains("Other users can write"));
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
fn nothing_is_written_through_a_link() {
    let scratch = Scratch::new("through");
    let directory = Directory::open_private(&scratch.0).unwrap().unwrap();
    std::fs::write(scratch.file("precious"), "kept").unwrap();
    for name in ["log", "record"] {
        symlink("precious", scratch.file(name)).unwrap();
    }
    directory.create("log").unwrap().write_all(b"lost").unwrap();
    directory.write("record", "lost").unwrap();
    let kept = std::fs::read_to_string(scratch.file("precious")).unwrap();
    assert_eq!(kept, "kept");
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
