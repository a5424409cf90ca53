// SPDX-License-Identifier: Apache-2.0
//! A process between callers and objects: each of its nodes stands for an object of another
//! process, in the same context or in another one.
//!
//! A call is sent on from the buffer that it came in, by the thread that it came to, which waits
//! for the reply: so its priority and calls within calls go on as if nobody stood between. What the
//! driver does not let a process pass on is who the caller is: the object sees this process.
//!
//! Within one context all objects but those that are stood for are passed as they are, and nobody
//! stands between their users. Between two contexts each object that crosses gets a node, which
//! lives as long as it is used. The driver tells of the death of processes only, not of single
//! nodes: whoever needs that ends this process.
use crate::abi::{
    self, FlatObject, TransactionData, OBJECT_SIZE, TYPE_BINDER, TYPE_BUFFER, TYPE_FD, TYPE_HANDLE,
    TYPE_WEAK_BINDER, TYPE_WEAK_HANDLE,
};
use crate::driver::{Driver, Event, Passed};
use crate::parcel::{Parcel, OWN_POINTER};
use crate::receive_map::{Memory, Open};
use rsbinder::StatusCode;
use std::collections::HashMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Flags of a node that stands for another: files are accepted, the priority is the caller's.
pub const FLAGS: u32 = abi::FD_FLAGS | abi::INHERIT_RT;

/// So many threads wait for objects at a time.
const THREADS_MAX: usize = 128;

/// So often, and after such a time each, a one-way call is sent for which there is no space.
const SPACE_TRIES: usize = 5000;
const SPACE_INTERVAL: Duration = Duration::from_millis(2);

/// What becomes of a call.
pub enum Verdict {
    Pass,
    /// Nobody hears of it; for one-way calls.
    Drop,
    Status(i32),
    Reply(Parcel),
}

/// Decides over calls. It is asked by the thread that serves the call, which it may delay.
pub type Judge = Box<dyn Fn(&TransactionData) -> Verdict + Send + Sync>;

/// An object that a node stands for.
struct Stand {
    /// The handle in the other side's open.
    handle: u32,
    /// References of other processes, and parcels of ours that are under way.
    uses: i64,
}

#[derive(Default)]
struct Tables {
    /// By side: its nodes by their addresses.
    stands: [HashMap<u64, Stand>; 2],
    /// By side: the addresses of the nodes on the other side that stand for its handles.
    pointers: [HashMap<u32, u64>; 2],
    last_pointer: u64,
}

/// One or two sides: the context where callers are, and that of the objects if it is another one.
pub struct Relay {
    sides: Vec<Driver>,
    judge: Judge,
    /// Is called when a thread cannot go on, or the process of the object has died.
    ended: fn(),
    tables: Mutex<Tables>,
    /// Threads of each side that wait for work, and all threads.
    idle: [AtomicUsize; 2],
    threads: AtomicUsize,
}

fn word64(object: &[u8], at: usize) -> u64 {
    let bytes = object.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |word| u64::from_le_bytes(*word))
}

fn word32(object: &[u8], at: usize) -> u32 {
    word64(object, at) as u32
}

fn put(object: &mut [u8], kind: u32, flags: u32, value: u64) {
    object.fill(0);
    object[..4].copy_from_slice(&kind.to_le_bytes());
    object[4..8].copy_from_slice(&flags.to_le_bytes());
    object[8..16].copy_from_slice(&value.to_le_bytes());
    if kind == TYPE_BINDER || kind == TYPE_WEAK_BINDER {
        object[16..24].copy_from_slice(&value.to_le_bytes());
    }
}

impl Relay {
    /// * `sides`: an open of the context of the callers, then one of that of the objects, if that
    ///   is another
    /// * `handle`: the object that the node with `OWN_POINTER` stands for
    /// * `ended`: is called when a thread cannot go on, or the process of that object has died
    pub fn new(sides: Vec<Driver>, handle: u32, judge: Judge, ended: fn()) -> Arc<Relay> {
        let mut tables = Tables {
            last_pointer: OWN_POINTER,
            ..Tables::default()
        };
        let stand = Stand { handle, uses: 1 };
        tables.stands[0].insert(OWN_POINTER, stand);
        tables.pointers[sides.len() - 1].insert(handle, OWN_POINTER);
        Arc::new(Relay {
            sides,
            judge,
            ended,
            tables: Mutex::new(tables),
            idle: Default::default(),
            threads: AtomicUsize::new(0),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to serve, with more threads when they are needed.
    pub fn start(self: &Arc<Relay>) {
        for side in 0..self.sides.len() {
            self.spawn(side);
        }
    }

    fn spawn(self: &Arc<Relay>, side: usize) {
        if self.threads.fetch_add(1, Ordering::Relaxed) >= THREADS_MAX {
            return;
        }
        let relay = self.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            let drivers = relay.sides.iter().map(Driver::for_another_thread);
            let opens = relay.sides.iter().map(Driver::opened);
            let mut worker = Worker {
                drivers: drivers.collect(),
                opens: opens.collect(),
                relay,
            };
            if worker.serve_all(side).is_err() {
                (worker.relay.ended)();
            }
        });
        // Without it, the threads that there are go on.
        drop(thread);
    }
}

struct Worker {
    relay: Arc<Relay>,
    drivers: Vec<Driver>,
    opens: Vec<Arc<Open>>,
}

impl Worker {
    fn other(&self, side: usize) -> usize {
        self.drivers.len() - 1 - side
    }

