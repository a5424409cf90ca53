// SPDX-License-Identifier: Apache-2.0
//! An open device: commands go out in batches, returns come in.
use crate::abi::{self, FlatObject, NodeInfoForRef, TransactionData, WriteRead};
use crate::handles::Port;
use crate::parcel::{Parcel, OWN_POINTER, TYPE_BINDER};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// As every client of libbinder maps.
const MAP_SIZE: usize = 1024 * 1024 - 2 * 4096;
const READ_SIZE: usize = 64 * 1024;

/// Maps the receive buffer, which the driver fills.
struct Map {
    start: *const u8,
}

// SAFETY: the mapping is read-only and lives as long as the value; any thread may read it.
unsafe impl Send for Map {}

impl Map {
    fn new(file: &File) -> io::Result<Map> {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MAP_SIZE,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map {
            start: start.cast(),
        })
    }

    /// The bytes at an address that the driver returned.
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        if size == 0 {
            return Some(&[]);
        }
        let offset = address.checked_sub(self.start as u64)?;
        let end = offset.checked_add(size)?;
        if end > MAP_SIZE as u64 {
            return None;
        }
        // SAFETY: within the mapping; the buffer is ours until BC_FREE_BUFFER, and the driver
        // writes to it no more.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(offset as usize), size as usize) })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast_mut().cast(), MAP_SIZE) };
    }
}

/// What the driver returns to a context manager.
pub enum Event {
    Transaction(TransactionData),
    Died(u64),
}

pub struct Driver {
    map: Map,
    file: File,
    /// Commands that were not written yet, and the parcels that they point to.
    commands: Vec<u8>,
    parcels: Vec<Parcel>,
    input: Vec<u8>,
}

fn ioctl<T>(file: &File, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the argument is a live structure of the size that the request names.
    let result = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::c_ulong::from(request),
            std::ptr::from_mut(argument),
        )
    };
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A structure as the driver reads it.
fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: only used for the structures of the ABI, which have no padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

