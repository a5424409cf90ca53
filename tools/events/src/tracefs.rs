// SPDX-License-Identifier: Apache-2.0
//! The tracepoints of a kernel's driver, stock or ours, through a tracefs instance of our own, so
//! that other tracing is neither disturbed nor seen. The instance is removed at the end; those
//! that a killed program left behind, at the next start.
use crate::event::{Event, Transaction, What};
use anybinder_mount::error::{Doing, Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIRECTORIES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const PREFIX: &str = "anybinder-trace-";
/// For each processor.
const BUFFER_KIB: &str = "8192";

const EVENTS: [&str; 13] = [
    "binder_return",
    "binder_transaction",
    "binder_transaction_received",
    "binder_txn_latency_free",
    "binder_transaction_alloc_buf",
    "binder_transaction_buffer_release",
    "binder_transaction_failed_buffer_release",
    "binder_transaction_update_buffer_release",
    "binder_transaction_node_to_ref",
    "binder_transaction_ref_to_node",
    "binder_transaction_ref_to_ref",
    "binder_transaction_fd_send",
    "binder_transaction_fd_recv",
];

pub struct Tracefs {
    instance: PathBuf,
    pipe: Option<File>,
    /// The beginning of a line whose end was not read yet.
    rest: String,
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)
}

fn find() -> Result<&'static Path> {
    let found = DIRECTORIES.iter().map(Path::new);
    let mut found = found.filter(|dir| dir.join("instances").exists());
    found.next().ok_or_else(|| {
        let denied = DIRECTORIES.iter().any(|dir| {
            std::fs::read_dir(dir).is_err_and(|err| err.kind() == ErrorKind::PermissionDenied)
        });
        match denied {
            true => Error::with_advice(
                "You have no permission to use tracefs, where the kernel's driver tells of calls.",
                "Run this as root.",
            )
            .of(Kind::Denied),
            false => Error::with_advice(
                "tracefs is not mounted, where the kernel's driver tells of calls.",
                "Mount it as root: mount -t tracefs tracefs /sys/kernel/tracing",
            ),
        }
    })
}

/// Removes the instances of programs that exist no more.
fn remove_old(instances: &Path) {
    let entries = std::fs::read_dir(instances).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix(PREFIX) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

impl Tracefs {
    pub fn open(stages: bool) -> Result<Self> {
        let top = find()?;
        let instances = top.join("instances");
        remove_old(&instances);
        let instance = instances.join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&instance).map_err(|err| {
            let what = format!("{} cannot be made: {err}.", instance.display());
            match err.kind() {
                ErrorKind::PermissionDenied => {
                    Error::with_advice(what, "Run this as root.").of(Kind::Denied)
                }
                _ => Error::new(what),
            }
        })?;
        let mut tracefs = Tracefs {
            instance,
            pipe: None,
            rest: String::new(),
        };
        tracefs.start(stages)?;
        Ok(tracefs)
    }

    fn start(&mut self, stages: bool) -> Result<()> {
        let events = self.instance.join("events");
        if !events.join("binder/binder_transaction").exists() {
            return Err(Error::with_advice(
                "The driver of this kernel has no tracepoints.",
                "The stock driver in C has them, and the module of anybinder; the stock driver in \
                 Rust has none.",
            ));
        }
        let set = |name: &str, text: &str| {
            let path = self.instance.join(name);
            write(&path, text).doing(|| format!("writing {text} to {}", path.display()))
        };
        set("trace_clock", "mono")?;
        set("buffer_size_kb", BUFFER_KIB)?;
        // Not every kernel has these two, and it works without.
        let _ = set("options/record-tgid", "1");
        let _ = set("buffer_percent", "0");
        let pipe = File::options()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open(self.instance.join("trace_pipe"))
            .doing(|| format!("opening trace_pipe of {}", self.instance.display()))?;
        for event in EVENTS {
            if events.join("binder").join(event).exists() {
                set(&format!("events/binder/{event}/enable"), "1")?;
            }
        }
        if stages && events.join("anybinder/binder_stage").exists() {
            set("events/anybinder/binder_stage/enable", "1")?;
        }
        self.pipe = Some(pipe);
        Ok(())
    }

    /// Waits at most `wait` for events, and adds those that there are to `into`.
    pub fn read(&mut self, wait: Duration, into: &mut Vec<Event>) -> Result<()> {
        let pipe = self.pipe.as_mut().expect("set by start()");
        let timeout = Timespec::try_from(wait).expect("a short time");
        let mut fds = [PollFd::new(&*pipe, PollFlags::IN)];
        // Whatever it says: some kernels wake only when the buffer fills.
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
        let mut buffer = [0; 65536];
        loop {
            let size = match pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(err) if err.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(err) if err.kind() == ErrorKind::Interrupted => return Ok(()),
                other => other.doing(|| "reading trace_pipe".to_string())?,
            };
            self.rest
                .push_str(&String::from_utf8_lossy(&buffer[..size]));
            let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
            let lines: String = self.rest.drain(..end).collect();
            into.extend(lines.lines().filter_map(parse));
        }
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        let _ = write(&self.instance.join("events/enable"), "0");
        self.pipe = None;
        let _ = std::fs::remove_dir(&self.instance);
    }
}

