// SPDX-License-Identifier: Apache-2.0
//! The tracepoints of a kernel's driver, through an instance of tracefs.
//!
//! The driver in C and the module have them in the group `binder`, mainline's driver in Rust in one
//! of its own, with the same names and texts. A line does not say of which group it is, and two
//! drivers number their transactions independently, so only the group of the driver that serves the
//! mount is read. The driver in C and the module share theirs (docs/KERNEL-MODULE.md).
use crate::event::{
    Bytes, Event, Extra, Priority, Transaction, What, BR_DEAD_REPLY, BR_FAILED_REPLY,
    BR_FROZEN_REPLY,
};
use crate::tracefs_instance::Instance;
use anybinder_cli::error::{Doing, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::Duration;

const BUFFER_KIB: u32 = 8192;

const STAGE: &str = "anybinder/binder_stage";
const PRIORITIES: &str = "anybinder/binder_priorities";
const DATA: &str = "anybinder/binder_data";
const DATA_TO_CLEAR: &str = "anybinder/binder_data_to_clear";

const EVENTS: [&str; 5] = [
    "binder_return",
    "binder_transaction",
    "binder_transaction_received",
    "binder_transaction_buffer_release",
    "binder_transaction_update_buffer_release",
];
const DETAILS: [&str; 7] = [
    "binder_transaction_alloc_buf",
    "binder_transaction_failed_buffer_release",
    "binder_transaction_node_to_ref",
    "binder_transaction_ref_to_node",
    "binder_transaction_ref_to_ref",
    "binder_transaction_fd_send",
    "binder_transaction_fd_recv",
];

const GROUP: &str = "binder";
const RUST_GROUP: &str = "rust_binder";

/// `BC_FREE_BUFFER`, as the events of commands have it.
const FREE_BUFFER: u32 = 0x4008_6303;

/// Bytes that are read at a time, so that the caller gets its turn while events keep coming.
const PORTION: usize = 1 << 20;

/// The group of the driver that serves the mount. Android's kernels have their driver in Rust in
/// that of the one in C.
///
/// * `has`: whether the kernel has a group
fn group(is_rust: bool, has: impl Fn(&str) -> bool) -> &'static str {
    match is_rust && has(RUST_GROUP) {
        true => RUST_GROUP,
        false => GROUP,
    }
}

fn no_tracepoints(group: &str) -> Error {
    match group {
        RUST_GROUP => Error::with_advice(
            "The kernel's driver in Rust is too old to tell of calls.",
            "It does from Linux 7.1 on; the module of anybinder does on any kernel.",
        ),
        _ => Error::with_advice(
            "The driver of this kernel has no tracepoints.",
            "The kernel's driver in C has them, that in Rust from Linux 7.1 on, and the module of \
             anybinder.",
        ),
    }
}

/// Whose buffer a thread frees, where the driver tells only that it frees one, as the driver in
/// Rust does up to Linux 7.3: that of the transaction which the thread received last and has not
/// freed yet. What it receives while it serves a call is freed before the call is.
#[derive(Default)]
struct Unfreed {
    received: HashMap<i32, Vec<u32>>,
}

impl Unfreed {
    /// More of a thread were freed by others.
    const MAX: usize = 64;

    fn add(&mut self, tid: i32, id: u32) {
        let ids = self.received.entry(tid).or_default();
        if ids.len() == Self::MAX {
            ids.remove(0);
        }
        ids.push(id);
    }

    fn free(&mut self, tid: i32) -> Option<u32> {
        let ids = self.received.get_mut(&tid)?;
        let id = ids.pop();
        if ids.is_empty() {
            self.received.remove(&tid);
        }
        id
    }
}

pub struct Tracefs {
    /// Dropped before the instance, which cannot be removed while it is open.
    pipe: File,
    /// The beginning of a line whose end was not read yet.
    rest: Vec<u8>,
    /// For a driver without events of buffers that are freed.
    unfreed: Option<Unfreed>,
    /// The driver gives the data of calls.
    pub has_data: bool,
    _instance: Instance,
}

