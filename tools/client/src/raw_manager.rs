// SPDX-License-Identifier: Apache-2.0
//! A service manager by raw transactions. rsbinder asks every object that it gets for its
//! interface, and waits for the answer, and its parcels are of one level; this asks nothing but the
//! service manager, as a program of any level does.
use crate::device::{no_device, no_manager, no_service, policy_error};
use crate::objects::{append, fill, Node};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_driver::abi::{TF_ACCEPT_FDS, TF_ONE_WAY};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::level::{Level, Stability, StabilityForm};
use anybinder_driver::parcel::{Binder, Parcel, Reader, Speaker, Target, HEADER_WORDS};
use anybinder_driver::raw_call::{Outcome, Serve};
use anybinder_mount::mount::Mount;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::status_text::explain;
use anybinder_servicemanager::numbering::{self, Method};
use anybinder_servicemanager::{DESCRIPTOR, LEVEL_TRANSACTION};
use rsbinder::StatusCode;
use std::fs::File;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The handle of the service manager.
pub const MANAGER: u32 = 0;
/// At every level.
const GET_SERVICE: u32 = 1;
/// The dump priority that a service is registered with.
const PRIORITY_DEFAULT: i32 = 8;
const SECURITY_EXCEPTION: i32 = -1;
/// The policy of strict mode that libbinder of Android 11 and newer writes: none.
pub const STRICT_MODE: i32 = i32::MIN;

/// What libbinder answers to a call with another header word than its own.
const BAD_TYPE: i32 = i32::MIN + 1;

/// How the service manager of a device is asked, by whichever thread has a driver there.
pub struct Manager {
    mount: Mount,
    device: String,
    level: Level,
    /// The header word that it takes.
    word: AtomicI32,
}

impl Manager {
    pub fn new(mount: &Mount, device: &str, speaker: Speaker) -> Manager {
        Manager {
            mount: mount.clone(),
            device: device.to_string(),
            level: speaker.level,
            word: AtomicI32::new(speaker.header_word),
        }
    }

    /// How it reads calls.
    fn speaker(&self) -> Speaker {
        Speaker {
            level: self.level,
            header_word: self.word.load(Ordering::Relaxed),
        }
    }

    /// How a service reads calls: as the process that registered it writes them, or else as the
    /// service manager reads them, which has found it (`look_up`).
    pub fn speaker_of(&self, driver: &mut Driver, name: &str, serve: Serve) -> Speaker {
        let told = self.registrant(driver, name, serve);
        told.unwrap_or_else(|| self.speaker())
    }

    /// Opens the device once more.
    pub fn open(&self) -> Result<Driver> {
        let (mount, device) = (&self.mount, &self.device);
        mount.check_device(device)?;
        let driver = Driver::open(&mount.file(device));
        driver.map_err(|err| no_device(mount, device, &err.to_string()))
    }

    fn call(
        &self,
        (driver, serve): (&mut Driver, Serve),
        (code, request): (u32, Parcel),
        doing: &str,
    ) -> Result<Outcome> {
        let outcome = driver
            .call((MANAGER, code, TF_ACCEPT_FDS), request, None, serve)
            .doing(|| doing.to_string())?;
        match outcome {
            Outcome::Reply(_) | Outcome::Status(_) => Ok(outcome),
            _ => Err(no_manager(&self.mount, &self.device, "the call failed")),
        }
    }

    /// How the process writes calls that registered a service; None where the service manager does
    /// not tell.
    pub fn registrant(&self, driver: &mut Driver, name: &str, serve: Serve) -> Option<Speaker> {
        let mut request = Parcel::default();
        request.string16(name);
        let asked = (LEVEL_TRANSACTION, request);
        let reply = self.call((driver, serve), asked, "").ok()?.reply().ok()?;
        driver.give_back(&reply);
        let mut reader = Reader::new(&reply.data, &reply.offsets);
        Some(Speaker {
            level: reader.string16().ok()?.parse().ok()?,
            header_word: reader.i32().ok()?,
        })
    }

    /// Asks for a service, with each header word until one is taken, which is used from then on.
    fn get_service(&self, driver: &mut Driver, name: &str, serve: Serve) -> Result<Outcome> {
        let mut words = HEADER_WORDS.into_iter().skip(1);
        loop {
            let mut request = self.speaker().call(STRICT_MODE, DESCRIPTOR);
            request.string16(name);
            let asked = (GET_SERVICE, request);
            let doing = format!("looking up {name}");
            let outcome = self.call((driver, &mut *serve), asked, &doing)?;
            let word = match &outcome {
                Outcome::Status(BAD_TYPE) => words.next(),
                _ => None,
            };
            match word {
                Some(word) => self.word.store(word, Ordering::Relaxed),
                None => return Ok(outcome),
            }
        }
    }