impl Driver {
    pub fn open(path: &Path) -> io::Result<Driver> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path)?;
        let mut version = 0i32;
        ioctl(&file, abi::BINDER_VERSION, &mut version)?;
        if version != abi::CURRENT_VERSION {
            return Err(io::Error::other(format!(
                "its protocol version is {version}"
            )));
        }
        let map = Map::new(&file)?;
        // One thread serves the device: no call blocks it.
        ioctl(&file, abi::BINDER_SET_MAX_THREADS, &mut 0u32)?;
        let mut driver = Driver {
            map,
            file,
            commands: Vec::new(),
            parcels: Vec::new(),
            input: vec![0; READ_SIZE],
        };
        driver.command(abi::BC_ENTER_LOOPER, &[]);
        Ok(driver)
    }

    /// Becomes the context manager. Fails with EBUSY if there is one.
    pub fn become_manager(&self) -> io::Result<()> {
        let mut own = FlatObject {
            kind: TYPE_BINDER,
            flags: 0,
            binder: OWN_POINTER,
            cookie: OWN_POINTER,
        };
        match ioctl(&self.file, abi::BINDER_SET_CONTEXT_MGR_EXT, &mut own) {
            // Before Linux 5.0 the node has no address, and cannot be sent.
            Err(err) if err.raw_os_error() == Some(libc::EINVAL) => {
                ioctl(&self.file, abi::BINDER_SET_CONTEXT_MGR, &mut 0i32)
            }
            outcome => outcome,
        }
    }

    fn command(&mut self, command: u32, payload: &[u8]) {
        debug_assert_eq!(abi::payload_size(command), payload.len());
        self.commands.extend_from_slice(&command.to_ne_bytes());
        self.commands.extend_from_slice(payload);
    }

    fn transaction(&mut self, command: u32, target: u32, code: u32, flags: u32, parcel: Parcel) {
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
        self.command(command, bytes_of(&data));
        self.parcels.push(parcel);
    }

    pub fn reply(&mut self, parcel: Parcel) {
        self.transaction(abi::BC_REPLY, 0, 0, 0, parcel);
    }

    pub fn reply_status(&mut self, status: i32) {
        let mut parcel = Parcel::default();
        parcel.i32(status);
        self.transaction(abi::BC_REPLY, 0, 0, abi::TF_STATUS_CODE, parcel);
    }

    /// Gives the buffer of a transaction back.
    pub fn free(&mut self, transaction: &TransactionData) {
        self.command(abi::BC_FREE_BUFFER, &transaction.buffer.to_ne_bytes());
    }

    /// Copies of the data and the offsets of a transaction.
    pub fn contents(&self, transaction: &TransactionData) -> Option<(Vec<u8>, Vec<u64>)> {
        let data = self.map.bytes(transaction.buffer, transaction.data_size)?;
        let offsets = self
            .map
            .bytes(transaction.offsets, transaction.offsets_size)?;
        let offsets = offsets
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or([0; 8])));
        Some((data.to_vec(), offsets.collect()))
    }

    /// Waits for work, at most this long. Returns whether there may be some.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let timeout_ms = timeout.map_or(-1, |time| i32::try_from(time.as_millis()).unwrap_or(-1));
        // SAFETY: one live pollfd.
        match unsafe { libc::poll(&raw mut poll, 1, timeout_ms) } {
            0 => Ok(false),
            1.. if poll.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 => {
                Err(io::Error::other("the driver has ended"))
            }
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

    /// Writes the commands and reads returns, without waiting for work.
    pub fn exchange(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            let mut exchange = WriteRead {
                write_size: self.commands.len() as u64,
                write_buffer: self.commands.as_ptr() as u64,
                read_size: READ_SIZE as u64,
                read_buffer: self.input.as_mut_ptr() as u64,
                ..WriteRead::default()
            };
            let outcome = ioctl(&self.file, abi::BINDER_WRITE_READ, &mut exchange);
            self.commands.drain(..exchange.write_consumed as usize);
            let read = exchange.read_consumed as usize;
            match outcome {
                Ok(()) => {}
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
            self.parse(read, &mut events);
            // A command that failed ends the write; the error was among the returns. Answers to
            // counts are commands, too.
            if self.commands.is_empty() {
                self.parcels.clear();
                return Ok(events);
            }
        }
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
                    events.push(Event::Transaction(data));
                }
                abi::BR_DEAD_BINDER => {
                    let cookie = u64::from_ne_bytes(payload.try_into().unwrap_or([0; 8]));
                    self.command(abi::BC_DEAD_BINDER_DONE, &cookie.to_ne_bytes());
                    events.push(Event::Died(cookie));
                }
                abi::BR_INCREFS => self.command(abi::BC_INCREFS_DONE, &payload),
                abi::BR_ACQUIRE => self.command(abi::BC_ACQUIRE_DONE, &payload),
                // The end of a one-way call or reply of ours, or the death or the full buffer of
                // its receiver, which is no concern of the registry.
                _ => {}
            }
        }
    }

    fn death_command(&mut self, command: u32, handle: u32, cookie: u64) {
        let mut payload = handle.to_ne_bytes().to_vec();
        payload.extend_from_slice(&cookie.to_ne_bytes());
        self.command(command, &payload);
    }
}

impl Port for Driver {
    fn keep(&mut self, handle: u32, cookie: u64) {
        self.command(abi::BC_ACQUIRE, &handle.to_ne_bytes());
        self.death_command(abi::BC_REQUEST_DEATH_NOTIFICATION, handle, cookie);
    }

    fn drop_handle(&mut self, handle: u32, cookie: u64, is_dead: bool) {
        if !is_dead {
            self.death_command(abi::BC_CLEAR_DEATH_NOTIFICATION, handle, cookie);
        }
        self.command(abi::BC_RELEASE, &handle.to_ne_bytes());
    }

    fn strong_count(&mut self, handle: u32) -> Option<u32> {
        let mut info = NodeInfoForRef {
            handle,
            ..NodeInfoForRef::default()
        };
        ioctl(&self.file, abi::BINDER_GET_NODE_INFO_FOR_REF, &mut info).ok()?;
        Some(info.strong_count)
    }

    fn send(&mut self, handle: u32, code: u32, parcel: Parcel) {
        let flags = abi::TF_ONE_WAY;
        self.transaction(abi::BC_TRANSACTION, handle, code, flags, parcel);
    }
}
