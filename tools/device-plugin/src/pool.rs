// SPDX-License-Identifier: Apache-2.0
//! What the kubelet hands out: contexts of their own, and places of the machine's own devices.
//!
//! A context is a set of devices of the mount, `podN-NAME`, that a container finds at `/dev/NAME`
//! and `/dev/binderfs/NAME`. They are made anew when a pod gets them, so that nobody who had the
//! context before has a part in it. The names stay: a container that is started again finds what
//! its pod got. No container gets the directory of the mount, where the devices of all pods are.
use crate::api::{Bind, ContainerResponse, Device, Node, HEALTHY, UNHEALTHY};
use crate::cdi::Specification;
use crate::worker::Worker;
use anybinder_cli::error::Error;
use anybinder_mount::mount::{Backend, Mount, DEFAULT_PATH};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The devices that Android's programs look for.
const NAMES: [&str; 3] = ["binder", "hwbinder", "vndbinder"];
/// Where a container finds which of the resources it has.
const ONE_RESOURCE: &str = "/dev/.one-binder-resource";
/// How long one look at the devices may go on making them.
const SLICE: Duration = Duration::from_secs(1);
/// How many characters of a name that is none are said.
const SAID: usize = 64;
/// What libbinder reads to know what the driver can do.
const FEATURES: &str = "features";

/// What one of a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Devices that nobody else has.
    Own,
    /// The devices of the machine, with its service manager.
    Shared,
}

pub struct Pool {
    pub kind: Kind,
    pub mount: Mount,
    /// How many containers may have one at a time.
    pub count: u32,
    pub worker: Worker,
    /// Where the runtime finds the devices, if the kubelet is to be given their names.
    pub specification: Option<Specification>,
}

