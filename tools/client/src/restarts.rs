// SPDX-License-Identifier: Apache-2.0
//! How often services were restarted in the last minute, which the service manager of anybinder
//! knows: its answer to `getServiceDebugInfo` with an argument that AIDL does not declare.
use crate::raw_manager::{RawManager, MANAGER, STRICT_MODE};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{Parcel, Reader, SYSTEM_HEADER};
use anybinder_mount::mount::Mount;
use anybinder_servicemanager::numbering::{self, Method, PART, WITH_RESTARTS};
use anybinder_servicemanager::DESCRIPTOR;
use rsbinder::StatusCode;
use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long service managers are waited for, one of which may be stopped.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Restarted {
    pub name: String,
    /// The process that has the name now.
    pub pid: u32,
    pub restarts: u32,
}

/// A part of the list. An error: the service manager does not say how often they were restarted.
fn read(data: &[u8], offsets: &[u64]) -> Result<Vec<Restarted>, StatusCode> {
    let mut reader = Reader::new(data, offsets);
    if reader.i32()? != 0 {
        return Err(StatusCode::PermissionDenied);
    }
    let mut part = Vec::new();
    for _ in 0..reader.i32()? {
        let end = reader.parcelable()?;
        let (name, pid) = (reader.string16()?, reader.i32()?);
        if !reader.is_before(end) {
            return Err(StatusCode::NotEnoughData);
        }
        let restarts = reader.i32()?;
        part.push(Restarted {
            name,
            pid: pid.unsigned_abs(),
            restarts: restarts.unsigned_abs(),
        });
        reader.go_to(end);
    }
    Ok(part)
}

/// All services of a device. None if its service manager does not answer, or does not know.
fn of_device(mount: &Mount, device: &str) -> Option<Vec<Restarted>> {
    let code = numbering::code(Level::default(), Method::GetServiceDebugInfo)?;
    let mut manager = RawManager::open(mount, device).ok()?;
    let mut all: Vec<Restarted> = Vec::new();
    loop {
        let last = all.last().map_or("", |one| one.name.as_str());
        let mut request = Parcel::call(STRICT_MODE, SYSTEM_HEADER, DESCRIPTOR);
        request.string16(last).i32(WITH_RESTARTS);
        let outcome = manager.call((MANAGER, code, false), request, None);
        let reply = outcome.ok()?.reply().ok()?;
        manager.driver.give_back(&reply);
        let part = read(&reply.data, &reply.offsets).ok()?;
        let is_last = part.len() < PART;
        all.extend(part);
        if is_last {
            return Some(all);
        }
    }
}

/// Asks the service manager of a device, which may hang.
pub struct Asker {
    mount: Mount,
    device: String,
    /// The answer that is waited for.
    answer: Option<Receiver<Option<Vec<Restarted>>>>,
}

impl Asker {
    fn begin(&mut self) {
        if self.answer.is_some() {
            return;
        }
        let (mount, device) = (self.mount.clone(), self.device.clone());
        let (sender, answer) = mpsc::channel();
        let ask = move || drop(sender.send(of_device(&mount, &device)));
        self.answer = std::thread::Builder::new().spawn(ask).ok().map(|_| answer);
    }

    pub fn new(mount: &Mount, device: &str) -> Asker {
        Asker {
            mount: mount.clone(),
            device: device.to_string(),
            answer: None,
        }
    }

    /// All services. None if the service manager does not know how often they were restarted, or
    /// does not answer in time; then its answer is what a later call returns, which does not wait
    /// for it again.
    pub fn ask(&mut self) -> Option<Vec<Restarted>> {
        let patience = match self.answer {
            Some(_) => Duration::ZERO,
            None => PATIENCE,
        };
        self.ask_until(Instant::now() + patience)
    }

    fn ask_until(&mut self, end: Instant) -> Option<Vec<Restarted>> {
        self.begin();
        let answer = self.answer.take()?;
        match answer.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {
                self.answer = Some(answer);
                None
            }
            answered => answered.ok().flatten(),
        }
    }
}

/// The services of each device whose service manager tells. All are asked at the same time, so that
/// those that hang are waited for once.
pub fn of_devices(mount: &Mount, devices: &[&str]) -> HashMap<String, Vec<Restarted>> {
    let mut askers: Vec<Asker> = devices.iter().map(|name| Asker::new(mount, name)).collect();
    askers.iter_mut().for_each(Asker::begin);
    let end = Instant::now() + PATIENCE;
    let told = askers.into_iter().filter_map(|mut asker| {
        let services = asker.ask_until(end)?;
        Some((asker.device, services))
    });
    told.collect()
}

/// The restarts by process, for each the most of its services.
pub fn by_process(services: &[Restarted]) -> HashMap<u32, u32> {
    let mut most = HashMap::new();
    for one in services {
        let restarts: &mut u32 = most.entry(one.pid).or_default();
        *restarts = one.restarts.max(*restarts);
    }
    most
}
