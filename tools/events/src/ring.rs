// SPDX-License-Identifier: Apache-2.0
//! The stream of the daemon, `binder_logs/events`. `host/fuse/events/events_abi.h` has its format.
use crate::event::{Bytes, Event, Extra, Priority, Transaction, What};
use crate::thread_names;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

const RECORD: usize = 64;
const MAGIC: u32 = 0x5645_4241;
const VERSION: u32 = 1;

const HEADER: u16 = 0;
const LOST: u16 = 2;
const TXN: u16 = 10;
const TXN_RECEIVED: u16 = 11;
const BUFFER_ALLOCATED: u16 = 13;
const BUFFER_FREED: u16 = 14;
const BUFFER_FAILED: u16 = 15;
const BUFFER_OUTDATED: u16 = 16;
const NODE_TO_REF: u16 = 17;
const REF_TO_NODE: u16 = 18;
const REF_TO_REF: u16 = 19;
const FILE_SENT: u16 = 20;
const FAILED: u16 = 22;
const STAGE: u16 = 23;
const ERROR: u16 = 24;
const DATA: u16 = 25;
const DATA_TO_CLEAR: u16 = 26;
const TARGET: u16 = 27;
const PRIORITIES: u16 = 28;
const OPENED: u16 = 29;

/// Six events for a call with its reply, and with details, among them PRIORITIES, nine.
const WANTED: [u16; 6] = [
    TXN,
    TXN_RECEIVED,
    BUFFER_FREED,
    BUFFER_OUTDATED,
    FAILED,
    ERROR,
];
const DETAILS: [u16; 6] = [
    BUFFER_ALLOCATED,
    BUFFER_FAILED,
    NODE_TO_REF,
    REF_TO_NODE,
    REF_TO_REF,
    FILE_SENT,
];
/// Kinds that came later, and those of them that are details.
const LATER: [u16; 1] = [TARGET];
const LATER_DETAILS: [u16; 2] = [PRIORITIES, OPENED];

pub struct Ring {
    file: File,
    buffer: Vec<u8>,
    /// Threads that were looked up.
    threads: HashSet<i32>,
    /// The daemon gives the data of calls.
    pub has_data: bool,
}

/// The fields of a record, as words of 32 bits.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn u32(&self, offset: usize) -> u32 {
        let bytes = self.0[offset..offset + 4].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes"))
    }

    fn i32(&self, offset: usize) -> i32 {
        self.u32(offset) as i32
    }

    fn u64(&self, offset: usize) -> u64 {
        let bytes = self.0[offset..offset + 8].try_into();
        u64::from_ne_bytes(bytes.expect("eight bytes"))
    }

    fn u16(&self, offset: usize) -> u16 {
        let bytes = self.0[offset..offset + 2].try_into();
        u16::from_ne_bytes(bytes.expect("two bytes"))
    }

    fn transaction(&self) -> Transaction {
        Transaction {
            id: self.u32(24),
            node: self.u32(28),
            from_pid: self.i32(32),
            to_pid: self.i32(40),
            to_tid: self.i32(44),
            code: self.u32(48),
            flags: self.u32(52),
            reply: self.u32(56) != 0,
        }
    }

    fn failed(&self) -> What {
        What::Failed {
            transaction: Transaction {
                id: self.u32(24),
                node: 0,
                from_pid: self.i32(36),
                to_pid: self.i32(44),
                to_tid: self.i32(48),
                code: self.u32(52),
                flags: self.u32(56),
                reply: self.u16(18) != 0,
            },
            error: self.u32(28),
            errno: self.i32(32),
            size: self.u32(60),
        }
    }

    fn priority(&self, offset: usize) -> Priority {
        Priority {
            policy: self.0[offset],
            value: self.0[offset + 1] as i8,
        }
    }

    fn opened(&self) -> What {
        let name = self.0[28..44].split(|byte| *byte == 0).next();
        What::Opened {
            pid: self.i32(24),
            name: String::from_utf8_lossy(name.unwrap_or_default()).into_owned(),
        }
    }

    fn data(&self) -> What {
        let offset = u32::from(self.u16(28));
        let [size, objects] = [self.0[30], self.0[31]];
        let size = usize::from(size).min(RECORD - 32);
        let begins = (0..8).filter(|bit| objects >> bit & 1 != 0);
        What::Data {
            id: self.u32(24),
            offset,
            bytes: Bytes(self.0[32..32 + size].to_vec()),
            objects: begins.map(|bit| offset + 4 * bit).collect(),
        }
    }

    /// None for a kind that is not of interest here, or not known.
    fn what(&self) -> Option<What> {
        let id = self.u32(24);
        let buffer_id = self.u32(48);
        Some(match self.u16(16) {
            LOST => What::Lost {
                count: self.u64(24),
            },
            ERROR => What::Return {
                code: self.u32(24) & 0xffff,
            },
            TXN => What::Sent(self.transaction()),
            TXN_RECEIVED => What::Received { id },
            BUFFER_ALLOCATED => What::Buffer {
                id: buffer_id,
                data: self.u64(24),
                offsets: self.u64(32),
                extra: self.u64(40),
            },
            BUFFER_FREED => What::BufferFreed { id: buffer_id },
            BUFFER_FAILED => What::BufferFailed { id: buffer_id },
            BUFFER_OUTDATED => What::BufferOutdated { id: buffer_id },
            kind @ (NODE_TO_REF | REF_TO_NODE | REF_TO_REF) => What::Object {
                id: self.u32(32),
                node: self.u32(36),
                value: Some(match kind {
                    REF_TO_NODE => self.u64(24),
                    _ => self.u32(52).into(),
                }),
            },
            DATA | DATA_TO_CLEAR => self.data(),
            TARGET => What::Target {
                id,
                node: self.u32(28),
            },
            PRIORITIES => What::Priorities {
                id,
                caller: (self.0[28] != 0).then(|| self.priority(29)),
                served: self.priority(31),
            },
            OPENED => self.opened(),
            FILE_SENT => What::File { id: self.u32(32) },
            FAILED => self.failed(),
            STAGE => What::Stage {
                stage: self.u32(24),
                id: self.u32(28),
                reply_to: self.u32(32),
            },
            _ => return None,
        })
    }
}