    /// The object of a service, which is not asked for anything, with a reference to its handle;
    /// None if there is no such service.
    pub fn look_up(&self, driver: &mut Driver, name: &str, serve: Serve) -> Result<Option<Binder>> {
        let failed = |what: &str| {
            Error::new(format!(
                "The service manager failed to look up {name}: {what}."
            ))
            .of(Kind::CallFailed)
        };
        let outcome = self.get_service(driver, name, serve)?;
        let reply = outcome.reply().map_err(|status| failed(&explain(status)))?;
        driver.keep_handles(&reply);
        driver.give_back(&reply);
        let mut reader = Reader::new(&reply.data, &reply.offsets);
        match reader.i32() {
            Ok(0) => {}
            Ok(SECURITY_EXCEPTION) => {
                return Err(policy_error(&format!(
                    "The policy of the service manager does not let you find {name}"
                )));
            }
            _ => return Err(failed("its reply has another format")),
        }
        let with_stability = reader.clone().binder(true);
        match with_stability.or_else(|_| reader.binder(false)) {
            Ok(binder) => Ok(Some(binder)),
            Err(StatusCode::UnexpectedNull) => Ok(None),
            _ => Err(failed("it has no handle")),
        }
    }

    /// Registers an object, in the place of one that has the name.
    ///
    /// * `speaker`: how the object reads calls, which the service manager may tell others
    pub fn add(
        &self,
        (driver, serve): (&mut Driver, Serve),
        name: &str,
        object: (Node, Stability),
        speaker: Speaker,
    ) -> Result<()> {
        let what = format!("{name} cannot be registered");
        let code = numbering::code(speaker.level, Method::AddService).unwrap_or(GET_SERVICE);
        let mut request = speaker.call(STRICT_MODE, DESCRIPTOR);
        request.string16(name);
        append(&mut request, object, speaker.level);
        request.i32(0).i32(PRIORITY_DEFAULT);
        let doing = format!("registering {name}");
        let outcome = self.call((driver, serve), (code, request), &doing)?;
        let reply = outcome.reply().map_err(|status| {
            Error::new(format!("{what}: {}.", explain(status))).of(Kind::CallFailed)
        })?;
        driver.give_back(&reply);
        let mut reader = Reader::new(&reply.data, &reply.offsets);
        let exception = reader.i32();
        let message = reader.string16();
        let why = message.unwrap_or_else(|_| "the service manager refuses it".to_string());
        match exception {
            Ok(0) => Ok(()),
            Ok(SECURITY_EXCEPTION) => Err(policy_error(&format!("{what}: {why}"))),
            Ok(_) => Err(Error::new(format!("{what}: {why}."))),
            Err(_) => Err(Error::new(format!(
                "{what}: the service manager's reply is empty."
            ))),
        }
    }
}

/// A service manager, and a driver that serves no calls.
pub struct RawManager {
    pub driver: Driver,
    manager: Manager,
}

/// For those who serve nothing while they wait.
fn refuse(driver: &mut Driver, event: Event) {
    driver.refuse(event);
}

impl RawManager {
    pub fn open(mount: &Mount, device: &str) -> Result<RawManager> {
        let manager = Manager::new(mount, device, Speaker::default());
        Ok(RawManager {
            driver: manager.open()?,
            manager,
        })
    }

    /// See `Manager::look_up`.
    pub fn look_up(&mut self, name: &str) -> Result<Option<Binder>> {
        self.manager.look_up(&mut self.driver, name, &mut refuse)
    }

    /// See `Manager::registrant`.
    pub fn registrant(&mut self, name: &str) -> Option<Speaker> {
        self.manager.registrant(&mut self.driver, name, &mut refuse)
    }

    /// See `Manager::add`.
    pub fn add(&mut self, name: &str, object: (Node, Stability), speaker: Speaker) -> Result<()> {
        let thread = (&mut self.driver, &mut refuse as Serve);
        self.manager.add(thread, name, object, speaker)
    }

    /// See `Manager::speaker_of`.
    pub fn speaker_of(&mut self, name: &str) -> Speaker {
        self.manager.speaker_of(&mut self.driver, name, &mut refuse)
    }

    /// The handle of a service, which is not asked for anything. Fails if there is none.
    pub fn find(&mut self, name: &str) -> Result<u32> {
        match self.look_up(name)?.map(|binder| binder.target) {
            Some(Target::Handle(handle)) => Ok(handle),
            _ => Err(no_service(name)),
        }
    }

    /// Appends what was written, with services and files (see `objects::fill`).
    pub fn fill(&mut self, parcel: &mut Parcel, plan: &Plan, level: Level) -> Result<Vec<File>> {
        fill(parcel, plan, level, &mut |name| {
            Ok((Node::Handle(self.find(name)?), Stability::SYSTEM))
        })
    }

    /// Makes a call. What is called meanwhile is refused.
    ///
    /// * `limit`: how long to wait; None: as long as it takes
    pub fn call(
        &mut self,
        (handle, code, is_oneway): (u32, u32, bool),
        parcel: Parcel,
        limit: Option<Duration>,
    ) -> Result<Outcome> {
        let flags = if is_oneway { TF_ONE_WAY } else { TF_ACCEPT_FDS };
        let called = (handle, code, flags);
        let outcome = self.driver.call(called, parcel, limit, &mut refuse);
        outcome.doing(|| "calling".to_string())
    }
}

/// The stability of an object of the service manager.
pub fn stability_of(binder: &Binder) -> Stability {
    let known: Option<(Stability, StabilityForm)> = binder.stability;
    known.map_or(Stability::SYSTEM, |(stability, _)| stability.or_system())
}
