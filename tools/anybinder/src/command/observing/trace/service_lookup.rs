// SPDX-License-Identifier: Apache-2.0
//! Which object is which service. The service manager knows the handle of each service, and the
//! driver's report about this process says which object a handle leads to.
//!
//! All are asked for at the start. Later the events say when it is worth it: an object is passed to
//! the service manager, as when a service is registered, or an unknown object is called.
use super::value::MANAGER;
use crate::command::observing::system::interfaces::Interfaces;
use crate::command::observing::system::nodes::{Held, Lookup};
use anybinder_cli::error::Result;
use anybinder_cli::output::note;
use anybinder_client::device;
use anybinder_events::event::{Event, What};
use anybinder_events::recording::Recorder;
use anybinder_events::thread_names::{Names, Service};
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Unknown objects that are called are looked up not more often than this: most are no services.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long services may take to tell their interfaces before the trace goes on without.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct Services {
    lookup: Option<(Lookup, Interfaces)>,
    mount: Mount,
    /// The names of services, by handle. Kept, so that the handles are not used for others.
    found: HashMap<u32, (Held, String)>,
    known: HashSet<String>,
    /// Objects that are known, or were looked for.
    nodes: HashSet<u32>,
    /// The objects of service managers, and the calls to them that were not received yet.
    managers: HashSet<u32>,
    to_managers: HashSet<u32>,
    /// When to look again; None: there is no reason to.
    due: Option<Instant>,
    last: Option<Instant>,
}

/// The object of each handle of a process, in a driver's report about it or about all.
fn objects(report: &str, pid: u32) -> HashMap<u32, u32> {
    let processes = state_report::parse(report);
    let own = processes.iter().filter(|process| process.pid == pid);
    own.flat_map(|process| &process.handles)
        .filter_map(|handle| Some((handle.number, u32::try_from(handle.node).ok()?)))
        .collect()
}

impl Services {
    /// Without a service manager, services have no names. Fails if there is no such device.
    pub fn find(mount: &Mount, device: &str) -> Result<Self> {
        device::open(mount, device, 0)?;
        let lookup = Lookup::open(mount, device)
            .inspect_err(|err| {
                note(format_args!(
                    "anybinder: names of services are missing: {}",
                    err.line()
                ))
            })
            .ok();
        Ok(Services {
            due: lookup.as_ref().map(|_| Instant::now()),
            lookup: lookup.map(|lookup| {
                let interfaces = Interfaces::new(lookup.manager.clone());
                (lookup, interfaces)
            }),
            mount: mount.clone(),
            found: HashMap::new(),
            known: HashSet::new(),
            nodes: HashSet::new(),
            managers: HashSet::new(),
            to_managers: HashSet::new(),
            last: None,
        })
    }

    pub fn note(&mut self, event: &Event) {
        match &event.what {
            What::Sent(sent) if sent.node != 0 => {
                if self.managers.contains(&sent.node) {
                    self.to_managers.insert(sent.id);
                }
                if self.nodes.insert(sent.node) {
                    let earliest = self.last.map_or_else(Instant::now, |last| last + INTERVAL);
                    self.due = self.due.or(Some(earliest));
                }
            }
            What::Object { id, .. } if self.to_managers.contains(id) => {
                // The new service may replace one of the same name.
                self.known.clear();
                self.due = Some(Instant::now());
            }
            What::BufferFreed { id } => {
                self.to_managers.remove(id);
            }
            What::Lost { .. } => self.to_managers.clear(),
            _ => {}
        }
    }

    fn look_up(&mut self) {
        let Some((lookup, interfaces)) = &mut self.lookup else {
            return;
        };
        for service in lookup.services() {
            if !self.known.insert(service.name.clone()) {
                continue;
            }
            if let Some(held) = lookup.hold(&service.name) {
                interfaces.ask(&service.name);
                self.found.insert(held.handle, (held, service.name));
            }
        }
    }

    /// The object of each of our handles. The driver in C has no report about a process if that
    /// had the device open before and the driver is still busy closing it.
    fn objects(&self) -> HashMap<u32, u32> {
        let pid = std::process::id();
        let names = [format!("proc/{pid}"), "state".to_string()];
        let reports = names.iter().map(|name| {
            let report = state_report::read_log(&self.mount, name);
            objects(&report.unwrap_or_default(), pid)
        });
        let mut found = reports.filter(|objects| !objects.is_empty());
        found.next().unwrap_or_default()
    }

    /// Looks for new services if that is due, and for interfaces. False: nothing is new.
    fn look(&mut self) -> bool {
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        if is_due {
            self.due = None;
            self.last = Some(Instant::now());
            self.look_up();
        }
        let patience = if is_due { PATIENCE } else { Duration::ZERO };
        let interfaces = self.lookup.as_mut().map(|(_, interfaces)| interfaces);
        interfaces.is_some_and(|interfaces| interfaces.collect(patience)) || is_due
    }

    /// The service that a handle leads to.
    fn service(&self, handle: u32) -> Option<Service> {
        let (_, interfaces) = self.lookup.as_ref()?;
        if handle == 0 {
            return Some(Service {
                name: MANAGER.to_string(),
                interface: "android.os.IServiceManager".to_string(),
            });
        }
        let (_, name) = self.found.get(&handle)?;
        Some(Service {
            name: name.clone(),
            interface: interfaces.of(name).to_string(),
        })
    }

    /// Whether a service has this in its name.
    pub fn has(&self, part: &str) -> bool {
        let names = self.found.values().map(|(_, name)| name.as_str());
        names.chain([MANAGER]).any(|name| name.contains(part))
    }

    /// Gives the names of new services, and those of interfaces, to `names`.
    pub fn update(&mut self, names: &mut Names, mut recorder: Option<&mut Recorder>) -> Result<()> {
        if !self.look() {
            return Ok(());
        }
        for (handle, node) in self.objects() {
            let Some(service) = self.service(handle) else {
                continue;
            };
            if names.service(node) == Some(&service) {
                continue;
            }
            self.nodes.insert(node);
            if handle == 0 {
                self.managers.insert(node);
            }
            if let Some(recorder) = recorder.as_mut() {
                recorder.service(node, &service)?;
            }
            names.add_service(node, service);
        }
        Ok(())
    }
}
