// SPDX-License-Identifier: Apache-2.0
//! Which object is which service. The service manager is asked, and nothing of the services
//! themselves, which may hang: a lookup gives this process a handle of a service, and the driver's
//! report says which node that handle leads to.
//!
//! `Services` has the handles; `Nodes` are the names of nodes for those who read the driver's
//! report at intervals anyway. A trace, which sees what happens, looks by itself (`trace`).
use super::interfaces::Interfaces;
use crate::command::services::list::{self, Service};
use anybinder_cli::error::{Error, Result};
use anybinder_client::device;
use anybinder_client::raw::{Reply, Request};
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report::{Handle, Process};
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Parcel;
use anybinder_parcel::status;
use anybinder_parcel::types::{Kind, Type};
use anybinder_rpc::dialect::Dialect;
use anybinder_rpc::foreign::Foreign;
use rsbinder::hub::ServiceManager;
use rsbinder::{ProcessState, SIBinder};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many services are looked up: as many as a user may register.
const MAX_SERVICES: usize = 16384;
/// How long the interfaces of services are waited for in the first place.
const PATIENCE: Duration = Duration::from_millis(500);
/// New services are not looked for more often.
const INTERVAL: Duration = Duration::from_secs(2);

/// The services of a device, and a handle of each.
pub struct Services {
    lookup: Lookup,
    /// If the services are asked for theirs.
    interfaces: Option<Interfaces>,
    /// By name; kept, so that the handles are not used for others.
    held: HashMap<String, Held>,
}

impl Services {
    /// The device must be open. Fails if it has no service manager, or that refuses.
    pub fn open(mount: &Mount, device: &str) -> Result<Services> {
        Ok(Services {
            lookup: Lookup::open(mount, device)?,
            interfaces: None,
            held: HashMap::new(),
        })
    }

    /// Has the services asked for their interfaces, from now on.
    pub fn ask_for_interfaces(&mut self) {
        let mut interfaces = Interfaces::new(self.lookup.manager.clone());
        self.held.keys().for_each(|name| interfaces.ask(name));
        self.interfaces = Some(interfaces);
    }

    /// Takes the interfaces that services have told, and waits for those that were asked last.
    /// Returns whether there are some.
    pub fn collect(&mut self, patience: Duration) -> bool {
        let interfaces = self.interfaces.as_mut();
        interfaces.is_some_and(|interfaces| interfaces.collect(patience))
    }

    /// The interface of a service; empty as long as it has not told.
    pub fn interface(&self, name: &str) -> &str {
        let interfaces = self.interfaces.as_ref();
        interfaces.map_or("", |interfaces| interfaces.of(name))
    }

    /// Takes a handle of each service.
    ///
    /// * `is_anew`: also of those that have one: another service may have taken the name
    pub fn look_up(&mut self, is_anew: bool) {
        let mut held = HashMap::new();
        for service in self.lookup.services().into_iter().take(MAX_SERVICES) {
            let name = service.name;
            let kept = if is_anew {
                None
            } else {
                self.held.remove(&name)
            };
            let one = kept.or_else(|| {
                if let Some(interfaces) = &mut self.interfaces {
                    interfaces.ask(&name);
                }
                self.lookup.hold(&name)
            });
            held.extend(one.map(|one| (name, one)));
        }
        // The former handles are given back after the new ones were taken.
        self.held = held;
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.held.keys()
    }

    /// The names of the services by their handles.
    pub fn by_handle(&self) -> HashMap<u32, &String> {
        let each = self.held.iter();
        each.map(|(name, held)| (held.handle, name)).collect()
    }
}

/// The handles of this process, in a report of the driver.
pub fn own_handles<'a>(
    processes: &'a [Process],
    device: &'a str,
) -> impl Iterator<Item = &'a Handle> {
    let own = std::process::id();
    let own = move |one: &&Process| one.pid == own && one.context == device;
    processes.iter().filter(own).flat_map(|one| &one.handles)
}

/// The objects of all processes, in a report of the driver.
fn objects(processes: &[Process], device: &str) -> Vec<u64> {
    let of_device = processes.iter().filter(|one| one.context == device);
    of_device
        .flat_map(|process| process.nodes.iter().map(|node| node.id))
        .collect()
}

/// The names of nodes. Without a service manager, or without the right to ask it, there are none.
pub struct Nodes {
    device: String,
    services: Option<Services>,
    /// Services were looked up since their interfaces were told.
    are_new: bool,
    names: HashMap<u64, String>,
    /// The objects that there were after the last lookup.
    seen: Vec<u64>,
    last: Instant,
}

