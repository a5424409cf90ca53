// SPDX-License-Identifier: Apache-2.0
//! Local services behind a socket.
//!
//! While all of them are registered, a server listens; when one of them dies, all sessions end,
//! which is how the other machines learn of a death, and the server listens again when it is back.
use crate::access::{Access, Rules};
use crate::address::Address;
use crate::dialect::Dialect;
use crate::gateway::Gateway;
use crate::memory;
use crate::notice::notice;
use crate::relay::{descriptor_of, Bridge};
use crate::tls::Credentials;
use anybinder_mount::error::{Doing, Error, Kind, Result};
use rsbinder::hub::ServiceManager;
use rsbinder::rpc::{FileDescriptorTransportMode, PeerIdentity, RpcServer};
use rsbinder::{DeathRecipient, Endpoint, SIBinder, WIBinder};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The newest wire version: that of Android 16.
pub const WIRE_VERSION: u32 = 2;

/// How often a service that is not registered is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

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
    /// Directories of `.aidl` files, and files.
    pub aidl: Vec<PathBuf>,
    /// That of programs of this machine whose calls do not tell.
    pub dialect: Dialect,
    /// How long a peer may take to set up a connection, and to take or answer a call.
    pub patience: Option<Duration>,
}

/// Reports the death of a service.
struct Mourner {
    name: String,
    deaths: Mutex<Sender<String>>,
}

impl DeathRecipient for Mourner {
    fn binder_died(&self, _: &WIBinder) {
        if let Ok(deaths) = self.deaths.lock() {
            let _ = deaths.send(self.name.clone());
        }
    }
}

fn find(manager: &ServiceManager, name: &str) -> Result<SIBinder> {
    let mut is_waiting = false;
    loop {
        let found = manager.try_get_service(name).map_err(|status| {
            Error::new(format!("The service manager fails: {status:?}.")).of(Kind::NoManager)
        })?;
        if let Some(service) = found {
            return match service.as_proxy() {
                Some(_) => Ok(service),
                None => Err(Error::with_advice(
                    format!("{name} lives on another machine already."),
                    "Export it there.",
                )),
            };
        }
        if !is_waiting {
            eprintln!("anybinder: waiting for the service {name}.");
            is_waiting = true;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

fn tcp_address(host: &str, port: u16) -> Result<SocketAddr> {
    let found = (host, port).to_socket_addrs();
    let mut found = found.doing(|| format!("looking up {host}"))?;
    let none = || Error::new(format!("{host} has no address."));
    found.next().ok_or_else(none)
}

/// A server that is bound to the address.
fn bind(options: &Options) -> Result<Arc<RpcServer>> {
    let doing = || format!("listening at {}", options.listen);
    match &options.listen.endpoint {
        Endpoint::Tls { host, port } => {
            let config = options.credentials.server(options.anyone)?;
            let address = tcp_address(host, *port)?;
            RpcServer::setup_tcp_server_tls(address, config).doing(doing)
        }
        Endpoint::Unix(path) => {
            let server = RpcServer::setup_unix_server(path).doing(doing)?;
            // Whom the rules let in is checked for each connection.
            let mode = std::fs::Permissions::from_mode(0o666);
            std::fs::set_permissions(path, mode).doing(doing)?;
            // Without types, files cannot be told from numbers.
            if !options.aidl.is_empty() {
                server.set_supported_fd_modes(&[FileDescriptorTransportMode::Unix]);
            }
            Ok(server)
        }
        Endpoint::Vsock { cid, port } => RpcServer::setup_vsock_server(*cid, *port).doing(doing),
        _ => Err(Error::new(format!("{} is no address.", options.listen))),
    }
}

/// The address with the port that the system chose, if it was 0.
fn bound_address(server: &RpcServer, options: &Options) -> String {
    match server.tcp_address() {
        Some(address) => format!("tls://{address}"),
        None => options.listen.to_string(),
    }
}

fn configure(server: &RpcServer, options: &Options) {
    server.set_android13plus(WIRE_VERSION);
    server.set_max_threads(options.threads);
    server.set_max_connections(options.connections);
    if options.patience.is_some() {
        server.set_handshake_timeout(options.patience);
        server.set_reply_timeout(options.patience);
    }
    let rules = options.rules.clone();
    server.set_authorizer(move |peer: &PeerIdentity| {
        let is_known = rules.knows(peer);
        if !is_known {
            notice(&format!("{peer} may not connect."));
        }
        is_known
    });
}

/// Serves until a service dies; returns its name.
fn serve(manager: &ServiceManager, options: &Options, bridge: &Arc<Bridge>) -> Result<String> {
    let rules = Arc::new(options.rules.clone());
    let (deaths, died) = channel();
    let mut relays = Vec::new();
    let mut mourners = Vec::new();
    for name in &options.names {
        let service = find(manager, name)?;
        let mourner = Arc::new(Mourner {
            name: name.clone(),
            deaths: Mutex::new(deaths.clone()),
        });
        if service.link_to_death_arc(&mourner).is_err() {
            return Ok(name.clone());
        }
        if let Some(gateway) = bridge.gateway() {
            let descriptor = descriptor_of(&service);
            let descriptor = descriptor.doing(|| format!("asking {name} for its interface"))?;
            gateway.check(name, &descriptor)?;
        }
        let access = Access {
            name: name.clone(),
            rules: rules.clone(),
        };
        let doing = || format!("exporting {name}");
        relays.push((name, bridge.publish(&service, Some(access)).doing(doing)?));
        mourners.push(mourner);
    }
    let server = bind(options)?;
    configure(&server, options);
    match relays.as_slice() {
        [(_, relay)] => server
            .set_root(relay.clone())
            .doing(|| "exporting".into())?,
        relays => {
            for (name, relay) in relays {
                let doing = || format!("exporting {name}");
                server.add_service(name, relay.clone()).doing(doing)?;
            }
        }
    }
    let address = bound_address(&server, options);
    println!("{} exported at {address}", options.names.join(", "));
    let accepting = server.run_background();
    let dead = died.recv().doing(|| "waiting".to_string())?;
    server.stop_accepting();
    let _ = accepting.join();
    server.terminate();
    Ok(dead)
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
pub fn run(manager: &ServiceManager, options: &Options) -> Result<std::convert::Infallible> {
    memory::keep_freed();
    let gateway = Gateway::open(&options.aidl)?;
    let bridge = Bridge::new(options.max_size, gateway, options.dialect);
    loop {
        let dead = serve(manager, options, &bridge)?;
        eprintln!("anybinder: the service {dead} died; its sessions are ended.");
    }
}
