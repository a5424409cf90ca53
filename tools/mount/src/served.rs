// SPDX-License-Identifier: Apache-2.0
//! Whether a mount and its devices can be used, and what to do where they cannot.
use crate::daemon_processes;
use crate::device_access;
use crate::mount::{Backend, Mount, ANSWER_TIMEOUT};
use crate::namespace::is_in_run;
use crate::record::Record;
use anybinder_cli::error::{Error, Kind, Result};
use std::io::ErrorKind;
use std::path::Path;

/// The advice for a report of the driver that cannot be read.
pub(crate) const STATS_ADVICE: &str =
    "The kernel's binderfs needs the mount option stats=global, and only root may read it.";

impl Mount {
    fn dead_error(&self) -> Error {
        let advice = match is_in_run() {
            // The mount that is made again is not seen here.
            true => "Leave this `anybinder run`, start the daemon again, and begin anew.",
            false => "Start it again with `anybinder up`, or as it was started before.",
        };
        Error::with_advice(
            format!("The daemon of {} is dead.", self.path.display()),
            advice,
        )
        .of(Kind::NotWorking)
    }

    /// The error of a command for which the daemon has to answer.
    pub(crate) fn stuck_error(&self) -> Error {
        let path = self.path.display();
        if let Some(pid) = daemon_processes::stopped_server(&self.path) {
            return Error::with_advice(
                format!(
                    "The daemon of {path} does not answer: its server, process {pid}, is stopped."
                ),
                format!("Continue it with `kill -CONT {pid}`, or end it with `anybinder down`."),
            )
            .of(Kind::NotWorking);
        }
        Error::with_advice(
            format!(
                "The daemon of {path} does not answer within {} s.",
                ANSWER_TIMEOUT.as_secs()
            ),
            format!(
                "Stop it and clear the mount with `anybinder down`; if you did not start it with \
                 `anybinder up`, as root with `umount -f -l {path}`."
            ),
        )
        .of(Kind::NotWorking)
    }

    /// Fails, with advice, unless a daemon or the kernel serves the mount.
    pub fn check_served(&self) -> Result<()> {
        match self.backend() {
            // A daemon that was killed unmounts if it still can.
            Backend::None if Record::load(self)?.is_some_and(|record| record.has_died()) => {
                Err(self.dead_error())
            }
            Backend::Daemon | Backend::Kernel => Ok(()),
            Backend::None => Err(Error::with_advice(
                format!("Nothing is mounted at {}.", self.path.display()),
                "Start it with `anybinder up`, or name the right directory with --mount.",
            )
            .of(Kind::NotUp)),
            Backend::DeadDaemon => Err(self.dead_error()),
            Backend::Stuck => Err(self.stuck_error()),
        }
    }

    /// The error of a file of the mount that cannot be read, or what is wrong with the mount.
    pub(crate) fn unreadable(&self, path: &Path, err: &std::io::Error, advice: &str) -> Error {
        self.check_served().err().unwrap_or_else(|| {
            Error::with_advice(format!("{} cannot be read: {err}.", path.display()), advice)
                .of(Kind::of_io(err.kind()))
        })
    }

    /// Fails, with the reason and advice, if a device cannot be opened.
    pub fn check_device(&self, name: &str) -> Result<()> {
        if self.backend() == Backend::Stuck {
            return Err(self.stuck_error());
        }
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
            )
            .of(Kind::NoDevice),
            ErrorKind::PermissionDenied => Error::with_advice(
                format!("You have no permission to open {path}."),
                device_access::advice(&self.file(name)),
            )
            .of(Kind::Denied),
            _ => Error::new(format!("{path} cannot be opened: {err}.")),
        })
    }
}
