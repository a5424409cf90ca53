// SPDX-License-Identifier: Apache-2.0
//! Starts and stops anybinderd, and reports in advance why it could not start.
use crate::daemon_processes;
use crate::mount::{Backend, Mount};
use crate::namespace;
use crate::private_directory::Directory;
use crate::probe::{self, Outcome};
use crate::process::{find_program, Process, Running, DAEMON};
use crate::record::Record;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rustix::io::Errno;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the daemon may take to serve its mount.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the daemon may take to end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the kernel may take to look at or to detach a mount.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

const DEFAULT_DEVICES: &str = "binder,hwbinder,vndbinder";

/// Options that are passed on to the daemon.
#[derive(Debug, Default, clap::Args)]
pub struct DaemonOptions {
    /// Binder devices to offer, separated by commas
    #[arg(long, value_name = "LIST", default_value = DEFAULT_DEVICES)]
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
}

impl DaemonOptions {
    /// The options that differ from their defaults, for a daemon that cannot be given them.
    pub(crate) fn given(&self) -> Vec<String> {
        let mut given: Vec<String> = self
            .optional()
            .into_iter()
            .filter_map(|(name, value)| value.map(|_| name.to_string()))
            .collect();
        if !self.devices.is_empty() && self.devices != DEFAULT_DEVICES {
            given.insert(0, "--devices".to_string());
        }
        given
    }

    fn optional(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("--mode", self.mode.clone()),
            ("--uid", self.uid.map(|id| id.to_string())),
            ("--gid", self.gid.map(|id| id.to_string())),
            ("--log-level", self.log_level.clone()),
            ("--max-procs", self.max_procs.map(|count| count.to_string())),
        ]
    }

    fn arguments(&self) -> Vec<String> {
        let given = self
            .optional()
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
             start a container with `--device /dev/fuse`; \
             in a chroot, `mknod -m 666 /dev/fuse c 10 229`.",
        ),
        ErrorKind::PermissionDenied => Error::with_advice(
            "You have no permission to open /dev/fuse.",
            "Run this as root, or ask an administrator for `chmod 666 /dev/fuse`, \
             the mode that it has on most systems.",
        )
        .of(Kind::Denied),
        _ => Error::with_advice(
            format!("/dev/fuse cannot be opened: {err}."),
            "The kernel may be built without FUSE, or a container may forbid it.",
        ),
    })
}

/// Fails, with advice, if the directory is in use; unmounts what a dead daemon left.
pub(crate) fn check_mount(mount: &Mount) -> Result<()> {
    let path = mount.path.display();
    match mount.backend() {
        Backend::None => {}
        Backend::DeadDaemon => unmount(mount)?,
        Backend::Stuck => return Err(mount.stuck_error()),
        Backend::Daemon => {
            let by = match Record::load_running(mount)? {
                Some((record, _)) => format!("by daemon {}", record.daemon_pid()),
                None => daemon_processes::serving(&mount.path).map_or(
                    "by a daemon that this command did not start".to_string(),
                    |daemon| format!("by daemon {} ({})", daemon.pid, daemon.started_by),
                ),
            };
            return Err(Error::with_advice(
                format!("Something is mounted at {path} already, {by}."),
                "Use it as it is, or stop it first with `anybinder down`.",
            ));
        }
        Backend::Kernel => {
            return Err(Error::with_advice(
                match mount.is_binderfs() {
                    true => format!("The kernel's own binderfs is mounted at {path}."),
                    false => format!("The devices at {path} are those of the kernel's driver."),
                },
                "Use it as it is, or choose another directory with --mount.",
            ));
        }
    }
    Ok(())
}

/// Unmounts what a dead daemon left behind, or a daemon that does not answer. Fails, with advice,
/// if the user may not, or if another user could make it unmount something else.
pub fn unmount(mount: &Mount) -> Result<()> {
    let path = mount.path.display();
    let Some((parent, name)) = mount.parent()? else {
        return Ok(());
    };
    let failure = match probe::unmount(parent.as_fd(), name, MOUNT_TIMEOUT) {
        // INVAL: it is not a mount any more.
        Outcome::Done | Outcome::Failed(Errno::INVAL) => return Ok(()),
        Outcome::Failed(err) => format!("cannot be unmounted: {err}"),
        Outcome::NoAnswer => "cannot be unmounted: it does not answer".to_string(),
    };
    Err(Error::with_advice(
        format!("The mount of a dead daemon at {path} {failure}."),
        format!("Unmount it as root: umount -f -l {path}"),
    ))
}

/// A daemon that serves, and what was done to start it.
pub struct Started {
    pub process: Process,
    /// The daemon runs in new namespaces of its own, which the calling process has entered too.
    pub private: bool,
    /// The mount directory did not exist.
    pub made_directory: bool,
}

