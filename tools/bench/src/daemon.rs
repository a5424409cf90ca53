// SPDX-License-Identifier: Apache-2.0
//! The daemons of a comparison: private ones, on sockets and mounts in a temporary directory.
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::namespace;
use anybinder_mount::process::find_program;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Measures the peers that need no library; built with everything else.
pub const PLAIN: &str = "bench-ipc";
/// Measures every peer.
pub const FULL: &str = "bench-peers";

/// A measuring program. Fails, with advice, if it is not built.
pub fn find_measurer(program: &str) -> Result<PathBuf> {
    find_program(program).map_err(|_| {
        Error::with_advice(
            format!("The program {program} was found neither beside this one nor on PATH."),
            format!("Build it with `make build/bin/{program}`."),
        )
    })
}

/// What is between the ends of a peer: running daemons, which end when it is dropped, and files.
pub struct Daemon {
    children: Vec<Child>,
    /// What a client connects to: a device, a bus address, or a directory.
    pub address: String,
}

/// Obtains the right to start daemons that mount, in new namespaces if necessary. Allowed only
/// while this process has one thread.
pub fn gain_mount_right() -> Result<()> {
    if !namespace::can_mount() {
        namespace::unshare_all()?;
        namespace::grant_daemon_capabilities()?;
    }
    Ok(())
}

/// Makes a program that is to be started end when this one ends, for whatever reason.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is safe between fork and exec, and touches nothing of the parent.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
}

impl Daemon {
    /// Starts it and waits until the file `proof` exists. Fails, with its message, if it ends
    /// before, or after START_TIMEOUT.
    pub fn start(mut command: Command, address: String, proof: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        die_with_parent(&mut command);
        let child = command.spawn().doing(|| format!("starting {name}"))?;
        let mut daemon = Daemon {
            children: vec![child],
            address,
        };
        let child = &mut daemon.children[0];
        let start = Instant::now();
        while !proof.exists() {
            let ended = child.try_wait();
            if ended.doing(|| format!("waiting for {name}"))?.is_some() {
                let mut words = String::new();
                if let Some(mut stderr) = child.stderr.take() {
                    let _ = stderr.read_to_string(&mut words);
                }
                let what = format!("{name} did not start.");
                return Err(Error::with_advice(what, words.trim()));
            }
            if start.elapsed() > START_TIMEOUT {
                return Err(Error::new(format!(
                    "{name} did not start within {} s.",
                    START_TIMEOUT.as_secs()
                )));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(daemon)
    }

    /// The process that was started.
    pub fn pid(&self) -> u32 {
        self.children.first().map_or(0, Child::id)
    }

    /// Processor time that all threads of the daemons and of their descendants have used so far;
    /// None if there is no daemon.
    pub fn cpu_ns(&self) -> Option<u64> {
        let all = self.children.iter().flat_map(|child| family(child.id()));
        (!self.children.is_empty()).then(|| all.map(cpu_ns_of).sum())
    }
}

/// The directories of the threads of a process.
pub fn threads_of(pid: u32) -> impl Iterator<Item = PathBuf> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    threads.map(|thread| thread.path())
}

/// A process and its descendants.
pub fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    for thread in threads_of(pid) {
        let children = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
        let children = children
            .split_whitespace()
            .filter_map(|one| one.parse().ok());
        all.extend(children.flat_map(family));
    }
    all
}

/// Also of threads that have ended; nothing of a process that has.
fn cpu_ns_of(pid: u32) -> u64 {
    // SAFETY: zeros are a time, and both calls only write to the variables that they are given.
    let time = unsafe {
        let (mut clock, mut time) = (0, std::mem::zeroed::<libc::timespec>());
        if libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) == 0 {
            libc::clock_gettime(clock, &mut time);
        }
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn stop(child: &mut Child) {
    // SAFETY: the child has not been waited for, so its pid cannot have been reused.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let start = Instant::now();
    while !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
        if start.elapsed() > STOP_TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.children.iter_mut().rev().for_each(stop);
    }
}

