// SPDX-License-Identifier: Apache-2.0
//! Connections whose other end has not shown yet who it is.
//!
//! They have a small number of places of their own, so that they do not use up those of links, and
//! a short time. A new connection always gets a place: where there is none left, the oldest one of
//! the address that has the most is cut. A peer with a certificate needs a few round trips, so it
//! is cut only if that many others arrive meanwhile; one that says nothing loses its place to it.
use crate::peer_log::log_peer;
use rustix::net::{shutdown, Shutdown};
use std::fmt;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many there may be, and how many of one address.
pub const MOST: usize = 64;
pub const MOST_OF_ONE: usize = 16;

/// How long a peer may take to show who it is.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Where a connection comes from. One machine has all addresses of a network of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Network4(u32),
    Network6(u64),
    User(u32),
    Context(u32),
    Unknown,
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Source {
        match address.to_canonical() {
            IpAddr::V4(address) => Source::Network4(address.to_bits()),
            IpAddr::V6(address) => Source::Network6((address.to_bits() >> 64) as u64),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Network4(bits) => write!(f, "{}", std::net::Ipv4Addr::from_bits(*bits)),
            Source::Network6(bits) => {
                let network = std::net::Ipv6Addr::from_bits(u128::from(*bits) << 64);
                write!(f, "{network}/64")
            }
            Source::User(uid) => write!(f, "user {uid}"),
            Source::Context(cid) => write!(f, "cid {cid}"),
            Source::Unknown => write!(f, "an unknown address"),
        }
    }
}

struct One {
    number: u64,
    source: Source,
    /// A duplicate of the same socket; None once it is cut.
    socket: Option<OwnedFd>,
    until: Instant,
}

#[derive(Default)]
struct Table {
    next: u64,
    /// The oldest is first.
    ones: Vec<One>,
}

impl Table {
    fn count(&self, source: Source) -> usize {
        self.ones.iter().filter(|one| one.source == source).count()
    }

    /// The one that makes room for a connection; None if there is room.
    fn victim(&self, source: Source) -> Option<usize> {
        let most = match self.count(source) >= MOST_OF_ONE {
            true => source,
            false if self.ones.len() < MOST => return None,
            false => {
                let sources = self.ones.iter().map(|one| one.source);
                sources.max_by_key(|source| self.count(*source))?
            }
        };
        self.ones.iter().position(|one| one.source == most)
    }

    fn cut(&mut self, at: usize, why: &str) {
        if let Some(socket) = self.ones[at].socket.take() {
            let _ = shutdown(&socket, Shutdown::Both);
            log_peer(&format!("{}: {why}.", self.ones[at].source));
        }
    }
}

/// All of an export.
#[derive(Default)]
pub struct Handshakes {
    table: Mutex<Table>,
    ended: Condvar,
}

/// The place of a connection, which is free when this is dropped.
pub struct Handshake {
    all: Arc<Handshakes>,
    number: u64,
}

impl Handshakes {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place; waits until one that is cut has ended.
    ///
    /// * `socket`: of the connection, to cut it
    pub fn begin(
        self: &Arc<Self>,
        source: Source,
        socket: OwnedFd,
        patience: Duration,
    ) -> Handshake {
        let mut table = self.lock();
        while let Some(at) = table.victim(source) {
            table.cut(
                at,
                "more connections than may be in their handshake; the oldest is cut",
            );
            table = self
                .ended
                .wait(table)
                .unwrap_or_else(PoisonError::into_inner);
        }
        table.next += 1;
        let number = table.next;
        table.ones.push(One {
            number,
            source,
            socket: Some(socket),
            until: Instant::now() + patience,
        });
        Handshake {
            all: self.clone(),
            number,
        }
    }

    /// Cuts those whose time is over. How long until the next one's is.
    pub fn expire(&self) -> Option<Duration> {
        let mut table = self.lock();
        let now = Instant::now();
        for at in 0..table.ones.len() {
            if table.ones[at].until <= now {
                table.cut(
                    at,
                    "it has not shown in time who it is; the connection is cut",
                );
            }
        }
        let open = table.ones.iter().filter(|one| one.socket.is_some());
        open.map(|one| one.until - now).min()
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut table = self.all.lock();
        table.ones.retain(|one| one.number != self.number);
        self.all.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    /// A connection, and the thread that serves it until it is cut.
    fn connect(all: &Arc<Handshakes>, source: Source) -> std::thread::JoinHandle<()> {
        let (mut near, far) = UnixStream::pair().unwrap();
        let socket = near.try_clone().unwrap().into();
        let place = all.begin(source, socket, Duration::from_secs(600));
        std::thread::spawn(move || {
            let _ = near.read(&mut [0]);
            drop((place, far));
        })
    }

    fn counts(all: &Arc<Handshakes>, source: Source) -> (usize, usize) {
        let table = all.lock();
        (table.count(source), table.ones.len())
    }

    #[test]
    fn an_address_loses_its_oldest_and_others_nothing() {
        let all = Arc::new(Handshakes::default());
        let (one, other) = (Source::Network4(1), Source::Network4(2));
        let kept = connect(&all, other);
        let threads: Vec<_> = (0..5 * MOST).map(|_| connect(&all, one)).collect();
        assert_eq!(counts(&all, one), (MOST_OF_ONE, MOST_OF_ONE + 1));
        assert!(!kept.is_finished());
        for thread in threads.into_iter().take(4 * MOST) {
            thread.join().unwrap();
        }
        // Many addresses: those that have the most make room.
        for number in 0..2 * MOST as u32 {
            connect(&all, Source::User(number));
        }
        assert_eq!(all.lock().ones.len(), MOST);
        assert!(counts(&all, one).0 <= 1);
    }

    #[test]
    fn silence_ends() {
        let all = Arc::new(Handshakes::default());
        let (near, far) = UnixStream::pair().unwrap();
        let place = all.begin(Source::Unknown, near.into(), Duration::ZERO);
        assert_eq!(all.expire(), None);
        assert_eq!((&far).read(&mut [0]).unwrap(), 0);
        drop(place);
        assert!(all.lock().ones.is_empty());
    }

    #[test]
    fn a_machine_is_one_source() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("::ffff:10.0.0.1"), source("10.0.0.1"));
        assert_eq!(source("fd00::1"), source("fd00::ffff:0:1"));
        assert_ne!(source("fd00::1"), source("fd01::1"));
        assert_eq!(source("10.0.0.1").to_string(), "10.0.0.1");
        assert_eq!(source("fd00::1").to_string(), "fd00::/64");
    }
}
