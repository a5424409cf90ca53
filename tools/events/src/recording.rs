// SPDX-License-Identifier: Apache-2.0
//! Events and names in a file: a line with the format, then blocks, each of which begins with its
//! length (32 bits, little-endian) and is compressed by itself. In a block is one item after the
//! other, as the crate `postcard` writes them; times are differences to the one before. The last
//! item is an `End`, so that a recording that was cut short can be told from a whole one, and still
//! be read.
use crate::calls::{Assembler, Call};
use crate::event::{Event, What};
use crate::thread_names::{Names, Service, Thread};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::new_file::{NewFile, Readers};
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::Compression;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const FORMAT: &[u8] = b"anybinder events 4\n";
/// Formats that lack what came later: `.aidl` files and calls that began before; priorities.
const OLDER_FORMATS: [&[u8]; 2] = [b"anybinder events 3\n", b"anybinder events 2\n"];
/// How the JSON of version 1 begins.
const FORMAT_1: &[u8] = b"{\"Start\":";

/// Bytes of a block before it is compressed, and when it is written though there are fewer.
const BLOCK: usize = 256 << 10;
const BLOCK_TIME: Duration = Duration::from_secs(1);
/// Longer blocks are not written, nor longer names.
const BLOCK_MAX: usize = 4 << 20;
const NAMES_MAX: usize = 64 << 10;
/// Bytes of `.aidl` files in a recording.
const AIDL_MAX: usize = 16 << 20;

#[derive(Serialize, Deserialize)]
enum Item {
    Start {
        /// CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
        boot_offset_ns: i64,
    },
    Event {
        later_ns: i64,
        tid: i32,
        what: What,
    },
    Thread(Thread),
    Service {
        node: u32,
        service: Service,
    },
    End,
    /// A file of types, for those who have none.
    Aidl {
        path: String,
        text: String,
    },
}

/// Less than this is no time that the machine was suspended, by which the two clocks differ, but
/// the time between two readings.
const OFFSET_MIN_NS: i64 = 100_000;

/// CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in nanoseconds.
pub fn boot_offset_ns() -> i64 {
    use rustix::time::{clock_gettime, ClockId};
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let readings = (0..10).map(|_| {
        let before = ns(ClockId::Monotonic);
        let boot = ns(ClockId::Boottime);
        let after = ns(ClockId::Monotonic);
        (after - before, boot - before - (after - before) / 2)
    });
    let (_, offset) = readings.min().expect("ten of them");
    if offset.abs() < OFFSET_MIN_NS {
        return 0;
    }
    offset
}

pub struct Recorder {
    file: NewFile,
    block: Vec<u8>,
    /// When the block was begun.
    begun: Instant,
    time_ns: u64,
}

impl Recorder {
    pub fn create(path: &Path) -> Result<Self> {
        let mut recorder = Recorder::begin(path, FORMAT, boot_offset_ns())?;
        // What is cut short can be read as well.
        recorder.file.take_place()?;
        Ok(recorder)
    }

    /// Begins a copy of what a recording has, in the format of that one, which is at its first
    /// event. It takes its place by `finish_copy()`.
    pub fn copy_of(recording: &Recording, path: &Path) -> Result<Self> {
        Recorder::begin(path, recording.format, recording.boot_offset_ns)
    }

    fn begin(path: &Path, format: &[u8], boot_offset_ns: i64) -> Result<Self> {
        let mut file = NewFile::create(path, Readers::Owner)?;
        file.put(format)?;
        let mut recorder = Recorder {
            file,
            block: Vec::new(),
            begun: Instant::now(),
            time_ns: 0,
        };
        recorder.add(&Item::Start { boot_offset_ns })?;
        Ok(recorder)
    }

    fn add(&mut self, item: &Item) -> Result<()> {
        let block = std::mem::take(&mut self.block);
        self.block = postcard::to_extend(item, block).expect("memory takes everything");
        match self.block.len() >= BLOCK {
            true => self.write_block(),
            false => Ok(()),
        }
    }

    fn write_block(&mut self) -> Result<()> {
        self.begun = Instant::now();
        if self.block.is_empty() {
            return Ok(());
        }
        let mut encoder = DeflateEncoder::new(vec![0; 4], Compression::fast());
        let packed = encoder.write_all(&self.block).and(encoder.finish());
        let mut packed = packed.expect("memory takes everything");
        let size = (packed.len() - 4) as u32;
        packed[..4].copy_from_slice(&size.to_le_bytes());
        self.block.clear();
        self.file.put(&packed)
    }

    /// Writes what there is if it has been there for a while.
    pub fn flush(&mut self) -> Result<()> {
        match self.begun.elapsed() >= BLOCK_TIME {
            true => self.write_block(),
            false => Ok(()),
        }
    }

