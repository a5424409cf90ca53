// SPDX-License-Identifier: Apache-2.0
//! The connections of peers that are known: how many there may be, and which services each used.
use crate::{answer, call_turns};
use rsbinder::rpc::{PeerIdentity, RpcResult, RpcTransport};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

thread_local! {
    /// The connection from which this thread has read last: that of the call that it serves.
    static CURRENT: RefCell<Weak<Connection>> = const { RefCell::new(Weak::new()) };
}

/// How long a connection is not read while a one-way call of its peer is made.
const WHILE: Duration = Duration::from_millis(20);

type Cut = Box<dyn Fn() + Send + Sync>;

/// A connection that is served.
struct Connection {
    peer: Arc<str>,
    oneway: Arc<Oneway>,
    /// The services that were called over it.
    used: Mutex<BTreeSet<String>>,
    cut: Cut,
}

impl Connection {
    fn used(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one-way calls of a peer, which are made in their order by one thread at a time. What the
/// other connections bring meanwhile is kept, and a session ends that has too much of it.
#[derive(Default)]
struct Oneway {
    is_made: Mutex<bool>,
    made: Condvar,
}

impl Oneway {
    fn set(&self, is_made: bool) {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner) = is_made;
        self.made.notify_all();
    }

    /// Waits until none is made, or for a while.
    fn wait(&self) {
        let is_made = self.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self
            .made
            .wait_timeout_while(is_made, WHILE, |is_made| *is_made);
    }
}

/// Makes a one-way call that came over this thread's connection.
pub fn oneway<T>(make: impl FnOnce() -> T) -> T {
    let connection = CURRENT.with_borrow(Weak::upgrade);
    let set = |is_made| connection.as_ref().map(|one| one.oneway.set(is_made));
    set(true);
    let made = make();
    set(false);
    made
}

#[derive(Default)]
struct Table {
    count: usize,
    of_peer: HashMap<String, usize>,
    waiting: HashMap<String, usize>,
    connections: Vec<Weak<Connection>>,
}

/// The slots for connections of an export or an accessor.
pub struct Slots {
    most: usize,
    table: Mutex<Table>,
    freed: Condvar,
}

/// A slot for a connection, which is free when this is dropped.
pub struct Slot {
    slots: Arc<Slots>,
    peer: Arc<str>,
}

/// Whether a service lives that peers have been given.
#[derive(Clone, Debug, Default)]
pub struct Life(Arc<AtomicBool>);

/// Whether this thread serves a connection.
pub fn is_served() -> bool {
    CURRENT.with_borrow(|current| current.strong_count() > 0)
}

/// Of the connection from which this thread has read last.
pub fn peer() -> Option<Arc<str>> {
    CURRENT.with_borrow(|current| Some(current.upgrade()?.peer.clone()))
}

impl Life {
    /// Says that this thread's call, if it came over a connection, uses a service; the connection
    /// ends with it.
    pub fn note_use(&self, name: &str) {
        let Some(connection) = CURRENT.with_borrow(Weak::upgrade) else {
            return;
        };
        let mut used = connection.used();
        if !used.contains(name) {
            used.insert(name.to_string());
        }
        drop(used);
        if self.0.load(Ordering::SeqCst) {
            (connection.cut)();
        }
    }
}

fn take_one(counts: &mut HashMap<String, usize>, peer: &str) {
    *counts.entry(peer.to_string()).or_default() += 1;
}

fn give_back(counts: &mut HashMap<String, usize>, peer: &str) {
    if let Some(count) = counts.get_mut(peer) {
        *count -= 1;
        if *count == 0 {
            counts.remove(peer);
        }
    }
}

impl Slots {
    pub fn new(most: usize) -> Arc<Slots> {
        Arc::new(Slots {
            most,
            table: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A peer leaves a quarter to others.
    fn share(&self) -> usize {
        self.most - self.most / 4
    }

    fn has_room(&self, table: &Table, peer: &str) -> bool {
        let own = table.of_peer.get(peer).copied().unwrap_or(0);
        table.count < self.most && own < self.share()
    }

    /// A slot for a peer; waits for one. None if there is none in time, or if too many wait.
    pub fn take(self: &Arc<Self>, peer: &str, patience: Duration) -> Option<Slot> {
        let until = Instant::now() + patience;
        let mut table = self.lock();
        if !self.has_room(&table, peer) {
            let own = table.waiting.get(peer).copied().unwrap_or(0);
            if own >= self.share() || table.waiting.values().sum::<usize>() >= self.most {
                return None;
            }
            take_one(&mut table.waiting, peer);
            while !self.has_room(&table, peer) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                let waited = self.freed.wait_timeout(table, left);
                table = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            give_back(&mut table.waiting, peer);
            if !self.has_room(&table, peer) {
                return None;
            }
        }
        table.count += 1;
        take_one(&mut table.of_peer, peer);
        Some(Slot {
            slots: self.clone(),
            peer: peer.into(),
        })
    }

    /// Ends the connections over which a service was used.
    ///
    /// * `all`: whatever was used
    pub fn end(&self, life: &Life, name: &str, all: bool) {
        // A call that is noted later finds that it is over.
        life.0.store(true, Ordering::SeqCst);
        let mut table = self.lock();
        table.connections.retain(|one| one.strong_count() > 0);
        let connections: Vec<_> = table.connections.iter().filter_map(Weak::upgrade).collect();
        drop(table);
        for connection in connections {
            if all || connection.used().contains(name) {
                (connection.cut)();
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut table = self.slots.lock();
        table.count -= 1;
        give_back(&mut table.of_peer, &self.peer);
        table.connections.retain(|one| one.strong_count() > 0);
        self.slots.freed.notify_all();
    }
}

/// What connections of the same peer have in common.
///
/// * `otherwise`: of one that has shown nothing
pub fn key_of(peer: &PeerIdentity, otherwise: &str) -> String {
    match peer {
        PeerIdentity::Local { uid, .. } => format!("user {uid}"),
        PeerIdentity::Certificate(id) => id.fingerprint_hex(),
        PeerIdentity::Vsock { cid } => format!("cid {cid}"),
        _ => otherwise.to_string(),
    }
}

/// The largest message that others go with.
const LARGEST_TOGETHER: usize = 4096;

/// A transport with a slot.
pub struct SlotTransport {
    inner: Box<dyn RpcTransport>,
    connection: Arc<Connection>,
    /// Messages that are sent with the next one.
    held: Mutex<Vec<u8>>,
    _slot: Slot,
}

impl SlotTransport {
    /// * `socket`: that of the transport, to cut it
    pub fn new(inner: Box<dyn RpcTransport>, socket: OwnedFd, slot: Slot) -> SlotTransport {
        let mut table = slot.slots.lock();
        let same =
            |one: &Weak<Connection>| Some(one.upgrade()?).filter(|one| one.peer == slot.peer);
        let same = table.connections.iter().find_map(same);
        let connection = Arc::new(Connection {
            peer: slot.peer.clone(),
            oneway: same.map_or_else(Arc::default, |one| one.oneway.clone()),
            used: Mutex::default(),
            cut: Box::new(move || {
                let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
            }),
        });
        table.connections.push(Arc::downgrade(&connection));
        drop(table);
        SlotTransport {
            inner,
            connection,
            held: Mutex::default(),
            _slot: slot,
        }
    }

    /// Before a read: what is read is served by this thread.
    fn begin_read(&self) -> RpcResult<()> {
        answer::is_over();
        let held = self.take_held();
        if !held.is_empty() {
            self.inner.send_raw(&held)?;
        }
        if !call_turns::is_calling() {
            self.connection.oneway.wait();
        }
        if !self.is_current() {
            CURRENT.set(Arc::downgrade(&self.connection));
        }
        Ok(())
    }

    fn is_current(&self) -> bool {
        CURRENT.with_borrow(|current| current.as_ptr() == Arc::as_ptr(&self.connection))
    }

    fn take_held(&self) -> Vec<u8> {
        std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a message, and with it those that are held. A message that has files goes by itself,
    /// because they go with the first byte; so does a large one, which would be copied.
    fn send(
        &self,
        message: &[u8],
        has_files: bool,
        send: impl FnOnce(&[u8]) -> RpcResult<()>,
    ) -> RpcResult<()> {
        let mut all = self.take_held();
        let sent = if all.is_empty() {
            send(message)
        } else if has_files || message.len() > LARGEST_TOGETHER {
            self.inner.send_raw(&all).and_then(|()| send(message))
        } else {
            all.extend_from_slice(message);
            send(&all)
        };
        answer::is_over();
        sent
    }
}

impl RpcTransport for SlotTransport {
    fn send_frame(&self, buf: &[u8]) -> RpcResult<()> {
        self.inner.send_frame(buf)
    }

    fn recv_frame(&self) -> RpcResult<Vec<u8>> {
        self.begin_read()?;
        self.inner.recv_frame()
    }

    fn peer_identity(&self) -> PeerIdentity {
        self.inner.peer_identity()
    }

    fn describe(&self) -> &str {
        self.inner.describe()
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> RpcResult<()> {
        self.inner.set_read_timeout(timeout)
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> RpcResult<()> {
        self.inner.set_write_timeout(timeout)
    }

    fn set_liveness(&self, timeout: Option<Duration>) -> RpcResult<()> {
        self.inner.set_liveness(timeout)
    }

    fn peer_closed(&self) -> Option<bool> {
        self.inner.peer_closed()
    }

    fn shutdown_handle(&self) -> Option<Box<dyn FnOnce() + Send>> {
        self.inner.shutdown_handle()
    }

    fn shutdown(&self) -> RpcResult<()> {
        self.inner.shutdown()
    }

    fn supports_fd_passing(&self) -> bool {
        self.inner.supports_fd_passing()
    }

    fn send_frame_with_fds(&self, buf: &[u8], fds: &[BorrowedFd<'_>]) -> RpcResult<()> {
        self.inner.send_frame_with_fds(buf, fds)
    }

    fn recv_frame_with_fds(&self) -> RpcResult<(Vec<u8>, Vec<OwnedFd>)> {
        self.begin_read()?;
        self.inner.recv_frame_with_fds()
    }

    fn send_raw(&self, buf: &[u8]) -> RpcResult<()> {
        self.send(buf, false, |all| self.inner.send_raw(all))
    }

    fn recv_raw(&self, buf: &mut [u8]) -> RpcResult<usize> {
        self.begin_read()?;
        self.inner.recv_raw(buf)
    }

    fn send_raw_with_fds(&self, buf: &[u8], fds: &[BorrowedFd<'_>]) -> RpcResult<()> {
        if fds.is_empty() && self.is_current() && answer::goes_with_it(buf) {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.extend_from_slice(buf);
            return Ok(());
        }
        let send = |all: &[u8]| self.inner.send_raw_with_fds(all, fds);
        self.send(buf, !fds.is_empty(), send)
    }

    fn recv_raw_with_fds(&self, buf: &mut [u8]) -> RpcResult<(usize, Vec<OwnedFd>)> {
        self.begin_read()?;
        self.inner.recv_raw_with_fds(buf)
    }

    fn send_raw_draining(
        &self,
        buf: &[u8],
        fds: &[BorrowedFd<'_>],
        drain: &mut dyn FnMut() -> RpcResult<()>,
    ) -> RpcResult<()> {
        let send = |all: &[u8]| self.inner.send_raw_draining(all, fds, drain);
        self.send(buf, !fds.is_empty(), send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsbinder::rpc::transport::UnixTransport;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_peer_leaves_places_to_others() {
        let slots = Slots::new(8);
        let own: Vec<_> = (0..6).map(|_| slots.take("a", NOW)).collect();
        assert!(own.iter().all(Option::is_some));
        assert!(slots.take("a", NOW).is_none());
        let others = [slots.take("b", NOW), slots.take("c", NOW)];
        assert!(others.iter().all(Option::is_some) && slots.take("d", NOW).is_none());
        drop(own);
        assert!(slots.take("d", NOW).is_some());
        drop(others);
        let table = slots.lock();
        assert!(table.count == 0 && table.of_peer.is_empty() && table.waiting.is_empty());
    }

    #[test]
    fn a_place_is_waited_for() {
        let slots = Slots::new(1);
        let first = slots.take("a", NOW).unwrap();
        let waiter = slots.clone();
        let waiter = std::thread::spawn(move || waiter.take("b", Duration::from_secs(30)));
        while slots.lock().waiting.is_empty() {
            std::thread::yield_now();
        }
        // Another connection waits for a slot.
        assert!(slots.take("c", Duration::from_secs(30)).is_none());
        drop(first);
        assert!(waiter.join().unwrap().is_some());
    }

    fn connection(slots: &Arc<Slots>) -> (SlotTransport, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let socket = near.try_clone().unwrap().into();
        let inner = Box::new(UnixTransport::from_stream(near).unwrap());
        let slot = slots.take("a", NOW).unwrap();
        (SlotTransport::new(inner, socket, slot), far)
    }

    /// Notes what is sent in one piece.
    struct Notes(Arc<Mutex<Vec<Vec<u8>>>>);

    impl RpcTransport for Notes {
        fn send_frame(&self, _: &[u8]) -> RpcResult<()> {
            unreachable!()
        }

        fn recv_frame(&self) -> RpcResult<Vec<u8>> {
            unreachable!()
        }

        fn peer_identity(&self) -> PeerIdentity {
            PeerIdentity::Anonymous
        }

        fn describe(&self) -> &str {
            "notes"
        }

        fn shutdown(&self) -> RpcResult<()> {
            Ok(())
        }

        fn send_raw(&self, buf: &[u8]) -> RpcResult<()> {
            self.0.lock().unwrap().push(buf.to_vec());
            Ok(())
        }

        fn send_raw_with_fds(&self, buf: &[u8], _: &[BorrowedFd<'_>]) -> RpcResult<()> {
            self.send_raw(buf)
        }

        fn recv_raw(&self, _: &mut [u8]) -> RpcResult<usize> {
            Ok(0)
        }
    }

    #[test]
    fn a_release_goes_with_the_reply() {
        let slots = Slots::new(8);
        let (near, _far) = UnixStream::pair().unwrap();
        let pieces = Arc::new(Mutex::new(Vec::new()));
        let slot = slots.take("a", NOW).unwrap();
        let inner = Box::new(Notes(pieces.clone()));
        let placed = SlotTransport::new(inner, near.try_clone().unwrap().into(), slot);
        let release: &[u8] = &[2, 0, 0, 0, 9];
        let reply: &[u8] = &[1, 0, 0, 0];
        let send = |message| placed.send_raw_with_fds(message, &[]).unwrap();
        let read = || placed.recv_raw(&mut [0]).unwrap();
        let sent = || std::mem::take(&mut *pieces.lock().unwrap());
        // A read that belongs to no reply, and with it a read of a thread that serves something
        // else.
        answer::is_next();
        send(release);
        read();
        send(release);
        assert_eq!(sent(), [release, release]);
        answer::is_next();
        send(release);
        send(release);
        assert!(sent().is_empty());
        send(reply);
        assert_eq!(sent(), [[release, release, reply].concat()]);
        send(release);
        assert_eq!(sent(), [release]);
        // There is no reply: at the latest when the thread reads again.
        answer::is_next();
        send(release);
        read();
        assert_eq!(sent(), [release]);
        // What is large would be copied.
        let large = vec![1; LARGEST_TOGETHER + 1];
        answer::is_next();
        send(release);
        send(&large);
        assert_eq!(sent(), [release, &large]);
        // Files belong to the first byte.
        answer::is_next();
        send(release);
        placed.send_raw_with_fds(reply, &[near.as_fd()]).unwrap();
        assert_eq!(sent(), [release, reply]);
    }

    #[test]
    fn a_one_way_call_lets_the_other_connections_of_its_peer_wait() {
        use std::io::Write;
        let slots = Slots::new(8);
        let ((one, mut far_one), (two, mut far_two)) = (connection(&slots), connection(&slots));
        far_one.write_all(b"x").unwrap();
        far_two.write_all(b"x").unwrap();
        one.recv_raw(&mut [0]).unwrap();
        std::thread::scope(|scope| {
            let took = oneway(|| {
                let begin = Instant::now();
                let read = scope.spawn(move || two.recv_raw(&mut [0]).map(|_| begin.elapsed()));
                read.join().unwrap().unwrap()
            });
            assert!(took >= WHILE);
        });
        assert!(!*one.connection.oneway.is_made.lock().unwrap());
    }

    #[test]
    fn a_service_ends_the_connections_that_used_it() {
        use std::io::Write;
        let slots = Slots::new(8);
        let (life, other) = (Life::default(), Life::default());
        let (one, mut far_one) = connection(&slots);
        let (two, mut far_two) = connection(&slots);
        for (placed, far, life, name) in [
            (&one, &mut far_one, &life, "a"),
            (&two, &mut far_two, &other, "b"),
        ] {
            far.write_all(b"x").unwrap();
            placed.recv_raw(&mut [0]).unwrap();
            life.note_use(name);
        }
        slots.end(&life, "a", false);
        assert_eq!(one.peer_closed(), Some(true));
        assert_eq!(two.peer_closed(), Some(false));
        // What is noted later ends at once.
        far_two.write_all(b"x").unwrap();
        two.recv_raw(&mut [0]).unwrap();
        life.note_use("a");
        assert_eq!(two.peer_closed(), Some(true));
    }
}
