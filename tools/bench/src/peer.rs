// SPDX-License-Identifier: Apache-2.0
//! The peers of a comparison: which are known, which of them can run here, and their daemons.
use crate::cell::{measure, Cell};
use crate::daemon::{self, Daemon, Scratch};
use crate::figures::Figures;
use crate::scheduling::SchedulingOptions;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::process::find_program;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Measures the peers that need no library; built with everything else.
const PLAIN_PROGRAM: &str = "bench-ipc";
/// Measures every peer.
const FULL_PROGRAM: &str = "bench-peers";

type StartDaemon = fn(&Path) -> Result<Daemon>;

/// A peer that this program knows.
struct Known {
    name: &'static str,
    /// Its name in the measuring program.
    kind: &'static str,
    program: &'static str,
    /// Programs that it needs besides.
    needs: &'static [&'static str],
    daemon: Option<StartDaemon>,
    /// A lower bound of a call, or what is no IPC of one machine.
    is_measured_only_when_named: bool,
    about: &'static str,
}

/// Measured by bench-ipc without a daemon.
const PLAIN: Known = Known {
    name: "",
    kind: "",
    program: PLAIN_PROGRAM,
    needs: &[],
    daemon: None,
    is_measured_only_when_named: false,
    about: "",
};
/// Raw calls over anybinderd.
const BINDER: Known = Known {
    kind: "binder",
    needs: &["anybinderd"],
    ..PLAIN
};
/// Measured by bench-peers.
const FULL: Known = Known {
    program: FULL_PROGRAM,
    ..PLAIN
};
/// Over TLS; the two machines are this one.
const FAR: Known = Known {
    needs: &["anybinderd", "openssl"],
    daemon: Some(daemon::machines),
    is_measured_only_when_named: true,
    ..FULL
};

const KNOWN: [Known; 14] = [
    Known {
        name: "binder",
        daemon: Some(daemon::anybinderd),
        about: "raw calls over an anybinderd of its own",
        ..BINDER
    },
    Known {
        name: "binder-global",
        needs: &[daemon::LOCKING_DAEMON],
        daemon: Some(daemon::anybinderd_global),
        is_measured_only_when_named: true,
        about: "when named: the same with one lock for everything",
        ..BINDER
    },
    Known {
        name: "dbus-daemon",
        kind: "dbus",
        needs: &["dbus-daemon"],
        daemon: Some(daemon::dbus_daemon),
        about: "sd-bus over a private dbus-daemon",
        ..FULL
    },
    Known {
        name: "dbus-broker",
        kind: "dbus",
        needs: &["dbus-broker"],
        daemon: Some(|directory| daemon::dbus_broker(directory, &find_measurer(FULL_PROGRAM)?)),
        about: "sd-bus over a private dbus-broker",
        ..FULL
    },
    Known {
        name: "grpc",
        kind: "grpc",
        about: "gRPC (tonic) over a unix socket",
        ..FULL
    },
    Known {
        name: "capnp",
        kind: "capnp",
        about: "Cap'n Proto (capnp-rpc) over a unix socket",
        ..FULL
    },
    Known {
        name: "unix",
        kind: "unix",
        about: "a unix stream socket",
        ..PLAIN
    },
    Known {
        name: "pipe",
        kind: "pipe",
        about: "a pair of pipes",
        ..PLAIN
    },
    Known {
        name: "futex",
        kind: "futex",
        is_measured_only_when_named: true,
        about: "when named, 0 bytes: two processes that wake each other",
        ..PLAIN
    },
    Known {
        name: "fuse",
        kind: "entry",
        needs: &["anybinderd"],
        daemon: Some(daemon::anybinderd),
        is_measured_only_when_named: true,
        about: "when named, 0 bytes: an empty call into an anybinderd, without a receiver",
        ..PLAIN
    },
    Known {
        name: "grpc-tls",
        kind: "grpc-tls",
        needs: &["openssl"],
        daemon: Some(daemon::keys),
        about: "when named: gRPC over TLS on the loopback device",
        ..FAR
    },
    Known {
        name: "rpc-tls",
        kind: "rpc-tls",
        needs: &["openssl"],
        daemon: Some(daemon::keys),
        about: "when named: RPC Binder (rsbinder) over TLS, without a driver",
        ..FAR
    },
    Known {
        name: "link",
        kind: "link",
        about: "when named: Binder over `anybinder export` and `link` by TLS",
        ..FAR
    },
    Known {
        name: "link-accessor",
        kind: "link-accessor",
        about: "when named: the same for a client that asks for an accessor",
        ..FAR
    },
];

/// A binder device to measure, and its name in the figures.
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

/// What is compared.
#[derive(Debug, clap::Args)]
pub struct Compared {
    /// Peers to measure [default: all that can run; an unknown name lists them]
    #[arg(long, value_name = "PEER,...", value_delimiter = ',')]
    pub peers: Vec<String>,

