// SPDX-License-Identifier: Apache-2.0
//! The device and its service manager: names are registered and looked up, and objects and files
//! are put into parcels.
use crate::lock;
use crate::prepared::Behaviour;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_client::device;
use anybinder_client::objects::{fill, Node};
use anybinder_client::raw_manager::Manager;
use anybinder_driver::abi;
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::{Parcel, Speaker};
use anybinder_mount::mount::Mount;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::dialect::header_word;
use anybinder_rpc::foreign;
use anybinder_rpc::status_text::explain;
use rsbinder::StatusCode;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
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
    pub speaker: Speaker,
    /// By their numbers, from 1 on.
    objects: Mutex<Vec<Arc<Object>>>,
    node_flags: u32,
}

/// The handle that `handle N` stands for in a parcel; `object N` is an object of this process.
pub fn handle_of(name: &str) -> Option<u32> {
    name.strip_prefix("handle ")?.parse().ok()
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
            objects: Mutex::default(),
            node_flags: abi::FD_FLAGS | context,
        })
    }

    fn objects(&self) -> MutexGuard<'_, Vec<Arc<Object>>> {
        lock(&self.objects)
    }

    /// Makes an object. Returns its number.
    ///
    /// * `name`: None for one without a name
    pub fn add_object(&self, name: Option<&str>, behaviour: &Arc<Behaviour>) -> usize {
        let mut objects = self.objects();
        let number = objects.len() + 1;
        objects.push(Arc::new(Object {
            name: name.map_or_else(|| format!("object {number}"), str::to_string),
            behaviour: behaviour.clone(),
        }));
        number
    }

    /// The number of the object that has a name here.
    pub fn own(&self, name: &str) -> Option<usize> {
        let place = self.objects().iter().position(|one| one.name == name);
        place.map(|index| index + 1)
    }

    pub fn object(&self, number: u64) -> Option<Arc<Object>> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.objects().get(index).cloned()
    }

    /// What an object of this process is in a parcel.
    pub fn node(&self, number: usize) -> Option<(Node, Stability)> {
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
            let handle = handle_of(name).map(|handle| (Node::Handle(handle), Stability::SYSTEM));
            let own = || self.node(name.strip_prefix("object ")?.parse().ok()?);
            handle
                .or_else(own)
                .ok_or_else(|| Error::new(format!("There is no {name}.")))
        });
        filled.map_err(|err| err.line())
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
