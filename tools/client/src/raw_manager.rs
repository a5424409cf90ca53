// SPDX-License-Identifier: Apache-2.0
//! A service manager by raw transactions. rsbinder asks every object that it gets for its
//! interface, and waits for the answer, and its parcels are of one level; this asks nothing but the
//! service manager, as a program of any level does.
use crate::device::{no_device, no_manager, no_service, policy_error};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_driver::abi::OBJECT_SIZE;
use anybinder_driver::driver::Driver;
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{
    Binder, Parcel, Reader, Speaker, Target, HEADER_WORDS, OWN_POINTER, SYSTEM_HEADER,
};
use anybinder_driver::relay::FLAGS;
use anybinder_mount::mount::Mount;
use anybinder_servicemanager::numbering::{self, Method};
use anybinder_servicemanager::{DESCRIPTOR, LEVEL_TRANSACTION};
use rsbinder::StatusCode;

/// The handle of the service manager.
pub const MANAGER: u32 = 0;
/// At every level.
const GET_SERVICE: u32 = 1;
/// The dump priority that a service is registered with.
pub const PRIORITY_DEFAULT: i32 = 8;
pub const SECURITY_EXCEPTION: i32 = -1;
/// The policy of strict mode that libbinder of Android 11 and newer writes: none.
pub const STRICT_MODE: i32 = i32::MIN;

/// An open device of its own. The replies of the service manager are kept as long as it lives, and
/// with them the handles in them.
pub struct RawManager<'a> {
    pub driver: Driver,
    mount: &'a Mount,
    device: &'a str,
    /// The header word that the service manager takes.
    word: i32,
}

/// What libbinder answers to a call with another header word than its own.
const BAD_TYPE: i32 = i32::MIN + 1;

impl<'a> RawManager<'a> {
    pub fn open(mount: &'a Mount, device: &'a str) -> Result<Self> {
        mount.check_device(device)?;
        let path = mount.file(device);
        let driver =
            Driver::open(&path).map_err(|err| no_device(mount, device, &err.to_string()))?;
        Ok(RawManager {
            driver,
            mount,
            device,
            word: SYSTEM_HEADER,
        })
    }

    /// How a service reads calls: as the process that registered it writes them, or else as the
    /// service manager reads them, which has found it (`find`).
    pub fn speaker_of(&mut self, name: &str) -> Speaker {
        self.registrant(name).unwrap_or(Speaker {
            header_word: self.word,
            ..Speaker::default()
        })
    }

    /// How the process writes calls that registered a service; None where the service manager does
    /// not tell.
    pub fn registrant(&mut self, name: &str) -> Option<Speaker> {
        let mut request = Parcel::default();
        request.string16(name);
        let driver = &mut self.driver;
        let reply = driver.call(MANAGER, LEVEL_TRANSACTION, request, &mut Vec::new());
        let (data, offsets) = driver.contents(&reply.ok()??)?;
        told_speaker(&data, &offsets)
    }

    pub(crate) fn call(
        &mut self,
        code: u32,
        request: Parcel,
        doing: &str,
    ) -> Result<(Vec<u8>, Vec<u64>)> {
        let reply = self
            .driver
            .call(MANAGER, code, request, &mut Vec::new())
            .doing(|| doing.to_string())?;
        let reply = reply.ok_or_else(|| no_manager(self.mount, self.device, "the call failed"))?;
        Ok(self.driver.contents(&reply).unwrap_or_default())
    }

    /// The object of a service, which is not asked for anything; None if there is no such service.
    pub fn look_up(&mut self, name: &str) -> Result<Option<Binder>> {
        let failed = |what: &str| {
            Error::new(format!(
                "The service manager failed to look up {name}: {what}."
            ))
            .of(Kind::CallFailed)
        };
        let mut words = HEADER_WORDS
            .into_iter()
            .filter(|word| *word != SYSTEM_HEADER);
        let (data, offsets) = loop {
            let mut request = Parcel::call(STRICT_MODE, self.word, DESCRIPTOR);
            request.string16(name);
            let (data, offsets) = self.call(GET_SERVICE, request, &format!("looking up {name}"))?;
            match (Reader::new(&data, &offsets).i32(), words.next()) {
                (Ok(BAD_TYPE), Some(word)) => self.word = word,
                _ => break (data, offsets),
            }
        };
        let mut reader = Reader::new(&data, &offsets);
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

    /// The handle of a service, which is not asked for anything. Fails if there is none.
    pub fn find(&mut self, name: &str) -> Result<u32> {
        match self.look_up(name)?.map(|binder| binder.target) {
            Some(Target::Handle(handle)) => Ok(handle),
            _ => Err(no_service(name)),
        }
    }

    /// Registers an object, in the place of one that has the name.
    ///
    /// * `speaker`: how the object reads calls, which the service manager may tell others
    pub fn add(
        &mut self,
        name: &str,
        (target, stability): (Target, Stability),
        speaker: Speaker,
    ) -> Result<()> {
        let what = format!("{name} cannot be registered");
        let code = numbering::code(speaker.level, Method::AddService).unwrap_or(GET_SERVICE);
        let mut request = speaker.call(STRICT_MODE, DESCRIPTOR);
        request.string16(name);
        let at = request.data.len();
        let form = speaker.level.stability_form();
        request.binder(Some((target, stability)), form);
        if target == Target::Own {
            request.offsets.pop();
            let stability = request.data.split_off(at + OBJECT_SIZE);
            request.put_own(at, FLAGS, OWN_POINTER);
            request.data.extend(stability);
        }
        request.i32(0).i32(PRIORITY_DEFAULT);
        let (data, offsets) = self.call(code, request, &format!("registering {name}"))?;
        let mut reader = Reader::new(&data, &offsets);
        match reader.i32() {
            Ok(0) => Ok(()),
            Ok(code) => {
                let message = reader.string16();
                let why = message.unwrap_or_else(|_| "the service manager refuses it".to_string());
                let kind = match code {
                    SECURITY_EXCEPTION => Kind::Denied,
                    _ => Kind::Failed,
                };
                Err(Error::new(format!("{what}: {why}.")).of(kind))
            }
            Err(_) => Err(Error::new(format!(
                "{what}: the service manager's reply is empty."
            ))),
        }
    }
}

/// What the service manager answers to `LEVEL_TRANSACTION`.
pub fn told_speaker(data: &[u8], offsets: &[u64]) -> Option<Speaker> {
    let mut reader = Reader::new(data, offsets);
    Some(Speaker {
        level: reader.string16().ok()?.parse().ok()?,
        header_word: reader.i32().ok()?,
    })
}

/// The stability of an object of the service manager.
pub fn stability_of(binder: &Binder) -> Stability {
    let known: Option<(Stability, StabilityForm)> = binder.stability;
    known.map_or(Stability::SYSTEM, |(stability, _)| stability.or_system())
}
