// SPDX-License-Identifier: Apache-2.0
//! Local services behind a socket.
//!
//! Each service has a thread of its own, which looks for it, offers it while it lives, and ends the
//! sessions that used it when it dies: this is how the other machines learn of a death. The other
//! services of the same address go on. While none lives, nothing listens.
use crate::access::{Access, Rules};
use crate::address::Address;
use crate::connections::{Life, Slots};
use crate::dialect::{registrant, Form};
use crate::foreign::Manager;
use crate::gateway::Gateway;
use crate::listener::{self, Door, Listener};
use crate::relay::{descriptor_of, Bridge};
use crate::service_directory::Directory;
use crate::status_text::explain;
use crate::tls::Credentials;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::output::{note, say};
use anybinder_parcel::aidl::Roots;
use rsbinder::rpc::FileDescriptorTransportMode;
use rsbinder::{DeathRecipient, Endpoint, ProcessState, SIBinder, WIBinder};
use std::convert::Infallible;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The newest wire version that is spoken.
pub const WIRE_VERSION: u32 = 2;

/// How often a service that is not registered is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How long a peer that is known may take to begin with RPC Binder.
const SETUP: Duration = Duration::from_secs(10);

pub struct Options {
    pub names: Vec<String>,
    pub listen: Address,
    pub rules: Rules,
    /// Clients of tls:// need no certificate.
    pub anyone: bool,
    pub credentials: Credentials,
    /// Connections of one session, and all connections.
    pub threads: u32,
    pub connections: usize,
    pub max_size: usize,
    pub aidl: Roots,
    /// The form of programs of this machine whose calls do not tell it.
    pub form: Form,
    /// How long a peer may take to set up a connection, and to take or answer a call.
    pub patience: Option<Duration>,
}

/// What a service's thread tells the one that listens.
enum Event {
    Lives(String),
    Died,
    Failed(Error),
}

/// Reports the death of a service.
struct Mourner(Mutex<Sender<()>>);

impl DeathRecipient for Mourner {
    fn binder_died(&self, _: &WIBinder) {
        if let Ok(died) = self.0.lock() {
            let _ = died.send(());
        }
    }
}

struct Export {
    manager: Manager,
    names: Vec<String>,
    bridge: Arc<Bridge>,
    directory: Arc<Directory>,
    door: Arc<Door>,
    rules: Arc<Rules>,
}

impl Export {
    fn new(manager: Manager, options: &Options) -> Result<Export> {
        let gateway = Gateway::open(&options.aidl)?;
        let server = listener::server("export")?;
        server.set_android13plus(WIRE_VERSION);
        server.set_max_threads(options.threads);
        let setup = options
            .patience
            .map_or(SETUP, |patience| patience.min(SETUP));
        server.set_handshake_timeout(Some(setup));
        server.set_reply_timeout(options.patience);
        // Without types, files cannot be told from numbers.
        if matches!(options.listen.endpoint, Endpoint::Unix(_)) && !options.aidl.paths.is_empty() {
            server.set_supported_fd_modes(&[FileDescriptorTransportMode::Unix]);
        }
        let directory = Directory::new(&options.names);
        if options.names.len() > 1 {
            let root = directory.binder();
            server.set_root(root).doing(|| "exporting".to_string())?;
        }
        Ok(Export {
            manager,
            names: options.names.clone(),
            bridge: Bridge::new(options.max_size, gateway, options.form, options.threads),
            directory,
            door: Arc::new(Door {
                server,
                rules: options.rules.clone(),
                handshakes: Arc::default(),
                slots: Slots::new(options.connections),
                patience: options.patience,
            }),
            rules: Arc::new(options.rules.clone()),
        })
    }