/// Starts the daemon and waits until it serves `mount`; makes the directory if there is none.
/// Without the right to mount, this moves the calling process into new namespaces.
pub fn start(mount: &Mount, options: &DaemonOptions) -> Result<Started> {
    let state = mount.make_state()?;
    mount.parent()?;
    check_fuse()?;
    check_mount(mount)?;
    let program = find_program(DAEMON)?;
    let made_directory = make_mount_directory(mount)?;
    let started = run_daemon(mount, options, &program, &state).inspect_err(|_| {
        if made_directory {
            remove_mount_directory(mount);
        }
    })?;
    Ok(Started {
        made_directory,
        ..started
    })
}

/// Runs the program until it serves the mount, whose directory exists.
fn run_daemon(
    mount: &Mount,
    options: &DaemonOptions,
    program: &Path,
    state: &Directory,
) -> Result<Started> {
    let private = !namespace::can_mount();
    if private {
        namespace::unshare_all()?;
        namespace::grant_daemon_capabilities()?;
    }
    let doing_log = || format!("writing {}", mount.state_file("daemon.log").display());
    let log = state
        .create(&mount.state_name("daemon.log"))
        .doing(doing_log)?;
    // The daemon would follow a link.
    state.remove(&mount.state_name("pid"));
    let child = Command::new(program)
        .arg(&mount.path)
        .args(options.arguments())
        .arg("--pid-file")
        .arg(mount.state_file("pid"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().doing(doing_log)?)
        .stderr(log)
        .spawn();
    if private {
        namespace::revoke_capabilities()?;
    }
    let child = child.doing(|| format!("starting {}", program.display()))?;
    let status = wait_served(child)?;
    if !status.success() {
        return Err(Error::with_advice(
            format!("{DAEMON} did not start ({status})."),
            log_tail(mount),
        ));
    }
    Ok(Started {
        process: read_pid_file(mount, state)?,
        private,
        made_directory: false,
    })
}

/// Waits for the process that was started: it ends when the daemon, its child, serves. Both are
/// killed after START_TIMEOUT.
fn wait_served(mut starter: Child) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        let ended = starter.try_wait();
        if let Some(status) = ended.doing(|| format!("waiting for {DAEMON}"))? {
            return Ok(status);
        }
        if start.elapsed() > START_TIMEOUT {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let pid = starter.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        if let Ok(child) = child.parse::<libc::pid_t>() {
            // SAFETY: its parent does not wait for it, so that the pid is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
    }
    let _ = starter.kill();
    Err(Error::with_advice(
        format!(
            "{DAEMON} did not serve the mount within {} s.",
            START_TIMEOUT.as_secs()
        ),
        "Another file system on the way to the mount may not answer; \
         choose another directory with --mount.",
    ))
}

/// Makes the mount directory and what is missing above it. Returns whether it was missing. Fails,
/// with advice, if another user could change a directory above it.
fn make_mount_directory(mount: &Mount) -> Result<bool> {
    let path = mount.path.display();
    match probe::exists(&mount.path, MOUNT_TIMEOUT) {
        Outcome::NoAnswer => Err(Error::with_advice(
            format!("A file system on the way to {path} does not answer."),
            "Unmount it, or choose another directory with --mount.",
        )),
        outcome => {
            Directory::open_or_make(&mount.path)?;
            Ok(outcome == Outcome::Failed(Errno::NOENT))
        }
    }
}

/// Removes the mount directory if it is empty.
pub(crate) fn remove_mount_directory(mount: &Mount) {
    if let Ok(Some((parent, name))) = mount.parent() {
        parent.remove_directory(name);
    }
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

fn read_pid_file(mount: &Mount, state: &Directory) -> Result<Process> {
    let text = state.read(&mount.state_name("pid"))?.unwrap_or_default();
    text.trim()
        .parse()
        .ok()
        .and_then(Process::now)
        .ok_or_else(|| {
            Error::with_advice(
                format!("{DAEMON} started and ended at once."),
                log_tail(mount),
            )
        })
}

/// Stops the daemon, which unmounts before it ends; unmounts for it if it could not.
///
/// * `daemon`: None if it has ended
pub fn stop(mount: &Mount, daemon: Option<Running>) -> Result<()> {
    let stopped = daemon.as_ref().map_or(Ok(()), |one| one.stop(STOP_TIMEOUT));
    if matches!(mount.backend(), Backend::DeadDaemon | Backend::Stuck) {
        unmount(mount)?;
    }
    match daemon {
        // Unmounting may have released the threads that it waited for.
        Some(daemon) if stopped.is_err() && !daemon.wait_end(MOUNT_TIMEOUT) => stopped,
        _ => Ok(()),
    }
}
