// SPDX-License-Identifier: Apache-2.0
//! Which object is which service. A lookup gives this process a handle of the service, and the
//! driver's report says which node that handle leads to. Nothing is asked of the service itself,
//! which may hang.
use crate::command::list;
use anybinder_client::device;
use anybinder_client::foreign::Foreign;
use anybinder_client::raw::{Reply, Request};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::state;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Parcel;
use anybinder_parcel::status;
use anybinder_parcel::types::{Kind, Type};
use rsbinder::hub::ServiceManager;
use rsbinder::{ProcessState, SIBinder};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many services are looked up.
const MAX_SERVICES: usize = 4096;
/// New services are not looked for more often.
const INTERVAL: Duration = Duration::from_secs(2);
/// What `getService` is at every level of the service manager.
const GET_SERVICE: u32 = 1;

/// Asks the service manager for a service. The handle is kept as long as the reply is.
fn handle_of(manager: &SIBinder, name: &str) -> Option<(u32, Reply)> {
    let mut request = Request::with_header(manager).ok()?;
    let mut plan = Parcel::default();
    plan.string16(name);
    let no_service = |_: &str| Err(Error::new("A name has no objects."));
    request.append(&plan, &no_service).ok()?;
    let reply = request.send(manager, GET_SERVICE, 0).ok()?;
    let mut decoder = Decoder::new(&reply.data, None);
    if !matches!(status::read(&mut decoder), Ok(None)) {
        return None;
    }
    let object = decoder.value(&Type::of(Kind::Binder), 0).ok()?;
    let handle = u32::try_from(object.get("handle")?.as_u64()?).ok()?;
    Some((handle, reply))
}

struct Manager {
    client: Arc<ServiceManager>,
    object: SIBinder,
    /// If it is one of an older level.
    foreign: Option<Foreign>,
}

/// The names of nodes. Without a service manager, or without the right to ask it, there are none.
pub struct Nodes {
    device: String,
    manager: Option<Manager>,
    /// By name; kept, so that the handles are not used for others.
    kept: HashMap<String, (u32, Reply)>,
    names: HashMap<u64, String>,
    /// The objects of others that there were at the last lookup.
    seen: HashSet<u64>,
    last: Option<Instant>,
}

impl Nodes {
    /// Opens the device. Fails if that cannot be done.
    pub fn open(context: &Context, device: &str) -> Result<Nodes> {
        device::open(&context.mount, device, 0)?;
        let client = device::service_manager(&context.mount, device).ok();
        let object = ProcessState::as_self().context_object().ok();
        let manager = client.zip(object).map(|(client, object)| Manager {
            foreign: device::foreign(&client),
            client,
            object,
        });
        Ok(Nodes {
            device: device.to_string(),
            manager,
            kept: HashMap::new(),
            names: HashMap::new(),
            seen: HashSet::new(),
            last: None,
        })
    }

    /// The names by node.
    pub fn names(&self) -> &HashMap<u64, String> {
        &self.names
    }

    fn look_up(&mut self) {
        let Some(manager) = &self.manager else {
            return;
        };
        let mut kept = HashMap::new();
        let listed = list::services_of(&manager.client, manager.foreign.as_ref());
        let listed = listed.unwrap_or_default();
        for service in listed.into_iter().take(MAX_SERVICES) {
            if let Some(found) = handle_of(&manager.object, &service.name) {
                kept.insert(service.name, found);
            }
        }
        // The former handles are given back after the new ones were taken.
        self.kept = kept;
    }

    fn objects(&self, processes: &[state::Process]) -> HashSet<u64> {
        processes
            .iter()
            .filter(|process| process.context == self.device)
            .flat_map(|process| process.nodes.iter().map(|node| node.id))
            .collect()
    }

    /// Looks for new services if there are new objects; `state` reads the driver's report.
    /// Returns the report that the names fit.
    pub fn update(
        &mut self,
        state: impl Fn() -> Result<Vec<state::Process>>,
    ) -> Result<Vec<state::Process>> {
        let processes = state()?;
        let objects = self.objects(&processes);
        let is_due = self.last.is_none_or(|last| last.elapsed() >= INTERVAL);
        if self.manager.is_none() || !is_due || objects == self.seen {
            return Ok(processes);
        }
        self.last = Some(Instant::now());
        self.look_up();
        let processes = state()?;
        self.seen = self.objects(&processes);
        let of_handle: HashMap<u32, &String> = self
            .kept
            .iter()
            .map(|(name, (handle, _))| (*handle, name))
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
