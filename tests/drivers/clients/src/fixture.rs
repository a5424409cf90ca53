// SPDX-License-Identifier: Apache-2.0
//! What a test case uses: its own Binder client state, and services that it starts and kills.
use crate::aidl::IPeer;
use rsbinder::{hub, ProcessState, Status, StatusCode, Strong};
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a slow emulator; no passing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The result of a test.
pub type Verdict = Result<(), Failure>;

#[derive(Debug)]
pub enum Failure {
    /// The rule does not hold.
    Failed(String),
    /// The rule cannot be checked here, with the reason.
    Skipped(String),
}

impl<E: Display> From<E> for Failure {
    fn from(err: E) -> Self {
        Failure::Failed(err.to_string())
    }
}

/// Fails the test unless both are equal.
pub fn same<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Verdict {
    if got == wanted {
        return Ok(());
    }
    let brief = |value: &T| -> String { format!("{value:?}").chars().take(200).collect() };
    Err(Failure::Failed(format!(
        "{what}: got {}, wanted {}",
        brief(&got),
        brief(&wanted)
    )))
}

/// Fails the test unless the condition holds.
pub fn holds(what: &str, condition: bool) -> Verdict {
    same(what, condition, true)
}

/// Fails the test unless the call failed with this status.
pub fn fails_with<T: Debug>(what: &str, got: Result<T, Status>, wanted: StatusCode) -> Verdict {
    match got {
        Err(status) if status.transaction_error() == wanted => Ok(()),
        other => Err(Failure::Failed(format!(
            "{what}: got {other:?}, wanted {wanted:?}"
        ))),
    }
}

/// Asks again until the answer is right or `PATIENCE` is over; returns the last answer.
pub fn until<T>(mut ask: impl FnMut() -> T, right: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let answer = ask();
        if right(&answer) || start.elapsed() > PATIENCE {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asks again until the count is as wanted, or has not changed for `PATIENCE`; returns the last.
pub fn counts_to(wanted: usize, mut ask: impl FnMut() -> usize) -> usize {
    let mut count = ask();
    while count != wanted {
        let next = until(&mut ask, |next| *next != count);
        if next == count {
            break;
        }
        count = next;
    }
    count
}

/// A process that serves an `IPeer`; dropping it kills it.
pub struct Service {
    pub child: Child,
    pub name: String,
}

impl Service {
    pub fn peer(&self) -> Result<Strong<dyn IPeer>, Failure> {
        Ok(hub::wait_for_interface(&self.name)?)
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// SIGKILL, and wait until the process is gone.
    pub fn kill(&mut self) -> Verdict {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running test case.
pub struct Fixture {
    mount: PathBuf,
    case: String,
    services: Cell<u32>,
}

impl Fixture {
    /// Makes this process a Binder client whose pool has up to `max_threads` threads.
    pub fn open(mount: &Path, case: &str, max_threads: u32) -> Result<Self, Failure> {
        let fixture = Fixture {
            mount: mount.to_path_buf(),
            case: case.to_string(),
            services: Cell::new(0),
        };
        ProcessState::init(&fixture.device("binder").to_string_lossy(), max_threads)?;
        ProcessState::start_thread_pool();
        Ok(fixture)
    }

    pub fn device(&self, name: &str) -> PathBuf {
        self.mount.join(name)
    }

    /// A command that runs this program in another role, by the kernel's link: another user may
    /// have no way to its path, which may be below a private home directory.
    pub fn role(&self, role: &str) -> Result<Command, Failure> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg("--mount")
            .arg(&self.mount)
            .arg(role)
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Starts a service process with a unique name.
    pub fn service(&self) -> Result<Service, Failure> {
        self.service_with_threads(15)
    }

    pub fn service_with_threads(&self, max_threads: u32) -> Result<Service, Failure> {
        let number = self.services.replace(self.services.get() + 1);
        let name = format!(
            "anybinder.test.{}.{}.{number}",
            self.case,
            std::process::id()
        );
        let child = self
            .role("serve")?
            .args(["--name", &name])
            .args(["--max-threads", &max_threads.to_string()])
            .spawn()?;
        Ok(Service { child, name })
    }

    /// Starts one service and returns its interface.
    pub fn peer(&self) -> Result<(Service, Strong<dyn IPeer>), Failure> {
        let service = self.service()?;
        let peer = service.peer()?;
        Ok((service, peer))
    }
}
