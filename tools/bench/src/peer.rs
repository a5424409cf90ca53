// SPDX-License-Identifier: Apache-2.0
//! The peers of a comparison: which there are, which of them can run here, and their daemons.
use crate::cell::{measure, Cell, SeatOptions};
use crate::daemon::{self, Daemon, Scratch};
use crate::figures::Figures;
use anybinder_mount::process::find_program;
use anybinder_mount::trouble::{Result, Trouble};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Measures the peers that need no library; built with everything else.
const PLAIN_PROGRAM: &str = "bench-ipc";
/// Measures every peer.
const FULL_PROGRAM: &str = "bench-peers";

type StartDaemon = fn(&Path) -> Result<Daemon>;

struct Known {
    name: &'static str,
    /// What the measuring program calls it.
    kind: &'static str,
    program: &'static str,
    /// A program of somebody else's that it needs.
    needs: Option<&'static str>,
    daemon: Option<StartDaemon>,
    /// The least that something costs, and carries no payload: measured only when named.
    is_floor: bool,
    about: &'static str,
}

const KNOWN: [Known; 11] = [
    Known {
        name: "binder",
        kind: "binder",
        program: PLAIN_PROGRAM,
        needs: Some("anybinderd"),
        daemon: Some(|room| daemon::anybinderd(room, &[])),
        is_floor: false,
        about: "raw calls over an anybinderd of its own",
    },
    Known {
        name: "binder-global",
        kind: "binder",
        program: PLAIN_PROGRAM,
        needs: Some("anybinderd"),
        daemon: Some(|room| daemon::anybinderd(room, &["--regime", "global"])),
        is_floor: false,
        about: "the same with one lock for everything",
    },
    Known {
        name: "binder-linger",
        kind: "binder",
        program: PLAIN_PROGRAM,
        needs: Some("anybinderd"),
        daemon: Some(|room| daemon::anybinderd(room, &["--linger"])),
        is_floor: false,
        about: "the same, an answer's completion told with the next call",
    },
    Known {
        name: "dbus-daemon",
        kind: "dbus",
        program: FULL_PROGRAM,
        needs: Some("dbus-daemon"),
        daemon: Some(daemon::dbus_daemon),
        is_floor: false,
        about: "sd-bus over a private dbus-daemon",
    },
    Known {
        name: "dbus-broker",
        kind: "dbus",
        program: FULL_PROGRAM,
        needs: Some("dbus-broker"),
        daemon: Some(|room| daemon::dbus_broker(room, &find_measurer(FULL_PROGRAM)?)),
        is_floor: false,
        about: "sd-bus over a private dbus-broker",
    },
    Known {
        name: "grpc",
        kind: "grpc",
        program: FULL_PROGRAM,
        needs: None,
        daemon: None,
        is_floor: false,
        about: "gRPC (tonic) over a unix socket",
    },
    Known {
        name: "capnp",
        kind: "capnp",
        program: FULL_PROGRAM,
        needs: None,
        daemon: None,
        is_floor: false,
        about: "Cap'n Proto (capnp-rpc) over a unix socket",
    },
    Known {
        name: "unix",
        kind: "unix",
        program: PLAIN_PROGRAM,
        needs: None,
        daemon: None,
        is_floor: false,
        about: "a unix stream socket",
    },
    Known {
        name: "pipe",
        kind: "pipe",
        program: PLAIN_PROGRAM,
        needs: None,
        daemon: None,
        is_floor: false,
        about: "a pair of pipes",
    },
    Known {
        name: "futex",
        kind: "futex",
        program: PLAIN_PROGRAM,
        needs: None,
        daemon: None,
        is_floor: true,
        about: "when named, 0 bytes: two processes that wake each other",
    },
    Known {
        name: "fuse",
        kind: "entry",
        program: PLAIN_PROGRAM,
        needs: Some("anybinderd"),
        daemon: Some(|room| daemon::anybinderd(room, &[])),
        is_floor: true,
        about: "when named, 0 bytes: an empty call into an anybinderd, with no other end",
    },
];

/// A binder device to measure beside the peers.
#[derive(Clone, Debug)]
pub struct Device {
    label: String,
    path: String,
}

