// SPDX-License-Identifier: Apache-2.0
//! Accepts the connections of an export, until it is dropped.
//!
//! A peer gets little before it is known: one of the few places of `handshakes`, and a few seconds.
//! rsbinder's server gets a connection only once its peer has shown who it is and the rules know
//! it, and then it has one of the slots of `connections`.
use crate::access::Rules;
use crate::address::Address;
use crate::connections::{key_of, SlotTransport, Slots};
use crate::handshakes::{Handshake, Handshakes, Source, PATIENCE};
use crate::peer_log::log_peer;
use anybinder_cli::error::{Doing, Error, Result};
use rsbinder::rpc::rustls::ServerConfig;
use rsbinder::rpc::transport::{TlsTransport, UnixTransport, VsockTransport};
use rsbinder::rpc::{RpcResult, RpcServer, RpcTransport};
use rsbinder::Endpoint;
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt::socket_peercred;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use vsock::{VsockListener, VsockStream};

/// How long to wait where the system has no descriptor or memory for another connection.
const SCARCE: Duration = Duration::from_millis(50);

/// What takes connections once their peer is known.
pub struct Door {
    pub server: Arc<RpcServer>,
    pub rules: Rules,
    pub handshakes: Arc<Handshakes>,
    pub slots: Arc<Slots>,
    /// How long a connection may take for each step.
    pub patience: Option<Duration>,
}

enum Bound {
    Tcp(TcpListener, Arc<ServerConfig>),
    /// With the path, and the device and inode of what is there.
    Unix(UnixListener, PathBuf, Option<(u64, u64)>),
    Vsock(VsockListener),
}

enum Accepted {
    Tcp(TcpStream, Arc<ServerConfig>),
    Unix(UnixStream),
    Vsock(VsockStream),
}

/// A server of rsbinder that is only given connections.
pub fn server(what: &str) -> Result<Arc<RpcServer>> {
    // The server listens, but accepts nothing, under a name that no one else can take before.
    let random = std::hash::RandomState::new().build_hasher().finish();
    let unused = format!("anybinder-{what}-{}-{random:x}", std::process::id());
    RpcServer::setup_unix_server_abstract(unused.as_bytes()).doing(|| "making a server".to_string())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Removes a socket that nothing listens on, as a process leaves it that was killed.
fn remove_stale(path: &Path) -> Result<()> {
    let doing = || format!("listening at {}", path.display());
    match std::fs::symlink_metadata(path) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) => {
            let what = format!("{} exists and is no socket.", path.display());
            return Err(Error::with_advice(what, "Give another path to --listen."));
        }
        Err(err) => return Err(err).doing(doing),
    }
    match UnixStream::connect(path) {
        Err(err) if err.kind() == ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).doing(doing)
        }
        Err(err) => Err(err).doing(doing),
        Ok(_) => Err(Error::with_advice(
            format!("Another process listens at {}.", path.display()),
            "End it, or give another path to --listen.",
        )),
    }
}

/// Whom the rules let in is checked for each connection. Where others may write the directory, what
/// is at the path now may be a link to a file of ours.
fn let_all_connect(path: &Path) -> std::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match found.metadata()?.file_type().is_socket() {
        true => std::fs::set_permissions(
            format!("/proc/self/fd/{}", found.as_raw_fd()),
            std::fs::Permissions::from_mode(0o666),
        ),
        false => Err(ErrorKind::AlreadyExists.into()),
    }
}

impl Bound {
    /// * `tls`: for an address of TLS
    fn new(address: &Address, tls: Option<Arc<ServerConfig>>) -> Result<Bound> {
        let doing = || format!("listening at {address}");
        match (&address.endpoint, tls) {
            (Endpoint::Tls { host, port }, Some(tls)) => {
                let found = (host.as_str(), *port).to_socket_addrs();
                let mut found = found.doing(|| format!("looking up {host}"))?;
                let none = || Error::new(format!("{host} has no address."));
                let listener = TcpListener::bind(found.next().ok_or_else(none)?).doing(doing)?;
                listener.set_nonblocking(true).doing(doing)?;
                Ok(Bound::Tcp(listener, tls))
            }
            (Endpoint::Unix(path), _) => {
                let path = PathBuf::from(path);
                remove_stale(&path)?;
                let listener = UnixListener::bind(&path).doing(doing)?;
                listener.set_nonblocking(true).doing(doing)?;
                let_all_connect(&path).doing(doing)?;
                let found = identity(&path);
                Ok(Bound::Unix(listener, path, found))
            }
            (Endpoint::Vsock { cid, port }, _) => {
                let listener = VsockListener::bind_with_cid_port(*cid, *port).doing(doing)?;
                listener.set_nonblocking(true).doing(doing)?;
                Ok(Bound::Vsock(listener))
            }
            _ => Err(Error::new(format!("{address} is no address."))),
        }
    }

    fn accept(&self) -> std::io::Result<Accepted> {
        Ok(match self {
            Bound::Tcp(listener, tls) => {
                let stream = listener.accept()?.0;
                stream.set_nonblocking(false)?;
                Accepted::Tcp(stream, tls.clone())
            }
            Bound::Unix(listener, ..) => {
                let stream = listener.accept()?.0;
                stream.set_nonblocking(false)?;
                Accepted::Unix(stream)
            }
            Bound::Vsock(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nonblocking(false)?;
                Accepted::Vsock(stream)
            }
        })
    }
}

