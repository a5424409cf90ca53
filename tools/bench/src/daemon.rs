// SPDX-License-Identifier: Apache-2.0
//! The daemons under comparison: private ones, started here, on sockets and mounts of their own.
use anybinder_mount::process::find_program;
use anybinder_mount::trouble::{Doing, Result, Trouble};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_PATIENCE: Duration = Duration::from_secs(20);
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const DBUS_CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// A running daemon; dropping it ends it.
pub struct Daemon {
    child: Child,
    /// What a client of it is given.
    pub address: String,
}

/// Lets a program end with this one, however this one ends.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is safe between fork and exec, and touches nothing of the parent's.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
}

impl Daemon {
    /// Starts it and waits until `proof` exists.
    fn start(mut command: Command, address: String, proof: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        die_with_parent(&mut command);
        let child = command.spawn().doing(|| format!("starting {name}"))?;
        let mut daemon = Daemon { child, address };
        let start = Instant::now();
        while !proof.exists() {
            let ended = daemon.child.try_wait();
            if ended.doing(|| format!("waiting for {name}"))?.is_some() {
                let mut words = String::new();
                if let Some(mut stderr) = daemon.child.stderr.take() {
                    let _ = stderr.read_to_string(&mut words);
                }
                let what = format!("{name} did not come up.");
                return Err(Trouble::with_advice(what, words.trim()));
            }
            if start.elapsed() > START_PATIENCE {
                return Err(Trouble::new(format!("{name} did not come up in time.")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(daemon)
    }

    /// Processor time used so far by all its threads.
    pub fn cpu_ns(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.id());
        let Ok(entries) = std::fs::read_dir(tasks) else {
            return 0;
        };
        entries
            .flatten()
            .filter_map(|task| {
                let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse::<u64>().ok()
            })
            .sum()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // SAFETY: the child has not been waited for, so its pid is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let start = Instant::now();
        while !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            if start.elapsed() > STOP_PATIENCE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// anybinderd at a mount in `directory`, with more arguments (a locking regime, say).
pub fn anybinderd(directory: &Path, more: &[&str]) -> Result<Daemon> {
    let mount = directory.join("binderfs");
    std::fs::create_dir_all(&mount).doing(|| format!("making {}", mount.display()))?;
    let mut command = Command::new(find_program("anybinderd")?);
    command.arg(&mount).arg("--foreground").args(more);
    let device = mount.join("binder");
    Daemon::start(command, device.display().to_string(), &device)
}

pub fn dbus_daemon(directory: &Path) -> Result<Daemon> {
    let socket = directory.join("dbus-daemon");
    let path = directory.join("dbus-daemon.conf");
    let text = DBUS_CONFIGURATION.replace("SOCKET", &socket.to_string_lossy());
    std::fs::write(&path, text).doing(|| format!("writing {}", path.display()))?;
    let mut command = Command::new("dbus-daemon");
    command
        .arg(format!("--config-file={}", path.display()))
        .args(["--nofork", "--nopidfile"]);
    Daemon::start(command, format!("unix:path={}", socket.display()), &socket)
}

/// dbus-broker, brought up by the program of peers: it speaks to no socket by itself.
pub fn dbus_broker(directory: &Path, peers_program: &Path) -> Result<Daemon> {
    let socket = directory.join("dbus-broker");
    let mut command = Command::new(peers_program);
    command.args(["broker", "--address"]).arg(&socket);
    Daemon::start(command, format!("unix:path={}", socket.display()), &socket)
}

/// A directory of our own for sockets and mounts; gone when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Result<Self> {
        let name = format!("anybinder-bench-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).doing(|| format!("making {}", path.display()))?;
        Ok(Scratch(path))
    }

    /// A directory of its own for one daemon.
    pub fn room(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        std::fs::create_dir(&path).doing(|| format!("making {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
