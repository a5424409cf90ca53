// SPDX-License-Identifier: Apache-2.0
//! Events and names in a file: a JSON document on each line, the last one an `End`, so that a
//! recording that was cut short can be told from a whole one, and still be read.
use crate::event::Event;
use crate::names::{Names, Service, Thread};
use anybinder_mount::error::{Doing, Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
enum Line {
    Start {
        anybinder_events: u32,
        /// CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
        boot_offset_ns: i64,
    },
    Event(Event),
    Thread(Thread),
    Service {
        node: u32,
        service: Service,
    },
    End {},
}

/// CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in nanoseconds.
pub fn boot_offset_ns() -> i64 {
    use rustix::time::{clock_gettime, ClockId};
    let ns = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    ns(ClockId::Boottime) - ns(ClockId::Monotonic)
}

pub struct Recorder {
    path: String,
    file: BufWriter<File>,
}

impl Recorder {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).doing(|| format!("creating {}", path.display()))?;
        let mut recorder = Recorder {
            path: path.display().to_string(),
            file: BufWriter::new(file),
        };
        recorder.write(&Line::Start {
            anybinder_events: FORMAT,
            boot_offset_ns: boot_offset_ns(),
        })?;
        Ok(recorder)
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line).expect("own types become JSON");
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.doing(|| format!("writing {}", self.path))
    }

    pub fn event(&mut self, event: &Event) -> Result<()> {
        self.write(&Line::Event(event.clone()))
    }

    pub fn thread(&mut self, thread: Thread) -> Result<()> {
        self.write(&Line::Thread(thread))
    }

    pub fn service(&mut self, node: u32, service: &Service) -> Result<()> {
        self.write(&Line::Service {
            node,
            service: service.clone(),
        })
    }

    pub fn finish(mut self) -> Result<()> {
        self.write(&Line::End {})?;
        let flushed = self.file.flush();
        flushed.doing(|| format!("writing {}", self.path))
    }
}

/// A whole recording, in memory.
pub struct Recording {
    pub events: Vec<Event>,
    pub names: Names,
    pub boot_offset_ns: i64,
    /// It has no end: what is missing is not known.
    pub cut_short: bool,
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

impl Recording {
    pub fn read(path: &Path) -> Result<Self> {
        let doing = || format!("reading {}", path.display());
        let mut lines = BufReader::new(File::open(path).doing(doing)?).split(b'\n');
        let first = lines.next().transpose().doing(doing)?;
        let first = first.and_then(|line| serde_json::from_slice(&line).ok());
        let Some(Line::Start {
            anybinder_events: FORMAT,
            boot_offset_ns,
        }) = first
        else {
            return Err(not_a_recording(path));
        };
        let mut recording = Recording {
            events: Vec::new(),
            names: Names::recorded(),
            boot_offset_ns,
            cut_short: true,
        };
        for line in lines {
            // A line that is cut off is the end of what there is.
            match serde_json::from_slice(&line.doing(doing)?) {
                Ok(Line::Event(event)) => recording.events.push(event),
                Ok(Line::Thread(thread)) => recording.names.add_thread(thread),
                Ok(Line::Service { node, service }) => recording.names.add_service(node, service),
                Ok(Line::End {}) => recording.cut_short = false,
                Ok(Line::Start { .. }) => return Err(not_a_recording(path)),
                Err(_) => break,
            }
        }
        Ok(recording)
    }
}
