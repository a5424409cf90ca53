// SPDX-License-Identifier: Apache-2.0
//! Which object is which service. The service manager knows the handle of each service, and the
//! driver's report about this process says which object a handle leads to.
use crate::command::list;
use anybinder_client::device;
use anybinder_events::names::{Names, Service};
use anybinder_events::recording::Recorder;
use anybinder_mount::error::Result;
use anybinder_mount::mount::Mount;
use rsbinder::hub::ServiceManager;
use rsbinder::SIBinder;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// New services are looked for when a call goes to an unknown object, but not more often.
const INTERVAL: Duration = Duration::from_secs(1);

pub struct Services {
    manager: Option<Arc<ServiceManager>>,
    report: PathBuf,
    /// By handle. Kept, so that the handles are not used for others.
    found: HashMap<u32, (SIBinder, Service)>,
    known: HashSet<String>,
    nodes: HashSet<u32>,
    /// When to look again; None: there is no reason to.
    due: Option<Instant>,
    last: Option<Instant>,
}

/// The object of each handle, in a driver's report about a process.
fn objects(report: &str) -> HashMap<u32, u32> {
    let number = |line: &str, key: &str| -> Option<u32> {
        let rest = line.split_once(key)?.1;
        rest.split_whitespace().next()?.parse().ok()
    };
    let refs = report
        .lines()
        .filter(|line| line.trim_start().starts_with("ref "));
    refs.filter_map(|line| Some((number(line, " desc ")?, number(line, "node ")?)))
        .collect()
}

impl Services {
    /// Without a service manager, or without the right to ask it, services have no names.
    pub fn find(mount: &Mount, device: &str) -> Self {
        let manager = device::open(mount, device, 0)
            .and_then(|()| device::service_manager(mount, device))
            .ok();
        let name = format!("proc/{}", std::process::id());
        let report = mount.file("binder_logs").join(&name);
        let debugfs = PathBuf::from("/sys/kernel/debug/binder").join(&name);
        Services {
            due: manager.as_ref().map(|_| Instant::now()),
            manager,
            report: if report.exists() { report } else { debugfs },
            found: HashMap::new(),
            known: HashSet::new(),
            nodes: HashSet::new(),
            last: None,
        }
    }

    /// A call went to an object.
    pub fn note(&mut self, node: u32) {
        if node != 0 && self.nodes.insert(node) && self.manager.is_some() && self.due.is_none() {
            let earliest = self.last.map_or_else(Instant::now, |last| last + INTERVAL);
            self.due = Some(earliest);
        }
    }

    fn look_up(&mut self, manager: &ServiceManager) {
        let Ok(services) = list::services(manager) else {
            return;
        };
        for service in services {
            if !self.known.insert(service.name.clone()) {
                continue;
            }
            let Ok(Some(binder)) = manager.try_get_service(&service.name) else {
                continue;
            };
            let Some(proxy) = binder.as_proxy() else {
                continue;
            };
            let named = Service {
                name: service.name,
                interface: proxy.descriptor().to_string(),
            };
            self.found.insert(proxy.handle(), (binder.clone(), named));
        }
    }

    /// Looks for new services if that is due, and gives their names to `names`.
    pub fn update(&mut self, names: &mut Names, mut recorder: Option<&mut Recorder>) -> Result<()> {
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        let Some(manager) = self.manager.clone().filter(|_| is_due) else {
            return Ok(());
        };
        self.due = None;
        self.last = Some(Instant::now());
        self.look_up(&manager);
        let objects = objects(&std::fs::read_to_string(&self.report).unwrap_or_default());
        let manager = Service {
            name: "manager".to_string(),
            interface: "android.os.IServiceManager".to_string(),
        };
        for (handle, node) in objects {
            let service = match self.found.get(&handle) {
                Some((_, service)) => service,
                None if handle == 0 => &manager,
                None => continue,
            };
            if names.service(node) == Some(service) {
                continue;
            }
            self.nodes.insert(node);
            names.add_service(node, service.clone());
            if let Some(recorder) = recorder.as_mut() {
                recorder.service(node, service)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_lead_to_objects() {
        let report = [
            "binder proc state:\nproc 5\ncontext binder\n",
            "  thread 5: l 11 need_return 0\n",
            "  ref 12: desc 0 node 1 s 1 w 1 d 0\n",
            "  ref 14: desc 3 dead node 9 s 1 w 1 d 0\n",
        ];
        let report = report.concat();
        assert_eq!(objects(&report), HashMap::from([(0, 1), (3, 9)]));
    }
}