impl AsFd for Bound {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Bound::Tcp(listener, _) => listener.as_fd(),
            Bound::Unix(listener, ..) => listener.as_fd(),
            Bound::Vsock(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Bound::Unix(_, path, found) = self {
            // Perhaps another process has put its own there.
            if found.is_some() && identity(path) == *found {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Accepted {
    fn source(&self) -> Source {
        match self {
            Accepted::Tcp(stream, _) => stream
                .peer_addr()
                .map_or(Source::Unknown, |address| address.ip().into()),
            Accepted::Unix(stream) => socket_peercred(stream)
                .map_or(Source::Unknown, |peer| Source::User(peer.uid.as_raw())),
            Accepted::Vsock(stream) => stream
                .peer_addr()
                .map_or(Source::Unknown, |address| Source::Context(address.cid())),
        }
    }

    fn socket(&self) -> std::io::Result<OwnedFd> {
        match self {
            Accepted::Tcp(stream, _) => stream.as_fd(),
            Accepted::Unix(stream) => stream.as_fd(),
            Accepted::Vsock(stream) => stream.as_fd(),
        }
        .try_clone_to_owned()
    }

    /// Learns who the peer is.
    fn shake_hands(self) -> RpcResult<Box<dyn RpcTransport>> {
        Ok(match self {
            Accepted::Tcp(stream, tls) => Box::new(TlsTransport::accept(stream, tls)?),
            Accepted::Unix(stream) => Box::new(UnixTransport::from_stream(stream)?),
            Accepted::Vsock(stream) => Box::new(VsockTransport::from_stream(stream)?),
        })
    }
}

impl Door {
    /// How long a peer may take to show who it is.
    fn short_patience(&self) -> Duration {
        self.patience
            .map_or(PATIENCE, |patience| patience.min(PATIENCE))
    }

    /// Serves a connection once its peer is known, if it may connect.
    fn admit(&self, accepted: Accepted, (source, handshake): (Source, Handshake)) {
        let Ok(socket) = accepted.socket() else {
            return;
        };
        let Ok(transport) = accepted.shake_hands() else {
            return;
        };
        drop(handshake);
        let peer = transport.peer_identity();
        if !self.rules.knows(&peer) {
            log_peer(&format!("{peer} may not connect."));
            return;
        }
        let key = key_of(&peer, &source.to_string());
        let Some(slot) = self.slots.take(&key, self.patience.unwrap_or(PATIENCE)) else {
            log_peer(&format!(
                "{peer} finds no place for a connection (--max-connections)."
            ));
            return;
        };
        let placed = SlotTransport::new(transport, socket, slot);
        self.server.serve_connection(Box::new(placed));
    }

    fn accept(self: &Arc<Self>, bound: &Bound) -> std::io::Result<()> {
        let accepted = bound.accept()?;
        let (source, socket) = (accepted.source(), accepted.socket()?);
        let handshake = self.handshakes.begin(source, socket, self.short_patience());
        let door = self.clone();
        std::thread::Builder::new()
            .name("handshake".to_string())
            .spawn(move || door.admit(accepted, (source, handshake)))?;
        Ok(())
    }

    /// Accepts until the event.
    fn serve(self: &Arc<Self>, bound: &Bound, stop: &OwnedFd) {
        loop {
            let wait = self.handshakes.expire();
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let mut both = [
                PollFd::new(stop, PollFlags::IN),
                PollFd::new(bound, PollFlags::IN),
            ];
            let _ = poll(&mut both, wait.as_ref());
            if !both[0].revents().is_empty() {
                return;
            }
            if both[1].revents().is_empty() {
                continue;
            }
            match self.accept(bound) {
                Ok(()) => {}
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                Err(err) => {
                    // The peer has gone, or the system has no room for it.
                    log_peer(&format!("A connection cannot be accepted: {err}."));
                    std::thread::sleep(SCARCE);
                }
            }
        }
    }
}

/// Accepts in a thread.
pub struct Listener {
    /// Where, with the port that the system chose if it was 0.
    pub address: String,
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn start(
        address: &Address,
        tls: Option<Arc<ServerConfig>>,
        door: &Arc<Door>,
    ) -> Result<Listener> {
        let bound = Bound::new(address, tls)?;
        let doing = || format!("listening at {address}");
        let told = match &bound {
            Bound::Tcp(listener, _) => format!("tls://{}", listener.local_addr().doing(doing)?),
            _ => address.to_string(),
        };
        let stop = eventfd(0, EventfdFlags::CLOEXEC).doing(doing)?;
        let (ended, door) = (stop.try_clone().doing(doing)?, door.clone());
        let thread = std::thread::spawn(move || door.serve(&bound, &ended));
        Ok(Listener {
            address: told,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_socket_is_not_followed() {
        let name = format!("anybinder-listener-{}", std::process::id());
        let [file, link, socket] = ["file", "link", "socket"]
            .map(|one| std::env::temp_dir().join(format!("{name}-{one}")));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(let_all_connect(&link).is_err() && let_all_connect(&file).is_err());
        let_all_connect(&socket).unwrap();
        assert_eq!([mode(&file), mode(&socket)], [0o600, 0o666]);
        for path in [file, link, socket] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
