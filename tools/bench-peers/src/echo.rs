// SPDX-License-Identifier: Apache-2.0
//! Binder by rsbinder and its generated code: one method whose argument and result are bytes. Its
//! service is on this machine, behind RPC Binder over TLS, or behind `anybinder export` and `link`.
use crate::c::{ready, Ends};
use crate::pair::{anybinder, Pair, SERVER_NAME};
use crate::{check_size, fail, OrFail, PATTERN};
use generated::anybinder::bench::IEcho::{BnEcho, IEcho};
use rsbinder::rpc::{RpcClientConfig, RpcServer, RpcSession};
use rsbinder::{BinderResult, FromIBinder, Interface, ProcessState, SIBinder, Strong};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

mod generated {
    include!(concat!(env!("OUT_DIR"), "/bench_aidl.rs"));
}

/// The wire version that `export` and `link` have.
const WIRE_VERSION: u32 = anybinder_rpc::export::WIRE_VERSION;

/// How long a service manager may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

struct Echo {
    request_bytes: usize,
    reply: Vec<u8>,
}

impl Interface for Echo {}

impl IEcho for Echo {
    fn call(&self, data: &[u8]) -> BinderResult<Vec<u8>> {
        check_size(data, self.request_bytes);
        Ok(self.reply.clone())
    }
}

fn echo(pair: &Pair) -> SIBinder {
    let echo = BnEcho::new_binder(Echo {
        request_bytes: pair.request_bytes,
        reply: vec![PATTERN; pair.reply_bytes],
    });
    Interface::as_binder(&*echo)
}

struct Client {
    echo: Strong<dyn IEcho>,
    /// Keeps the connections of a client that made them itself.
    _session: Option<RpcSession>,
    request: Vec<u8>,
    reply_bytes: usize,
}

impl Client {
    fn new(binder: SIBinder, session: Option<RpcSession>, pair: &Pair) -> Client {
        Client {
            echo: <dyn IEcho as FromIBinder>::try_from(binder).or_fail("the interface"),
            _session: session,
            request: vec![PATTERN; pair.request_bytes],
            reply_bytes: pair.reply_bytes,
        }
    }

    fn call(&self) {
        let reply = self.echo.call(&self.request).or_fail("calling by Binder");
        check_size(&reply, self.reply_bytes);
    }
}

fn open(pair: &Pair, machine: &str) {
    let device = pair.mount(machine).join("binder");
    ProcessState::init(&device.to_string_lossy(), 1).or_fail(&device.display().to_string());
    ProcessState::start_thread_pool();
}

/// Starts an end of the link; waits until it says that it is ready. It ends with this process.
fn start(command: &mut Command, proof: &str) -> Child {
    // SAFETY: prctl is safe between fork and exec, and touches nothing of the parent.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.or_fail("starting an end of the link");
    let output = child.stdout.take().map(BufReader::new);
    let line = output.and_then(|output| output.lines().next());
    match line {
        Some(Ok(line)) if line.contains(proof) => child,
        _ => fail("an end of the link", "it did not start"),
    }
}

/// Waits for an end of the link, which should not end before this process.
fn wait(mut end: Child) {
    let status = end.wait().or_fail("waiting for an end of the link");
    fail("an end of the link", status);
}

/// A command of one machine with its keys.
fn command(pair: &Pair, machine: &str, words: &[&str]) -> Command {
    let mut command = Command::new(anybinder());
    command.arg("--mount").arg(pair.mount(machine)).args(words);
    for (option, end) in [("--cert", ".pem"), ("--key", ".key")] {
        command
            .arg(option)
            .arg(pair.file(&format!("{machine}{end}")));
    }
    command.arg("--ca").arg(pair.file("ca.pem"));
    command
}