    /// Writes an event, whose thread has to be known by name: `thread()`.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        let later_ns = event.time_ns.wrapping_sub(self.time_ns) as i64;
        self.time_ns = event.time_ns;
        self.add(&Item::Event {
            later_ns,
            tid: event.tid,
            what: event.what.clone(),
        })
    }

    pub fn thread(&mut self, thread: Thread) -> Result<()> {
        self.add(&Item::Thread(thread))
    }

    pub fn service(&mut self, node: u32, service: &Service) -> Result<()> {
        self.add(&Item::Service {
            node,
            service: service.clone(),
        })
    }

    /// Writes an `.aidl` file, unless it is longer than any that people write.
    pub fn aidl(&mut self, path: String, text: String) -> Result<()> {
        match text.len() < BLOCK_MAX / 2 {
            true => self.add(&Item::Aidl { path, text }),
            false => Ok(()),
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.add(&Item::End)?;
        self.write_block()
    }

    /// Ends a copy. That of a recording with a flaw is one that is cut short.
    pub fn finish_copy(mut self, flaw: Option<Flaw>) -> Result<()> {
        if flaw.is_none() {
            self.add(&Item::End)?;
        }
        self.write_block()?;
        self.file.take_place()
    }
}

/// Why a recording has no end: what is missing is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    CutShort,
    Damaged,
}

/// A recording, which is read as far as it is needed: a small file may unpack to any size.
pub struct Recording {
    file: BufReader<File>,
    /// The line that names its version.
    format: &'static [u8],
    /// What was unpacked last, and how much of it was read.
    block: Vec<u8>,
    at: usize,
    has_end: bool,
    time_ns: u64,
    pub boot_offset_ns: i64,
    pub flaw: Option<Flaw>,
    /// The texts of `.aidl` files that were read so far, by their paths.
    pub aidl: BTreeMap<String, String>,
    aidl_bytes: usize,
}

fn not_a_recording(path: &Path) -> Error {
    Error::with_advice(
        format!(
            "{} is not a recording of `anybinder trace`.",
            path.display()
        ),
        "Make one with `anybinder trace --record FILE`.",
    )
}

/// The line at the start of a recording, which names its version.
fn format_of(path: &Path, file: &mut impl Read) -> Result<&'static [u8]> {
    let mut first = vec![0; FORMAT.len()];
    let mut size = 0;
    while size < first.len() {
        match file.read(&mut first[size..]) {
            Ok(0) => break,
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            read => size += read.doing(|| format!("reading {}", path.display()))?,
        }
    }
    let mut known = std::iter::once(FORMAT).chain(OLDER_FORMATS);
    if let Some(format) = known.find(|one| first == *one) {
        return Ok(format);
    }
    let version = first.starts_with(b"anybinder events ");
    match first[..size].starts_with(FORMAT_1) || version {
        true => Err(Error::with_advice(
            format!(
                "{} was recorded by another version of anybinder.",
                path.display()
            ),
            "Look at it with that version, or record anew.",
        )),
        false => Err(not_a_recording(path)),
    }
}

/// The next block, unpacked.
fn read_block(file: &mut impl Read) -> std::result::Result<Vec<u8>, Flaw> {
    let mut size = [0; 4];
    file.read_exact(&mut size).map_err(|_| Flaw::CutShort)?;
    let size = u32::from_le_bytes(size) as usize;
    if size > BLOCK_MAX {
        return Err(Flaw::Damaged);
    }
    let mut packed = Vec::new();
    let read = file.take(size as u64).read_to_end(&mut packed);
    if read.is_err() || packed.len() < size {
        return Err(Flaw::CutShort);
    }
    let mut block = Vec::new();
    let unpacked = DeflateDecoder::new(packed.as_slice());
    let read = unpacked.take(BLOCK_MAX as u64).read_to_end(&mut block);
    read.map(|_| block).map_err(|_| Flaw::Damaged)
}

