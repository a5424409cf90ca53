// SPDX-License-Identifier: Apache-2.0
//! The device and its service manager: names are registered and looked up, and objects and files
//! are put into parcels.
use crate::prepared::Behaviour;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_client::device;
use anybinder_client::objects::{fill, Node};
use anybinder_client::raw_manager::Manager;
use anybinder_driver::abi::{self, TF_ACCEPT_FDS, TF_ONE_WAY};
use anybinder_driver::driver::Driver;
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::{Parcel, Speaker, Target};
use anybinder_driver::raw_call::{Reply, Serve};
use anybinder_mount::mount::Mount;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::dialect::header_word;
use anybinder_rpc::foreign;
use anybinder_rpc::status_text::explain;
use rsbinder::StatusCode;
use std::fs::File;
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

/// Why a call has no reply.
pub enum Failure {
    Status(StatusCode),
    /// A file cannot be opened, for example.
    Request(String),
}

/// The service manager of the device, and our objects.
pub struct Bus {
    pub manager: Manager,
    /// How the service manager reads calls, and so those who find services there.
    speaker: Speaker,
    /// By their numbers, from 1 on.
    objects: RwLock<Vec<Arc<Object>>>,
    node_flags: u32,
}

/// Whether callers have security contexts. Without SELinux the kernel's own driver fails calls that
/// are to have them: there is none, or one of AppArmor, which it cannot turn into text.
fn has_contexts() -> bool {
    Path::new("/sys/fs/selinux/enforce").exists()
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
        let speaker = Speaker {
            level: foreign.map_or(Level::default(), |foreign| foreign.level),
            header_word: header_word(),
        };
        Ok(Bus {
            manager: Manager::new(mount, device, speaker),
            speaker,
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

    /// What an object of this process is in a parcel.
    fn node(&self, number: usize) -> Option<(Node, Stability)> {
        let object = self.object(number as u64)?;
        let stability = match object.behaviour.interface.is_vintf {
            true => Stability::VINTF,
            false => Stability::SYSTEM,
        };
        Some((Node::Own(number as u64, self.node_flags), stability))
    }

    /// Appends a parcel as one of a level, and puts objects and files into it. The files are to be
    /// open until it is sent.
    pub fn fill(
        &self,
        parcel: &mut Parcel,
        plan: &Plan,
        level: Level,
    ) -> std::result::Result<Vec<File>, String> {
        let filled = fill(parcel, plan, level, &mut |name| {
            let found = match name.split_once(' ') {
                Some(("handle", number)) => {
                    let handle = number.parse().ok().map(Node::Handle);
                    handle.map(|handle| (handle, Stability::SYSTEM))
                }
                Some(("object", number)) => number.parse().ok().and_then(|one| self.node(one)),
                _ => None,
            };
            found.ok_or_else(|| Error::new(format!("There is no {name}.")))
        });
        filled.map_err(|err| err.line())
    }

    /// Calls an object. The reply is to be given back.
    pub fn call(
        driver: &mut Driver,
        (handle, code, is_oneway): (u32, u32, bool),
        parcel: Parcel,
        serve: Serve,
    ) -> std::result::Result<Reply, Failure> {
        let flags = if is_oneway { TF_ONE_WAY } else { TF_ACCEPT_FDS };
        let outcome = driver.call((handle, code, flags), parcel, None, serve);
        let outcome = outcome.map_err(|err| Failure::Request(err.to_string()))?;
        outcome.reply().map_err(Failure::Status)
    }

    /// Looks up a service. Its handle has a reference then; None if there is none.
    pub fn find(&self, driver: &mut Driver, name: &str, serve: Serve) -> Result<Option<u32>> {
        match self
            .manager
            .look_up(driver, name, serve)?
            .map(|binder| binder.target)
        {
            Some(Target::Handle(handle)) => Ok(Some(handle)),
            Some(Target::Own) | None => Ok(None),
        }
    }

    /// Registers an object.
    pub fn register(&self, driver: &mut Driver, number: usize, serve: Serve) -> Result<()> {
        let object = self.object(number as u64).expect("a number of an object");
        let node = self.node(number).expect("as above");
        self.manager
            .add((driver, serve), &object.name, node, self.speaker)
    }
}

impl Failure {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Failure::Status(status) => explain(*status),
            Failure::Request(why) => why.clone(),
        }
    }
}
