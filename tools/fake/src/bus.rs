// SPDX-License-Identifier: Apache-2.0
//! The device and its service manager: names are registered and looked up, and objects and files
//! are put into parcels.
use crate::prepared::Behaviour;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_client::device::{self, policy_error};
use anybinder_client::raw_manager::{
    told_speaker, MANAGER, PRIORITY_DEFAULT, SECURITY_EXCEPTION, STRICT_MODE,
};
use anybinder_driver::abi::{
    self, OBJECT_SIZE, TF_ACCEPT_FDS, TF_ONE_WAY, TF_STATUS_CODE, TYPE_HANDLE,
};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::{Parcel, Reader, Speaker, Target};
use anybinder_mount::mount::Mount;
use anybinder_parcel::encode::{Object as Planned, Parcel as Plan};
use anybinder_rpc::dialect::header_word;
use anybinder_rpc::foreign;
use anybinder_rpc::status_text::explain;
use anybinder_servicemanager::numbering::{self, Method};
use anybinder_servicemanager::{DESCRIPTOR, LEVEL_TRANSACTION};
use rsbinder::StatusCode;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// How long a name may be that of a process which is dead, and how often that is looked at.
const FORGETS: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// An object of this process.
pub struct Object {
    /// The name that it is registered by, or `object N`.
    pub name: String,
    pub behaviour: Arc<Behaviour>,
}

/// What takes the events that come while a call waits.
pub type Serve<'a> = &'a mut dyn FnMut(&mut Driver, Event);

/// The data of a reply, and where its objects are.
pub type Contents = (Vec<u8>, Vec<u64>);

/// Why a call has no reply.
pub enum Failure {
    /// The driver failed it; with whether the receiver is dead.
    Driver(bool),
    Status(i32),
    /// A file cannot be opened, for example.
    Request(String),
}

/// What the service manager of the device takes, and our objects.
pub struct Bus {
    manager: Speaker,
    /// By their numbers, from 1 on.
    objects: RwLock<Vec<Arc<Object>>>,
    node_flags: u32,
}

/// Whether the kernel has security contexts: without, it fails calls that are to have them.
fn has_contexts() -> bool {
    std::fs::read("/proc/self/attr/current").is_ok_and(|context| !context.is_empty())
}

impl Bus {
    /// Finds out what the service manager speaks. Fails if one of these names is registered.
    pub fn open(mount: &Mount, device: &str, names: &[String]) -> Result<Bus> {
        device::open(mount, device, 0)?;
        device::service_manager(mount, device)?;
        let foreign = device::foreign();
        let listed = || foreign::list(foreign.as_ref()).unwrap_or_default();
        let taken = || listed().into_iter().find(|one| names.contains(&one.name));
        let is_running = |pid: i32| Path::new(&format!("/proc/{pid}")).exists();
        let mut waited = Duration::ZERO;
        while let Some(one) = taken().filter(|_| !names.is_empty()) {
            // The service manager is told of a death a little later.
            if one.pid.is_some_and(|pid| !is_running(pid)) && waited < FORGETS {
                waited += POLL;
                std::thread::sleep(POLL);
                continue;
            }
            let by = one
                .pid
                .map_or(String::new(), |pid| format!(", by process {pid}"));
            let what = format!("{} is registered already{by}.", one.name);
            let advice = "Stop that service, or start a bus of your own: anybinder --mount DIR up.";
            return Err(Error::with_advice(what, advice).of(Kind::Taken));
        }
        let context = if has_contexts() {
            abi::NEEDS_CONTEXT
        } else {
            0
        };
        Ok(Bus {
            manager: Speaker {
                level: foreign.map_or(Level::default(), |foreign| foreign.level),
                header_word: header_word(),
            },
            objects: RwLock::default(),
            node_flags: abi::FD_FLAGS | context,
        })
    }

