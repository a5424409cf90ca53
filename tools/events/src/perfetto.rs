// SPDX-License-Identifier: Apache-2.0
//! A recording as a trace for Perfetto: the events as the ftrace events from which Perfetto makes
//! its own slices, flows and tables of binder transactions; the names of processes and threads; and
//! the measured stages of each call as slices of the threads concerned, inside Perfetto's own.
//!
//! The messages below have the field numbers of Perfetto's published format.
use crate::call::Assembler;
use crate::event::{error_name, Event, Transaction, What};
use crate::names::{Names, Thread};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(message, optional, tag = "1")]
    ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")]
    process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    event: Vec<FtraceEvent>,
}

#[derive(Clone, PartialEq, Message)]
struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    timestamp: Option<u64>,
    /// The thread.
    #[prost(uint32, optional, tag = "2")]
    pid: Option<u32>,
    #[prost(message, optional, tag = "50")]
    binder_transaction: Option<BinderTransaction>,
    #[prost(message, optional, tag = "51")]
    binder_transaction_received: Option<BinderReceived>,
    #[prost(message, optional, tag = "485")]
    binder_command: Option<Code>,
    #[prost(message, optional, tag = "486")]
    binder_return: Option<Code>,
}

/// BC_... or BR_...
#[derive(Clone, PartialEq, Message)]
struct Code {
    #[prost(uint32, optional, tag = "1")]
    cmd: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct BinderTransaction {
    #[prost(int32, optional, tag = "1")]
    debug_id: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    target_node: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    to_proc: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    to_thread: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    reply: Option<i32>,
    #[prost(uint32, optional, tag = "6")]
    code: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    flags: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct BinderReceived {
    #[prost(int32, optional, tag = "1")]
    debug_id: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    threads: Vec<TreeThread>,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    ppid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    cmdline: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TreeThread {
    #[prost(int32, optional, tag = "1")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    tgid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    thread_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    annotations: Vec<Annotation>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
}

const BC_TRANSACTION: u32 = 0x4040_6300;

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// The packets of one writer; its first one says that nothing came before.
const SEQUENCE: u32 = 1;
const STATE_CLEARED: u32 = 1;

const STAGE_ENQUEUED: u32 = 2;
const STAGE_DEQUEUED: u32 = 3;

/// When the stages of a transaction were reached.
#[derive(Clone, Copy, Default)]
struct Times {
    sent: Option<(u64, i32)>,
    enqueued: Option<u64>,
    dequeued: Option<u64>,
    received: Option<(u64, i32)>,
    reply_to: u32,
    node: u32,
}

struct Writer<'a> {
    names: &'a mut Names,
    boot_offset_ns: i64,
    packets: Vec<Packet>,
    threads: BTreeMap<i32, Thread>,
    /// The transactions that are in the trace.
    sent: HashSet<u32>,
    /// The calls that get an error, and how many of them a thread waits for.
    failed: HashSet<u32>,
    failing: HashMap<i32, u32>,
}

impl Writer<'_> {
    fn time(&self, monotonic_ns: u64) -> Option<u64> {
        Some(monotonic_ns.saturating_add_signed(self.boot_offset_ns))
    }

    fn know(&mut self, tid: i32, pid: i32, event: Option<&Event>) {
        if tid > 0 && !self.threads.contains_key(&tid) {
            let told = event.and_then(|event| event.thread.as_ref());
            let thread = self.names.thread(tid, pid, told);
            self.threads.insert(tid, thread);
        }
    }

    fn sent(
        &mut self,
        event: &Event,
        sent: &Transaction,
        ftrace: FtraceEvent,
        into: &mut Vec<FtraceEvent>,
    ) {
        self.sent.insert(sent.id);
        self.know(event.tid, sent.from_pid, Some(event));
        self.know(sent.to_pid, sent.to_pid, None);
        self.know(sent.to_tid, sent.to_pid, None);
        if self.failed.contains(&sent.id) {
            *self.failing.entry(event.tid).or_default() += 1;
            into.push(FtraceEvent {
                binder_command: Some(Code {
                    cmd: Some(BC_TRANSACTION),
                }),
                ..ftrace.clone()
            });
        }
        into.push(FtraceEvent {
            binder_transaction: Some(BinderTransaction {
                debug_id: Some(sent.id as i32),
                target_node: Some(sent.node as i32),
                to_proc: Some(sent.to_pid),
                to_thread: Some(sent.to_tid),
                reply: Some(sent.reply.into()),
                code: Some(sent.code),
                flags: Some(sent.flags),
            }),
            ..ftrace
        });
    }

    /// The kernel's events that Perfetto makes its slices and arrows of.
    ///
    /// A call that gets an error instead of a reply ends with the return of that error, but
    /// Perfetto looks at it only after a command. So there is a command before each of these calls;
    /// before the others there is none, for then it would await more.
    fn ftrace(&mut self, event: &Event, into: &mut Vec<FtraceEvent>) {
        let mut ftrace = FtraceEvent {
            timestamp: self.time(event.time_ns),
            pid: Some(event.tid as u32),
            ..FtraceEvent::default()
        };
        match &event.what {
            What::Sent(sent) => self.sent(event, sent, ftrace, into),
            // It failed so early that nothing was sent: only the daemon tells of it.
            What::Failed {
                transaction, error, ..
            } if error_name(error & 0xffff).is_some()
                && !transaction.reply
                && !self.sent.contains(&transaction.id) =>
            {
                self.sent(event, transaction, ftrace, into);
            }
            What::Return { code } if error_name(*code).is_some() => {
                let waiting = self.failing.get_mut(&event.tid);
                if let Some(waiting) = waiting.filter(|waiting| **waiting > 0) {
                    *waiting -= 1;
                    ftrace.binder_return = Some(Code { cmd: Some(*code) });
                    into.push(ftrace);
                }
            }
            What::Received { id } => {
                self.know(event.tid, 0, Some(event));
                ftrace.binder_transaction_received = Some(BinderReceived {
                    debug_id: Some(*id as i32),
                });
                into.push(ftrace);
            }
            _ => {}
        }
    }

    fn process_tree(&mut self) {
        let mut tree = ProcessTree::default();
        let mut pids = BTreeSet::new();
        for thread in self.threads.values() {
            if thread.pid > 0 && pids.insert(thread.pid) {
                tree.processes.push(Process {
                    pid: Some(thread.pid),
                    ppid: Some(0),
                    cmdline: vec![thread.process.clone()],
                });
            }
            tree.threads.push(TreeThread {
                tid: Some(thread.tid),
                name: Some(thread.thread.clone()).filter(|name| !name.is_empty()),
                tgid: Some(thread.pid).filter(|pid| *pid > 0),
            });
        }
        self.packets.push(Packet {
            process_tree: Some(tree),
            trusted_packet_sequence_id: Some(SEQUENCE),
            ..Packet::default()
        });
    }

    fn tracks(&mut self) {
        for thread in self.threads.values() {
            self.packets.push(Packet {
                track_descriptor: Some(TrackDescriptor {
                    uuid: Some(thread.tid as u64),
                    thread: Some(ThreadDescriptor {
                        pid: Some(thread.pid),
                        tid: Some(thread.tid),
                        thread_name: Some(thread.thread.clone()),
                    }),
                }),
                trusted_packet_sequence_id: Some(SEQUENCE),
                ..Packet::default()
            });
        }
    }

    fn slice(&mut self, tid: i32, name: &str, (from_ns, to_ns): (u64, u64), node: u32) {
        let annotations = match self.names.service(node) {
            Some(service) => vec![
                annotation("service", &service.name),
                annotation("interface", &service.interface),
            ],
            None => Vec::new(),
        };
        let begin = TrackEvent {
            annotations,
            kind: Some(SLICE_BEGIN),
            track_uuid: Some(tid as u64),
            categories: vec!["binder stage".to_string()],
            name: Some(name.to_string()),
        };
        let end = TrackEvent {
            kind: Some(SLICE_END),
            track_uuid: Some(tid as u64),
            ..TrackEvent::default()
        };
        for (time_ns, event) in [(from_ns, begin), (to_ns, end)] {
            self.packets.push(Packet {
                timestamp: self.time(time_ns),
                trusted_packet_sequence_id: Some(SEQUENCE),
                track_event: Some(event),
                ..Packet::default()
            });
        }
    }

    /// The stages of a call as its caller sees them, one after the other. They begin after the
    /// call's own slice and end before it, or Perfetto may put it into them.
    fn stages(&mut self, call: &Times, reply: &Times) {
        let (Some((sent, tid)), Some((received, _))) = (call.sent, reply.received) else {
            return;
        };
        let (first, last) = (sent + 1, received.saturating_sub(1));
        let points = [
            ("build", Some(sent), call.enqueued),
            ("queued", call.enqueued, call.dequeued),
            ("served", call.dequeued, reply.enqueued),
            ("reply on its way", reply.enqueued, Some(received)),
        ];
        for (name, from, to) in points {
            if let (Some(from), Some(to)) = (from, to) {
                let (from, to) = (from.max(first), to.min(last));
                if from <= to {
                    self.slice(tid, name, (from, to), call.node);
                }
            }
        }
    }
}

fn annotation(name: &str, value: &str) -> Annotation {
    Annotation {
        name: Some(name.to_string()),
        string_value: Some(value.to_string()),
    }
}

fn times(events: &[Event]) -> HashMap<u32, Times> {
    let mut all: HashMap<u32, Times> = HashMap::new();
    for event in events {
        let at = (event.time_ns, event.tid);
        match &event.what {
            What::Sent(sent) => {
                let times = all.entry(sent.id).or_default();
                times.sent = Some(at);
                times.node = sent.node;
            }
            What::Received { id } => all.entry(*id).or_default().received = Some(at),
            What::Stage {
                stage,
                id,
                reply_to,
            } => {
                let times = all.entry(*id).or_default();
                match *stage {
                    STAGE_ENQUEUED => {
                        times.enqueued = Some(event.time_ns);
                        times.reply_to = *reply_to;
                    }
                    STAGE_DEQUEUED => times.dequeued = Some(event.time_ns),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    all
}

/// The calls whose callers wait for a reply and get an error.
fn failed(events: &[Event], names: &mut Names) -> HashSet<u32> {
    let mut assembler = Assembler::default();
    let mut calls = Vec::new();
    for event in events {
        assembler.push(event, names);
        calls.append(&mut assembler.take(event.time_ns));
    }
    calls.append(&mut assembler.finish());
    let failed = calls
        .iter()
        .filter(|call| call.error.is_some() && !call.oneway);
    failed.map(|call| call.id).collect()
}

/// The trace, in Perfetto's format.
pub fn encode(events: &[Event], names: &mut Names, boot_offset_ns: i64) -> Vec<u8> {
    let failed = failed(events, names);
    let mut writer = Writer {
        names,
        boot_offset_ns,
        packets: Vec::new(),
        threads: BTreeMap::new(),
        sent: HashSet::new(),
        failed,
        failing: HashMap::new(),
    };
    let mut bundle = Bundle {
        cpu: Some(0),
        event: Vec::new(),
    };
    for event in events {
        writer.ftrace(event, &mut bundle.event);
    }
    writer.process_tree();
    writer.packets[0].sequence_flags = Some(STATE_CLEARED);
    writer.packets.push(Packet {
        ftrace_events: Some(bundle),
        trusted_packet_sequence_id: Some(SEQUENCE),
        ..Packet::default()
    });
    writer.tracks();
    let times = times(events);
    let replies: HashMap<u32, &Times> = times
        .values()
        .filter(|times| times.reply_to != 0)
        .map(|times| (times.reply_to, times))
        .collect();
    let mut calls: Vec<(&u32, &Times)> = times.iter().collect();
    calls.sort_by_key(|(_, times)| times.sent);
    // A one-way call has no slice in which stages could lie.
    for (id, call) in calls {
        if let Some(reply) = replies.get(id) {
            writer.stages(call, reply);
        }
    }
    Trace {
        packet: writer.packets,
    }
    .encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, tid: i32, what: What) -> Event {
        Event {
            time_ns,
            tid,
            thread: None,
            what,
        }
    }

    #[test]
    fn a_call_becomes_ftrace_events_names_and_stages() {
        let mut names = Names::recorded();
        for (tid, process) in [(1, "client"), (2, "server")] {
            names.add_thread(Thread {
                pid: tid,
                tid,
                process: process.to_string(),
                thread: process.to_string(),
            });
        }
        let stage = |stage, id, reply_to| What::Stage {
            stage,
            id,
            reply_to,
        };
        let sent = |id, reply| {
            What::Sent(Transaction {
                id,
                reply,
                to_pid: 2,
                ..Transaction::default()
            })
        };
        let events = [
            event(100, 1, sent(5, false)),
            event(110, 1, stage(2, 5, 0)),
            event(120, 2, stage(3, 5, 0)),
            event(121, 2, What::Received { id: 5 }),
            event(150, 2, sent(6, true)),
            event(160, 2, stage(2, 6, 5)),
            event(180, 1, What::Received { id: 6 }),
        ];
        let trace = Trace::decode(encode(&events, &mut names, 1000).as_slice()).unwrap();
        let bundle = trace
            .packet
            .iter()
            .find_map(|packet| packet.ftrace_events.as_ref());
        let ftrace = &bundle.unwrap().event;
        assert_eq!(ftrace.len(), 4);
        assert_eq!((ftrace[0].timestamp, ftrace[0].pid), (Some(1100), Some(1)));
        let reply = ftrace[2].binder_transaction.as_ref().unwrap();
        assert_eq!((reply.debug_id, reply.reply), (Some(6), Some(1)));
        let slices: Vec<(&str, u64)> = trace
            .packet
            .iter()
            .filter_map(|packet| Some((packet.track_event.as_ref()?, packet.timestamp?)))
            .map(|(event, at)| (event.name.as_deref().unwrap_or(""), at))
            .collect();
        let wanted = [
            ("build", 1101),
            ("", 1110),
            ("queued", 1110),
            ("", 1120),
            ("served", 1120),
            ("", 1160),
            ("reply on its way", 1160),
            ("", 1179),
        ];
        assert_eq!(slices, wanted);
        let tree = trace.packet[0].process_tree.as_ref().unwrap();
        assert_eq!(tree.processes[1].cmdline, ["server"]);
    }
}
