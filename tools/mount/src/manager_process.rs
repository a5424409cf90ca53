// SPDX-License-Identifier: Apache-2.0
//! The service manager that this command starts: one process for any number of devices. It reports
//! readiness as systemd services do, by a datagram to the socket that NOTIFY_SOCKET names, once it
//! is the context manager. It has a parent that starts it again when it dies (`keeper`).
use crate::mount::Mount;
use crate::process::Process;
use crate::record::Manager;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::time_limit;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix};
use std::ffi::OsString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Which service manager to start, and with which rules.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ManagerOptions {
    /// Access rules of the service manager (a .toml file or a directory of them);
    /// without them every user who may open the device may register and find services
    #[arg(long, value_name = "PATH")]
    pub policy: Option<PathBuf>,

    /// Rules by security context beside those of --policy (a .toml file), where SELinux or Smack
    /// gives contexts; a context that they do not name may do nothing
    #[arg(long, value_name = "FILE")]
    pub contexts: Option<PathBuf>,

    /// The Android API level (28 to 37; 35-r1, 35-r6, 35-r20) of calls that could be of several,
    /// on every device or on one, or hidl [default: 36; hidl on hwbinder]
    #[arg(long, value_name = "[DEVICE=]LEVEL")]
    pub level: Vec<String>,

    /// Let processes replace services that another user registered
    #[arg(long)]
    pub allow_replacing_others: bool,

    /// Accept files in requests, as `dumpsys manager` and `cmd manager` of AOSP send them: only
    /// where every user is trusted, because a file may keep the service manager from ending
    #[arg(long)]
    pub accept_files: bool,

    /// User ids are Android's: apps (10000 and up) add no services, isolated processes find only
    /// services that allow it
    #[arg(long)]
    pub android_uids: bool,

    /// How many services and callbacks each user may register on a device [default: 16384]
    #[arg(long, value_name = "COUNT")]
    pub max_per_user: Option<usize>,
}

impl ManagerOptions {
    /// The options again, for `anybinder servicemanager`.
    fn own_arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let flags = [
            (self.accept_files, "--accept-files"),
            (self.android_uids, "--android-uids"),
            (self.allow_replacing_others, "--allow-replacing-others"),
        ];
        for (_, flag) in flags.into_iter().filter(|(is_set, _)| *is_set) {
            arguments.push(flag.into());
        }
        if let Some(policy) = &self.policy {
            arguments.extend(["--policy".into(), policy.clone().into_os_string()]);
        }
        if let Some(contexts) = &self.contexts {
            arguments.extend(["--contexts".into(), contexts.clone().into_os_string()]);
        }
        for level in &self.level {
            arguments.extend(["--level".into(), level.into()]);
        }
        if let Some(count) = self.max_per_user {
            arguments.extend(["--max-per-user".into(), count.to_string().into()]);
        }
        arguments
    }
}

/// Starts a service manager in the background, unless there are no devices, and waits until each of
/// them has its context manager. Fails, with its log, if it ends or the time of this command does.
pub fn start(
    mount: &Mount,
    devices: &[String],
    options: &ManagerOptions,
    started: &mut Vec<Manager>,
) -> Result<()> {
    if devices.is_empty() {
        return Ok(());
    }
    let missing = devices.iter().find(|device| !mount.file(device).exists());
    if let Some(device) = missing {
        return Err(Error::with_advice(
            format!("There is no device {device} at {}.", mount.path.display()),
            format!("It has: {}.", mount.devices().join(", ")),
        ));
    }
    let (socket, address) = readiness_socket()?;
    let log_path = mount.state_file("manager.log");
    let log = mount
        .make_state()?
        .append(&mount.state_name("manager.log"))?;
    let mut child = command(mount, devices, options, &address)?
        .arg("--keep")
        .stdin(Stdio::null())
        .stdout(
            log.try_clone()
                .doing(|| format!("writing {}", log_path.display()))?,
        )
        .stderr(log)
        .process_group(0)
        .spawn()
        .doing(|| "starting the service manager".to_string())?;
    let readiness = wait_ready(&socket, &mut child, time_limit::left())?;
    if readiness != Readiness::Ready {
        let log = std::fs::read_to_string(&log_path).unwrap_or_default();
        let log = log.trim_end().replace('\n', "\n  ");
        return Err(match readiness {
            Readiness::Late => Error::with_advice(
                "The service manager did not start in time.",
                format!("{log} To wait longer, use --timeout.").trim_start(),
            )
            .of(Kind::TimedOut),
            _ => Error::with_advice("The service manager did not start.", log),
        });
    }
    let process = Process::now(child.id()).ok_or_else(|| {
        Error::with_advice(
            "The service manager started and ended at once.",
            format!("Its log is {}.", log_path.display()),
        )
    })?;
    started.extend(devices.iter().map(|device| Manager {
        device: device.clone(),
        process: process.clone(),
    }));
    Ok(())
}

/// `anybinder servicemanager` on the devices, which reports readiness to the socket of this name.
pub(crate) fn command(
    mount: &Mount,
    devices: &[String],
    options: &ManagerOptions,
    address: &str,
) -> Result<Command> {
    let mut command = mount.own_command("servicemanager")?;
    for device in devices {
        command.args(["--device", device]);
    }
    command
        .args(options.own_arguments())
        .env("NOTIFY_SOCKET", format!("@{address}"));
    Ok(command)
}

/// A socket with a name that the kernel chooses, so that no other user can bind it first.
pub(crate) fn readiness_socket() -> Result<(UnixDatagram, String)> {
    let doing = || "making a socket".to_string();
    let socket = UnixDatagram::unbound().doing(doing)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed()).doing(doing)?;
    rustix::net::sockopt::set_socket_passcred(&socket, true).doing(doing)?;
    let address = socket.local_addr().doing(doing)?;
    let name = address.as_abstract_name().unwrap_or_default();
    Ok((socket, String::from_utf8_lossy(name).into_owned()))
}

/// Whether a message has arrived that says `READY=1` and was sent by `child`: every user may send
/// to the socket.
fn is_ready(socket: &UnixDatagram, child: &Child) -> bool {
    let mut message = [0u8; 512];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut message)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let Ok(received) = rustix::net::recvmsg(socket, &mut data, &mut control, flags) else {
        return false;
    };
    let sender = control.drain().find_map(|header| match header {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid),
        _ => None,
    });
    sender.is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == child.id())
        && message[..received.bytes].starts_with(b"READY=1")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Ended,
    /// It was killed.
    Late,
}

/// Waits until the child has reported that it is ready.
///
/// * `limit`: None for as long as it takes
pub(crate) fn wait_ready(
    socket: &UnixDatagram,
    child: &mut Child,
    limit: Option<Duration>,
) -> Result<Readiness> {
    let doing = || "waiting for the service manager".to_string();
    let poll_interval = Duration::from_millis(20);
    socket.set_read_timeout(Some(poll_interval)).doing(doing)?;
    let start = Instant::now();
    while !is_ready(socket, child) {
        if child.try_wait().doing(doing)?.is_some() {
            return Ok(Readiness::Ended);
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            let _ = child.kill();
            return Ok(Readiness::Late);
        }
    }
    Ok(Readiness::Ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::SocketAddr;

    #[test]
    fn readiness_counts_only_from_the_service_manager() {
        let (socket, name) = readiness_socket().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        sender.send_to_addr(b"READY=1", &address).unwrap();
        assert!(!is_ready(&socket, &child));
        child.wait().unwrap();
    }
}