/// Starts anybinderd at a mount in `directory`.
pub fn anybinderd(directory: &Path) -> Result<Daemon> {
    anybinderd_by(Command::new(find_program("anybinderd")?), directory, &[])
}

/// * `command`: starts it; may have it in other namespaces
pub fn anybinderd_by(mut command: Command, directory: &Path, options: &[&str]) -> Result<Daemon> {
    let (mount, pid_file) = (directory.join("binderfs"), directory.join("pid"));
    std::fs::create_dir_all(&mount).doing(|| format!("making {}", mount.display()))?;
    command.arg(&mount).arg("--foreground").args(options);
    command.arg("--pid-file").arg(&pid_file);
    let device = mount.join("binder").display().to_string();
    Daemon::start(command, device, &pid_file)
}

/// Starts a dbus-daemon with a session bus, on a socket in `directory`.
pub fn dbus_daemon(directory: &Path) -> Result<Daemon> {
    let socket = directory.join("dbus-daemon");
    let address = format!("unix:path={}", socket.display());
    let mut command = Command::new("dbus-daemon");
    command
        .args(["--session", "--nofork", "--nopidfile"])
        .arg(format!("--address={address}"));
    Daemon::start(command, address, &socket)
}

/// Starts dbus-broker on a socket in `directory`, through bench-peers: it opens no socket itself.
pub fn dbus_broker(directory: &Path) -> Result<Daemon> {
    let socket = directory.join("dbus-broker");
    let mut command = Command::new(find_measurer(FULL)?);
    command
        .args(["call", "--peer", "broker", "--address"])
        .arg(&socket);
    Daemon::start(command, format!("unix:path={}", socket.display()), &socket)
}

/// Makes an authority and what it signs for two ends.
const KEYS_SCRIPT: &str = "
new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
printf 'basicConstraints=CA:FALSE\\nsubjectAltName=DNS:localhost\\n' >names
$new -x509 -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
for end in server client; do
    $new -subj /CN=$end -keyout $end.key -out $end.csr
    openssl x509 -req -in $end.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \\
        -extfile names -out $end.pem
done";

/// Makes keys (P-256) in `directory`: `ca`, and what it signed for `server` and `client`.
pub fn keys(directory: &Path) -> Result<Daemon> {
    let mut command = Command::new("sh");
    command.args(["-ec", KEYS_SCRIPT]).current_dir(directory);
    let done = command.output().doing(|| "starting openssl".to_string())?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        return Err(Error::with_advice("openssl failed.", why.trim()));
    }
    Ok(Daemon {
        children: Vec::new(),
        address: directory.display().to_string(),
    })
}

/// Makes two machines, `server` and `client`, with keys: each has an anybinderd and a service
/// manager. Those who use the latter wait until it answers.
pub fn machines(directory: &Path) -> Result<Daemon> {
    let mut all = keys(directory)?;
    let own = std::env::current_exe().doing(|| "finding this program".to_string())?;
    for name in ["server", "client"] {
        let machine = directory.join(name);
        let mut driver = anybinderd(&machine)?;
        let mut command = Command::new(&own);
        let mount = machine.join("binderfs");
        command.arg("--mount").arg(&mount).arg("servicemanager");
        let mut manager = Daemon::start(command, String::new(), &mount)?;
        all.children.append(&mut driver.children);
        all.children.append(&mut manager.children);
    }
    Ok(all)
}

/// A temporary directory for sockets and mounts; removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("anybinder-bench-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).doing(|| format!("making {}", path.display()))?;
        Ok(Scratch(path))
    }

    /// Makes a directory in it for one daemon.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_signed_by_their_authority() {
        let name = format!("anybinder-bench-keys-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let made = keys(&directory).unwrap();
        assert_eq!(made.address, directory.display().to_string());
        assert_eq!(made.cpu_ns(), None);
        let mut check = Command::new("openssl");
        check.args(["verify", "-CAfile", "ca.pem", "server.pem", "client.pem"]);
        assert!(check
            .current_dir(&directory)
            .output()
            .unwrap()
            .status
            .success());
        std::fs::remove_file(directory.join("ca.key")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
