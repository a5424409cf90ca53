// SPDX-License-Identifier: Apache-2.0
//! Which object is which service. The service manager is asked, and nothing of the services
//! themselves, which may hang: a lookup gives this process a handle of a service, and the driver's
//! report says which node that handle leads to.
use super::interfaces::Interfaces;
use crate::command::services::list::{self, Service};
use anybinder_cli::error::{Error, Result};
use anybinder_client::device;
use anybinder_client::raw::{Reply, Request};
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report;
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

/// How many services are looked up.
const MAX_SERVICES: usize = 4096;
/// How long the interfaces of services are waited for in the first place.
const PATIENCE: Duration = Duration::from_millis(500);
/// New services are not looked for more often.
const INTERVAL: Duration = Duration::from_secs(2);

/// The names of nodes. Without a service manager, or without the right to ask it, there are none.
pub struct Nodes {
    device: String,
    lookup: Option<Lookup>,
    /// If the services are asked for theirs.
    interfaces: Option<Interfaces>,
    /// Services were looked up since their interfaces were told.
    are_new: bool,
    /// By name; kept, so that the handles are not used for others.
    held: HashMap<String, Held>,
    names: HashMap<u64, String>,
    /// The objects that there were after the last lookup.
    seen: Vec<u64>,
    last: Instant,
}

impl Nodes {
    /// Opens the device, and looks the services up. Fails if the device cannot be opened.
    pub fn open(context: &Context, device: &str) -> Result<Nodes> {
        device::open(&context.mount, device, 0)?;
        let mut nodes = Nodes {
            device: device.to_string(),
            lookup: Lookup::open(&context.mount, device).ok(),
            interfaces: None,
            are_new: true,
            held: HashMap::new(),
            names: HashMap::new(),
            seen: Vec::new(),
            last: Instant::now(),
        };
        nodes.look_up();
        Ok(nodes)
    }

    /// The names by node.
    pub fn names(&self) -> &HashMap<u64, String> {
        &self.names
    }

    /// Has the services asked for their interfaces, from now on.
    pub fn ask_for_interfaces(&mut self) {
        let manager = self.lookup.as_ref().map(|lookup| lookup.manager.clone());
        self.interfaces = manager.map(Interfaces::new);
        self.ask(PATIENCE);
    }

    fn ask(&mut self, patience: Duration) {
        if let Some(interfaces) = &mut self.interfaces {
            self.held.keys().for_each(|name| interfaces.ask(name));
            interfaces.collect(patience);
        }
    }

    /// The interfaces of services that have answered, by their names.
    pub fn interfaces(&self) -> HashMap<String, String> {
        let Some(interfaces) = &self.interfaces else {
            return HashMap::new();
        };
        let of = |name: &String| (name.clone(), interfaces.of(name).to_string());
        let known = self.held.keys().map(of);
        known
            .filter(|(_, interface)| !interface.is_empty())
            .collect()
    }

    /// The interfaces, where there is something new; None: they are as they were told last.
    pub fn new_interfaces(&mut self) -> Option<HashMap<String, String>> {
        std::mem::take(&mut self.are_new).then(|| self.interfaces())
    }

    fn look_up(&mut self) {
        let Some(lookup) = &self.lookup else {
            return;
        };
        let services = lookup.services().into_iter().take(MAX_SERVICES);
        let held = services.filter_map(|one| Some((lookup.hold(&one.name)?, one.name)));
        self.are_new = true;
        // The former handles are given back after the new ones were taken.
        self.held = held.map(|(held, name)| (name, held)).collect();
    }

    fn objects(&self, processes: &[state_report::Process]) -> Vec<u64> {
        let of_device = processes.iter().filter(|one| one.context == self.device);
        of_device
            .flat_map(|process| process.nodes.iter().map(|node| node.id))
            .collect()
    }

    /// Looks for new services if there are new objects; `state` reads the driver's report.
    /// Returns the report that the names fit.
    pub fn update(
        &mut self,
        state: impl Fn() -> Result<Vec<state_report::Process>>,
    ) -> Result<Vec<state_report::Process>> {
        let mut processes = state()?;
        let objects = self.objects(&processes);
        // A service that was restarted is missed at once.
        let is_dead = self.names.keys().any(|node| !objects.contains(node));
        let is_due = self.lookup.is_some() && (is_dead || self.last.elapsed() >= INTERVAL);
        if is_due && objects != self.seen {
            self.last = Instant::now();
            self.look_up();
            self.ask(Duration::ZERO);
            processes = state()?;
            self.seen = self.objects(&processes);
        }
        // What services have said of their interfaces by now.
        if let Some(interfaces) = &mut self.interfaces {
            self.are_new |= interfaces.collect(Duration::ZERO);
        }
        let of_handle: HashMap<u32, &String> = self
            .held
            .iter()
            .map(|(name, held)| (held.handle, name))
            .collect();
        let own = std::process::id();
        self.names = processes
            .iter()
            .filter(|process| process.pid == own && process.context == self.device)
            .flat_map(|process| &process.handles)
            .filter_map(|handle| Some((handle.node, (*of_handle.get(&handle.number)?).clone())))
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
