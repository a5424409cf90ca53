// SPDX-License-Identifier: Apache-2.0
//! When a trace asks which object is which service (`system::nodes` knows how): for all at the
//! start; later the events say when it is worth it: an object is passed to the service manager, as
//! when a service is registered, or an unknown object is called.
use super::value::MANAGER;
use crate::command::observing::system::nodes::{self, own_handles};
use anybinder_cli::error::Result;
use anybinder_cli::output::note;
use anybinder_client::device;
use anybinder_events::event::{Event, What};
use anybinder_events::recording::Recorder;
use anybinder_events::thread_names::{Names, Service};
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Unknown objects that are called are looked up not more often than this: most are no services.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long services may take to tell their interfaces before the trace goes on without.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct Services {
    all: Option<nodes::Services>,
    mount: Mount,
    device: String,
    /// A name may stand for another service than when it was looked up.
    is_anew: bool,
    /// Objects that are known, or were looked for.
    nodes: HashSet<u32>,
    /// The objects of service managers, and the calls to them that were not received yet.
    managers: HashSet<u32>,
    to_managers: HashSet<u32>,
    /// When to look again; None: there is no reason to.
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Services {
    /// Without a service manager, services have no names. Fails if there is no such device.
    pub fn find(mount: &Mount, device: &str) -> Result<Self> {
        device::open(mount, device, 0)?;
        let mut all = nodes::Services::open(mount, device)
            .inspect_err(|err| {
                note(format_args!(
                    "anybinder: names of services are missing: {}",
                    err.line()
                ))
            })
            .ok();
        if let Some(all) = &mut all {
            all.ask_for_interfaces();
        }
        Ok(Services {
            due: all.as_ref().map(|_| Instant::now()),
            all,
            mount: mount.clone(),
            device: device.to_string(),
            is_anew: false,
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
                self.is_anew = true;
                self.due = Some(Instant::now());
            }
            What::BufferFreed { id } => {
                self.to_managers.remove(id);
            }
            What::Lost { .. } => self.to_managers.clear(),
            _ => {}
        }
    }

    /// The driver's report with our handles. The driver in C has none about a process if that had
    /// the device open before and the driver is still busy closing it.
    fn report(&self) -> Vec<state_report::Process> {
        let names = [format!("proc/{}", std::process::id()), "state".to_string()];
        let reports = names.iter().map(|name| {
            let report = state_report::read_log(&self.mount, name);
            state_report::parse(&report.unwrap_or_default())
        });
        let has_ours = |report: &Vec<_>| own_handles(report, &self.device).next().is_some();
        let mut found = reports.filter(has_ours);
        found.next().unwrap_or_default()
    }

    /// Looks for new services if that is due, and for interfaces. False: nothing is new.
    fn look(&mut self) -> bool {
        let Some(all) = &mut self.all else {
            return false;
        };
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        if is_due {
            self.due = None;
            self.last = Some(Instant::now());
            all.look_up(std::mem::take(&mut self.is_anew));
        }
        let patience = if is_due { PATIENCE } else { Duration::ZERO };
        all.collect(patience) || is_due
    }

    /// Whether a service has this in its name.
    pub fn has(&self, part: &str) -> bool {
        let names = self.all.iter().flat_map(|all| all.names());
        let mut names = names.map(String::as_str).chain([MANAGER]);
        names.any(|name| name.contains(part))
    }

    /// Gives the names of new services, and those of interfaces, to `names`.
    pub fn update(&mut self, names: &mut Names, mut recorder: Option<&mut Recorder>) -> Result<()> {
        if !self.look() {
            return Ok(());
        }
        let report = self.report();
        let Some(all) = &self.all else {
            return Ok(());
        };
        let by_handle = all.by_handle();
        for handle in own_handles(&report, &self.device) {
            let (name, interface) = match by_handle.get(&handle.number) {
                _ if handle.number == 0 => (MANAGER, "android.os.IServiceManager"),
                Some(name) => (name.as_str(), all.interface(name)),
                None => continue,
            };
            let Ok(node) = u32::try_from(handle.node) else {
                continue;
            };
            let service = Service {
                name: name.to_string(),
                interface: interface.to_string(),
            };
            if names.service(node) == Some(&service) {
                continue;
            }
            self.nodes.insert(node);
            if handle.number == 0 {
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
