// SPDX-License-Identifier: Apache-2.0
//! The service that is called: whether it lives, answers, and grows; and how it lives again.
use super::attempt::Attempt;
use super::Service;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_client::device::no_service;
use anybinder_client::raw_manager::{RawManager, STRICT_MODE};
use anybinder_driver::parcel::{word, Parcel, Reader, Speaker, Target};
use anybinder_driver::raw_call::Outcome;
use anybinder_mount::context::Context;
use anybinder_mount::process::Process;
use anybinder_parcel::encode::Format;
use rsbinder::{DEBUG_PID_TRANSACTION, INTERFACE_TRANSACTION, PING_TRANSACTION};
use std::ffi::OsString;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a service may take to be registered, and how often it is looked for.
const REVIVAL: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// More than this is growth, in KiB; an open file counts as so many.
const GROWTH_KIB: u64 = 32 << 10;
const FILE_KIB: u64 = 256;

/// What harm was found, as it is printed.
pub type Finding = &'static str;
pub const DEATH: Finding = "death";
pub const HANG: Finding = "hang";
pub const GROWTH: Finding = "growth";

pub struct Subject<'a> {
    context: &'a Context,
    device: &'a str,
    name: &'a str,
    command: &'a [OsString],
    patience: Duration,
    manager: RawManager,
    handle: u32,
    speaker: Speaker,
    pid: u32,
    /// What it takes of the machine when it begins.
    first_size: u64,
    child: Option<Child>,
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<'a> Subject<'a> {
    /// Finds the service, or starts it.
    pub fn new(
        (context, device): (&'a Context, &'a str),
        name: &'a str,
        command: &'a [OsString],
        patience: Duration,
    ) -> Result<Subject<'a>> {
        let manager = RawManager::open(&context.mount, device)?;
        let mut subject = Subject {
            context,
            device,
            name,
            command,
            patience,
            manager,
            handle: 0,
            speaker: Speaker::default(),
            pid: 0,
            first_size: 0,
            child: None,
        };
        subject.start()?;
        let patience = match command.is_empty() {
            true => Duration::ZERO,
            false => REVIVAL,
        };
        match subject.find(patience)? {
            true => Ok(subject),
            false => Err(no_service(name)),
        }
    }

    fn start(&mut self) -> Result<()> {
        if let Some(program) = self.command.first() {
            let mut command = self.context.mount.own_command("run")?;
            command
                .arg("--")
                .args(self.command)
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let child = command.spawn();
            self.child = Some(child.doing(|| format!("starting {}", program.to_string_lossy()))?);
        }
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn ask(&mut self, code: u32) -> Result<Outcome> {
        self.call((self.handle, code, false), Parcel::default())
    }

    /// Makes a call, whose reply is given back.
    fn call(&mut self, called: (u32, u32, bool), parcel: Parcel) -> Result<Outcome> {
        let outcome = self.manager.call(called, parcel, Some(self.patience))?;
        self.manager.driver.forget(&outcome);
        Ok(outcome)
    }

    /// Looks for the service until it answers. Returns whether it does.
    fn find(&mut self, patience: Duration) -> Result<bool> {
        let end = Instant::now() + patience;
        loop {
            if let Some(Target::Handle(handle)) =
                self.manager.look_up(self.name)?.map(|binder| binder.target)
            {
                self.handle = handle;
                if matches!(self.ask(PING_TRANSACTION)?, Outcome::Reply(..)) {
                    self.speaker = self.manager.speaker_of(self.name);
                    return Ok(true);
                }
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// What the service says that its interface is.
    pub fn descriptor(&mut self) -> Result<String> {
        let read = match self.ask(INTERFACE_TRANSACTION)? {
            Outcome::Reply(reply) => Reader::new(&reply.data, &reply.offsets).string16().ok(),
            _ => None,
        };
        let what = format!("{} does not say its interface.", self.name);
        read.ok_or_else(|| Error::new(what).of(Kind::CallFailed))
    }

    /// Notes how large the service is before the calls.
    pub fn begin(&mut self) {
        if let Ok(Outcome::Reply(reply)) = self.ask(DEBUG_PID_TRANSACTION) {
            self.pid = word(&reply.data, 0).unwrap_or(0);
        }
        if let (0, Some(child)) = (self.pid, &self.child) {
            self.pid = child.id();
        }
        self.first_size = self.size();
    }

    /// What the service takes of the machine, in KiB; 0 if its process is not known.
    pub fn size(&self) -> u64 {
        let process = Process::now(self.pid);
        let resident = process.and_then(|process| process.status_field("VmRSS"));
        let resident = resident.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.pid));
        resident.unwrap_or(0) + FILE_KIB * files.map_or(0, Iterator::count) as u64
    }

    pub fn has_grown(&self) -> bool {
        self.first_size > 0 && self.size() > 2 * self.first_size + GROWTH_KIB
    }

    /// Makes a call, and says what harm it did.
    pub fn make(&mut self, service: &Service, attempt: &Attempt) -> Result<Option<Finding>> {
        let descriptor = &service.interface.descriptor;
        let mut parcel = self.speaker.call(STRICT_MODE, descriptor);
        let plan = attempt.parcel(service, Format::Driver(self.speaker.level))?;
        let files = self.manager.fill(&mut parcel, &plan, self.speaker.level)?;
        let is_oneway = attempt.is_oneway(service);
        let mut outcome = self.call((self.handle, attempt.code, is_oneway), parcel)?;
        drop(files);
        if is_oneway && !matches!(outcome, Outcome::Dead) {
            outcome = self.ask(PING_TRANSACTION)?;
        }
        Ok(match outcome {
            Outcome::Dead => Some(DEATH),
            Outcome::Hangs => {
                // The thread of the driver waits for ever.
                self.manager = RawManager::open(&self.context.mount, self.device)?;
                Some(HANG)
            }
            Outcome::Reply(..) | Outcome::Status(_) | Outcome::Refused => None,
        })
    }

    /// Has a new service, if somebody starts it. Returns whether there is one.
    pub fn revive(&mut self) -> Result<bool> {
        self.stop();
        self.start()?;
        self.find(REVIVAL)
    }
}
