// SPDX-License-Identifier: Apache-2.0
//! RPC systems for the measuring program: for each a server and a client.
//!
//! The program is in C and has the processes, the clock and the statistics (bench/cell.c); it calls
//! three functions of each system (bench/rpc.h). Each server and each client is a process with one
//! thread that runs its own executor; those of Binder have rsbinder's threads. Every failure ends
//! the process, and with it the measurement.
//!
//! * `capnproto`, `grpc`: over unix sockets with abstract names
//! * `grpc_tls`, `echo`: gRPC and Binder over TLS, with the same keys and ciphers (`far`)
mod capnproto;
mod echo;
mod far;
mod grpc;
mod grpc_tls;

use far::{Pair, RawPair};
use std::ffi::{c_char, c_void, CStr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};

/// A function of the C program, called when the server is ready for calls.
type Ready = extern "C" fn();

fn fail(what: &str, why: impl std::fmt::Display) -> ! {
    eprintln!("bench-peers: {what}: {why}");
    std::process::exit(1);
}

trait OrFail<T> {
    fn or_fail(self, what: &str) -> T;
}

impl<T, E: std::fmt::Display> OrFail<T> for Result<T, E> {
    fn or_fail(self, what: &str) -> T {
        self.unwrap_or_else(|err| fail(what, err))
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .or_fail("making an executor")
}

/// # Safety
/// `name` is a string that ends with a zero byte.
unsafe fn address(name: *const c_char) -> SocketAddr {
    let name = unsafe { CStr::from_ptr(name) };
    SocketAddr::from_abstract_name(name.to_bytes()).or_fail("naming a socket")
}

fn listen(address: &SocketAddr) -> tokio::net::UnixListener {
    let listener = UnixListener::bind_addr(address).or_fail("listening");
    listener.set_nonblocking(true).or_fail("listening");
    tokio::net::UnixListener::from_std(listener).or_fail("listening")
}

fn connect(address: &SocketAddr) -> tokio::net::UnixStream {
    let stream = UnixStream::connect_addr(address).or_fail("connecting");
    stream.set_nonblocking(true).or_fail("connecting");
    tokio::net::UnixStream::from_std(stream).or_fail("connecting")
}

/// Reads one byte of each cache line, like payload_read() of bench/payload.c.
fn read_payload(data: &[u8]) {
    let sum = data
        .iter()
        .step_by(64)
        .map(|byte| u64::from(*byte))
        .sum::<u64>();
    std::hint::black_box(sum);
}

fn check_size(data: &[u8], wanted: usize) {
    if data.len() != wanted {
        fail(
            "a payload",
            format!("{} bytes instead of {wanted}", data.len()),
        );
    }
    read_payload(data);
}

const PATTERN: u8 = 0x5a;

/// The functions of a system over a unix socket, for the C program.
///
/// * `$serve`: serves on an abstract socket, calls `ready` when it listens, never returns
/// * `$connect`: returns a connection to such a server; never freed
/// * `$call`: makes one call on such a connection, which no other call uses at the same time
///
/// # Safety
/// `name` is a string that ends with a zero byte; `client` was returned by `$connect`.
macro_rules! over_unix_socket {
    ($system:ident, $serve:ident, $connect:ident, $call:ident) => {
        #[no_mangle]
        unsafe extern "C" fn $serve(
            name: *const c_char,
            request_bytes: usize,
            reply_bytes: usize,
            ready: Ready,
        ) {
            $system::serve(&unsafe { address(name) }, request_bytes, reply_bytes, ready);
        }

        #[no_mangle]
        unsafe extern "C" fn $connect(
            name: *const c_char,
            request_bytes: usize,
            reply_bytes: usize,
        ) -> *mut c_void {
            let client =
                $system::Client::new(&unsafe { address(name) }, request_bytes, reply_bytes);
            Box::into_raw(Box::new(client)).cast()
        }

        #[no_mangle]
        unsafe extern "C" fn $call(client: *mut c_void) {
            unsafe { &mut *client.cast::<$system::Client>() }.call();
        }
    };
}

over_unix_socket!(grpc, grpc_serve, grpc_connect, grpc_call);
over_unix_socket!(capnproto, capnp_serve, capnp_connect, capnp_call);

/// Makes the processes whose parents end children of this one, so that it can wait for them and
/// knows their processor time.
#[no_mangle]
pub extern "C" fn far_adopt_orphans() {
    // SAFETY: only changes whose child a process becomes.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// A port of the loopback device that no program listens on.
#[no_mangle]
pub extern "C" fn far_free_port() -> u16 {
    far::free_port()
}

/// Serves gRPC over TLS; calls `ready` when it listens, never returns.
///
/// # Safety
/// `pair` points to a pair whose directory is a string that ends with a zero byte.
#[no_mangle]
pub unsafe extern "C" fn grpc_tls_serve(pair: *const RawPair, ready: Ready) {
    grpc_tls::serve(&unsafe { Pair::new(pair) }, ready);
}

/// Returns a connection to such a server, for `grpc_call`; never freed.
///
/// # Safety
/// As `grpc_tls_serve`.
#[no_mangle]
pub unsafe extern "C" fn grpc_tls_connect(pair: *const RawPair) -> *mut c_void {
    Box::into_raw(Box::new(grpc_tls::connect(&unsafe { Pair::new(pair) }))).cast()
}

/// Serves RPC Binder over TLS; calls `ready` when it listens, never returns.
///
/// # Safety
/// As `grpc_tls_serve`.
#[no_mangle]
pub unsafe extern "C" fn rpc_tls_serve(pair: *const RawPair, ready: Ready) {
    echo::serve_tls(&unsafe { Pair::new(pair) }, ready);
}

/// Returns a connection to such a server, for `echo_call`; never freed.
///
/// # Safety
/// As `grpc_tls_serve`.
#[no_mangle]
pub unsafe extern "C" fn rpc_tls_connect(pair: *const RawPair) -> *mut c_void {
    Box::into_raw(Box::new(echo::connect_tls(&unsafe { Pair::new(pair) }))).cast()
}

/// Serves Binder on one mount and links it to the other; calls `ready` when it is linked, never
/// returns.
///
/// * `accessor`: the client gets an accessor, no relay
///
/// # Safety
/// As `grpc_tls_serve`.
#[no_mangle]
pub unsafe extern "C" fn link_serve(pair: *const RawPair, accessor: bool, ready: Ready) {
    echo::serve_link(&unsafe { Pair::new(pair) }, accessor, ready);
}

/// Returns the service as the other mount has it, for `echo_call`; never freed.
///
/// # Safety
/// As `grpc_tls_serve`.
#[no_mangle]
pub unsafe extern "C" fn link_connect(pair: *const RawPair) -> *mut c_void {
    Box::into_raw(Box::new(echo::connect_link(&unsafe { Pair::new(pair) }))).cast()
}

/// Makes one call.
///
/// # Safety
/// `client` was returned by `rpc_tls_connect` or `link_connect` and is in use by no other call.
#[no_mangle]
pub unsafe extern "C" fn echo_call(client: *mut c_void) {
    unsafe { &*client.cast::<echo::Client>() }.call();
}