impl Device {
    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn path(&self) -> &str {
        &self.path
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once('=') {
            Some((label, path)) if !label.is_empty() && !path.is_empty() => Ok(Device {
                label: label.to_string(),
                path: path.to_string(),
            }),
            _ => Err(format!(
                "{text} is not like LABEL=PATH, for instance stock=/dev/binder"
            )),
        }
    }
}

/// The program that measures raw binder calls.
pub fn binder_program() -> Result<PathBuf> {
    find_measurer(PLAIN_PROGRAM)
}

fn find_measurer(program: &str) -> Result<PathBuf> {
    find_program(program).map_err(|_| {
        Trouble::with_advice(
            format!("The program {program} was not found beside this one nor on PATH."),
            format!("Build it with `make build/bin/{program}`."),
        )
    })
}

fn is_on_path(program: &str) -> bool {
    find_program(program).is_ok()
}

/// A peer that takes part: measured by a program, perhaps with a daemon between its ends.
pub struct Peer {
    pub name: String,
    program: PathBuf,
    kind: &'static str,
    address: Option<String>,
    daemon: Option<Daemon>,
}

impl Peer {
    /// One measurement of it.
    pub fn measure(&self, cell: &Cell, seats: &SeatOptions) -> Result<Figures> {
        let cpu_ns = || self.daemon.as_ref().map(Daemon::cpu_ns);
        let before_ns = cpu_ns();
        let address = self.address.as_deref();
        let mut figures = measure(&self.program, self.kind, address, cell, seats)?;
        if let (Some(before_ns), Some(after_ns)) = (before_ns, cpu_ns()) {
            let used_us = after_ns.saturating_sub(before_ns) as f64 / 1000.0;
            figures.daemon_us = Some(used_us / figures.calls as f64);
        }
        Ok(figures)
    }
}

fn start_known(known: &Known, scratch: &Scratch) -> Result<Peer> {
    let program = find_measurer(known.program)?;
    if let Some(needs) = known.needs.filter(|needs| !is_on_path(needs)) {
        return Err(Trouble::new(format!("There is no program {needs}.")));
    }
    let daemon = match known.daemon {
        Some(start) => Some(start(&scratch.room(known.name)?)?),
        None => None,
    };
    Ok(Peer {
        name: known.name.to_string(),
        program,
        kind: known.kind,
        address: daemon.as_ref().map(|daemon| daemon.address.clone()),
        daemon,
    })
}

fn start_device(device: &Device) -> Result<Peer> {
    if let Err(err) = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&device.path)
    {
        return Err(Trouble::new(format!(
            "{} cannot be opened: {err}.",
            device.path
        )));
    }
    Ok(Peer {
        name: device.label.clone(),
        program: binder_program()?,
        kind: "binder",
        address: Some(device.path.clone()),
        daemon: None,
    })
}

/// The peers of a comparison, devices first, their daemons started. Named ones must run; without
/// names, all that can do, and `left_out` hears why of the others.
pub fn start(
    names: &[String],
    devices: &[Device],
    scratch: &Scratch,
    mut left_out: impl FnMut(&str, &Trouble),
) -> Result<Vec<Peer>> {
    if let Some(stranger) = names
        .iter()
        .find(|name| KNOWN.iter().all(|known| known.name != **name))
    {
        return Err(Trouble::with_advice(
            format!("There is no peer {stranger}."),
            format!("There are:{}", list()),
        ));
    }
    let mut peers = Vec::new();
    for device in devices {
        peers.push(start_device(device)?);
    }
    for known in &KNOWN {
        let is_named = names.iter().any(|name| name == known.name);
        if !is_named && (!names.is_empty() || known.is_floor) {
            continue;
        }
        match start_known(known, scratch) {
            Ok(peer) => peers.push(peer),
            Err(trouble) if is_named => return Err(trouble),
            Err(trouble) => left_out(known.name, &trouble),
        }
    }
    if peers.is_empty() {
        return Err(Trouble::new("There is nothing to measure."));
    }
    Ok(peers)
}

fn list() -> String {
    let lines = KNOWN
        .iter()
        .map(|known| format!("\n  {:12} {}", known.name, known.about));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_label_and_a_path() {
        let device: Device = "stock=/dev/binder".parse().unwrap();
        assert_eq!((&*device.label, &*device.path), ("stock", "/dev/binder"));
        for wrong in ["", "=", "/dev/binder", "stock=", "=/dev/binder"] {
            assert!(wrong.parse::<Device>().is_err(), "{wrong}");
        }
    }
}
