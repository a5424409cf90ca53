// SPDX-License-Identifier: Apache-2.0
//! The peers of a comparison: which are known, which of them can run here, and their daemons.
use crate::cell::{self, output_of, parse};
use crate::comparison::Subject;
use crate::daemon::{self, find_measurer, machines, Daemon, Scratch, FULL, PLAIN};
use crate::figures::Figures;
use crate::machine::Machine;
use anybinder_mount::error::{Error, Result};
use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

type StartDaemon = fn(&Path) -> Result<Daemon>;

/// A peer that this program knows: its name, its name in a measuring program, that program, and the
/// daemon that it needs.
type Known = (Name, Name, Name, Option<StartDaemon>);
type Name = &'static str;

/// What is compared unless others are named.
static USUAL: [Known; 7] = [
    ("binder", "binder", PLAIN, Some(daemon::anybinderd)),
    ("dbus-daemon", "dbus", FULL, Some(daemon::dbus_daemon)),
    ("dbus-broker", "dbus", FULL, Some(daemon::dbus_broker)),
    ("grpc", "grpc", FULL, None),
    ("capnp", "capnp", FULL, None),
    ("unix", "unix", PLAIN, None),
    ("pipe", "pipe", PLAIN, None),
];

/// Lower bounds of a call, a framework, and what connects machines; both machines are this one.
static WHEN_NAMED: [Known; 8] = [
    ("deferred", "deferred", PLAIN, Some(daemon::anybinderd)),
    ("futex", "futex", PLAIN, None),
    ("fuse", "entry", PLAIN, Some(daemon::anybinderd)),
    ("framework", "framework", FULL, Some(machines)),
    ("grpc-tls", "grpc-tls", FULL, Some(daemon::keys)),
    ("rpc-tls", "rpc-tls", FULL, Some(daemon::keys)),
    ("link", "link", FULL, Some(machines)),
    ("link-accessor", "link-accessor", FULL, Some(machines)),
];

/// A binder device to measure, and its name in the figures.
#[derive(Clone, Debug)]
pub struct Device {
    pub label: String,
    pub path: String,
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

/// Where a peer is measured.
#[derive(Clone)]
pub enum Place {
    Here,
    Machine(Arc<Mutex<Machine>>),
}

impl Place {
    /// Runs a shell command, which prints one line, and returns that. Fails if the command fails.
    pub fn run(&self, command: &str) -> Result<String> {
        match self {
            Place::Here => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]);
                output_of(shell)
            }
            Place::Machine(machine) => {
                let mut machine = machine.lock().expect("nobody panics in a machine");
                machine.run(command)
            }
        }
    }

    /// Starts bench-ipc with these arguments beside what is measured there, until the result is
    /// dropped; in a machine until that ends.
    pub fn start_beside(&self, arguments: &str) -> Result<Option<Daemon>> {
        let program = find_measurer(PLAIN)?;
        if let Place::Machine(_) = self {
            let program = program.display();
            self.run(&format!(
                "{program} {arguments} >/dev/null 2>&1 & sleep 0.5; echo"
            ))?;
            return Ok(None);
        }
        let mut command = Command::new(program);
        command.args(arguments.split(' '));
        Daemon::start(command, String::new(), Path::new("/")).map(Some)
    }
}

/// A peer of the comparison: the program that measures it, and the daemon between its ends.
pub struct Peer {
    pub name: String,
    program: PathBuf,
    kind: String,
    address: Option<String>,
    daemon: Option<Daemon>,
    /// The beginning of the command that runs the program.
    before: Vec<String>,
    pub place: Place,
}

impl Peer {
    /// A peer of bench-ipc that needs no daemon.
    ///
    /// * `kind`: its name there
    pub fn plain(name: &str, kind: &str, address: Option<&str>) -> Result<Self> {
        Ok(Peer {
            name: name.to_string(),
            program: find_measurer(PLAIN)?,
            kind: kind.to_string(),
            address: address.map(String::from),
            daemon: None,
            before: Vec::new(),
            place: Place::Here,
        })
    }

    /// A peer of the measuring program `program`, whose daemon ends with it.
    pub fn with(name: &str, kind: &str, program: &str, daemon: Option<Daemon>) -> Result<Self> {
        Ok(Peer {
            program: find_measurer(program)?,
            address: daemon.as_ref().map(|daemon| daemon.address.clone()),
            daemon,
            ..Peer::plain(name, kind, None)?
        })
    }

    /// The same peer, over another address, and run by a command.
    pub fn by(self, address: &str, before: &[&str]) -> Self {
        Peer {
            address: Some(address.to_string()),
            before: before.iter().map(|word| word.to_string()).collect(),
            ..self
        }
    }