impl Nodes {
    /// Opens the device, and looks the services up. Fails if the device cannot be opened.
    pub fn open(context: &Context, device: &str) -> Result<Nodes> {
        device::open(&context.mount, device, 0)?;
        let mut services = Services::open(&context.mount, device).ok();
        if let Some(services) = &mut services {
            services.look_up(true);
        }
        Ok(Nodes {
            device: device.to_string(),
            services,
            are_new: true,
            names: HashMap::new(),
            seen: Vec::new(),
            last: Instant::now(),
        })
    }

    /// The names by node.
    pub fn names(&self) -> &HashMap<u64, String> {
        &self.names
    }

    /// Has the services asked for their interfaces, from now on.
    pub fn ask_for_interfaces(&mut self) {
        if let Some(services) = &mut self.services {
            services.ask_for_interfaces();
            services.collect(PATIENCE);
        }
    }

    /// The interfaces of services that have answered, by their names.
    pub fn interfaces(&self) -> HashMap<String, String> {
        let all = self.services.iter().flat_map(|services| {
            let names = services.names();
            names.map(|name| (name.clone(), services.interface(name).to_string()))
        });
        all.filter(|(_, interface)| !interface.is_empty()).collect()
    }

    /// The interfaces, where there is something new; None: they are as they were told last.
    pub fn new_interfaces(&mut self) -> Option<HashMap<String, String>> {
        std::mem::take(&mut self.are_new).then(|| self.interfaces())
    }

    /// Looks for new services if there are new objects; `state` reads the driver's report.
    /// Returns the report that the names fit.
    pub fn update(&mut self, state: impl Fn() -> Result<Vec<Process>>) -> Result<Vec<Process>> {
        let mut processes = state()?;
        let now = objects(&processes, &self.device);
        // A service that was restarted is missed at once.
        let is_dead = self.names.keys().any(|node| !now.contains(node));
        let is_due = is_dead || self.last.elapsed() >= INTERVAL;
        let Some(services) = &mut self.services else {
            return Ok(processes);
        };
        if is_due && now != self.seen {
            self.last = Instant::now();
            services.look_up(true);
            self.are_new = true;
            processes = state()?;
            self.seen = objects(&processes, &self.device);
        }
        // What services have said of their interfaces by now.
        self.are_new |= services.collect(Duration::ZERO);
        let by_handle = services.by_handle();
        let known = |one: &Handle| Some((one.node, (*by_handle.get(&one.number)?).clone()));
        self.names = own_handles(&processes, &self.device)
            .filter_map(known)
            .collect();
        Ok(processes)
    }
}

/// What `getService` is at every level of the service manager.
const GET_SERVICE: u32 = 1;

/// A handle of a service, which leads to it as long as this is kept.
pub struct Held {
    pub handle: u32,
    _reply: Reply,
}

pub struct Lookup {
    pub manager: Arc<ServiceManager>,
    object: SIBinder,
    /// If it is one of an older level.
    pub foreign: Option<Foreign>,
}

impl Lookup {
    /// The device must be open. Fails if it has no service manager, or that refuses.
    pub fn open(mount: &Mount, device: &str) -> Result<Lookup> {
        let manager = device::service_manager(mount, device)?;
        let object = ProcessState::as_self()
            .context_object()
            .map_err(|err| Error::new(format!("The service manager does not answer: {err:?}.")))?;
        Ok(Lookup {
            foreign: device::foreign(),
            manager,
            object,
        })
    }

    /// All services. None if the service manager refuses that.
    pub fn services(&self) -> Vec<Service> {
        list::services_of(self.foreign.as_ref()).unwrap_or_default()
    }

    /// None if there is no such service, or it is one that only this process would call.
    pub fn hold(&self, name: &str) -> Option<Held> {
        let mut request = Request::with_header(&self.object, Dialect::default()).ok()?;
        let mut plan = Parcel::default();
        plan.string16(name);
        let no_service = |_: &str| Err(Error::new("A name has no objects."));
        request.append(&plan, &no_service).ok()?;
        let reply = request.send(&self.object, GET_SERVICE, 0).ok()?;
        let mut decoder = Decoder::new(&reply.data, None);
        if !matches!(status::read(&mut decoder), Ok(None)) {
            return None;
        }
        let object = decoder.value(&Type::of(Kind::Binder), 0).ok()?;
        let handle = u32::try_from(object.get("handle")?.as_u64()?).ok()?;
        Some(Held {
            handle,
            _reply: reply,
        })
    }
}
