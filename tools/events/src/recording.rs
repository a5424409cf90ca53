// SPDX-License-Identifier: Apache-2.0
//! Events and names in a file: a JSON document on each line, the last one an `End`, so that a
//! recording that was cut short can be told from a whole one, and still be read.
use crate::event::Event;
use crate::names::{Names, Service, Thread};
use anybinder_mount::error::{Doing, Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
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
    path: String,
    file: BufWriter<File>,
}

impl Recorder {
    pub fn create(path: &Path) -> Result<Self> {
        // It says what programs pass to each other.
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path);
        let file = file.doing(|| format!("creating {}", path.display()))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What;
    use std::os::unix::fs::PermissionsExt;

    /// A recording that ends at any byte is read as far as it goes, and said to be cut short.
    #[test]
    fn a_recording_may_be_cut_at_any_byte() {
        let path = std::env::temp_dir().join(format!("anybinder-cut-{}", std::process::id()));
        let mut recorder = Recorder::create(&path).unwrap();
        let events: Vec<Event> = (1..4)
            .map(|id| Event {
                time_ns: u64::from(id),
                tid: 1,
                thread: Some((1, "n\u{e4}h".to_string())),
                what: What::Received { id },
            })
            .collect();
        for event in &events {
            recorder.event(event).unwrap();
        }
        recorder.finish().unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        let whole = std::fs::read(&path).unwrap();
        let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
        for size in 0..whole.len() {
            std::fs::write(&path, &whole[..size]).unwrap();
            match Recording::read(&path) {
                Ok(recording) => {
                    let count = recording.events.len();
                    assert_eq!(recording.events, events[..count]);
                    assert!(size >= first_line);
                    // Only the end of the last line may be missing without a loss.
                    assert_eq!(recording.cut_short, size < whole.len() - 1, "{size}");
                }
                Err(_) => assert!(size < first_line, "{size}"),
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