    /// Looks for a service until it is registered.
    fn find(&self, name: &str) -> Result<SIBinder> {
        let mut is_waiting = false;
        loop {
            let why = match self.manager.find(name) {
                Ok(Some(service)) if service.as_proxy().is_some() => return Ok(service),
                Ok(Some(_)) => {
                    return Err(Error::with_advice(
                        format!("{name} lives on another machine already."),
                        "Export it there.",
                    ))
                }
                // A new service manager may come; what lives goes on until then.
                Err(status) if self.directory.has_any() => format!(": {}", explain(status)),
                Err(status) => {
                    let what = format!("The service manager fails: {}.", explain(status));
                    return Err(Error::new(what).of(Kind::NoManager));
                }
                Ok(None) => String::new(),
            };
            if !is_waiting {
                note(format_args!(
                    "anybinder: waiting for the service {name}{why}."
                ));
                is_waiting = true;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Offers a service while it lives.
    fn offer(&self, name: &str, service: &SIBinder, events: &Sender<Event>) -> Result<()> {
        let (sender, died) = channel();
        let mourner = Arc::new(Mourner(Mutex::new(sender)));
        if service.link_to_death_arc(&mourner).is_err() {
            return Ok(());
        }
        if let Some(gateway) = self.bridge.gateway() {
            let descriptor = descriptor_of(service);
            let descriptor = descriptor.doing(|| format!("asking {name} for its interface"))?;
            gateway.check(name, &descriptor)?;
        }
        let life = Life::default();
        let access = Access {
            name: name.to_string(),
            rules: self.rules.clone(),
            life: life.clone(),
        };
        let doing = || format!("exporting {name}");
        let relay = self
            .bridge
            .publish(service, registrant(name), Some(access))
            .doing(doing)?;
        if self.names.len() == 1 {
            self.door.server.set_root(relay.clone()).doing(doing)?;
        }
        self.directory.set(name, Some((relay, life.clone())));
        let _ = events.send(Event::Lives(name.to_string()));
        let _ = died.recv();
        self.directory.set(name, None);
        self.door.slots.end(&life, name, self.names.len() == 1);
        note(format_args!(
            "anybinder: the service {name} died; the sessions that used it are ended."
        ));
        let _ = events.send(Event::Died);
        Ok(())
    }

    /// Looks for a service and offers it, again and again.
    fn keep(&self, name: &str, events: &Sender<Event>) -> Result<Infallible> {
        loop {
            let service = self.find(name)?;
            self.offer(name, &service, events)?;
        }
    }
}

impl Options {
    /// Finds errors of files and options before a service is waited for.
    pub fn check(&self) -> Result<()> {
        self.listen.check_listen()?;
        if self.listen.is_tls() {
            self.credentials.server(self.anyone)?;
        }
        Gateway::open(&self.aidl).map(|_| ())
    }
}

/// Exports until that fails.
pub fn run(manager: Manager, options: &Options) -> Result<Infallible> {
    keep_freed();
    let tls = match options.listen.is_tls() {
        true => Some(options.credentials.server(options.anyone)?),
        false => None,
    };
    let export = Arc::new(Export::new(manager, options)?);
    let (sender, events) = channel();
    for name in options.names.clone() {
        let (export, sender) = (export.clone(), sender.clone());
        std::thread::spawn(move || {
            let Err(failure) = export.keep(&name, &sender);
            let _ = sender.send(Event::Failed(failure));
        });
    }
    std::thread::spawn(move || {
        // It returns only if the device is dead, as after a crash of the daemon's server.
        let _ = ProcessState::join_thread_pool();
        let failure = Error::new("The device is gone.").of(Kind::NotWorking);
        let _ = sender.send(Event::Failed(failure));
    });
    let mut listener: Option<Listener> = None;
    loop {
        match events.recv().doing(|| "waiting".to_string())? {
            Event::Failed(failure) => return Err(failure),
            Event::Died if export.directory.has_any() => {}
            Event::Died => listener = None,
            Event::Lives(name) => {
                let listening = match listener.take() {
                    Some(listening) => listening,
                    None => Listener::start(&options.listen, tls.clone(), &export.door)?,
                };
                say(format_args!("{name} exported at {}", listening.address));
                listener = Some(listening);
            }
        }
    }
}

/// What malloc keeps for the next call in each of its arenas, and from which size on it does not.
/// Above the largest call (--max-size) by default.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: i32 = 8 << 20;
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: i32 = 2 << 20;

/// Lets malloc keep the memory of a call that has ended. By default it returns it to the system,
/// and each call with some 64 KiB pays for page faults: half of its time in this process.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes settings of malloc, which it takes at any time.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}