    fn serve_all(&mut self, side: usize) -> io::Result<()> {
        loop {
            self.relay.idle[side].fetch_add(1, Ordering::Relaxed);
            let events = self.drivers[side].exchange_and_wait();
            let was_idle = self.relay.idle[side].fetch_sub(1, Ordering::Relaxed);
            for event in events? {
                match event {
                    Event::Transaction(call, _) => {
                        if was_idle == 1 {
                            self.relay.spawn(side);
                        }
                        self.serve(side, &call)?;
                    }
                    other => self.note(side, &other),
                }
            }
        }
    }

    /// What is no call.
    fn note(&mut self, side: usize, event: &Event) {
        match event {
            Event::Died(_) => (self.relay.ended)(),
            Event::Acquired(pointer) => self.use_node(side, *pointer, 1),
            Event::Released(pointer) => self.use_node(side, *pointer, -1),
            _ => {}
        }
    }

    /// Counts the uses of a node, and forgets it when there are none.
    fn use_node(&mut self, side: usize, pointer: u64, more: i64) {
        let other = self.other(side);
        let mut tables = self.relay.tables();
        let Some(stand) = tables.stands[side].get_mut(&pointer) else {
            return;
        };
        stand.uses += more;
        let handle = stand.handle;
        // The node of the relay itself stays.
        if stand.uses <= 0 && pointer != OWN_POINTER {
            tables.stands[side].remove(&pointer);
            tables.pointers[other].remove(&handle);
            self.drivers[other].release(handle);
        }
    }

    /// Makes a call, or fails or drops it, and replies to it.
    fn serve(&mut self, side: usize, call: &TransactionData) -> io::Result<()> {
        let is_oneway = call.flags & abi::TF_ONE_WAY != 0;
        match (self.relay.judge)(call) {
            Verdict::Pass => return self.pass(side, call, is_oneway),
            _ if is_oneway => {}
            Verdict::Status(status) => self.drivers[side].reply_status(status),
            Verdict::Reply(parcel) => self.drivers[side].reply(parcel),
            Verdict::Drop => self.drivers[side].reply_status(StatusCode::DeadObject.into()),
        }
        drop(self.cross(side, call));
        self.drivers[side].free(call);
        Ok(())
    }

    fn pass(&mut self, side: usize, call: &TransactionData, is_oneway: bool) -> io::Result<()> {
        let out = self.other(side);
        let found = self.relay.tables().stands[side]
            .get(&call.target)
            .map(|stand| stand.handle);
        let (Some(handle), Ok((mut passed, mut sent))) = (found, self.cross(side, call)) else {
            if !is_oneway {
                self.drivers[side].reply_status(StatusCode::PermissionDenied.into());
            }
            self.drivers[side].free(call);
            return Ok(());
        };
        let mut reply = None;
        if is_oneway {
            self.send_oneway(out, handle, call, &mut passed)?;
        } else {
            self.drivers[out].pass_on(Some(handle), call, passed);
            reply = self.wait(out, side)?;
        }
        if let Some(reply) = &reply {
            match self.cross(out, reply) {
                Ok((passed, back)) => {
                    sent.extend(back);
                    self.drivers[side].pass_on(None, reply, passed);
                }
                Err(status) => self.drivers[side].reply_status(status.into()),
            }
            if out != side {
                self.drivers[side].flush()?;
            }
            self.drivers[out].free(reply);
        }
        self.drivers[side].free(call);
        if out != side {
            for (side, pointer) in sent {
                self.use_node(side, pointer, -1);
            }
            self.drivers[out].flush()?;
        }
        Ok(())
    }

    /// Sends a one-way call. The next one to its node comes when its buffer is freed, so they keep
    /// their order; and it waits for space in the buffer of the receiver, so that not this process
    /// loses calls, but their callers are refused if they go on.
    fn send_oneway(
        &mut self,
        out: usize,
        handle: u32,
        call: &TransactionData,
        passed: &mut Passed,
    ) -> io::Result<()> {
        let files = std::mem::take(&mut passed.files);
        for _ in 0..SPACE_TRIES {
            let again = Passed {
                data: passed.data.clone(),
                files: Vec::new(),
                buffers_size: passed.buffers_size,
            };
            self.drivers[out].pass_on(Some(handle), call, again);
            let mut has_failed = false;
            // What the driver says of it is at hand.
            for event in self.drivers[out].exchange_and_wait()? {
                match event {
                    Event::Failed => has_failed = true,
                    Event::Transaction(other, _) => self.serve(out, &other)?,
                    other => self.note(out, &other),
                }
            }
            if !has_failed || self.drivers[out].refused_for() != Some(libc::ENOSPC) {
                break;
            }
            std::thread::sleep(SPACE_INTERVAL);
        }
        drop(files);
        Ok(())
    }