#[derive(Debug)]
pub enum Refusal {
    Several(usize),
    Unknown(String),
    /// Nothing is mounted.
    NotServed,
    Unmade(String, io::Error),
    Unwritten(Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Several(count) => write!(out, "a container takes 1 of it, not {count}"),
            Refusal::Unknown(id) => write!(out, "there is no device {id}"),
            Refusal::NotServed => write!(out, "the Binder devices of this node are not served"),
            Refusal::Unwritten(err) => write!(out, "cannot write the specification of CDI: {err}"),
            Refusal::Unmade(name, err) => {
                write!(out, "cannot make the device {name}: {err}")?;
                match err.kind() {
                    io::ErrorKind::StorageFull => write!(out, "; see anybinderd's --max-devices"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Pool {
    /// Whether a daemon or the kernel serves the mount. Takes some seconds if it does not answer.
    pub fn is_served(&self) -> bool {
        matches!(self.mount.backend(), Backend::Daemon | Backend::Kernel)
    }

    /// All that there are.
    pub fn list(&self, is_healthy: bool) -> Vec<Device> {
        let health = if is_healthy { HEALTHY } else { UNHEALTHY };
        let device = |id| Device {
            id,
            health: health.into(),
        };
        self.ids().map(device).collect()
    }

    fn ids(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|number| format!("{}{number}", self.prefix()))
    }

    fn prefix(&self) -> &'static str {
        match self.kind {
            Kind::Own => "pod",
            Kind::Shared => "shared",
        }
    }

    fn has(&self, id: &str) -> bool {
        let number = id
            .strip_prefix(self.prefix())
            .and_then(|text| text.parse::<u32>().ok());
        number
            .is_some_and(|number| number < self.count && id == format!("{}{number}", self.prefix()))
    }

    /// Makes devices that are missing, which a pod of before may look for: all of them, or as many
    /// as SLICE allows.
    pub fn prepare(&self) -> Result<(), Refusal> {
        let start = Instant::now();
        if self.kind == Kind::Own {
            self.make_missing(self.ids().take_while(|_| start.elapsed() < SLICE))?;
        }
        match &self.specification {
            Some(specification) if start.elapsed() < SLICE => self.specify(specification),
            _ => Ok(()),
        }
    }

    fn specify(&self, specification: &Specification) -> Result<(), Refusal> {
        // The devices of a context have the same names always.
        if self.kind == Kind::Own && specification.is_written() {
            return Ok(());
        }
        let all = self.ids().map(|id| {
            let found = self.found_with(&id);
            (id, found)
        });
        let all = all.collect();
        specification.write(all).map_err(Refusal::Unwritten)
    }

    fn make_missing(&self, ids: impl Iterator<Item = String>) -> Result<(), Refusal> {
        let there: HashSet<String> = self.mount.devices().into_iter().collect();
        self.make(ids, |name| there.contains(name))
    }

    /// Makes the devices of contexts, but for those that are there.
    fn make(
        &self,
        ids: impl Iterator<Item = String>,
        is_there: impl Fn(&String) -> bool,
    ) -> Result<(), Refusal> {
        for id in ids {
            let wanted = NAMES.map(|name| format!("{id}-{name}"));
            for name in wanted.into_iter().filter(|name| !is_there(name)) {
                match add_device(&self.mount.path, &name) {
                    Err(err) if err.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(Refusal::Unmade(name, err));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn remake(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.mount.file(name)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
            _ => add_device(&self.mount.path, name),
        }
    }

    /// The id of one of them. Fails if there are several, or none of that name.
    fn known<'a>(&self, ids: &'a [String]) -> Result<&'a String, Refusal> {
        match ids {
            [id] if self.has(id) => Ok(id),
            [id] => Err(Refusal::Unknown(id.chars().take(SAID).collect())),
            _ => Err(Refusal::Several(ids.len())),
        }
    }

    /// Makes what is missing of the devices `ids`, whose container is about to start, perhaps not
    /// for the first time. Fails if nothing is mounted: the runtime would then make directories in
    /// place of the devices.
    pub fn check(&self, ids: &[String]) -> Result<(), Refusal> {
        let id = self.known(ids)?;
        match self.kind {
            // The list of all devices takes long on a node with many.
            Kind::Own if self.mount.is_binderfs() => self
                .make(std::iter::once(id.clone()), |name| {
                    self.mount.file(name).symlink_metadata().is_ok()
                }),
            Kind::Shared if !self.mount.devices().is_empty() => Ok(()),
            _ => Err(Refusal::NotServed),
        }
    }

    /// What a container that gets the devices `ids` has to find, which are made anew.
    pub fn allocate(&self, ids: &[String]) -> Result<ContainerResponse, Refusal> {
        let id = self.known(ids)?;
        if self.kind == Kind::Own {
            for (device, _) in self.devices(id) {
                self.remake(&device)
                    .map_err(|err| Refusal::Unmade(device, err))?;
            }
        }
        Ok(match &self.specification {
            Some(specification) => {
                self.specify(specification)?;
                specification.answer(id)
            }
            None => self.found_with(id),
        })
    }

    fn found_with(&self, id: &str) -> ContainerResponse {
        let mut response = ContainerResponse::default();
        for (device, name) in self.devices(id) {
            for directory in ["/dev", DEFAULT_PATH] {
                let inside = Path::new(directory).join(&name);
                self.place(&mut response, &self.mount.file(&device), &inside);
            }
        }
        let features = self.mount.file(FEATURES);
        if features.is_dir() {
            let inside = Path::new(DEFAULT_PATH).join(FEATURES);
            self.place(&mut response, &features, &inside);
            self.exclude_other(&mut response, &features);
        }
        response
    }

    /// Keeps a container from starting that asks for both resources: nobody is told that it does,
    /// and the kubelet would give it the devices of either. For one resource ONE_RESOURCE is a
    /// file, for the other a directory, so that the runtime cannot make both.
    fn exclude_other(&self, response: &mut ContainerResponse, features: &Path) {
        let inside = Path::new(ONE_RESOURCE);
        if self.kind == Kind::Shared {
            return self.place(response, features, &inside.join(FEATURES));
        }
        let files = std::fs::read_dir(features).into_iter().flatten().flatten();
        if let Some(file) = files.map(|entry| entry.path()).min() {
            self.place(response, &file, inside);
        }
    }

    /// The devices of the mount that a container gets, and what it calls them.
    fn devices(&self, id: &str) -> Vec<(String, String)> {
        match self.kind {
            Kind::Own => Vec::from(NAMES.map(|name| (format!("{id}-{name}"), name.to_string()))),
            Kind::Shared => {
                let names = self.mount.devices_of_machine().into_iter();
                names.map(|name| (name.clone(), name)).collect()
            }
        }
    }

    /// A file or directory of a daemon is bound; a device node of a kernel's driver is made.
    fn place(&self, response: &mut ContainerResponse, from: &Path, to: &Path) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let is_node = from
            .metadata()
            .is_ok_and(|data| data.file_type().is_char_device());
        if is_node {
            response.devices.push(Node {
                container_path: text(to),
                host_path: text(from),
                permissions: "rw".into(),
            });
        } else {
            response.mounts.push(Bind {
                container_path: text(to),
                host_path: text(from),
                read_only: from.starts_with(self.mount.file(FEATURES)),
            });
        }
    }
}

const NAME_BYTES: usize = 256;

/// `struct binderfs_device`.
#[repr(C)]
struct NewDevice {
    name: [u8; NAME_BYTES],
    major: u32,
    minor: u32,
}

/// `BINDER_CTL_ADD`: `_IOWR('b', 1, struct binderfs_device)`.
const ADD: u32 = 3 << 30 | (size_of::<NewDevice>() as u32) << 16 | (b'b' as u32) << 8 | 1;

/// Makes the device `name` in `mount`.
fn add_device(mount: &Path, name: &str) -> io::Result<()> {
    let control = File::open(mount.join("binder-control"))?;
    let mut device = NewDevice {
        name: [0; NAME_BYTES],
        major: 0,
        minor: 0,
    };
    if name.len() >= NAME_BYTES {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    device.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the call reads and writes one structure of the size that its number has.
    match unsafe { libc::ioctl(control.as_raw_fd(), ADD as _, &raw mut device) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