fn parse(bytes: &[u8]) -> Option<Event> {
    let record = Record(bytes);
    Some(Event {
        time_ns: record.u64(8),
        tid: record.i32(20),
        thread: None,
        what: record.what()?,
    })
}

fn open_error(path: &Path, err: &std::io::Error) -> Error {
    let what = format!("{} cannot be opened: {err}.", path.display());
    match err.kind() {
        ErrorKind::PermissionDenied => Error::with_advice(
            what,
            "Only root and the owner of the mount may see the calls of others: run this as one of \
             them.",
        )
        .of(Kind::Denied),
        ErrorKind::NotFound => Error::with_advice(
            what,
            "The daemon is older than this program: start it again with the installed one \
             (`anybinder down`, `anybinder up`).",
        ),
        _ => Error::new(what),
    }
}

impl Ring {
    pub fn open(path: &Path, extra: Extra) -> Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(path)
            .map_err(|err| open_error(path, &err))?;
        let mut ring = Ring {
            file,
            buffer: vec![0; RECORD * 2048],
            threads: HashSet::new(),
            has_data: false,
        };
        let bits = |kinds: &[u16]| kinds.iter().fold(0u32, |mask, kind| mask | 1 << kind);
        let with = |kinds: &[u16], details: &[u16]| match extra.is_lean {
            true => bits(kinds),
            false => bits(kinds) | bits(details),
        };
        let mask = with(&WANTED, &DETAILS) | u32::from(extra.stages) << STAGE;
        ring.select(path, mask)?;
        let doing = || format!("reading {}", path.display());
        let size = ring.file.read(&mut ring.buffer).doing(doing)?;
        let first = Record(&ring.buffer[..RECORD]);
        let is_known = size >= RECORD
            && first.u16(16) == HEADER
            && first.u32(24) == MAGIC
            && first.u32(28) == VERSION
            && first.u32(32) as usize == RECORD;
        if !is_known {
            return Err(Error::with_advice(
                format!("{} has another format.", path.display()),
                "The daemon and this program are of different versions: use those of one package.",
            ));
        }
        // An older daemon refuses kinds that it does not know.
        let kinds = first.u32(44);
        ring.has_data = kinds > u32::from(DATA);
        if extra.data_to_clear && kinds <= u32::from(DATA_TO_CLEAR) {
            return Err(Error::with_advice(
                "The daemon is older than this program and does not tell data that is to be \
                 cleared after use.",
                "Replace it by the installed one (`anybinder upgrade`), or use --payload alone.",
            ));
        }
        let known = 1u32.checked_shl(kinds).map_or(u32::MAX, |bit| bit - 1);
        let mut more = with(&LATER, &LATER_DETAILS) & known;
        if extra.data && ring.has_data {
            more |= 1 << DATA | u32::from(extra.data_to_clear) << DATA_TO_CLEAR;
        }
        if more != 0 {
            ring.select(path, mask | more)?;
        }
        Ok(ring)
    }

    fn select(&mut self, path: &Path, mask: u32) -> Result<()> {
        let written = self.file.write_all(format!("{mask:#x}").as_bytes());
        let is_root = rustix::process::geteuid().is_root();
        match written {
            Err(err) if err.kind() == ErrorKind::PermissionDenied && !is_root => {
                Err(Error::with_advice(
                    "Only root may see data that is to be cleared after use.",
                    "Run this as root, or use --payload alone.",
                )
                .of(Kind::Denied))
            }
            Err(err) if err.kind() == ErrorKind::PermissionDenied => Err(Error::with_advice(
                "The daemon does not tell what is passed in calls to a process without the \
                 capability CAP_SYS_PTRACE.",
                "Root of a container usually lacks it: run this outside, or without --payload.",
            )
            .of(Kind::Denied)),
            written => written.doing(|| format!("selecting events in {}", path.display())),
        }
    }

    /// Reads what there is; 0: nothing.
    fn read_now(&mut self) -> Result<usize> {
        match self.file.read(&mut self.buffer) {
            Err(err) if matches!(err.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                Ok(0)
            }
            other => other.doing(|| "reading the events of the daemon".to_string()),
        }
    }

    /// Waits at most `wait` for events, and adds those that there are to `into`. True: there may be
    /// more.
    pub fn read(&mut self, wait: Duration, into: &mut Vec<Event>) -> Result<bool> {
        let mut size = self.read_now()?;
        if size == 0 {
            let timeout = Timespec::try_from(wait).expect("a short time");
            let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
            match rustix::event::poll(&mut fds, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
                other => other.doing(|| "waiting for the events of the daemon".to_string())?,
            };
            size = self.read_now()?;
        }
        let first = into.len();
        into.extend(self.buffer[..size].chunks_exact(RECORD).filter_map(parse));
        for event in &mut into[first..] {
            self.look_up(event);
        }
        // A full portion is shorter than the buffer: the kernel cuts a read at its pages, and the
        // daemon keeps a place for the count of those that are lost.
        Ok(size > self.buffer.len() / 2)
    }

    /// The name of a thread of which this is the first call: it may have ended when it is shown.
    fn look_up(&mut self, event: &mut Event) {
        let is_call = match &event.what {
            What::Sent(sent) => !sent.reply,
            What::Received { .. } | What::Failed { .. } => true,
            _ => false,
        };
        if is_call && self.threads.insert(event.tid) {
            event.thread = thread_names::told_now(event.tid);
        }
        if self.threads.len() >= thread_names::THREADS_MAX {
            self.threads.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_expected_behind_a_full_portion() {
        let (daemon, file) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let mut ring = Ring {
            file: File::from(std::os::fd::OwnedFd::from(file)),
            buffer: vec![0; RECORD * 2048],
            threads: HashSet::new(),
            has_data: false,
        };
        // The first is all that fits where the buffer begins in the middle of a page.
        for (records, is_more) in [(2046, true), (100, false)] {
            daemon.send(&vec![0; RECORD * records]).unwrap();
            let read = ring.read(Duration::ZERO, &mut Vec::new());
            assert_eq!(read.unwrap(), is_more);
        }
    }

    #[test]
    fn priorities_are_read_from_their_record() {
        let mut record = [0; RECORD];
        record[16..18].copy_from_slice(&PRIORITIES.to_ne_bytes());
        record[24..28].copy_from_slice(&7u32.to_ne_bytes());
        record[28..33].copy_from_slice(&[1, 1, 10, 0, -5i8 as u8]);
        let priority = |policy, value| Priority { policy, value };
        let mut expected = What::Priorities {
            id: 7,
            caller: Some(priority(1, 10)),
            served: priority(0, -5),
        };
        assert_eq!(parse(&record).unwrap().what, expected);
        record[28] = 0;
        if let What::Priorities { caller, .. } = &mut expected {
            *caller = None;
        }
        assert_eq!(parse(&record).unwrap().what, expected);
    }

    #[test]
    fn a_part_of_the_data_is_read_from_its_record() {
        let mut record = [0; RECORD];
        record[16..18].copy_from_slice(&DATA.to_ne_bytes());
        record[24..28].copy_from_slice(&7u32.to_ne_bytes());
        record[28..30].copy_from_slice(&64u16.to_ne_bytes());
        record[30..32].copy_from_slice(&[5, 0b10]);
        record[32..].fill(3);
        let expected = What::Data {
            id: 7,
            offset: 64,
            bytes: Bytes(vec![3; 5]),
            objects: vec![68],
        };
        assert_eq!(parse(&record).unwrap().what, expected);
        record[30] = 255;
        assert!(
            matches!(parse(&record).unwrap().what, What::Data { bytes, .. } if bytes.0.len() == 32)
        );
    }
}