    /// A binder device to measure too, e.g. stock=/dev/binder; may be given several times
    #[arg(long, value_name = "LABEL=PATH")]
    pub device: Vec<Device>,

    /// Number of clients, each with a server of its own
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16",
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub pairs: Vec<u32>,
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
                "{text} is not a device; write it like LABEL=PATH, for example stock=/dev/binder"
            )),
        }
    }
}

/// The program that measures raw binder calls. Fails, with advice, if it is not built.
pub fn binder_program() -> Result<PathBuf> {
    find_measurer(PLAIN_PROGRAM)
}

fn find_measurer(program: &str) -> Result<PathBuf> {
    find_program(program).map_err(|_| {
        Error::with_advice(
            format!("The program {program} was found neither beside this one nor on PATH."),
            format!("Build it with `make build/bin/{program}`."),
        )
    })
}

/// A peer of the comparison: the program that measures it, and the daemon between its ends.
pub struct Peer {
    pub name: String,
    program: PathBuf,
    kind: &'static str,
    address: Option<String>,
    daemon: Option<Daemon>,
}

impl Peer {
    /// Whether all its pairs use one device, which has one manager: it is measured once at a time.
    pub fn is_device(&self) -> bool {
        self.kind == BINDER.kind && self.daemon.is_none()
    }

    /// Measures it once, with the daemon's processor time.
    pub fn measure(&self, cell: &Cell, scheduling: &SchedulingOptions) -> Result<Figures> {
        let cpu_ns = || self.daemon.as_ref().and_then(Daemon::cpu_ns);
        let before_ns = cpu_ns();
        let address = self.address.as_deref();
        let mut figures = measure(&self.program, self.kind, address, cell, scheduling)?;
        if let (Some(before_ns), Some(after_ns)) = (before_ns, cpu_ns()) {
            let used_us = after_ns.saturating_sub(before_ns) as f64 / 1000.0;
            figures.daemon_us = Some(used_us / figures.calls as f64);
        }
        Ok(figures)
    }
}

fn start_known(known: &Known, scratch: &Scratch) -> Result<Peer> {
    let program = find_measurer(known.program)?;
    let missing = known
        .needs
        .iter()
        .find(|needs| find_program(needs).is_err());
    if let Some(needs) = missing {
        return Err(Error::with_advice(
            format!("The program {needs} was not found."),
            "`make bench` installs what the peers need.",
        ));
    }
    let daemon = match known.daemon {
        Some(start) => Some(start(&scratch.subdirectory(known.name)?)?),
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
        return Err(Error::new(format!(
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

fn check_names(names: &[String]) -> Result<()> {
    let is_known = |name: &String| KNOWN.iter().any(|known| known.name == name);
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::with_advice(
            format!("There is no peer {name}."),
            format!("The peers are:{}", list()),
        )),
    }
}

/// The peers of a comparison, devices first, with their daemons started. Fails if one of `names`
/// cannot run.
///
/// * `names`: the peers; if empty, all that can run and are no lower bound
/// * `left_out`: called with the name and the reason for each that cannot run
pub fn start(
    names: &[String],
    devices: &[Device],
    scratch: &Scratch,
    mut left_out: impl FnMut(&str, &Error),
) -> Result<Vec<Peer>> {
    check_names(names)?;
    let mut peers = Vec::new();
    for device in devices {
        peers.push(start_device(device)?);
    }
    for known in &KNOWN {
        let is_named = names.iter().any(|name| name == known.name);
        if !is_named && (!names.is_empty() || known.is_measured_only_when_named) {
            continue;
        }
        match start_known(known, scratch) {
            Ok(peer) => peers.push(peer),
            Err(error) if is_named => return Err(error),
            Err(error) => left_out(known.name, &error),
        }
    }
    if peers.is_empty() {
        return Err(Error::with_advice(
            "None of the peers can run here.",
            format!("The peers are:{}", list()),
        ));
    }
    Ok(peers)
}

fn list() -> String {
    let lines = KNOWN
        .iter()
        .map(|known| format!("\n  {:13} {}", known.name, known.about));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_peer_is_an_error_that_lists_the_known_ones() {
        let error = check_names(&["binder".to_string(), "x".to_string()]).unwrap_err();
        assert!(error.to_string().contains("no peer x"), "{error}");
        assert!(error.to_string().contains("dbus-broker"), "{error}");
        assert!(check_names(&["binder".to_string()]).is_ok());
    }

    #[test]
    fn a_device_has_a_label_and_a_path() {
        let device: Device = "stock=/dev/binder".parse().unwrap();
        assert_eq!((&*device.label, &*device.path), ("stock", "/dev/binder"));
        for wrong in ["", "=", "/dev/binder", "stock=", "=/dev/binder"] {
            assert!(wrong.parse::<Device>().is_err(), "{wrong}");
        }
    }
}