    /// The same peer, measured at `place`.
    pub fn at(self, place: Place) -> Self {
        Peer { place, ..self }
    }

    /// Runs its program once; returns what that prints.
    pub fn print(&self, cell: &cell::Cell) -> Result<String> {
        let mut words = self.before.clone();
        words.push(self.program.display().to_string());
        words.extend(cell.arguments(&self.kind, self.address.as_deref()));
        match &self.place {
            Place::Here => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                output_of(command)
            }
            machine @ Place::Machine(_) => machine.run(&words.join(" ")),
        }
    }

    /// Measures it once, with the daemon's processor time.
    pub fn measure(&self, cell: &cell::Cell) -> Result<Figures> {
        let cpu_ns = || self.daemon.as_ref().and_then(Daemon::cpu_ns);
        let before_ns = cpu_ns();
        let mut figures: Figures = parse(&self.print(cell)?)?;
        if let (Some(before_ns), Some(after_ns)) = (before_ns, cpu_ns()) {
            let used_us = after_ns.saturating_sub(before_ns) as f64 / 1000.0;
            let daemon_us = used_us / figures.calls as f64;
            figures.more.insert("daemon_us", daemon_us);
        }
        Ok(figures)
    }
}

/// Each peer as what a comparison measures.
pub fn subjects(peers: &[Peer]) -> Vec<Subject<'_>> {
    let subjects = peers.iter();
    subjects
        .map(|peer| Subject::new(&peer.name, |cell| peer.measure(cell)))
        .collect()
}

/// A peer that is started when it is first measured.
///
/// * `beside`: arguments of bench-ipc, for each that disturbs it from the first cell on that wants
///   that
pub fn started_when_needed<'a>(
    name: &str,
    start: impl FnOnce() -> Result<Peer> + 'a,
    beside: Vec<String>,
) -> Subject<'a> {
    let start = Cell::new(Some(start));
    let (started, disturbing) = (OnceCell::new(), OnceCell::new());
    Subject::new(name, move |cell| {
        if let Some(start) = start.take() {
            let _ = started.set(start()?);
        }
        let peer: &Peer = started
            .get()
            .ok_or_else(|| Error::new("It did not start."))?;
        if cell.is_disturbed && disturbing.get().is_none() {
            let all = beside.iter().map(|words| peer.place.start_beside(words));
            let _ = disturbing.set(all.collect::<Result<Vec<_>>>()?);
        }
        peer.measure(cell)
    })
}

fn start_known(known: &Known, scratch: &Scratch) -> Result<Peer> {
    let (name, kind, program, start) = *known;
    find_measurer(program)?;
    let daemon = match start {
        Some(start) => Some(start(&scratch.subdirectory(name)?)?),
        None => None,
    };
    Peer::with(name, kind, program, daemon)
}

fn start_device(device: &Device) -> Result<Peer> {
    let opened = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&device.path);
    opened.map_err(|err| Error::new(format!("{} cannot be opened: {err}.", device.path)))?;
    Peer::plain(&device.label, "binder", Some(&device.path))
}

fn all_known() -> impl Iterator<Item = &'static Known> {
    USUAL.iter().chain(&WHEN_NAMED)
}

fn list() -> String {
    let names: Vec<&str> = all_known().map(|known| known.0).collect();
    format!(
        "The peers are {}; docs/TESTING.md says more.",
        names.join(", ")
    )
}

fn check_names(names: &[String]) -> Result<()> {
    let is_unknown = |name: &&String| all_known().all(|known| known.0 != name.as_str());
    match names.iter().find(is_unknown) {
        None => Ok(()),
        Some(name) => Err(Error::with_advice(
            format!("There is no peer {name}."),
            list(),
        )),
    }
}

/// The peers of a comparison, devices first, with their daemons started. Fails if one of `names`
/// cannot run.
///
/// * `names`: the peers; if empty, all usual ones; says which of them cannot run
pub fn start(names: &[String], devices: &[Device], scratch: &Scratch) -> Result<Vec<Peer>> {
    check_names(names)?;
    let peers = devices.iter().map(start_device);
    let mut peers = peers.collect::<Result<Vec<Peer>>>()?;
    if names.is_empty() {
        for known in &USUAL {
            match start_known(known, scratch) {
                Ok(peer) => peers.push(peer),
                Err(error) => eprintln!("{} is left out: {error}", known.0),
            }
        }
    }
    for known in all_known().filter(|known| names.iter().any(|name| name == known.0)) {
        peers.push(start_known(known, scratch)?);
    }
    match peers.is_empty() {
        false => Ok(peers),
        true => Err(Error::with_advice(
            "None of the peers can run here.",
            list(),
        )),
    }
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