    /// Makes an object. Returns its number.
    ///
    /// * `name`: None for one without a name
    pub fn add_object(&self, name: Option<&str>, behaviour: &Arc<Behaviour>) -> usize {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let number = objects.len() + 1;
        objects.push(Arc::new(Object {
            name: name.map_or_else(|| format!("object {number}"), str::to_string),
            behaviour: behaviour.clone(),
        }));
        number
    }

    /// The number of the object that has a name here.
    pub fn own(&self, name: &str) -> Option<usize> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects
            .iter()
            .position(|one| one.name == name)
            .map(|index| index + 1)
    }

    pub fn object(&self, number: u64) -> Option<Arc<Object>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        objects.get(index).cloned()
    }

    /// Appends a parcel of the newest form as one of a level, and puts objects and files into it.
    /// The files are to be open until it is sent. A program before Android 11 knows no stability:
    /// its word is left out.
    pub fn fill(&self, parcel: &mut Parcel, plan: &Plan, level: Level) -> io::Result<Vec<File>> {
        let (mut files, mut copied) = (Vec::new(), 0);
        for (offset, object) in &plan.objects {
            let end = offset + OBJECT_SIZE;
            parcel.data.extend_from_slice(&plan.data[copied..end]);
            let at = parcel.data.len() - OBJECT_SIZE;
            copied = end;
            let name = match object {
                Planned::File(path) => {
                    let named = |err| io::Error::other(format!("{}: {err}", path.display()));
                    let file = File::open(path).map_err(named)?;
                    parcel.put_file(at, &file);
                    files.push(file);
                    continue;
                }
                Planned::Service(name) => name,
            };
            let mut stability = Stability::SYSTEM;
            match name
                .split_once(' ')
                .map(|(what, number)| (what, number.parse::<u32>()))
            {
                Some(("handle", Ok(handle))) => parcel.put_object(at, TYPE_HANDLE, 0, handle),
                Some(("object", Ok(number))) => {
                    let object = self.object(number.into());
                    let object = object.ok_or_else(|| io::Error::other(format!("no {name}")))?;
                    if object.behaviour.interface.is_vintf {
                        stability = Stability::VINTF;
                    }
                    parcel.put_own(at, self.node_flags, number.into());
                }
                _ => return Err(io::Error::other(format!("{name} is no object"))),
            }
            let word = stability.word(level.stability_form());
            parcel
                .data
                .extend(word.iter().flat_map(|word| word.to_le_bytes()));
            copied += 4;
        }
        parcel.data.extend_from_slice(&plan.data[copied..]);
        Ok(files)
    }

    /// Calls an object. `keep` sees the reply before its handles are given back.
    pub fn call(
        driver: &mut Driver,
        (handle, code, is_oneway): (u32, u32, bool),
        parcel: Parcel,
        (serve, keep): (Serve, &mut dyn FnMut(&mut Driver, &Contents)),
    ) -> std::result::Result<Contents, Failure> {
        let flags = if is_oneway { TF_ONE_WAY } else { TF_ACCEPT_FDS };
        let failed = |err: io::Error| Failure::Request(err.to_string());
        let reply = driver.call_serving((handle, code, flags), parcel, serve);
        let Some(reply) = reply.map_err(failed)? else {
            return Err(Failure::Driver(driver.was_dead()));
        };
        if is_oneway {
            return Ok(Contents::default());
        }
        let contents = driver.contents(&reply).unwrap_or_default();
        keep(driver, &contents);
        driver.free(&reply);
        driver.flush().map_err(failed)?;
        match contents.0.first_chunk::<4>() {
            Some(word) if reply.flags & TF_STATUS_CODE != 0 => {
                Err(Failure::Status(i32::from_le_bytes(*word)))
            }
            _ => Ok(contents),
        }
    }

    fn ask(
        &self,
        driver: &mut Driver,
        method: Method,
        serve: Serve,
        fill: &dyn Fn(&mut Parcel),
        keep: &mut dyn FnMut(&mut Driver, &Contents),
    ) -> std::result::Result<Contents, Failure> {
        let code = numbering::code(self.manager.level, method);
        let code = code.ok_or(Failure::Status(StatusCode::UnknownTransaction.into()))?;
        let mut parcel = self.manager.call(STRICT_MODE, DESCRIPTOR);
        fill(&mut parcel);
        Bus::call(driver, (MANAGER, code, false), parcel, (serve, keep))
    }

    /// Looks up a service. Its handle has a reference then; None if there is none.
    pub fn find(&self, driver: &mut Driver, name: &str, serve: Serve) -> Result<Option<u32>> {
        let mut found = Err(StatusCode::NotEnoughData);
        let fill = |parcel: &mut Parcel| {
            parcel.string16(name);
        };
        let mut keep = |driver: &mut Driver, (data, offsets): &Contents| {
            let mut reader = Reader::new(data, offsets);
            found = reader.i32().and_then(|exception| match exception {
                0 => reader.binder(false).map(|binder| binder.target),
                SECURITY_EXCEPTION => Err(StatusCode::PermissionDenied),
                _ => Err(StatusCode::BadValue),
            });
            if let Ok(Target::Handle(handle)) = found {
                driver.acquire(handle);
            }
        };
        let asked = self.ask(driver, Method::GetService, serve, &fill, &mut keep);
        let what = format!("The service manager failed to look up {name}");
        asked.map_err(|failure| failure.error(&what))?;
        match found {
            Ok(Target::Handle(handle)) => Ok(Some(handle)),
            Err(StatusCode::UnexpectedNull) => Ok(None),
            Err(StatusCode::PermissionDenied) => Err(policy_error(&format!(
                "The policy of the service manager does not let you find {name}"
            ))),
            _ => Err(Error::new(format!("{what}: its reply has another format."))),
        }
    }

    /// How the process writes calls that has registered a name, if the service manager tells.
    pub fn speaker_of(&self, driver: &mut Driver, name: &str, serve: Serve) -> Speaker {
        let mut parcel = Parcel::default();
        parcel.string16(name);
        let asked = (MANAGER, LEVEL_TRANSACTION, false);
        let told = Bus::call(driver, asked, parcel, (serve, &mut |_, _| {})).ok();
        let read = told.and_then(|(data, offsets)| told_speaker(&data, &offsets));
        let newest = Speaker {
            level: Level::default(),
            ..self.manager
        };
        read.unwrap_or(newest)
    }

    /// Registers an object.
    pub fn register(&self, driver: &mut Driver, number: usize, serve: Serve) -> Result<()> {
        let object = self.object(number as u64).expect("a number of an object");
        let name = &object.name;
        let mut plan = Plan::default();
        plan.object(Planned::Service(format!("object {number}")));
        plan.word(0);
        let fill = |parcel: &mut Parcel| {
            parcel.string16(name);
            // Nothing here is a file.
            drop(self.fill(parcel, &plan, self.manager.level));
            parcel.i32(0).i32(PRIORITY_DEFAULT);
        };
        let asked = self.ask(driver, Method::AddService, serve, &fill, &mut |_, _| {});
        let what = format!("{name} cannot be registered");
        let (data, offsets) = asked.map_err(|failure| failure.error(&what))?;
        let mut reader = Reader::new(&data, &offsets);
        match reader.i32().doing(|| format!("registering {name}"))? {
            0 => Ok(()),
            SECURITY_EXCEPTION => Err(policy_error(&format!(
                "The service manager does not let you register {name}"
            ))),
            exception => {
                let why = reader
                    .string16()
                    .unwrap_or_else(|_| format!("exception {exception}"));
                Err(Error::new(format!("{what}: {why}.")))
            }
        }
    }
}

impl Failure {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Failure::Driver(true) => explain(StatusCode::DeadObject),
            Failure::Driver(false) => explain(StatusCode::FailedTransaction),
            Failure::Status(status) => explain((*status).into()),
            Failure::Request(why) => why.clone(),
        }
    }

    fn error(&self, what: &str) -> Error {
        Error::new(format!("{what}: {}.", self.text())).of(Kind::CallFailed)
    }
}
