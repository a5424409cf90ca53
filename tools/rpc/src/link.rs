// SPDX-License-Identifier: Apache-2.0
//! A service behind a socket, in this machine's service manager.
//!
//! The driver reports the death of an object when its process dies. So that the loss of a link is
//! reported like that, the relay is in a process of its own for each connection, which ends with
//! it; its parent starts the next one. The death of the service itself comes as the end of the
//! session, which the other side ends (`export`).
use crate::accessor;
use crate::address::Address;
use crate::call_turns;
use crate::dialect::Form;
use crate::export::{keep_freed, WIRE_VERSION};
use crate::foreign::Manager;
use crate::gateway::Gateway;
use crate::relay::{descriptor_of, Bridge};
use crate::service_directory;
use crate::status_text::explain;
use crate::tls::Credentials;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::output::{note_error, say};
use anybinder_parcel::aidl::Roots;
use rsbinder::rpc::rustls::ClientConfig;
use rsbinder::rpc::{FileDescriptorTransportMode, RpcClientConfig, RpcSession};
use rsbinder::{DeathRecipient, Endpoint, ProcessState, SIBinder, StatusCode, WIBinder};
use std::net::ToSocketAddrs;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use vsock::VsockStream;

/// The name of a link's process, by which others recognise it.
pub const PROGRAM: &str = "anybinder-link";

/// How long to wait before connecting again, first and at most.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The exit status of a process whose link was lost or could not be made: another one may succeed.
const STATUS_LOST: i32 = 75;

/// Whether clients that know accessors get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessor {
    None,
    /// And the others a relay.
    Beside,
    /// And the others nothing.
    Only,
}

pub struct Options {
    pub name: String,
    pub address: Address,
    /// The name in the server's certificate; the host of the address if not given.
    pub server_name: Option<String>,
    pub credentials: Credentials,
    pub accessor: Accessor,
    pub once: bool,
    /// The error that ends the link for good is a JSON document.
    pub json: bool,
    /// How many calls may run at the same time.
    pub threads: u32,
    pub max_size: usize,
    pub aidl: Roots,
    /// The form of programs of this machine whose calls do not tell it.
    pub form: Form,
    /// How long the other machine may take for a step of connecting, and to answer a call.
    pub patience: Option<Duration>,
}

/// What ends a link.
#[derive(Clone, Copy)]
enum End {
    Link,
    Manager,
    Device,
}

struct Watch {
    end: End,
    ends: Mutex<Sender<End>>,
}

impl DeathRecipient for Watch {
    fn binder_died(&self, _: &WIBinder) {
        if let Ok(ends) = self.ends.lock() {
            let _ = ends.send(self.end);
        }
    }
}

/// A failure after which another attempt may succeed.
fn lost(what: impl Into<String>) -> Error {
    Error::new(what).of(Kind::CallFailed)
}

/// Connects; files can be sent if the other end takes some.
fn connect(options: &Options, tls: Option<Arc<ClientConfig>>) -> Result<RpcSession> {
    if let (Endpoint::Unix(_), false) = (&options.address.endpoint, options.aidl.paths.is_empty()) {
        // An end that takes none closes the connections.
        if let Ok(session) = connect_with(options, None, true) {
            if session.get_root().is_ok() {
                return Ok(session);
            }
        }
    }
    connect_with(options, tls, false)
}

fn connect_with(
    options: &Options,
    tls: Option<Arc<ClientConfig>>,
    sends_files: bool,
) -> Result<RpcSession> {
    let address = &options.address;
    let mut config = match (&address.endpoint, tls) {
        (Endpoint::Tls { host, port }, Some(tls)) => {
            let name = options.server_name.as_deref().unwrap_or(host);
            RpcClientConfig::tls(host, *port, name, tls, WIRE_VERSION)
        }
        (Endpoint::Unix(path), _) => RpcClientConfig::unix(path, WIRE_VERSION),
        (Endpoint::Vsock { cid, port }, _) => RpcClientConfig::vsock(*cid, *port, WIRE_VERSION),
        _ => return Err(Error::new(format!("{address} is no address."))),
    };
    if sends_files {
        config = config.fd_mode(FileDescriptorTransportMode::Unix);
    }
    config = config
        .outgoing_connections(options.threads)
        // The first tells at once when the link is lost; the other machine calls back on all.
        .incoming_connections(options.threads.min(2));
    if let Some(patience) = options.patience {
        config = config.timeout(patience);
    }
    RpcSession::setup_client_android13plus_with_config(config)
        .map_err(|status| lost(format!("No link to {address}: {}.", why(address, status))))
}

