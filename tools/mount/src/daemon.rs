// SPDX-License-Identifier: Apache-2.0
//! Starting and stopping anybinderd, and saying beforehand why it could not start.
use crate::namespace;
use crate::place::{Place, Served};
use crate::process::{find_program, Process};
use crate::trouble::{Doing, Result, Trouble};
use rustix::mount::UnmountFlags;
use std::fs::File;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "anybinderd";
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What `up` passes on to the daemon.
#[derive(Debug, clap::Args)]
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

    /// How calls are kept apart, for measuring: fine or global
    #[arg(long, value_name = "NAME")]
    pub regime: Option<String>,
}

impl DaemonOptions {
    fn arguments(&self) -> Vec<String> {
        let optional = [
            ("--mode", self.mode.clone()),
            ("--uid", self.uid.map(|id| id.to_string())),
            ("--gid", self.gid.map(|id| id.to_string())),
            ("--log-level", self.log_level.clone()),
            ("--max-procs", self.max_procs.map(|count| count.to_string())),
            ("--regime", self.regime.clone()),
        ];
        let given = optional
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_string(), value?]));
        let mut arguments = vec!["--devices".to_string(), self.devices.clone()];
        arguments.extend(given.flatten());
        arguments
    }
}

/// Can this user open the FUSE device at all?
fn check_fuse() -> Result<()> {
    let err = match File::options().read(true).write(true).open("/dev/fuse") {
        Ok(_) => return Ok(()),
        Err(err) => err,
    };
    Err(match err.kind() {
        ErrorKind::NotFound => Trouble::with_advice(
            "There is no /dev/fuse on this system.",
            "Load the kernel's FUSE support with `modprobe fuse`; \
             start a container with `--device /dev/fuse`.",
        ),
        ErrorKind::PermissionDenied => Trouble::with_advice(
            "You have no permission to open /dev/fuse.",
            "Run this as root, or let an administrator `chmod 666 /dev/fuse`, \
             which is how most systems have it.",
        ),
        _ => Trouble::with_advice(
            format!("/dev/fuse cannot be opened: {err}."),
            "The kernel may be built without FUSE, or a container may forbid it.",
        ),
    })
}

/// Looks for what is there already; clears away what a crashed daemon left.
fn check_mount(place: &Place) -> Result<()> {
    let mount = place.mount.display();
    match place.served() {
        Served::Not => {}
        Served::Stale => clear_stale(place)?,
        Served::Daemon => {
            let who = match place.note() {
                Some(note) => format!("by daemon {}", note.daemon.pid),
                None => "by a daemon that this command did not start".to_string(),
            };
            return Err(Trouble::with_advice(
                format!("Something is mounted at {mount} already, {who}."),
                "Use it as it is, or take it down first with `anybinder down`.",
            ));
        }
        Served::Kernel => {
            return Err(Trouble::with_advice(
                format!("The kernel's own binderfs is mounted at {mount}."),
                "Use it as it is, or choose another directory with --mount.",
            ));
        }
    }
    if place.mount.exists() && !place.mount.is_dir() {
        return Err(Trouble::with_advice(
            format!("{mount} is not a directory."),
            "Choose another with --mount.",
        ));
    }
    Ok(())
}

/// Unmounts what a dead daemon left behind.
pub fn clear_stale(place: &Place) -> Result<()> {
    rustix::mount::unmount(&place.mount, UnmountFlags::DETACH).map_err(|err| {
        Trouble::with_advice(
            format!(
                "A dead daemon's mount is in the way at {}: {err}.",
                place.mount.display()
            ),
            format!("Unmount it as root: umount -l {}", place.mount.display()),
        )
    })
}

/// A daemon that serves, and what was done to get there.
pub struct Started {
    pub process: Process,
    pub private: bool,
    pub made_directory: bool,
}

/// Brings the daemon up and waits until it serves. Without the right to mount, this moves the
/// calling process into namespaces of the new home.
pub fn start(place: &Place, options: &DaemonOptions) -> Result<Started> {
    check_fuse()?;
    check_mount(place)?;
    let program = find_program(PROGRAM)?;
    place.make_state_dir()?;
    let made_directory = !place.mount.exists();
    if made_directory {
        make_mount_directory(place)?;
    }
    let private = !namespace::can_mount();
    if private {
        namespace::found()?;
        namespace::grant_daemon_capabilities()?;
    }
    let log_path = place.state_file("daemon.log");
    let log = File::create(&log_path).doing(|| format!("writing {}", log_path.display()))?;
    let status = Command::new(&program)
        .arg(&place.mount)
        .args(options.arguments())
        .arg("--pid-file")
        .arg(place.state_file("pid"))
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
        return Err(Trouble::with_advice(
            format!("{PROGRAM} did not come up ({status})."),
            last_words(place),
        ));
    }
    Ok(Started {
        process: read_pid_file(place)?,
        private,
        made_directory,
    })
}

fn make_mount_directory(place: &Place) -> Result<()> {
    std::fs::create_dir_all(&place.mount).map_err(|err| {
        Trouble::with_advice(
            format!(
                "The directory {} cannot be made: {err}.",
                place.mount.display()
            ),
            "Run this as root, or choose a directory of your own with --mount.",
        )
    })
}

/// What the daemon said before it gave up.
fn last_words(place: &Place) -> String {
    let log = std::fs::read_to_string(place.state_file("daemon.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => "It said nothing; run it by hand with --foreground.".to_string(),
        count => lines[count.saturating_sub(5)..].join("\n  "),
    }
}

fn read_pid_file(place: &Place) -> Result<Process> {
    let path = place.state_file("pid");
    let text = std::fs::read_to_string(&path).doing(|| format!("reading {}", path.display()))?;
    text.trim()
        .parse()
        .ok()
        .and_then(Process::now)
        .ok_or_else(|| {
            Trouble::with_advice(
                format!("{PROGRAM} came up and ended at once."),
                last_words(place),
            )
        })
}

/// Ends the daemon, which unmounts on its way out, and clears what remains if it could not.
pub fn stop(place: &Place, process: &Process) -> Result<()> {
    process.stop(STOP_PATIENCE)?;
    if place.served() == Served::Stale {
        clear_stale(place)?;
    }
    Ok(())
}