/// Registers the service at the service manager of its machine, and returns its name.
fn register(pair: &Pair) -> String {
    open(pair, "server");
    let begin = Instant::now();
    let manager = loop {
        match rsbinder::hub::default() {
            Ok(manager) => break manager,
            Err(err) if begin.elapsed() > START_TIMEOUT => fail("the service manager", err),
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    };
    let name = pair.service();
    let added = manager.add_service(&name, echo(pair));
    added.or_fail("registering the service");
    name
}

/// Connects to the service by the service manager of a machine.
fn find(pair: &Pair, machine: &str) -> Client {
    open(pair, machine);
    let manager = rsbinder::hub::default().or_fail("the service manager");
    let found = manager
        .try_get_service(&pair.service())
        .or_fail("the service");
    match found {
        Some(service) => Client::new(service, None, pair),
        None => fail("the service", "it is not registered"),
    }
}

/// Without a driver, like gRPC: one process at each end.
pub struct TlsClient(Client);

impl Ends for TlsClient {
    const NEEDS_ADDRESS: bool = true;

    fn serve(pair: &Pair) {
        let config = pair.credentials("server").server(false).or_fail("the keys");
        let server = RpcServer::setup_tcp_server_tls(pair.address, config).or_fail("listening");
        server.set_android13plus(WIRE_VERSION);
        server.set_root(echo(pair)).or_fail("serving");
        ready();
        server.run().or_fail("serving RPC Binder");
    }

    fn connect(pair: &Pair) -> Self {
        let config = pair.credentials("client").client().or_fail("the keys");
        let host = pair.address.ip().to_string();
        let port = pair.address.port();
        let config = RpcClientConfig::tls(&host, port, SERVER_NAME, config, WIRE_VERSION);
        let session = RpcSession::setup_client_android13plus_with_config(config);
        let session = session.or_fail("connecting by RPC Binder");
        let root = session.get_root().or_fail("connecting by RPC Binder");
        TlsClient(Client::new(root, Some(session), pair))
    }

    fn call(&mut self) {
        self.0.call();
    }
}

/// From one machine to another by `anybinder export` and `link`: by an accessor or by a relay.
pub struct LinkClient<const BY_ACCESSOR: bool>(Client);

impl<const BY_ACCESSOR: bool> Ends for LinkClient<BY_ACCESSOR> {
    const NEEDS_ADDRESS: bool = true;
    const LEAVES_ORPHANS: bool = true;

    /// Serves on one machine, and starts what gives the service to the other one.
    fn serve(pair: &Pair) {
        let name = register(pair);
        let address = format!("tls://{}", pair.address);
        let words = ["export", &name, "--listen", &address];
        let export = start(&mut command(pair, "server", &words), "exported at");
        let words = ["link", &name, &address, "--server-name", SERVER_NAME];
        let mut link = command(pair, "client", &words);
        link.args(BY_ACCESSOR.then_some("--accessor=only"));
        let link = start(&mut link, "linked to");
        ready();
        std::thread::spawn(|| wait(export));
        wait(link);
    }

    fn connect(pair: &Pair) -> Self {
        LinkClient(find(pair, "client"))
    }

    fn call(&mut self) {
        self.0.call();
    }
}

fn serve_by_manager(pair: &Pair) {
    register(pair);
    ready();
    loop {
        std::thread::park();
    }
}

/// Within one machine, by its service manager.
pub struct FrameworkClient(Client);

impl Ends for FrameworkClient {
    const NEEDS_ADDRESS: bool = true;

    fn serve(pair: &Pair) {
        serve_by_manager(pair);
    }

    fn connect(pair: &Pair) -> Self {
        FrameworkClient(find(pair, "server"))
    }

    fn call(&mut self) {
        self.0.call();
    }
}

/// Looks the service up at the service manager, and drops it.
pub struct LookupClient(Box<dyn Fn()>);

impl Ends for LookupClient {
    const NEEDS_ADDRESS: bool = true;

    fn serve(pair: &Pair) {
        serve_by_manager(pair);
    }

    fn connect(pair: &Pair) -> Self {
        open(pair, "server");
        let manager = rsbinder::hub::default().or_fail("the service manager");
        let name = pair.service();
        LookupClient(Box::new(move || {
            let found = manager.try_get_service(&name).or_fail("the service");
            if found.is_none() {
                fail("the service", "it is not registered");
            }
        }))
    }

    fn call(&mut self) {
        self.0();
    }
}
