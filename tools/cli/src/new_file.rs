// SPDX-License-Identifier: Apache-2.0
//! A file that a command writes where its user says.
//!
//! Others may write the directory, too, as they may `/tmp`, and have put there a file of theirs,
//! which they could read afterwards, a link to a file of the user's, or a FIFO. So what is there is
//! never opened. The text goes into a new file beside it, which then takes its place, and only the
//! place of a plain file of the same user.
use crate::error::{Doing, Error, Result};
use std::fs::{File, FileType, Metadata};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Only its owner: the file has what programs pass to each other.
    Owner,
    /// Whom the umask lets.
    Usual,
}

/// A file that is removed unless it takes its place.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    beside: PathBuf,
    file: File,
    is_in_place: bool,
}

/// How many names are tried; others may have taken some.
const NAMES: u32 = 100;

fn describe(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a FIFO",
        _ => "no plain file",
    }
}

/// Fails, with advice, if something is there that must not be replaced.
fn check_place(path: &Path) -> Result<()> {
    let found: Metadata = match path.symlink_metadata() {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.doing(|| format!("looking at {}", path.display()))?,
    };
    let what = match found.file_type() {
        kind if !kind.is_file() => format!("is {}", describe(kind)),
        _ if found.uid() == rustix::process::geteuid().as_raw() => return Ok(()),
        _ => format!("belongs to user {}", found.uid()),
    };
    Err(Error::with_advice(
        format!("{} {what}; it is not written.", path.display()),
        "Name another file, or remove it before.",
    ))
}

impl NewFile {
    /// Makes an empty file beside a path.
    pub fn create(path: &Path, readers: Readers) -> Result<NewFile> {
        check_place(path)?;
        let mut options = File::options();
        options.write(true).create_new(true).mode(match readers {
            Readers::Owner => 0o600,
            Readers::Usual => 0o666,
        });
        let mut number = 0;
        loop {
            let name = format!(".anybinder-{}-{number}", std::process::id());
            let beside = path.with_file_name(name);
            number += 1;
            match options.open(&beside) {
                Err(err) if err.kind() == ErrorKind::AlreadyExists && number < NAMES => {}
                made => {
                    return Ok(NewFile {
                        file: made.doing(|| format!("writing {}", path.display()))?,
                        path: path.to_path_buf(),
                        beside,
                        is_in_place: false,
                    })
                }
            }
        }
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.doing(|| format!("writing {}", self.path.display()))
    }

    /// Appends what a file has.
    pub fn copy(&mut self, from: &mut File) -> Result<()> {
        let copied = std::io::copy(from, &mut self.file);
        copied.doing(|| format!("writing {}", self.path.display()))?;
        Ok(())
    }

    /// The file takes its place; it can still be written.
    pub fn take_place(&mut self) -> Result<()> {
        check_place(&self.path)?;
        let moved = std::fs::rename(&self.beside, &self.path);
        moved.doing(|| format!("writing {}", self.path.display()))?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

/// Writes a whole file.
pub fn write(path: &Path, readers: Readers, text: &[u8]) -> Result<()> {
    let mut file = NewFile::create(path, readers)?;
    file.put(text)?;
    file.take_place()
}