/// The sentence that the host of an address is not known, where that is so.
fn unresolved(address: &Address) -> Option<String> {
    let Endpoint::Tls { host, port } = &address.endpoint else {
        return None;
    };
    let found = (host.as_str(), *port).to_socket_addrs();
    let why = match found.map(|mut found| found.next()) {
        Ok(Some(_)) => return None,
        Ok(None) => "it has no address".to_string(),
        Err(err) => err.to_string(),
    };
    Some(format!("the name {host} does not resolve ({why})"))
}

/// Why a connection was not made, in words. What TLS says is told by its verifier.
fn why(address: &Address, status: StatusCode) -> String {
    if let Some(why) = unresolved(address) {
        return why;
    }
    // The status is the same as of a peer that ends the connection, so another one is tried.
    let is_unclear = matches!(status, StatusCode::DeadObject | StatusCode::NoInit);
    if let (Endpoint::Vsock { cid, port }, true) = (&address.endpoint, is_unclear) {
        let error = VsockStream::connect_with_cid_port(*cid, *port).err();
        if let Some(why) = error.and_then(|error| address.unheard(&error)) {
            return why;
        }
    }
    match status {
        StatusCode::Errno(number) => std::io::Error::from_raw_os_error(-number).to_string(),
        StatusCode::DeadObject => "the other machine ended the connection, perhaps because it \
                                   does not accept this one's certificate or user"
            .to_string(),
        StatusCode::TimedOut => "the other machine did not answer in time (--patience)".to_string(),
        StatusCode::Unknown => "TLS failed".to_string(),
        StatusCode::NameNotFound => "there is no such socket".to_string(),
        other => explain(other),
    }
}

/// The service at the other end.
fn service(options: &Options, session: &RpcSession) -> Result<SIBinder> {
    let address = &options.address;
    let failed = |status| lost(format!("{address} gives no service: {}.", explain(status)));
    let root = session.get_root().map_err(failed)?;
    let is_directory = descriptor_of(&root).map_err(failed)? == service_directory::DESCRIPTOR;
    match &address.service {
        None if !is_directory => Ok(root),
        Some(service) if !is_directory => Err(Error::with_advice(
            format!("{address} has one service, without a name."),
            format!("Leave #{service} out."),
        )
        .of(Kind::NoService)),
        service => {
            let name = service.as_ref().unwrap_or(&options.name);
            session.get_service(name).map_err(|status| match status {
                // rsbinder makes one of every exception.
                StatusCode::NameNotFound | StatusCode::FailedTransaction => {
                    lost(format!("{address} has no service {name}.")).of(Kind::NoService)
                }
                service_directory::ABSENT => {
                    lost(format!("{name} does not live at {address} now."))
                }
                other => lost(format!(
                    "{address} does not give {name}: {}.",
                    explain(other)
                )),
            })
        }
    }
}

