// SPDX-License-Identifier: Apache-2.0
//! One thread at an open device: commands go out in batches, returns come in.
use crate::abi::{
    self, ExtendedError, FlatObject, NodeInfoForRef, TransactionData, TransactionDataContext,
    TransactionDataSg, WriteRead,
};
use crate::parcel::{Parcel, OWN_POINTER};
use crate::receive_map::{ioctl, Memory, Open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const READ_SIZE: usize = 64 * 1024;
/// The longest security context that is read, in bytes.
const MAX_TEXT: u64 = 4096;

/// What the driver returns to a thread.
pub enum Event {
    /// With the address of the security context of its sender, if that was asked for.
    Transaction(TransactionData, Option<u64>),
    Died(u64),
    /// The reply to a call of this thread.
    Reply(TransactionData),
    /// A call or a one-way call of this thread, or its reply to a call, has failed.
    Failed,
    /// Other processes begin to refer to an object of this one, or do so no more: its address.
    Acquired(u64),
    Released(u64),
    /// No thread waits for work, and there may be one more (`Driver::for_wanted_thread`).
    Wanted,
}

/// What is sent on in place of what was received.
#[derive(Default)]
pub struct Passed {
    /// The data, if not that in the buffer.
    pub data: Option<Vec<u8>>,
    /// The files of the data, which this process needs no more afterwards.
    pub files: Vec<OwnedFd>,
    /// The sizes of all buffers beside the data, each rounded up to a multiple of 8.
    pub buffers_size: u64,
}

/// What one thread has to do with the driver.
pub struct Driver {
    open: Arc<Open>,
    /// Commands that were not written yet, and the parcels that they point to.
    commands: Vec<u8>,
    parcels: Vec<Parcel>,
    passed: Vec<Passed>,
    /// Whether all commands are replies and buffers that are given back.
    only_replies: bool,
    input: Vec<u8>,
    /// The return that told of the last failure.
    failure: u32,
    /// The driver has told of the end of a call or a reply that was sent.
    is_complete: bool,
}

/// The address in a return about an object of this process.
fn pointer_of(payload: &[u8]) -> u64 {
    payload
        .first_chunk()
        .map_or(0, |word| u64::from_ne_bytes(*word))
}

/// A structure as the driver reads it.
fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: only used for the structures of the ABI, which have no padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

impl Driver {
    pub fn open(path: &Path) -> io::Result<Driver> {
        Ok(Driver::of(Arc::new(Open::new(path)?), abi::BC_ENTER_LOOPER))
    }

    fn of(open: Arc<Open>, begin: u32) -> Driver {
        let mut driver = Driver {
            open,
            commands: Vec::new(),
            parcels: Vec::new(),
            passed: Vec::new(),
            only_replies: true,
            input: vec![0; READ_SIZE],
            failure: 0,
            is_complete: false,
        };
        driver.command(begin, &[]);
        driver
    }

    /// The driver at the same open device, for another thread.
    pub fn for_another_thread(&self) -> Driver {
        Driver::of(self.opened(), abi::BC_ENTER_LOOPER)
    }

    /// The driver at the same open device, for a thread that it wants.
    pub fn for_wanted_thread(&self) -> Driver {
        Driver::of(self.opened(), abi::BC_REGISTER_LOOPER)
    }

    /// How many threads the driver may want.
    pub fn set_max_threads(&self, count: u32) -> io::Result<()> {
        let mut count = count;
        ioctl(&self.open.file, abi::BINDER_SET_MAX_THREADS, &mut count)
    }

    /// Where the buffers of transactions are.
    pub fn opened(&self) -> Arc<Open> {
        Arc::clone(&self.open)
    }

    /// Becomes the context manager. Fails with EBUSY if there is one.
    ///
    /// * `flags`: NEEDS_CONTEXT, whether transactions are to have the security context of their
    ///   sender; ACCEPTS_FDS, whether they may have files
    pub fn become_manager(&self, flags: u32) -> io::Result<()> {
        let mut own = FlatObject {
            kind: abi::TYPE_BINDER,
            flags,
            binder: OWN_POINTER,
            cookie: OWN_POINTER,
        };
        match ioctl(&self.open.file, abi::BINDER_SET_CONTEXT_MGR_EXT, &mut own) {
            // Before Linux 5.0 the node has no address, and cannot be sent.
            Err(err) if err.raw_os_error() == Some(libc::EINVAL) && flags == 0 => {
                ioctl(&self.open.file, abi::BINDER_SET_CONTEXT_MGR, &mut 0i32)
            }
            outcome => outcome,
        }
    }

    fn command(&mut self, command: u32, payload: &[u8]) {
        debug_assert_eq!(abi::payload_size(command), payload.len());
        self.only_replies &= matches!(
            command,
            abi::BC_REPLY | abi::BC_REPLY_SG | abi::BC_FREE_BUFFER
        );
        self.commands.extend_from_slice(&command.to_ne_bytes());
        self.commands.extend_from_slice(payload);
    }

    /// A call or a reply. With buffers it is one of the commands that say how large they are.
    fn transaction(&mut self, is_reply: bool, target: u32, code: u32, flags: u32, parcel: Parcel) {
        let mut parcel = parcel;
        for (at, buffer) in &parcel.buffers {
            // The address in the object, which follows its type and its flags.
            let address = buffer.as_ptr() as u64;
            parcel.data[at + 8..at + 16].copy_from_slice(&address.to_ne_bytes());
        }
        let data = TransactionData {
            target: target.into(),
            code,
            flags,
            data_size: parcel.data.len() as u64,
            offsets_size: (parcel.offsets.len() * 8) as u64,
            buffer: parcel.data.as_ptr() as u64,
            offsets: parcel.offsets.as_ptr() as u64,
            ..TransactionData::default()
        };
        if parcel.buffers.is_empty() {
            let command = match is_reply {
                true => abi::BC_REPLY,
                false => abi::BC_TRANSACTION,
            };
            self.command(command, bytes_of(&data));
        } else {
            let sizes = parcel.buffers.iter();
            let sizes = sizes.map(|(_, buffer)| buffer.len().next_multiple_of(8) as u64);
            let data = TransactionDataSg {
                transaction: data,
                buffers_size: sizes.sum(),
            };
            let command = match is_reply {
                true => abi::BC_REPLY_SG,
                false => abi::BC_TRANSACTION_SG,
            };
            self.command(command, bytes_of(&data));
        }
        self.parcels.push(parcel);
    }

    /// Replies. The driver may tell of the reply's end together with the next call.
    pub fn reply(&mut self, parcel: Parcel) {
        self.transaction(true, 0, 0, abi::TF_DEFER_COMPLETE, parcel);
    }

    pub fn reply_status(&mut self, status: i32) {
        let mut parcel = Parcel::default();
        parcel.i32(status);
        let flags = abi::TF_STATUS_CODE | abi::TF_DEFER_COMPLETE;
        self.transaction(true, 0, 0, flags, parcel);
    }

    /// Sends on what was received. Its buffer has to stay until the commands are written; what it
    /// was replaced by is kept as long.
    ///
    /// * `target`: the handle to call; None: it is a reply
    pub fn pass_on(&mut self, target: Option<u32>, received: &TransactionData, passed: Passed) {
        let mut data = *received;
        data.cookie = 0;
        data.target = target.unwrap_or(0).into();
        if target.is_none() {
            data.flags |= abi::TF_DEFER_COMPLETE;
        }
        if let Some(copy) = &passed.data {
            data.buffer = copy.as_ptr() as u64;
        }
        match (target.is_some(), passed.buffers_size) {
            (true, 0) => self.command(abi::BC_TRANSACTION, bytes_of(&data)),
            (false, 0) => self.command(abi::BC_REPLY, bytes_of(&data)),
            (is_call, buffers_size) => {
                let command = match is_call {
                    true => abi::BC_TRANSACTION_SG,
                    false => abi::BC_REPLY_SG,
                };
                let transaction = data;
                let both = TransactionDataSg {
                    transaction,
                    buffers_size,
                };
                self.command(command, bytes_of(&both));
            }
        }
        self.passed.push(passed);
    }

    /// Gives the buffer of a transaction back.
    pub fn free(&mut self, transaction: &TransactionData) {
        self.command(abi::BC_FREE_BUFFER, &transaction.buffer.to_ne_bytes());
    }

    /// Copies of the data and the offsets of a transaction.
    pub fn contents(&self, transaction: &TransactionData) -> Option<(Vec<u8>, Vec<u64>)> {
        let data = self
            .open
            .map
            .bytes(transaction.buffer, transaction.data_size)?;
        let offsets = self
            .open
            .map
            .bytes(transaction.offsets, transaction.offsets_size)?;
        let offsets = offsets
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or([0; 8])));
        Some((data.to_vec(), offsets.collect()))
    }

    /// The text at an address of a transaction, up to its 0 byte.
    pub fn text(&self, address: u64) -> Option<String> {
        let byte = |at| Some(self.open.map.bytes(address.checked_add(at)?, 1)?[0]);
        let bytes = (0..MAX_TEXT).map_while(byte).take_while(|byte| *byte != 0);
        String::from_utf8(bytes.collect()).ok()
    }

    /// Waits for work, at most this long. Returns whether there may be some.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.open.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let timeout_ms = timeout.map_or(-1, |time| i32::try_from(time.as_millis()).unwrap_or(-1));
        // SAFETY: one live pollfd.
        match unsafe { libc::poll(&raw mut poll, 1, timeout_ms) } {
            0 => Ok(false),
            1.. if poll.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 => Err(
                io::Error::new(io::ErrorKind::ConnectionAborted, "the driver has ended"),
            ),
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                err if err.kind() == io::ErrorKind::Interrupted => Ok(false),
                err => Err(err),
            },
        }
    }

    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Whether the commands, if any, do no more than end calls: nobody but their callers waits for
    /// them.
    pub fn has_only_replies(&self) -> bool {
        self.only_replies
    }

    /// Adds a call to the commands.
    pub(crate) fn send(&mut self, handle: u32, code: u32, flags: u32, parcel: Parcel) {
        self.transaction(false, handle, code, flags, parcel);
    }

    /// Adds a one-way call to the commands.
    pub fn oneway(&mut self, handle: u32, code: u32, parcel: Parcel) {
        self.send(handle, code, abi::TF_ONE_WAY, parcel);
    }

    /// The errno for which the driver has just refused a transaction of this thread, where it tells
    /// (from Linux 6.0 on).
    pub fn refused_for(&self) -> Option<i32> {
        let mut error = ExtendedError::default();
        let told = ioctl(&self.open.file, abi::BINDER_GET_EXTENDED_ERROR, &mut error);
        (told.is_ok() && error.param < 0).then_some(-error.param)
    }

    /// Whether there are calls or replies that the driver did not take yet.
    pub(crate) fn has_parcels(&self) -> bool {
        !self.parcels.is_empty()
    }

    /// Whether the driver has told, with the last read, of the end of what was sent.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the last transaction that failed did so because its receiver is dead.
    pub fn was_dead(&self) -> bool {
        self.failure == abi::BR_DEAD_REPLY
    }

    /// Writes the commands without reading, and forgets this thread.
    pub fn leave(mut self) {
        let mut exchange = WriteRead {
            write_size: self.commands.len() as u64,
            write_buffer: self.commands.as_ptr() as u64,
            ..WriteRead::default()
        };
        // The thread ends whatever becomes of them.
        let _ = ioctl(&self.open.file, abi::BINDER_WRITE_READ, &mut exchange);
        let _ = ioctl(&self.open.file, abi::BINDER_THREAD_EXIT, &mut 0i32);
        self.commands.clear();
    }

    /// Writes the commands and reads returns, without waiting for work.
    pub fn exchange(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            if self.has_commands() {
                self.write_read(0, &mut events)?;
            }
            // No other thread takes what this one sees: one at a time serves, and the others have a
            // call, so that they see only what is sent to them.
            if self.wait(Some(Duration::ZERO))? {
                self.write_read(READ_SIZE, &mut events)?;
            }
            // A command that failed ends the write; the error was among the returns. Answers to
            // counts are commands, too.
            if !self.has_commands() {
                return Ok(events);
            }
        }
    }

    /// Writes the commands and waits for returns, in one call of the driver. None, if a signal
    /// comes.
    pub fn exchange_and_wait(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        self.write_read(READ_SIZE, &mut events)?;
        if self.has_commands() {
            events.extend(self.exchange()?);
        }
        Ok(events)
    }

    /// Writes the commands and waits for returns, until a time if there is one. None at that time.
    pub(crate) fn events_until(&mut self, end: Option<Instant>) -> io::Result<Option<Vec<Event>>> {
        let mut events = Vec::new();
        if let Some(end) = end {
            if self.has_commands() {
                self.write_read(0, &mut events)?;
            }
            let left = end.saturating_duration_since(Instant::now());
            if !self.wait(Some(left))? {
                return Ok((!left.is_zero()).then_some(events));
            }
        }
        self.write_read(READ_SIZE, &mut events)?;
        Ok(Some(events))
    }

    /// Writes the commands and waits for an event, in one call of the driver where that is
    /// possible. Other threads may do so, too. None, if a signal comes.
    pub fn receive(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            let is_first = self.has_commands();
            self.write_read(READ_SIZE, &mut events)?;
            // Answers to counts are written with what is written next.
            if !events.is_empty() || !(is_first || self.has_commands()) {
                return Ok(events);
            }
        }
    }

    /// Writes the commands.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.has_commands() {
            self.write_read(0, &mut Vec::new())?;
        }
        Ok(())
    }

    fn write_read(&mut self, read_size: usize, events: &mut Vec<Event>) -> io::Result<()> {
        self.is_complete = false;
        let mut exchange = WriteRead {
            write_size: self.commands.len() as u64,
            write_buffer: self.commands.as_ptr() as u64,
            read_size: read_size as u64,
            read_buffer: self.input.as_mut_ptr() as u64,
            ..WriteRead::default()
        };
        let outcome = ioctl(&self.open.file, abi::BINDER_WRITE_READ, &mut exchange);
        self.commands.drain(..exchange.write_consumed as usize);
        if self.commands.is_empty() {
            self.parcels.clear();
            self.passed.clear();
            self.only_replies = true;
        }
        match outcome {
            Err(err) if err.kind() != io::ErrorKind::Interrupted => return Err(err),
            _ => {}
        }
        self.parse(exchange.read_consumed as usize, events);
        Ok(())
    }

    fn parse(&mut self, size: usize, events: &mut Vec<Event>) {
        let mut at = 0;
        while at + 4 <= size {
            let word = &self.input[at..at + 4];
            let command = u32::from_ne_bytes(word.try_into().unwrap_or([0; 4]));
            let end = at + 4 + abi::payload_size(command);
            if end > size {
                return;
            }
            let payload = self.input[at + 4..end].to_vec();
            at = end;
            match command {
                abi::BR_TRANSACTION => {
                    // SAFETY: the payload of this return is this structure.
                    let data = unsafe { std::ptr::read_unaligned(payload.as_ptr().cast()) };
                    events.push(Event::Transaction(data, None));
                }
                abi::BR_TRANSACTION_CONTEXT => {
                    // SAFETY: as above.
                    let both: TransactionDataContext =
                        unsafe { std::ptr::read_unaligned(payload.as_ptr().cast()) };
                    events.push(Event::Transaction(both.transaction, Some(both.context)));
                }
                abi::BR_DEAD_BINDER => {
                    let cookie = u64::from_ne_bytes(payload.try_into().unwrap_or([0; 8]));
                    self.command(abi::BC_DEAD_BINDER_DONE, &cookie.to_ne_bytes());
                    events.push(Event::Died(cookie));
                }
                abi::BR_REPLY => {
                    // SAFETY: as above.
                    let data = unsafe { std::ptr::read_unaligned(payload.as_ptr().cast()) };
                    events.push(Event::Reply(data));
                }
                abi::BR_DEAD_REPLY | abi::BR_FAILED_REPLY | abi::BR_FROZEN_REPLY => {
                    self.failure = command;
                    events.push(Event::Failed);
                }
                abi::BR_INCREFS => self.command(abi::BC_INCREFS_DONE, &payload),
                abi::BR_ACQUIRE => {
                    self.command(abi::BC_ACQUIRE_DONE, &payload);
                    events.push(Event::Acquired(pointer_of(&payload)));
                }
                abi::BR_RELEASE => events.push(Event::Released(pointer_of(&payload))),
                abi::BR_SPAWN_LOOPER => events.push(Event::Wanted),
                // The end of a one-way call or of a reply of ours.
                abi::BR_TRANSACTION_COMPLETE => self.is_complete = true,
                _ => {}
            }
        }
    }

    /// Takes a strong reference to a handle of a transaction that was not given back yet.
    pub fn acquire(&mut self, handle: u32) {
        self.command(abi::BC_ACQUIRE, &handle.to_ne_bytes());
    }

    pub fn release(&mut self, handle: u32) {
        self.command(abi::BC_RELEASE, &handle.to_ne_bytes());
    }

    /// Asks for the death of the process of an object, which comes with this cookie.
    pub fn request_death(&mut self, handle: u32, cookie: u64) {
        self.death_command(abi::BC_REQUEST_DEATH_NOTIFICATION, handle, cookie);
    }

    pub fn clear_death(&mut self, handle: u32, cookie: u64) {
        self.death_command(abi::BC_CLEAR_DEATH_NOTIFICATION, handle, cookie);
    }

    fn death_command(&mut self, command: u32, handle: u32, cookie: u64) {
        let mut payload = handle.to_ne_bytes().to_vec();
        payload.extend_from_slice(&cookie.to_ne_bytes());
        self.command(command, &payload);
    }

    /// How many strong references an object has, in all processes.
    pub fn strong_count(&self, handle: u32) -> Option<u32> {
        let mut info = NodeInfoForRef {
            handle,
            ..NodeInfoForRef::default()
        };
        let request = abi::BINDER_GET_NODE_INFO_FOR_REF;
        ioctl(&self.open.file, request, &mut info).ok()?;
        Some(info.strong_count)
    }
}
