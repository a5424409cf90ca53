// SPDX-License-Identifier: Apache-2.0
//! An instance of tracefs: buffers and settings of our own, so that other tracing is neither
//! disturbed nor seen. This is the only place that makes one.
//!
//! An instance outlives the program that made it, so one that is killed leaves it behind, with its
//! buffers and with events switched on that cost time. Dropping an `Instance` removes it; the next
//! one to be made removes those that were left. The kernel refuses to remove an instance of which a
//! file is open, so each keeps one open, and no process numbers, which another may have by then, or
//! which mean something else in a container, are asked.
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const DIRECTORIES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const PREFIX: &str = "anybinder-";
/// How often an instance is made anew, if others take it for left behind before a file is open.
const TRIES: u32 = 10;

static NEXT: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    /// Open as long as the instance is in use.
    guard: Option<File>,
}

fn find() -> Result<&'static Path> {
    let found = DIRECTORIES.iter().map(Path::new);
    let mut found = found.filter(|dir| dir.join("instances").exists());
    found.next().ok_or_else(|| {
        let denied = DIRECTORIES.iter().any(|dir| {
            std::fs::read_dir(dir).is_err_and(|err| err.kind() == ErrorKind::PermissionDenied)
        });
        match denied {
            true => Error::with_advice(
                "You have no permission to use tracefs, where the kernel's driver tells of calls.",
                "Run this as root.",
            )
            .of(Kind::Denied),
            false => Error::with_advice(
                "tracefs is not mounted, where the kernel's driver tells of calls.",
                "Mount it as root: mount -t tracefs tracefs /sys/kernel/tracing",
            ),
        }
    })
}

fn make_error(path: &Path, err: &std::io::Error) -> Error {
    let what = format!("{} cannot be made: {err}.", path.display());
    match err.kind() {
        ErrorKind::PermissionDenied => {
            Error::with_advice(what, "Run this as root.").of(Kind::Denied)
        }
        // In a container whose /sys cannot be written, root or not.
        ErrorKind::ReadOnlyFilesystem => {
            Error::with_advice(what, "Run this outside the container.").of(Kind::Denied)
        }
        _ => Error::new(what),
    }
}

/// Removes the instances that are in use no more.
fn remove_old(instances: &Path) {
    let entries = std::fs::read_dir(instances).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // EBUSY: it is in use.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

fn make(path: &Path) -> Result<File> {
    for _ in 0..TRIES {
        std::fs::create_dir(path).map_err(|err| make_error(path, &err))?;
        match File::open(path.join("tracing_on")) {
            Err(err) if err.kind() == ErrorKind::NotFound && !path.exists() => continue,
            other => return other.doing(|| format!("opening {}", path.display())),
        }
    }
    Err(Error::new(format!(
        "{} is removed as soon as it is made.",
        path.display()
    )))
}

impl Instance {
    /// * `purpose`: a part of its name, for people who look into the directory
    /// * `buffer_kib`: what it records at most, for each processor
    pub fn new(purpose: &str, buffer_kib: u32) -> Result<Self> {
        let instances = find()?.join("instances");
        remove_old(&instances);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{purpose}-{}-{number}", std::process::id());
        let path = instances.join(name);
        let guard = Some(make(&path)?);
        let instance = Instance { path, guard };
        instance.set("buffer_size_kb", &buffer_kib.to_string())?;
        Ok(instance)
    }

    /// Whether the kernel has an event, `SYSTEM/NAME`.
    pub fn has(&self, event: &str) -> bool {
        self.path.join("events").join(event).exists()
    }

    /// Starts or stops recording an event, `SYSTEM/NAME`.
    pub fn enable(&self, event: &str, on: bool) -> Result<()> {
        self.set(
            &format!("events/{event}/enable"),
            if on { "1" } else { "0" },
        )
    }

    /// Writes to a file of the instance.
    pub fn set(&self, file: &str, text: &str) -> Result<()> {
        let path = self.path.join(file);
        std::fs::write(&path, text).doing(|| format!("writing {text} to {}", path.display()))
    }

    /// Forgets what is recorded.
    pub fn clear(&self) -> Result<()> {
        self.set("trace", "")
    }

    /// All that is recorded, as text. What is not UTF-8 in it, the names of threads, is replaced.
    pub fn text(&self) -> Result<String> {
        let path = self.path.join("trace");
        let text = std::fs::read(&path).doing(|| format!("reading {}", path.display()))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The stream of what is recorded from now on; reading it never waits.
    pub fn pipe(&self) -> Result<File> {
        let path = self.path.join("trace_pipe");
        let mut options = File::options();
        options.read(true);
        options.custom_flags(OFlags::NONBLOCK.bits() as i32);
        let pipe = options.open(&path);
        pipe.doing(|| format!("opening {}", path.display()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("events/enable", "0");
        self.guard = None;
        let _ = std::fs::remove_dir(&self.path);
    }
}