impl Recording {
    /// Opens a recording.
    ///
    /// * `names`: gets the names that are in it, of which some come behind their events; if it can
    ///   be read only once, as from a pipe, they come with the events
    pub fn open(path: &Path, names: &mut Names) -> Result<Self> {
        let open = || match std::fs::metadata(path)?.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => File::open(path),
        };
        let file = open().map_err(|err: std::io::Error| {
            Error::with_advice(
                format!("{} cannot be read: {err}.", path.display()),
                "Name a file that `anybinder trace --record FILE` has made.",
            )
            .of(Kind::of_io(err.kind()))
        })?;
        let mut recording = Recording::begin(path, BufReader::new(file))?;
        if recording.file.stream_position().is_ok() {
            while recording.next(names).is_some() {}
            let (mut file, aidl) = (recording.file, recording.aidl);
            file.rewind()
                .doing(|| format!("reading {}", path.display()))?;
            recording = Recording {
                aidl,
                ..Recording::begin(path, file)?
            };
        }
        Ok(recording)
    }

    fn begin(path: &Path, mut file: BufReader<File>) -> Result<Self> {
        Ok(Recording {
            format: format_of(path, &mut file)?,
            file,
            block: Vec::new(),
            at: 0,
            has_end: false,
            time_ns: 0,
            boot_offset_ns: 0,
            flaw: None,
            aidl: BTreeMap::new(),
            aidl_bytes: 0,
        })
    }

    /// The next event; None at the end, or where the recording has a flaw. Names go to `names`.
    pub fn next(&mut self, names: &mut Names) -> Option<Event> {
        while self.flaw.is_none() {
            match self.item() {
                Ok(Some(Item::Start { boot_offset_ns })) => self.boot_offset_ns = boot_offset_ns,
                Ok(Some(Item::Event {
                    later_ns,
                    tid,
                    what,
                })) => {
                    self.time_ns = self.time_ns.wrapping_add_signed(later_ns);
                    return Some(Event {
                        time_ns: self.time_ns,
                        tid,
                        thread: None,
                        what,
                    });
                }
                Ok(Some(Item::Thread(thread))) if thread.bytes() <= NAMES_MAX => {
                    names.add_thread(thread);
                }
                Ok(Some(Item::Service { node, service })) if service.bytes() <= NAMES_MAX => {
                    names.add_service(node, service);
                }
                Ok(Some(Item::Thread(_) | Item::Service { .. })) => {
                    self.flaw = Some(Flaw::Damaged);
                }
                Ok(Some(Item::Aidl { path, text })) => {
                    self.aidl_bytes += path.len() + text.len();
                    match self.aidl_bytes <= AIDL_MAX {
                        true => drop(self.aidl.insert(path, text)),
                        false => self.flaw = Some(Flaw::Damaged),
                    }
                }
                Ok(Some(Item::End)) => self.has_end = true,
                Ok(None) => return None,
                Err(flaw) => self.flaw = Some(flaw),
            }
        }
        None
    }

    /// The next item; None behind the block that has the end.
    fn item(&mut self) -> std::result::Result<Option<Item>, Flaw> {
        while self.at == self.block.len() {
            if self.has_end {
                return Ok(None);
            }
            self.block = read_block(&mut self.file)?;
            self.at = 0;
        }
        let left = &self.block[self.at..];
        let (item, rest) = postcard::take_from_bytes(left).map_err(|_| Flaw::Damaged)?;
        self.at = self.block.len() - rest.len();
        Ok(Some(item))
    }
}

/// A recording that was read to its end, or to its flaw.
pub struct Recorded {
    /// With their data and the names in the recording; in no order.
    pub calls: Vec<Call>,
    pub names: Names,
    pub flaw: Option<Flaw>,
    /// How many events are missing.
    pub lost: u64,
}

impl Recorded {
    pub fn read(path: &Path) -> Result<Recorded> {
        let (mut names, mut assembler) = (Names::recorded(), Assembler::default());
        let mut recording = Recording::open(path, &mut names)?;
        let mut calls = Vec::new();
        while let Some(event) = recording.next(&mut names) {
            assembler.push(&event, &mut names);
            calls.extend(assembler.take(event.time_ns));
        }
        calls.extend(assembler.finish());
        for call in &mut calls {
            call.give_names(&names);
        }
        Ok(Recorded {
            calls,
            names,
            flaw: recording.flaw,
            lost: assembler.lost,
        })
    }
}

/// The error of events that were not read, if there are such; the others were shown.
pub fn check_lost(lost: u64) -> Result<()> {
    match lost {
        0 => Ok(()),
        lost => Err(Error::with_advice(
            format!("{lost} events are missing: there were more than could be read."),
            "All others were shown; calls that were under way then are unfinished.",
        )),
    }
}

/// The error of a recording that lacks something.
pub fn check_whole(path: &Path, flaw: Option<Flaw>, lost: u64) -> Result<()> {
    match flaw {
        None => check_lost(lost),
        Some(Flaw::CutShort) => Err(Error::with_advice(
            format!("The recording {} is cut short.", path.display()),
            "What it has was shown. The program that made it was killed, or its disk was full.",
        )),
        Some(Flaw::Damaged) => Err(Error::with_advice(
            format!("The recording {} is damaged.", path.display()),
            "What comes before the damage was shown. Copy it again, or record anew.",
        )),
    }
}

#[cfg(test)]
mod recording_test;
