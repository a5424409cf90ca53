// SPDX-License-Identifier: Apache-2.0
//! One-way calls to a service that may be stopped. rsbinder asks every object that it gets for its
//! interface, and waits for the answer; this asks nothing but the service manager.
use crate::device::{no_device, no_manager, no_service, policy_error, refusal};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_driver::abi::{OBJECT_SIZE, TYPE_HANDLE};
use anybinder_driver::driver::{Driver, Sent};
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::{Parcel, Reader, Speaker, Target, HEADER_WORDS, SYSTEM_HEADER};
use anybinder_mount::mount::Mount;
use anybinder_parcel::encode::{Object, Parcel as Plan};
use anybinder_rpc::status_text::explain;
use anybinder_servicemanager::LEVEL_TRANSACTION;
use rsbinder::StatusCode;
use std::fs::File;

const MANAGER: u32 = 0;
const MANAGER_INTERFACE: &str = "android.os.IServiceManager";
/// At every level.
const GET_SERVICE: u32 = 1;
const SECURITY_EXCEPTION: i32 = -1;
/// The policy of strict mode that libbinder of Android 11 and newer writes: none.
const STRICT_MODE: i32 = i32::MIN;

/// An open device of its own. The replies of the service manager are kept as long as it lives, and
/// with them the handles in them.
pub struct Unasked<'a> {
    driver: Driver,
    mount: &'a Mount,
    device: &'a str,
    /// The header word that the service manager takes.
    word: i32,
}

/// What libbinder answers to a call with another header word than its own.
const BAD_TYPE: i32 = i32::MIN + 1;

impl<'a> Unasked<'a> {
    pub fn open(mount: &'a Mount, device: &'a str) -> Result<Self> {
        mount.check_device(device)?;
        let path = mount.file(device);
        let driver =
            Driver::open(&path).map_err(|err| no_device(mount, device, &err.to_string()))?;
        Ok(Unasked {
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

    fn registrant(&mut self, name: &str) -> Option<Speaker> {
        let mut request = Parcel::default();
        request.string16(name);
        let driver = &mut self.driver;
        let reply = driver.call(MANAGER, LEVEL_TRANSACTION, request, &mut Vec::new());
        let (data, offsets) = driver.contents(&reply.ok()??)?;
        let mut reader = Reader::new(&data, &offsets);
        Some(Speaker {
            level: reader.string16().ok()?.parse().ok()?,
            header_word: reader.i32().ok()?,
        })
    }

    /// The handle of a service, which is not asked for anything.
    pub fn find(&mut self, name: &str) -> Result<u32> {
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
            let mut request = Parcel::call(STRICT_MODE, self.word, MANAGER_INTERFACE);
            request.string16(name);
            let reply = self
                .driver
                .call(MANAGER, GET_SERVICE, request, &mut Vec::new())
                .doing(|| format!("looking up {name}"))?;
            let reply =
                reply.ok_or_else(|| no_manager(self.mount, self.device, "the call failed"))?;
            let contents = self.driver.contents(&reply);
            let (data, offsets) = contents.ok_or_else(|| failed("its reply has no data"))?;
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
        match reader.binder(false).map(|binder| binder.target) {
            Ok(Target::Handle(handle)) => Ok(handle),
            Err(StatusCode::UnexpectedNull) => Err(no_service(name)),
            _ => Err(failed("it has no handle")),
        }
    }

    /// Sends a one-way call.
    ///
    /// * `name`, `target`, `code`: the service, its handle, the method
    /// * `interface`, `speaker`: the header
    pub fn send(
        &mut self,
        (name, target, code): (&str, u32, u32),
        (interface, speaker): (&str, Speaker),
        plan: &Plan,
    ) -> Result<()> {
        let mut parcel = speaker.call(STRICT_MODE, interface);
        let base = parcel.data.len();
        parcel.data.extend_from_slice(&plan.data);
        // Open until the driver has taken them.
        let mut files = Vec::new();
        for (offset, object) in &plan.objects {
            let at = base + offset;
            match object {
                Object::Service(name) => {
                    let handle = self.find(name)?;
                    parcel.put_object(at, TYPE_HANDLE, 0, handle);
                    if let Some(word) = Stability::SYSTEM.word(speaker.level.stability_form()) {
                        parcel.data[at + OBJECT_SIZE..][..4].copy_from_slice(&word.to_ne_bytes());
                    }
                }
                Object::File(path) => {
                    let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
                    parcel.put_file(at, &file);
                    files.push(file);
                }
            }
        }
        let sent = self.driver.send_oneway(target, code, parcel);
        let reason = match sent.doing(|| format!("calling {name}"))? {
            Sent::Accepted => return Ok(()),
            Sent::Dead => explain(StatusCode::DeadObject),
            Sent::Refused(errno) => refusal(errno),
        };
        Err(Error::new(format!("{name} failed: {reason}.")).of(Kind::CallFailed))
    }
}