/// Makes the link and waits for its end.
fn work(options: &Options, manager: &Manager) -> Result<()> {
    let tls = match options.address.is_tls() {
        true => Some(options.credentials.client()?),
        false => None,
    };
    let (ends, ended) = channel();
    let watch = |end| {
        Arc::new(Watch {
            end,
            ends: Mutex::new(ends.clone()),
        })
    };
    let session = connect(options, tls)?;
    let service = service(options, &session)?;
    let link_watch = watch(End::Link);
    service
        .link_to_death_arc(&link_watch)
        .map_err(|status| lost(format!("The link is lost: {}.", explain(status))))?;
    let manager_watch = watch(End::Manager);
    if let Ok(context) = ProcessState::as_self().context_object() {
        let _ = context.link_to_death_arc(&manager_watch);
    }
    std::thread::spawn(move || {
        // It returns only if the device is dead, as after a crash of the daemon's server.
        let _ = ProcessState::join_thread_pool();
        let _ = ends.send(End::Device);
    });
    let gateway = Gateway::open(&options.aidl)?;
    // The other end may have taken fewer connections.
    let calls = session.negotiated_max_threads().max(1);
    let bridge = Bridge::new(options.max_size, gateway, options.form, calls);
    let relay = bridge
        .publish(&service, None, None)
        .doing(|| "making a relay".to_string())?;
    let descriptor = relay.descriptor().to_string();
    if let Some(gateway) = bridge.gateway() {
        gateway.check(&options.name, &descriptor)?;
    }
    if options.accessor != Accessor::None {
        let accessor = accessor::new(&options.name, relay.clone(), options.threads)?;
        let name = format!("{}{}", accessor::PREFIX, options.name);
        manager.add(&name, accessor)?;
    }
    if options.accessor != Accessor::Only {
        manager.add(&options.name, relay)?;
    }
    say(format_args!(
        "{} ({descriptor}) linked to {}, wire version {}",
        options.name,
        options.address,
        session.wire_protocol_version().unwrap_or(0)
    ));
    match ended.recv().doing(|| "waiting".to_string())? {
        End::Link => Err(lost(format!("The link to {} is lost.", options.address))),
        End::Manager => Err(lost("The service manager is gone.")),
        End::Device => Err(lost("The device is gone.")),
    }
}

/// What one connection's process does.
///
/// * `open`: opens the device for this process
fn child(options: &Options, open: &dyn Fn(u32) -> Result<Manager>) -> Error {
    // SAFETY: only changes what happens to this process when its parent ends.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let _ = rustix::thread::set_name(&std::ffi::CString::new(PROGRAM).unwrap_or_default());
    let outcome = open(call_turns::threads(options.threads)).and_then(|manager| {
        ProcessState::start_thread_pool();
        work(options, &manager)
    });
    outcome.err().unwrap_or_else(|| lost("The link has ended."))
}

/// How the process of a connection ended: whether another one may succeed, else its exit status.
fn is_lost(status: i32) -> std::result::Result<(), i32> {
    match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
        Some(STATUS_LOST) | None => Ok(()),
        Some(code) => Err(code),
    }
}

/// Starts a process for one connection and waits for its end.
fn one_connection(
    options: &Options,
    open: &dyn Fn(u32) -> Result<Manager>,
) -> Result<std::result::Result<(), i32>> {
    // SAFETY: this process has one thread, so that the child may go on like a new one.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(std::io::Error::last_os_error()).doing(|| "starting a process".to_string()),
        0 => {
            let error = child(options, open);
            let may_pass = [Kind::CallFailed, Kind::NotWorking, Kind::NoManager];
            let may_retry = may_pass.contains(&error.kind()) && !options.once;
            note_error("anybinder", options.json && !may_retry, &error);
            let status = error.kind().exit_status().into();
            std::process::exit(if may_retry { STATUS_LOST } else { status })
        }
        pid => {
            let mut status = 0;
            // SAFETY: writes the status.
            while unsafe { libc::waitpid(pid, &raw mut status, 0) } == -1 {
                let err = std::io::Error::last_os_error();
                if err.kind() != std::io::ErrorKind::Interrupted {
                    return Err(err).doing(|| "waiting for a process".to_string());
                }
            }
            Ok(is_lost(status))
        }
    }
}

/// Links until that fails for good. Returns the exit status.
///
/// * `open`: opens the device for a process of its own, with a number of threads
pub fn run(options: &Options, open: &dyn Fn(u32) -> Result<Manager>) -> Result<i32> {
    options.address.check_connect()?;
    // Errors of files and options show at once.
    if options.address.is_tls() {
        options.credentials.client()?;
    }
    Gateway::open(&options.aidl)?;
    keep_freed();
    let mut wait = FIRST_WAIT;
    loop {
        let start = Instant::now();
        if let Err(status) = one_connection(options, open)? {
            return Ok(status);
        }
        if start.elapsed() > LONGEST_WAIT {
            wait = FIRST_WAIT;
        }
        std::thread::sleep(wait);
        wait = LONGEST_WAIT.min(wait * 2);
    }
}

/// The address that a process links to; None for one that is no link.
pub fn address_of(pid: i32) -> Option<String> {
    let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    if comm.trim_end() != PROGRAM {
        return None;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    words.map(String::from).find(|word| word.contains("://"))
}
