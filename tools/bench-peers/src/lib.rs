// SPDX-License-Identifier: Apache-2.0
//! RPC systems as peers of the measuring program: for each a server and a client.
//!
//! The program is in C and has the processes, the clock and the loop (bench/cell.c); `c` has what
//! it sees of a peer. Each server and each client is a process with one thread that runs its own
//! executor; those of Binder have rsbinder's threads. Every failure ends the process, and with it
//! the measurement.
//!
//! * `capnproto`, `grpc`: over unix sockets with abstract names
//! * `grpc_tls`, `echo`: gRPC and Binder over TLS, with the same keys and ciphers
mod c;
mod capnproto;
mod echo;
mod grpc;
mod grpc_tls;
mod pair;

use pair::Pair;
use std::os::unix::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};

peer!(peer_grpc, c"grpc", grpc::Client);
peer!(peer_capnp, c"capnp", capnproto::Client);
peer!(peer_grpc_tls, c"grpc-tls", grpc_tls::Client);
peer!(peer_rpc_tls, c"rpc-tls", echo::TlsClient);
peer!(peer_link, c"link", echo::LinkClient<false>);
peer!(peer_link_accessor, c"link-accessor", echo::LinkClient<true>);
peer!(peer_framework, c"framework", echo::FrameworkClient);
peer!(peer_lookup, c"lookup", echo::LookupClient);

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

fn listen(pair: &Pair) -> tokio::net::UnixListener {
    let listener = UnixListener::bind_addr(&pair.socket()).or_fail("listening");
    listener.set_nonblocking(true).or_fail("listening");
    tokio::net::UnixListener::from_std(listener).or_fail("listening")
}

fn connect(pair: &Pair) -> tokio::net::UnixStream {
    let stream = UnixStream::connect_addr(&pair.socket()).or_fail("connecting");
    stream.set_nonblocking(true).or_fail("connecting");
    tokio::net::UnixStream::from_std(stream).or_fail("connecting")
}

extern "C" {
    /// See bench/cell.h.
    fn payload_read(data: *const u8, size: usize);
}

fn check_size(data: &[u8], wanted: usize) {
    if data.len() != wanted {
        fail(
            "a payload",
            format!("{} bytes instead of {wanted}", data.len()),
        );
    }
    // SAFETY: it reads within the slice.
    unsafe { payload_read(data.as_ptr(), data.len()) };
}

const PATTERN: u8 = 0x5a;
