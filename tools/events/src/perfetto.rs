// SPDX-License-Identifier: Apache-2.0
//! A recording as a trace for Perfetto: the events as the ftrace events from which Perfetto makes
//! its own slices, flows and tables of binder transactions; the names of processes and threads; the
//! method of each call as a slice of the thread that serves it, inside Perfetto's own, by the name
//! that Android's programs give it, from which Perfetto fills `aidl_name`; and the measured stages
//! of each call on a track below that of its caller. They are not inside Perfetto's slice of the
//! call, because Perfetto takes a call with slices inside for damaged.
mod messages;

use crate::calls::{Assembler, Call};
use crate::event::{error_name, Event, Priority, Transaction, What};
use crate::thread_names::{Names, Thread};
use messages::*;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const BC_TRANSACTION: u32 = 0x4040_6300;

/// The track of the stages of a thread's calls has the number of the thread's own and this.
const STAGES: u64 = 1 << 32;

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
            // A call failed so early that nothing was sent: only the daemon tells of it.
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
                    ..TrackDescriptor::default()
                }),
                trusted_packet_sequence_id: Some(SEQUENCE),
                ..Packet::default()
            });
            self.packets.push(Packet {
                track_descriptor: Some(TrackDescriptor {
                    uuid: Some(thread.tid as u64 | STAGES),
                    name: Some("binder stages".to_string()),
                    parent_uuid: Some(thread.tid as u64),
                    ..TrackDescriptor::default()
                }),
                trusted_packet_sequence_id: Some(SEQUENCE),
                ..Packet::default()
            });
        }
    }

    fn slice(&mut self, track: u64, name: &str, (from_ns, to_ns): (u64, u64), of: &Named) {
        let text = |priority: Option<Priority>| priority.map(|one| one.to_string());
        let known = [
            ("service", of.call.service.clone()),
            ("interface", of.call.interface.clone()),
            ("method", of.method.clone()),
            ("priority", text(of.call.priority)),
            ("served_at", text(of.call.served_at)),
        ];
        let known = known.into_iter();
        let annotations = known
            .filter_map(|(name, value)| Some(annotation(name, &value?)))
            .collect();
        let begin = TrackEvent {
            annotations,
            kind: Some(SLICE_BEGIN),
            track_uuid: Some(track),
            categories: vec!["binder stage".to_string()],
            name: Some(name.to_string()),
        };
        let end = TrackEvent {
            kind: Some(SLICE_END),
            track_uuid: Some(track),
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

    /// The method that a thread serves, inside Perfetto's slice for that. `busy_ns`: when the
    /// thread receives something else.
    fn served(&mut self, of: &Named, busy_ns: Option<u64>) {
        let call = &of.call;
        let end = match call.oneway {
            true => call.freed_ns.into_iter().chain(busy_ns).min(),
            false => call.replied_ns,
        };
        if let (Some(from), Some(to), Some(interface), Some(method)) =
            (call.received_ns, end, &call.interface, &of.method)
        {
            let name = format!("AIDL::any::{interface}::{method}::server");
            let times = (from + 1, to.saturating_sub(1));
            if times.0 <= times.1 {
                self.slice(call.to.tid as u64, &name, times, of);
            }
        }
    }

    /// The stages of a call as its caller sees them, one after the other.
    fn stages(&mut self, call: &Times, reply: &Times, of: &Named) {
        let (Some((sent, tid)), Some((received, _))) = (call.sent, reply.received) else {
            return;
        };
        let (first, last) = (sent + 1, received.saturating_sub(1));
        let served = match of.call.not_inherited {
            true => "served, priority not inherited",
            false => "served",
        };
        let points = [
            ("build", Some(sent), call.enqueued),
            ("queued", call.enqueued, call.dequeued),
            (served, call.dequeued, reply.enqueued),
            ("reply on its way", reply.enqueued, Some(received)),
        ];
        for (name, from, to) in points {
            if let (Some(from), Some(to)) = (from, to) {
                let (from, to) = (from.max(first), to.min(last));
                if from <= to {
                    self.slice(tid as u64 | STAGES, name, (from, to), of);
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
                all.entry(sent.id).or_default().sent = Some(at);
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

/// A call with the name of its method.
struct Named {
    call: Call,
    method: Option<String>,
}

fn calls(events: &[Event], names: &mut Names) -> Vec<Call> {
    let mut assembler = Assembler::default();
    let mut calls = Vec::new();
    for event in events {
        assembler.push(event, names);
        calls.append(&mut assembler.take(event.time_ns));
    }
    calls.append(&mut assembler.finish());
    for call in &mut calls {
        call.give_names(names);
    }
    calls.sort_by_key(|call| call.sent_ns);
    calls
}

/// When each thread receives calls, in order.
fn receptions(calls: &[Named]) -> HashMap<i32, Vec<u64>> {
    let mut found: HashMap<i32, Vec<u64>> = HashMap::new();
    for Named { call, .. } in calls {
        found
            .entry(call.to.tid)
            .or_default()
            .extend(call.received_ns);
    }
    found.values_mut().for_each(|times| times.sort());
    found
}

/// The trace, in Perfetto's format. `method` finds the name of the method that a call calls.
pub fn encode(
    events: &[Event],
    names: &mut Names,
    boot_offset_ns: i64,
    method: &dyn Fn(&Call) -> Option<String>,
) -> Vec<u8> {
    let calls: Vec<Named> = calls(events, names)
        .into_iter()
        .map(|call| Named {
            method: method(&call),
            call,
        })
        .collect();
    // The calls whose callers wait for a reply and get an error.
    let failed = calls
        .iter()
        .filter(|of| of.call.error.is_some() && !of.call.oneway)
        .map(|of| of.call.id)
        .collect();
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
    let receptions = receptions(&calls);
    for of in &calls {
        let received = receptions.get(&of.call.to.tid);
        let next = received.and_then(|times| {
            let after = times.partition_point(|time| Some(*time) <= of.call.received_ns);
            times.get(after).copied()
        });
        writer.served(of, next);
        // A one-way call has no slice in which stages could lie.
        if let (Some(call), Some(reply)) = (times.get(&of.call.id), replies.get(&of.call.id)) {
            writer.stages(call, reply, of);
        }
    }
    Trace {
        packet: writer.packets,
    }
    .encode_to_vec()
}
