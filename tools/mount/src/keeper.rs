// SPDX-License-Identifier: Apache-2.0
//! The process between `up` and a service manager: it starts the service manager again when that
//! dies, as the unit does for systemd. After some deaths in a row it gives up, and ends; then
//! `status` says so.
//!
//! The keeper is `anybinder servicemanager` as well, waits and does nothing else, so that nothing
//! of a client reaches it. What ends it ends the service manager: SIGTERM and SIGHUP are passed on,
//! and the kernel kills the service manager when its keeper was killed.
use crate::manager_process::{self, ManagerOptions, Readiness};
use crate::mount::Mount;
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::output::note;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How many deaths within the window end the keeper as well; as many crashes of its server process
/// end anybinderd.
const DEATHS_MAX: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// One that is started again and is not ready by then is killed, and counts as dead.
const RESTART_TIMEOUT: Duration = Duration::from_secs(20);

/// The service manager, for the signal handler; 0 for none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal asked the keeper to end.
static ENDS: AtomicBool = AtomicBool::new(false);

extern "C" fn pass_on(signal: libc::c_int) {
    ENDS.fetch_or(signal != libc::SIGHUP, Ordering::SeqCst);
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: kill is async-signal-safe, and CHILD is cleared before the child is waited for.
        // A process that is stopped handles the signal once it continues.
        unsafe {
            libc::kill(child, signal);
            libc::kill(child, libc::SIGCONT);
        }
    }
}

/// Starts a service manager and waits until it is ready. Err: it ended before, with that status.
///
/// * `limit`: None for as long as it takes
fn start(
    mount: &Mount,
    devices: &[String],
    options: &ManagerOptions,
    limit: Option<Duration>,
) -> Result<std::result::Result<Child, ExitStatus>> {
    let (socket, address) = manager_process::readiness_socket()?;
    let mut command = manager_process::command(mount, devices, options, &address)?;
    // SAFETY: the closure makes one system call.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command
        .spawn()
        .doing(|| "starting the service manager".to_string())?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    if ENDS.load(Ordering::SeqCst) {
        pass_on(libc::SIGTERM);
    }
    match manager_process::wait_ready(&socket, &mut child, limit)? {
        Readiness::Ready => Ok(Ok(child)),
        Readiness::Ended | Readiness::Late => {
            CHILD.store(0, Ordering::SeqCst);
            Ok(Err(child.wait().doing(waiting)?))
        }
    }
}

fn waiting() -> String {
    "waiting for the service manager".to_string()
}

/// Waits for its end. Signals are passed on until it has ended, and not afterwards.
fn wait(mut child: Child) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).doing(waiting)?;
    loop {
        match rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None) {
            Err(Errno::INTR) => continue,
            other => other.doing(waiting)?,
        };
        CHILD.store(0, Ordering::SeqCst);
        return child.wait().doing(waiting);
    }
}

/// Tells `up` that the first service manager is ready.
fn report_ready() -> Result<()> {
    let doing = || "reporting readiness".to_string();
    let Ok(name) = std::env::var("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let address = SocketAddr::from_abstract_name(name.trim_start_matches('@')).doing(doing)?;
    let socket = UnixDatagram::unbound().doing(doing)?;
    socket.send_to_addr(b"READY=1", &address).doing(doing)?;
    Ok(())
}

/// Keeps a service manager on the devices until a signal asks for its end, its driver is gone, or
/// it has died DEATHS_MAX times within WINDOW. One that does not become ready the first time is not
/// started again: its own message says why, and its exit status is returned.
pub fn run(mount: &Mount, devices: &[String], options: &ManagerOptions) -> Result<ExitCode> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::signal(signal, pass_on as *const () as libc::sighandler_t) };
    }
    // Who starts the keeper waits, and kills it when that takes too long.
    let mut started = start(mount, devices, options, None)?;
    if let Err(status) = started {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return Ok(code.map_or(ExitCode::FAILURE, ExitCode::from));
    }
    report_ready()?;
    let mut deaths: Vec<Instant> = Vec::new();
    loop {
        let status = match started {
            Ok(child) => wait(child)?,
            Err(status) => status,
        };
        if ENDS.load(Ordering::SeqCst) {
            return Ok(ExitCode::SUCCESS);
        }
        // A daemon that was killed takes a moment to end; a service manager is of no use then.
        mount.check_served()?;
        deaths.retain(|death| death.elapsed() < WINDOW);
        deaths.push(Instant::now());
        if deaths.len() >= DEATHS_MAX {
            return Err(gives_up(devices, status));
        }
        note(format_args!(
            "servicemanager: it died ({status}) and is started again"
        ));
        started = start(mount, devices, options, Some(RESTART_TIMEOUT))?;
    }
}

fn gives_up(devices: &[String], status: ExitStatus) -> Error {
    Error::with_advice(
        format!(
            "The service manager of {} died {DEATHS_MAX} times within {} s, at last with {status}; \
             it is not started again.",
            devices.join(", "),
            WINDOW.as_secs()
        ),
        "`anybinder up` starts it again. What it said is above.",
    )
}
