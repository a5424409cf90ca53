// SPDX-License-Identifier: Apache-2.0
//! The peers of a comparison: which are known, which of them can run here, and their daemons.
use crate::cell::{output_of, parse, Cell};
use crate::comparison::Subject;
use crate::daemon::{self, Daemon, Scratch};
use crate::figures::Figures;
use crate::machine::Machine;
use crate::scheduling::SchedulingOptions;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::process::find_program;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

/// Measures the peers that need no library; built with everything else.
const PLAIN: &str = "bench-ipc";
/// Measures every peer.
const FULL: &str = "bench-peers";

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

/// A peer of a program that needs no daemon.
const fn alone(
    name: &'static str,
    kind: &'static str,
    program: &'static str,
    about: &'static str,
) -> Known {
    Known {
        name,
        kind,
        program,
        needs: &[],
        daemon: None,
        is_measured_only_when_named: false,
        about,
    }
}

impl Known {
    /// The same with a daemon, and the programs that it needs.
    const fn over(self, daemon: StartDaemon, needs: &'static [&'static str]) -> Known {
        Known {
            daemon: Some(daemon),
            needs,
            ..self
        }
    }

    const fn when_named(self) -> Known {
        Known {
            is_measured_only_when_named: true,
            ..self
        }
    }
}

/// The peers; both machines of a peer over TLS are this one.
const KNOWN: [Known; 14] = [
    alone(
        "binder",
        "binder",
        PLAIN,
        "raw calls over an anybinderd of its own",
    )
    .over(daemon::anybinderd, &["anybinderd"]),
    alone(
        "binder-global",
        "binder",
        PLAIN,
        "the same with one lock for everything",
    )
    .over(daemon::anybinderd_global, &[daemon::LOCKING_DAEMON])
    .when_named(),
    alone(
        "dbus-daemon",
        "dbus",
        FULL,
        "sd-bus over a private dbus-daemon",
    )
    .over(daemon::dbus_daemon, &["dbus-daemon"]),
    alone(
        "dbus-broker",
        "dbus",
        FULL,
        "sd-bus over a private dbus-broker",
    )
    .over(
        |directory| daemon::dbus_broker(directory, &find_measurer(FULL)?),
        &["dbus-broker"],
    ),
    alone("grpc", "grpc", FULL, "gRPC (tonic) over a unix socket"),
    alone(
        "capnp",
        "capnp",
        FULL,
        "Cap'n Proto (capnp-rpc) over a unix socket",
    ),
    alone("unix", "unix", PLAIN, "a unix stream socket"),
    alone("pipe", "pipe", PLAIN, "a pair of pipes"),
    alone(
        "futex",
        "futex",
        PLAIN,
        "0 bytes: two processes that wake each other",
    )
    .when_named(),
    alone(
        "fuse",
        "entry",
        PLAIN,
        "0 bytes: an empty call into an anybinderd, without a receiver",
    )
    .over(daemon::anybinderd, &["anybinderd"])
    .when_named(),
    alone(
        "grpc-tls",
        "grpc-tls",
        FULL,
        "gRPC over TLS on the loopback device",
    )
    .over(daemon::keys, &["openssl"])
    .when_named(),
    alone(
        "rpc-tls",
        "rpc-tls",
        FULL,
        "RPC Binder (rsbinder) over TLS, without a driver",
    )
    .over(daemon::keys, &["openssl"])
    .when_named(),
    alone(
        "link",
        "link",
        FULL,
        "Binder over `anybinder export` and `link` by TLS",
    )
    .over(daemon::machines, &["anybinderd", "openssl"])
    .when_named(),
    alone(
        "link-accessor",
        "link-accessor",
        FULL,
        "the same for a client that asks for an accessor",
    )
    .over(daemon::machines, &["anybinderd", "openssl"])
    .when_named(),
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
    find_measurer(PLAIN)
}

fn find_measurer(program: &str) -> Result<PathBuf> {
    find_program(program).map_err(|_| {
        Error::with_advice(
            format!("The program {program} was found neither beside this one nor on PATH."),
            format!("Build it with `make build/bin/{program}`."),
        )
    })
}

/// Where a peer is measured.
enum Place {
    Here,
    Machine(Arc<Mutex<Machine>>),
}

/// A peer of the comparison: the program that measures it, and the daemon between its ends.
pub struct Peer {
    pub name: String,
    program: PathBuf,
    kind: String,
    address: Option<String>,
    daemon: Option<Daemon>,
    place: Place,
}

impl Peer {
    /// A peer of bench-ipc that needs no daemon.
    ///
    /// * `kind`: its name there
    pub fn plain(name: &str, kind: &str, address: Option<&str>) -> Result<Self> {
        Ok(Peer {
            name: name.to_string(),
            program: binder_program()?,
            kind: kind.to_string(),
            address: address.map(String::from),
            daemon: None,
            place: Place::Here,
        })
    }

    /// The same, measured in this machine.
    pub fn inside(self, machine: &Arc<Mutex<Machine>>) -> Self {
        Peer {
            place: Place::Machine(machine.clone()),
            ..self
        }
    }

    /// Runs its program once; returns what that prints.
    pub fn print(&self, cell: &Cell, scheduling: &SchedulingOptions) -> Result<String> {
        let words = cell.arguments(&self.kind, self.address.as_deref(), scheduling);
        match &self.place {
            Place::Here => {
                let mut command = Command::new(&self.program);
                command.args(words);
                output_of(command)
            }
            Place::Machine(machine) => {
                let command = format!("{} {}", self.program.display(), words.join(" "));
                let mut machine = machine.lock().expect("nobody panics in a machine");
                machine.run(&command)
            }
        }
    }

    /// Measures it once, with the daemon's processor time.
    pub fn measure(&self, cell: &Cell, scheduling: &SchedulingOptions) -> Result<Figures> {
        let cpu_ns = || self.daemon.as_ref().and_then(Daemon::cpu_ns);
        let before_ns = cpu_ns();
        let mut figures: Figures = parse(&self.print(cell, scheduling)?)?;
        if let (Some(before_ns), Some(after_ns)) = (before_ns, cpu_ns()) {
            let used_us = after_ns.saturating_sub(before_ns) as f64 / 1000.0;
            figures.daemon_us = Some(used_us / figures.calls as f64);
        }
        Ok(figures)
    }
}

/// Each peer as what a comparison measures.
pub fn subjects<'a>(peers: &'a [Peer], scheduling: &'a SchedulingOptions) -> Vec<Subject<'a>> {
    let subjects = peers.iter();
    subjects
        .map(|peer| Subject::new(&peer.name, |cell| peer.measure(cell, scheduling)))
        .collect()
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
        kind: known.kind.to_string(),
        address: daemon.as_ref().map(|daemon| daemon.address.clone()),
        daemon,
        place: Place::Here,
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
    Peer::plain(&device.label, "binder", Some(&device.path))
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
    let line = |known: &Known| {
        let when = if known.is_measured_only_when_named {
            "when named: "
        } else {
            ""
        };
        format!("\n  {:13} {when}{}", known.name, known.about)
    };
    KNOWN.iter().map(line).collect()
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
