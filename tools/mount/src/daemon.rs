// SPDX-License-Identifier: Apache-2.0
//! Starts and stops anybinderd, and reports in advance why it could not start.
use crate::error::{Doing, Error, Result};
use crate::mount::{Backend, Mount};
use crate::namespace;
use crate::process::{find_program, Process};
use crate::record::Record;
use crate::renamed::{renamed_to, Renamed};
use rustix::mount::UnmountFlags;
use std::fs::File;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "anybinderd";
/// How long the daemon may take to end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Options that are passed on to the daemon.
#[derive(Debug, Default, clap::Args)]
pub struct DaemonOptions {
    /// Binder devices to offer, separated by commas
    #[arg(long, value_name = "LIST", default_value = "binder,hwbinder,vndbinder")]
    pub devices: String,

    /// Permissions of the devices, octal
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,

    /// Owner of the devices
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,

    /// Group of the devices
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,

    /// How much the daemon writes to its log: error, warn, info or debug
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,

    /// How many processes may have a device open at once
    #[arg(long, value_name = "COUNT")]
    pub max_procs: Option<u32>,

    /// Locking mode, for measurements: fine or global
    #[arg(long, value_name = "MODE")]
    pub locking: Option<String>,

    #[arg(long, hide = true, value_parser = renamed_to("--locking"))]
    pub regime: Option<Renamed>,
}

impl DaemonOptions {
    fn arguments(&self) -> Vec<String> {
        let optional = [
            ("--mode", self.mode.clone()),
            ("--uid", self.uid.map(|id| id.to_string())),
            ("--gid", self.gid.map(|id| id.to_string())),
            ("--log-level", self.log_level.clone()),
            ("--max-procs", self.max_procs.map(|count| count.to_string())),
            ("--locking", self.locking.clone()),
        ];
        let given = optional
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_string(), value?]));
        let mut arguments = vec!["--devices".to_string(), self.devices.clone()];
        arguments.extend(given.flatten());
        arguments
    }
}

/// Fails, with advice, if this user cannot open the FUSE device.
fn check_fuse() -> Result<()> {
    let err = match File::options().read(true).write(true).open("/dev/fuse") {
        Ok(_) => return Ok(()),
        Err(err) => err,
    };
    Err(match err.kind() {
        ErrorKind::NotFound => Error::with_advice(
            "There is no /dev/fuse on this system.",
            "Load the kernel's FUSE support with `modprobe fuse`; \
             start a container with `--device /dev/fuse`.",
        ),
        ErrorKind::PermissionDenied => Error::with_advice(
            "You have no permission to open /dev/fuse.",
            "Run this as root, or ask an administrator for `chmod 666 /dev/fuse`, \
             the mode that it has on most systems.",
        ),
        _ => Error::with_advice(
            format!("/dev/fuse cannot be opened: {err}."),
            "The kernel may be built without FUSE, or a container may forbid it.",
        ),
    })
}

/// Fails, with advice, if the directory is in use; unmounts what a dead daemon left.
fn check_mount(mount: &Mount) -> Result<()> {
    let path = mount.path.display();
    match mount.backend() {
        Backend::None => {}
        Backend::DeadDaemon => unmount_dead(mount)?,
        Backend::Daemon => {
            let by = match Record::load_running(mount) {
                Some(record) => format!("by daemon {}", record.daemon.pid),
                None => "by a daemon that this command did not start".to_string(),
            };
            return Err(Error::with_advice(
                format!("Something is mounted at {path} already, {by}."),
                "Use it as it is, or stop it first with `anybinder down`.",
            ));
        }
        Backend::Kernel => {
            return Err(Error::with_advice(
                format!("The kernel's own binderfs is mounted at {path}."),
                "Use it as it is, or choose another directory with --mount.",
            ));
        }
    }
    if mount.path.exists() && !mount.path.is_dir() {
        return Err(Error::with_advice(
            format!("{path} is not a directory."),
            "Choose another with --mount.",
        ));
    }
    Ok(())
}

/// Unmounts what a dead daemon left behind. Fails, with advice, if the user may not.
pub fn unmount_dead(mount: &Mount) -> Result<()> {
    rustix::mount::unmount(&mount.path, UnmountFlags::DETACH).map_err(|err| {
        Error::with_advice(
            format!(
                "The mount of a dead daemon at {} cannot be unmounted: {err}.",
                mount.path.display()
            ),
            format!("Unmount it as root: umount -l {}", mount.path.display()),
        )
    })
}

/// A daemon that serves, and what was done to start it.
pub struct Started {
    pub process: Process,
    /// It runs in new namespaces of its own, which the calling process has entered too.
    pub private: bool,
    /// The mount directory did not exist.
    pub made_directory: bool,
}

/// Starts the daemon and waits until it serves `mount`; makes the directory if there is none.
/// Without the right to mount, this moves the calling process into new namespaces.
pub fn start(mount: &Mount, options: &DaemonOptions) -> Result<Started> {
    check_fuse()?;
    check_mount(mount)?;
    let program = find_program(PROGRAM)?;
    mount.make_state_dir()?;
    let made_directory = !mount.path.exists();
    if made_directory {
        make_mount_directory(mount)?;
    }
    let private = !namespace::can_mount();
    if private {
        namespace::unshare_all()?;
        namespace::grant_daemon_capabilities()?;
    }
    let log_path = mount.state_file("daemon.log");
    let log = File::create(&log_path).doing(|| format!("writing {}", log_path.display()))?;
    let status = Command::new(&program)
        .arg(&mount.path)
        .args(options.arguments())
        .arg("--pid-file")
        .arg(mount.state_file("pid"))
        .stdin(Stdio::null())
        .stdout(
            log.try_clone()
                .doing(|| format!("writing {}", log_path.display()))?,
        )
        .stderr(log)
        .status();
    if private {
        namespace::revoke_capabilities()?;
    }
    let status = status.doing(|| format!("starting {}", program.display()))?;
    if !status.success() {
        return Err(Error::with_advice(
            format!("{PROGRAM} did not start ({status})."),
            log_tail(mount),
        ));
    }
    Ok(Started {
        process: read_pid_file(mount)?,
        private,
        made_directory,
    })
}

fn make_mount_directory(mount: &Mount) -> Result<()> {
    std::fs::create_dir_all(&mount.path).map_err(|err| {
        Error::with_advice(
            format!(
                "The directory {} cannot be created: {err}.",
                mount.path.display()
            ),
            "Run this as root, or choose a directory of your own with --mount.",
        )
    })
}

/// The last lines that the daemon logged.
fn log_tail(mount: &Mount) -> String {
    let log = std::fs::read_to_string(mount.state_file("daemon.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => "It logged nothing; run it by hand with --foreground.".to_string(),
        count => lines[count.saturating_sub(5)..].join("\n  "),
    }
}

fn read_pid_file(mount: &Mount) -> Result<Process> {
    let path = mount.state_file("pid");
    let text = std::fs::read_to_string(&path).doing(|| format!("reading {}", path.display()))?;
    text.trim()
        .parse()
        .ok()
        .and_then(Process::now)
        .ok_or_else(|| {
            Error::with_advice(
                format!("{PROGRAM} started and ended at once."),
                log_tail(mount),
            )
        })
}

/// Stops the daemon, which unmounts before it ends; unmounts for it if it could not.
pub fn stop(mount: &Mount, process: &Process) -> Result<()> {
    process.stop(STOP_TIMEOUT)?;
    if mount.backend() == Backend::DeadDaemon {
        unmount_dead(mount)?;
    }
    Ok(())
}