/// Enables the module's own events, where they are there; returns whether it gives the data of
/// calls.
fn enable_own(instance: &Instance, extra: Extra) -> Result<bool> {
    if !extra.is_lean && instance.has(PRIORITIES) {
        instance.enable(PRIORITIES, true)?;
    }
    if extra.stages && instance.has(STAGE) {
        instance.enable(STAGE, true)?;
    }
    let has_data = instance.has(DATA);
    if extra.data && has_data {
        instance.enable(DATA, true)?;
    }
    if extra.data_to_clear && has_data {
        if !instance.has(DATA_TO_CLEAR) {
            return Err(Error::with_advice(
                "The module is older than this program and does not tell data that is to be \
                 cleared after use.",
                "Load the installed one, or use --payload alone.",
            ));
        }
        instance.enable(DATA_TO_CLEAR, true)?;
    }
    Ok(has_data)
}

impl Tracefs {
    /// * `is_rust`: the mount is served by a driver in Rust
    pub fn open(is_rust: bool, extra: Extra) -> Result<Self> {
        let instance = Instance::new("trace", BUFFER_KIB)?;
        let group = group(is_rust, |group| instance.has(group));
        let of_group = |event: &str| format!("{group}/{event}");
        if !instance.has(&of_group("binder_transaction")) {
            return Err(no_tracepoints(group));
        }
        instance.set("trace_clock", "mono")?;
        // Not every kernel has these two, and it works without.
        let _ = instance.set("options/record-tgid", "1");
        let _ = instance.set("buffer_percent", "0");
        // Only returns that are errors are of interest.
        let errors = [BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY];
        let errors = errors.map(|code| format!("cmd == {code:#x}")).join(" || ");
        let _ = instance.set(&format!("events/{group}/binder_return/filter"), &errors);
        let pipe = instance.pipe()?;
        let says_whose = instance.has(&of_group("binder_transaction_buffer_release"));
        let command = of_group("binder_command");
        let unfreed = (!says_whose && instance.has(&command)).then(Unfreed::default);
        if unfreed.is_some() {
            let frees = format!("cmd == {FREE_BUFFER:#x}");
            instance.set(&format!("events/{command}/filter"), &frees)?;
            instance.enable(&command, true)?;
        }
        let details = DETAILS.iter().filter(|_| !extra.is_lean);
        for event in EVENTS.iter().chain(details).map(|event| of_group(event)) {
            if instance.has(&event) {
                instance.enable(&event, true)?;
            }
        }
        // The module's own are not of a mount of the driver in Rust.
        let has_data = group == GROUP && enable_own(&instance, extra)?;
        Ok(Tracefs {
            pipe,
            rest: Vec::new(),
            unfreed,
            has_data,
            _instance: instance,
        })
    }

    /// Adds to the rest what there is, or a portion of it; returns how many bytes.
    fn read_now(&mut self) -> Result<usize> {
        let mut buffer = vec![0; 65536];
        let mut total = 0;
        while total < PORTION {
            let size = match self.pipe.read(&mut buffer) {
                Ok(0) => break,
                Err(err) if err.kind() == ErrorKind::WouldBlock => break,
                Err(err) if err.kind() == ErrorKind::Interrupted => break,
                other => other.doing(|| "reading trace_pipe".to_string())?,
            };
            total += size;
            self.rest.extend_from_slice(&buffer[..size]);
        }
        Ok(total)
    }