    /// Waits for the reply, and serves what is called meanwhile to serve this call. None if the
    /// call has failed, of which its caller was told.
    fn wait(&mut self, out: usize, side: usize) -> io::Result<Option<TransactionData>> {
        loop {
            for event in self.drivers[out].exchange_and_wait()? {
                match event {
                    Event::Reply(reply) => return Ok(Some(reply)),
                    Event::Failed => {
                        let status = match self.drivers[out].was_dead() {
                            true => StatusCode::DeadObject,
                            false => StatusCode::FailedTransaction,
                        };
                        self.drivers[side].reply_status(status.into());
                        return Ok(None);
                    }
                    Event::Transaction(nested, _) => self.serve(out, &nested)?,
                    other => self.note(out, &other),
                }
            }
        }
    }

    /// What a received parcel is for the other side, and the nodes in it, which are used until it
    /// is sent.
    fn cross(
        &mut self,
        from: usize,
        received: &TransactionData,
    ) -> Result<(Passed, Vec<(usize, u64)>), StatusCode> {
        let (mut passed, mut sent) = (Passed::default(), Vec::new());
        if received.offsets_size == 0 {
            return Ok((passed, sent));
        }
        let open = self.opens[from].clone();
        let malformed = StatusCode::BadValue;
        let bytes = |address, size| open.map.bytes(address, size).ok_or(malformed);
        let data = bytes(received.buffer, received.data_size)?;
        let offsets = bytes(received.offsets, received.offsets_size)?;
        let mut outcome = Ok(());
        for offset in offsets.chunks_exact(8) {
            let at = word64(offset, 0) as usize;
            let object = data.get(at..).unwrap_or_default();
            match word32(object, 0) {
                // SAFETY: the driver opened it for this process, and nobody else knows of it.
                TYPE_FD => passed
                    .files
                    .push(unsafe { OwnedFd::from_raw_fd(word32(object, 8).cast_signed()) }),
                // A buffer beside the data: type, flags, address, length.
                TYPE_BUFFER => passed.buffers_size += word64(object, 16).next_multiple_of(8),
                kind if object.len() >= OBJECT_SIZE => {
                    match self.cross_binder(from, kind, word64(object, 8)) {
                        Ok(Some((object, node))) => {
                            let copy = passed.data.get_or_insert_with(|| data.to_vec());
                            let place = &mut copy[at..at + OBJECT_SIZE];
                            put(place, object.kind, object.flags, object.binder);
                            sent.extend(node);
                        }
                        Ok(None) => {}
                        Err(status) => outcome = Err(status),
                    }
                }
                _ => outcome = Err(malformed),
            }
        }
        outcome.map(|()| (passed, sent))
    }

    /// What a binder is for the other side, with the node that is made or used for it; None if it
    /// is the same there.
    #[allow(clippy::type_complexity)]
    fn cross_binder(
        &mut self,
        from: usize,
        kind: u32,
        value: u64,
    ) -> Result<Option<(FlatObject, Option<(usize, u64)>)>, StatusCode> {
        let to = self.other(from);
        let object = |kind, flags, value| FlatObject {
            kind,
            flags,
            binder: value,
            cookie: 0,
        };
        let mut tables = self.relay.tables();
        let weak_or = |weak, strong| match kind {
            TYPE_WEAK_BINDER | TYPE_WEAK_HANDLE => weak,
            _ => strong,
        };
        match kind {
            TYPE_BINDER | TYPE_WEAK_BINDER => {
                let stand = tables.stands[from].get(&value);
                let handle = stand.ok_or(StatusCode::BadType)?.handle;
                let kind = weak_or(TYPE_WEAK_HANDLE, TYPE_HANDLE);
                Ok(Some((object(kind, abi::FD_FLAGS, handle.into()), None)))
            }
            TYPE_HANDLE | TYPE_WEAK_HANDLE => {
                let handle = value as u32;
                let known = tables.pointers[from].get(&handle).copied();
                let pointer = match known {
                    Some(pointer) => pointer,
                    None if to == from => return Ok(None),
                    // A service manager is that of its own context.
                    None if handle == 0 => return Err(StatusCode::PermissionDenied),
                    None => {
                        tables.last_pointer += 1;
                        let pointer = tables.last_pointer;
                        tables.pointers[from].insert(handle, pointer);
                        tables.stands[to].insert(pointer, Stand { handle, uses: 0 });
                        self.drivers[from].acquire(handle);
                        pointer
                    }
                };
                if let Some(stand) = tables.stands[to].get_mut(&pointer) {
                    stand.uses += i64::from(to != from);
                }
                let kind = weak_or(TYPE_WEAK_BINDER, TYPE_BINDER);
                Ok(Some((object(kind, FLAGS, pointer), Some((to, pointer)))))
            }
            _ => Ok(None),
        }
    }
}