/// `KEY=VALUE` in the text of an event; hexadecimal with 0x.
fn field(text: &str, key: &str) -> Option<i64> {
    let words = text.split_whitespace();
    let mut values = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let value = values.next()?;
    match value.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// Seconds with a fraction, as nanoseconds.
fn time_ns(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok()?;
    let fraction: u64 = fraction.parse().ok()?;
    let unit = 10u64.checked_pow(9u32.checked_sub(digits)?)?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction * unit)
}

/// The thread in `   NAME-TID   (TGID) [CPU] FLAGS`: its number, its process (0: not known) and
/// its name.
fn thread(head: &str) -> Option<(i32, i32, String)> {
    let task = head[..head.rfind('[')?].trim();
    let (task, tgid) = match task
        .strip_suffix(')')
        .and_then(|task| task.rsplit_once('('))
    {
        Some((task, tgid)) => (task.trim_end(), tgid.trim().parse().unwrap_or(0)),
        None => (task, 0),
    };
    let (name, tid) = task.rsplit_once('-')?;
    Some((tid.parse().ok()?, tgid, name.to_string()))
}

fn stage(text: &str) -> Option<What> {
    let names = ["K_IOC", "K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY"];
    let name = text.split_once("stage=")?.1.split(' ').next()?;
    Some(What::Stage {
        stage: names.iter().position(|known| *known == name)? as u32,
        id: field(text, "transaction")? as u32,
        reply_to: field(text, "reply_to")? as u32,
    })
}

fn what(name: &str, text: &str) -> Option<What> {
    let number = |key| field(text, key);
    if name == "binder_return" {
        return Some(What::Return {
            code: number("cmd")? as u32 & 0xffff,
        });
    }
    if name == "binder_stage" {
        return stage(text);
    }
    let id = number("transaction")? as u32;
    Some(match name {
        "binder_transaction" => What::Sent(Transaction {
            id,
            node: number("dest_node")? as u32,
            from_pid: 0,
            to_pid: number("dest_proc")? as i32,
            to_tid: number("dest_thread")? as i32,
            reply: number("reply")? != 0,
            code: number("code")? as u32,
            flags: number("flags")? as u32,
        }),
        "binder_transaction_received" => What::Received { id },
        "binder_txn_latency_free" => What::Freed { id },
        "binder_transaction_alloc_buf" => What::Buffer {
            id,
            data: number("data_size")? as u64,
            offsets: number("offsets_size")? as u64,
            extra: number("extra_buffers_size").unwrap_or(0) as u64,
        },
        "binder_transaction_buffer_release" => What::BufferFreed { id },
        "binder_transaction_failed_buffer_release" => What::BufferFailed { id },
        "binder_transaction_update_buffer_release" => What::BufferOutdated { id },
        "binder_transaction_node_to_ref"
        | "binder_transaction_ref_to_node"
        | "binder_transaction_ref_to_ref" => What::Object {
            id,
            node: number("node")? as u32,
        },
        "binder_transaction_fd_send" => What::File { id },
        _ => return None,
    })
}

/// A line of trace_pipe; None if it is no event of interest.
fn parse(line: &str) -> Option<Event> {
    if let Some(lost) = line.strip_prefix("CPU:") {
        let count = lost.split_once("[LOST ")?.1.split(' ').next()?;
        return Some(Event {
            time_ns: 0,
            tid: 0,
            thread: None,
            what: What::Lost {
                count: count.parse().ok()?,
            },
        });
    }
    let (head, event) = line.split_once(": binder_")?;
    let (name, text) = event.split_once(": ")?;
    let (head, time) = head.rsplit_once(' ')?;
    let (tid, pid, comm) = thread(head)?;
    Some(Event {
        time_ns: time_ns(time)?,
        tid,
        thread: (comm != "<...>").then_some((pid, comm)),
        what: what(&format!("binder_{name}"), text)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_call_is_parsed() {
        let line = "    my prog-1-4711    (   4700) [002] ...1.  1234.567891: binder_transaction: \
                    transaction=12 dest_node=3 dest_proc=99 dest_thread=0 reply=0 flags=0x11 \
                    code=0x5f504e47";
        let event = parse(line).unwrap();
        assert_eq!(event.time_ns, 1_234_567_891_000);
        assert_eq!(event.tid, 4711);
        assert_eq!(event.thread, Some((4700, "my prog-1".to_string())));
        let What::Sent(sent) = event.what else {
            panic!("{event:?}")
        };
        assert_eq!((sent.id, sent.node, sent.to_pid), (12, 3, 99));
        assert_eq!((sent.code, sent.flags), (0x5f50_4e47, 0x11));
    }

    #[test]
    fn other_lines_are_parsed_or_skipped() {
        let head = "  <...>-7   [000] d..2.  5.000001: ";
        let of = |text: &str| parse(&format!("{head}{text}"));
        let object = of(
            "binder_transaction_ref_to_node: transaction=5 node=6 src_ref=7 \
                         src_desc=1 ==> dest_ptr=0x00007f0000000000",
        );
        assert_eq!(object.unwrap().what, What::Object { id: 5, node: 6 });
        let failed = of("binder_return: cmd=0x7211 BR_FAILED_REPLY").unwrap();
        assert_eq!(failed.what, What::Return { code: 0x7211 });
        assert_eq!(failed.thread, None);
        assert_eq!(of("binder_update_page_range: proc=1 allocate=1"), None);
        assert_eq!(parse("garbage"), None);
        let lost = parse("CPU:1 [LOST 33 EVENTS]").unwrap();
        assert_eq!(lost.what, What::Lost { count: 33 });
    }
}
