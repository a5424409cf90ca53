// SPDX-License-Identifier: Apache-2.0
//! The stages that the driver records: in a ring of anybinderd, or by a tracepoint of the module.
//! Both give the same text, a line for each record.
use anybinder_events::tracefs_instance::Instance;
use anybinder_mount::error::{Doing, Error, Result};
use std::path::{Path, PathBuf};

/// Stages inside the driver, in the order in which a call passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Ioctl,
    WriteIn,
    Enqueue,
    Dequeue,
    Copy,
}

/// A transaction reached a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub stage: Stage,
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// 0 at Ioctl, where it does not exist yet.
    pub transaction: u32,
    /// At Enqueue of a reply, the transaction that it replies to; else 0.
    pub reply_to: u32,
    pub thread: i32,
}

/// The record in a line; None if there is none.
fn parse(line: &str) -> Option<Record> {
    let text = &line[line.find("stage=")?..];
    let field = |name: &str| {
        text.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    Some(Record {
        stage: match field("stage")? {
            "K_IOC" => Stage::Ioctl,
            "K_WR_IN" => Stage::WriteIn,
            "K_ENQ" => Stage::Enqueue,
            "K_DEQ" => Stage::Dequeue,
            "K_COPY" => Stage::Copy,
            _ => return None,
        },
        time_ns: field("time")?.parse().ok()?,
        transaction: field("transaction")?.parse().ok()?,
        reply_to: field("reply_to")?.parse().ok()?,
        thread: field("thread")?.parse().ok()?,
    })
}

/// Records the stages of one device. Stops when dropped.
pub enum Recorder {
    /// A file of the daemon: `on` and `off` are written to it, the ring is read from it.
    Daemon(PathBuf),
    /// The tracepoint of the module.
    Kernel(Instance),
}

const EVENT: &str = "anybinder/binder_stage";
/// For each processor; more than the records of a round need.
const TRACE_BUFFER_KIB: u32 = 16384;

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).doing(|| format!("writing {text} to {}", path.display()))
}

impl Recorder {
    /// The recorder of a device. Fails, with advice, if what serves it has none.
    pub fn of(device: &Path) -> Result<Self> {
        let real = device
            .canonicalize()
            .doing(|| format!("looking for {}", device.display()))?;
        let file = real.with_file_name("binder_logs").join("stages");
        if file.exists() {
            return Ok(Recorder::Daemon(file));
        }
        let instance = Instance::new("stages", TRACE_BUFFER_KIB)
            .ok()
            .filter(|instance| instance.has(EVENT));
        let Some(instance) = instance else {
            return Err(Error::with_advice(
                format!("What serves {} records no stages.", device.display()),
                "Stages are recorded by anybinderd and, for root with tracefs mounted, \
                 by the module anybinder.ko.",
            ));
        };
        Ok(Recorder::Kernel(instance))
    }

    /// Starts recording; drops earlier records.
    pub fn start(&self) -> Result<()> {
        match self {
            Recorder::Daemon(file) => write(file, "on"),
            Recorder::Kernel(instance) => {
                instance.clear()?;
                instance.enable(EVENT, true)
            }
        }
    }

    /// Stops recording and returns the records in order of time.
    pub fn stop(&self) -> Result<Vec<Record>> {
        let text = match self {
            Recorder::Daemon(file) => {
                write(file, "off")?;
                std::fs::read_to_string(file).doing(|| format!("reading {}", file.display()))?
            }
            Recorder::Kernel(instance) => {
                instance.enable(EVENT, false)?;
                instance.text()?
            }
        };
        let mut records: Vec<Record> = text.lines().filter_map(parse).collect();
        records.sort_by_key(|record| record.time_ns);
        Ok(records)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Recorder::Daemon(file) = self {
            let _ = std::fs::write(file, "off");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "stage=K_ENQ time=123456789012 transaction=42 reply_to=7 proc=100 thread=101";

    #[test]
    fn daemon_and_module_write_the_same_line() {
        let wanted = Some(Record {
            stage: Stage::Enqueue,
            time_ns: 123_456_789_012,
            transaction: 42,
            reply_to: 7,
            thread: 101,
        });
        assert_eq!(parse(LINE), wanted);
        let traced = format!("  bench-ipc-99  [001] .....  12.345678: binder_stage: {LINE}");
        assert_eq!(parse(&traced), wanted);
        assert_eq!(parse("# 12 lost"), None);
        assert_eq!(parse("# tracer: nop"), None);
    }
}
