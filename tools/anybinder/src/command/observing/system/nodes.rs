// SPDX-License-Identifier: Apache-2.0
//! Which object is which service.
use super::lookup::{Held, Lookup};
use anybinder_cli::error::Result;
use anybinder_client::device;
use anybinder_mount::context::Context;
use anybinder_mount::state_report;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How many services are looked up.
const MAX_SERVICES: usize = 4096;
/// New services are not looked for more often.
const INTERVAL: Duration = Duration::from_secs(2);

/// The names of nodes. Without a service manager, or without the right to ask it, there are none.
pub struct Nodes {
    device: String,
    lookup: Option<Lookup>,
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

    fn look_up(&mut self) {
        let Some(lookup) = &self.lookup else {
            return;
        };
        let services = lookup.services().into_iter().take(MAX_SERVICES);
        let held = services.filter_map(|one| Some((lookup.hold(&one.name)?, one.name)));
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
        let is_due = self.lookup.is_some() && self.last.elapsed() >= INTERVAL;
        if is_due && self.objects(&processes) != self.seen {
            self.last = Instant::now();
            self.look_up();
            processes = state()?;
            self.seen = self.objects(&processes);
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