    /// Waits at most `wait` for events, and adds those that there are to `into`, or the first ones
    /// of many: where events come faster than they are read there is no last one. True: there may
    /// be more.
    pub fn read(&mut self, wait: Duration, into: &mut Vec<Event>) -> Result<bool> {
        let mut total = self.read_now()?;
        if total == 0 {
            let timeout = Timespec::try_from(wait).expect("a short time");
            let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
            // Whatever it says: some kernels wake only when the buffer fills.
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
            total = self.read_now()?;
        }
        let end = self.rest.iter().rposition(|byte| *byte == b'\n');
        let lines: Vec<u8> = self.rest.drain(..end.map_or(0, |end| end + 1)).collect();
        let lines = String::from_utf8_lossy(&lines);
        let unfreed = &mut self.unfreed;
        let events = lines
            .lines()
            .filter_map(|line| parse(line, unfreed.as_mut()));
        into.extend(events);
        Ok(total >= PORTION)
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

/// The text after `KEY=`, up to a space.
fn word<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut words = text.split(' ');
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The data of a transaction, all that there is of it in one event; bit K of byte N of `objects`:
/// an object begins at byte 32 * N + 4 * K.
fn data(text: &str) -> Option<What> {
    let Bytes(bits) = Bytes::from_hex(word(text, "objects")?)?;
    let begins = (0..8 * bits.len()).filter(|at| bits[at / 8] >> (at % 8) & 1 != 0);
    Some(What::Data {
        id: field(text, "transaction")? as u32,
        offset: 0,
        bytes: Bytes::from_hex(word(text, "data")?)?,
        objects: begins.map(|at| 4 * at as u32).collect(),
    })
}

fn priority(text: &str, keys: [&str; 2]) -> Option<Priority> {
    Some(Priority {
        policy: field(text, keys[0])?.try_into().ok()?,
        value: field(text, keys[1])?.try_into().ok()?,
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
    if name == "binder_data" || name == "binder_data_to_clear" {
        return data(text);
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
        "binder_priorities" => What::Priorities {
            id,
            // -1 is no policy.
            caller: priority(text, ["caller_policy", "caller_prio"]),
            served: priority(text, ["policy", "prio"])?,
        },
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
            value: number("dest_desc")
                .or(number("dest_ptr"))
                .map(|value| value as u64),
        },
        "binder_transaction_fd_send" => What::File { id },
        _ => return None,
    })
}

/// A line of trace_pipe; None if it is no event of interest.
fn parse(line: &str, unfreed: Option<&mut Unfreed>) -> Option<Event> {
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
    let what = match (name, unfreed) {
        ("command", Some(unfreed)) => What::BufferFreed {
            id: unfreed.free(tid)?,
        },
        (_, unfreed) => {
            let what = what(&format!("binder_{name}"), text)?;
            if let (What::Received { id }, Some(unfreed)) = (&what, unfreed) {
                unfreed.add(tid, *id);
            }
            what
        }
    };
    Some(Event {
        time_ns: time_ns(time)?,
        tid,
        thread: (comm != "<...>").then_some((pid, comm)),
        what,
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
        let event = parse(line, None).unwrap();
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
        let of = |text: &str| parse(&format!("{head}{text}"), None);
        let object = of(
            "binder_transaction_ref_to_node: transaction=5 node=6 src_ref=7 \
                         src_desc=1 ==> dest_ptr=0x00007f0000000000",
        );
        let expected = What::Object {
            id: 5,
            node: 6,
            value: Some(0x7f00_0000_0000),
        };
        assert_eq!(object.unwrap().what, expected);
        let data = of("binder_data: transaction=9 objects=0280 data=0001ff");
        let expected = What::Data {
            id: 9,
            offset: 0,
            bytes: Bytes(vec![0, 1, 255]),
            objects: vec![4, 60],
        };
        assert_eq!(data.unwrap().what, expected);
        let data = of("binder_data_to_clear: transaction=9 objects=0280 data=0001ff");
        assert_eq!(data.unwrap().what, expected);
        let priorities = |text: &str| of(&format!("binder_priorities: transaction=9 {text}"));
        let expected = |caller| What::Priorities {
            id: 9,
            caller,
            served: Priority {
                policy: 0,
                value: -5,
            },
        };
        let caller = Priority {
            policy: 1,
            value: 10,
        };
        let both = priorities("caller_policy=1 caller_prio=10 policy=0 prio=-5");
        assert_eq!(both.unwrap().what, expected(Some(caller)));
        let oneway = priorities("caller_policy=-1 caller_prio=0 policy=0 prio=-5");
        assert_eq!(oneway.unwrap().what, expected(None));
        let failed = of("binder_return: cmd=0x7211 BR_FAILED_REPLY").unwrap();
        assert_eq!(failed.what, What::Return { code: 0x7211 });
        assert_eq!(failed.thread, None);
        assert_eq!(of("binder_update_page_range: proc=1 allocate=1"), None);
        assert_eq!(parse("garbage", None), None);
        let lost = parse("CPU:1 [LOST 33 EVENTS]", None).unwrap();
        assert_eq!(lost.what, What::Lost { count: 33 });
    }
    #[test]
    fn the_group_is_that_of_the_driver_that_serves_the_mount() {
        let both = |_: &str| true;
        let c_alone = |name: &str| name == "binder";
        assert_eq!(group(false, both), "binder");
        assert_eq!(group(true, both), "rust_binder");
        assert_eq!(group(true, c_alone), "binder");
        assert_eq!(group(false, |name| name == "rust_binder"), "binder");
    }

    /// A one-way call that is served by a call to another process, as the driver in Rust of Linux
    /// 7.3 tells of it: the thread, and the text, without sizes and without the end of a buffer.
    const OF_RUST: [(i32, &str); 10] = [
        (
            11,
            "transaction: transaction=5 dest_node=3 dest_proc=20 dest_thread=0 reply=0 flags=0x11 \
             code=0x2",
        ),
        (21, "transaction_received: transaction=5"),
        (
            21,
            "transaction: transaction=6 dest_node=4 dest_proc=30 dest_thread=0 reply=0 flags=0x10 \
             code=0x1",
        ),
        (31, "transaction_received: transaction=6"),
        (
            31,
            "transaction: transaction=7 dest_node=0 dest_proc=20 dest_thread=21 reply=1 flags=0x0 \
             code=0x0",
        ),
        (31, FREE),
        (21, "transaction_received: transaction=7"),
        (21, FREE),
        (21, FREE),
        (21, FREE),
    ];
    const FREE: &str = "command: cmd=0x40086303 BC_FREE_BUFFER";

    #[test]
    fn calls_of_the_driver_in_rust_have_an_end() {
        let mut unfreed = Unfreed::default();
        let mut assembler = crate::calls::Assembler::default();
        let mut names = crate::thread_names::Names::recorded();
        for (at, (tid, text)) in OF_RUST.iter().enumerate() {
            let line = format!("  x-{tid} [000] ..... 9.0000{:02}: binder_{text}", at + 1);
            if let Some(event) = parse(&line, Some(&mut unfreed)) {
                assembler.push(&event, &mut names);
            }
        }
        assert!(unfreed.received.is_empty());
        let calls = assembler.finish();
        let of = |id| calls.iter().find(|call| call.id == id).unwrap();
        let (outer, inner) = (of(5), of(6));
        assert_eq!((outer.oneway, outer.duration_ns()), (true, Some(8000)));
        assert_eq!((inner.parent, inner.duration_ns()), (Some(5), Some(4000)));
        assert_eq!(
            (outer.freed_ns, inner.freed_ns),
            (Some(9_000_009_000), Some(9_000_006_000))
        );
        assert!(!outer.unfinished && !inner.unfinished);
    }

    #[test]
    fn what_other_threads_free_is_forgotten() {
        let mut unfreed = Unfreed::default();
        for id in 0..1000 {
            unfreed.add(7, id);
        }
        assert_eq!(unfreed.received[&7].len(), Unfreed::MAX);
        assert_eq!((unfreed.free(7), unfreed.free(8)), (Some(999), None));
    }
}
