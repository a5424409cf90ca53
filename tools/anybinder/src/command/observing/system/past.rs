// SPDX-License-Identifier: Apache-2.0
//! What a recording of `anybinder trace` tells of a time, in the form of the driver's reports:
//! which processes call each other, which calls are under way, and what was measured.
use super::known::Known;
use super::meter::Measured;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_events::calls::{Assembler, Call};
use anybinder_events::payload::Payload;
use anybinder_events::recording::{self, Flaw, Recording};
use anybinder_events::thread_names::Names;
use anybinder_mount::state_report::{Node, Process, Thread, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What of a system is in no recording.
pub const NOT_RECORDED: &str =
    "a recording has no objects, idle threads, buffers and priorities of threads: look while the \
     system runs";

/// What the calls of a recording may take of the memory.
const BYTES_MAX: usize = 192 << 20;

/// The looper flag of a thread that serves calls.
const LOOPER_SERVES: u32 = 0x02;

/// A call, and until when it was under way; `u64::MAX`: when the recording ended it still was.
struct Made {
    call: Call,
    until_ns: u64,
}

pub struct Past {
    path: PathBuf,
    /// In the order in which they were over.
    calls: Vec<Made>,
    /// What they take of the memory.
    bytes: usize,
    /// From the first event to the last one.
    whole: Range<u64>,
    lost: u64,
    flaw: Option<Flaw>,
    /// The `.aidl` files in it.
    pub aidl: BTreeMap<String, String>,
}

fn pid(number: i32) -> u32 {
    number.unsigned_abs()
}

impl Past {
    /// Fails, with advice, if the file is no recording, or one without calls.
    pub fn read(path: &Path) -> Result<Past> {
        let mut names = Names::recorded();
        let mut recording = Recording::open(path, &mut names)?;
        let mut assembler = Assembler::default();
        let mut past = Past {
            path: path.to_path_buf(),
            calls: Vec::new(),
            bytes: 0,
            whole: u64::MAX..0,
            lost: 0,
            flaw: None,
            aidl: BTreeMap::new(),
        };
        while let Some(event) = recording.next(&mut names) {
            let time_ns = event.time_ns;
            past.whole = past.whole.start.min(time_ns)..past.whole.end.max(time_ns);
            assembler.push(&event, &mut names);
            past.add(assembler.take(time_ns), time_ns)?;
        }
        past.add(assembler.finish(), u64::MAX)?;
        (past.lost, past.flaw) = (assembler.lost, recording.flaw);
        past.aidl = recording.aidl;
        // A service may have been named after it was called.
        past.calls
            .iter_mut()
            .for_each(|one| one.call.give_names(&names));
        if past.calls.is_empty() {
            past.check_whole()?;
            return Err(Error::with_advice(
                format!("The recording {} has no calls.", path.display()),
                "Record while there are some: `anybinder trace --record FILE`.",
            ));
        }
        Ok(past)
    }

    /// `given_up_ns`: when nothing more was known of those that are not over.
    fn add(&mut self, calls: Vec<Call>, given_up_ns: u64) -> Result<()> {
        for mut call in calls {
            // The data of calls is not shown.
            (call.request_data, call.reply_data) = (Payload::default(), Payload::default());
            self.bytes += call.bytes();
            self.calls.push(Made {
                until_ns: call.done_ns.unwrap_or(given_up_ns),
                call,
            });
        }
        match self.bytes > BYTES_MAX {
            false => Ok(()),
            true => Err(Error::with_advice(
                format!(
                    "The recording {} has more than {} calls, which is too many to be kept.",
                    self.path.display(),
                    self.calls.len()
                ),
                "`anybinder trace --summary --from FILE` shows any number.",
            )),
        }
    }

    /// The time of the given length that ends so long after the first call; None: all.
    pub fn span(&self, at: Option<Duration>, length: Duration) -> Result<Range<u64>> {
        let Some(at) = at else {
            return Ok(self.whole.clone());
        };
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let start_ns = self.calls.first().map_or(0, |one| one.call.sent_ns);
        let until_ns = start_ns.saturating_add(ns(at));
        if until_ns > self.whole.end {
            let last_s = self.whole.end.saturating_sub(start_ns) as f64 / 1e9;
            return Err(Error::with_advice(
                format!(
                    "The recording {} ends {last_s:.6} s after its first call.",
                    self.path.display()
                ),
                "Name an earlier time with --at.",
            )
            .of(Kind::Usage));
        }
        let from_ns = until_ns.saturating_sub(ns(length)).max(self.whole.start);
        Ok(from_ns.min(until_ns)..until_ns)
    }

    /// The calls that ended in a time.
    pub fn measured(&self, span: &Range<u64>) -> Measured {
        let mut measured = Measured {
            elapsed_s: (span.end - span.start) as f64 / 1e9,
            lost: self.lost,
            ..Measured::default()
        };
        let ended = |one: &&Made| (span.start..=span.end).contains(&one.until_ns);
        let over = self.calls.iter().filter(|one| !one.call.unfinished);
        over.filter(ended).for_each(|one| measured.add(&one.call));
        measured
    }

    /// The names of programs.
    pub fn known(&self) -> Known {
        let threads = self
            .calls
            .iter()
            .flat_map(|one| [&one.call.from, &one.call.to]);
        let named = threads.filter(|one| !one.process.is_empty());
        Known::Recorded(
            named
                .map(|one| (pid(one.pid), one.process.clone()))
                .collect(),
        )
    }

    /// The names of services by node.
    pub fn services(&self) -> HashMap<u64, String> {
        let name = |one: &Made| Some((one.call.node.into(), one.call.service.clone()?));
        self.calls.iter().filter_map(name).collect()
    }

    /// The interfaces of services by their names.
    pub fn interfaces(&self) -> HashMap<String, String> {
        let calls = self.calls.iter().map(|one| &one.call);
        let known = |call: &Call| Some((call.service.clone()?, call.interface.clone()?));
        calls.filter_map(known).collect()
    }

    /// The processes that had called or were called by then, with the objects that were called, and
    /// the calls that were under way.
    pub fn processes(&self, at_ns: u64) -> Vec<Process> {
        let sent = self.calls.iter().filter(|one| one.call.sent_ns <= at_ns);
        let mut moment = Moment {
            at_ns,
            processes: BTreeMap::new(),
            changed: HashMap::new(),
        };
        let ends = |call: &Call| (pid(call.to.pid), call.node, pid(call.from.pid));
        let links: BTreeSet<(u32, u32, u32)> = sent.clone().map(|one| ends(&one.call)).collect();
        for (to, node, from) in links {
            moment.link(to, node, from);
        }
        let mut open: Vec<&Call> = sent
            .filter(|one| one.until_ns > at_ns)
            .map(|one| &one.call)
            .collect();
        open.sort_by_key(|call| call.sent_ns);
        let mut busy = HashSet::new();
        for call in open {
            moment.open(call, &mut busy);
        }
        moment.finish()
    }

    /// Fails, with advice, if the recording lacks something. To be asked when it was shown.
    pub fn check_whole(&self) -> Result<()> {
        recording::check_whole(&self.path, self.flaw, self.lost)
    }
}

/// The processes of a time as they are put together.
struct Moment {
    at_ns: u64,
    processes: BTreeMap<u32, Process>,
    /// When a thread last sent a call, and when it last received one.
    changed: HashMap<(u32, u32), (u64, u64)>,
}

impl Moment {
    fn process(&mut self, pid: u32) -> &mut Process {
        self.processes.entry(pid).or_insert_with(|| Process {
            pid,
            ..Process::default()
        })
    }

    fn thread(&mut self, pid: u32, tid: u32) -> &mut Thread {
        let threads = &mut self.process(pid).threads;
        let known = threads.iter().position(|thread| thread.tid == tid);
        let at = known.unwrap_or_else(|| {
            threads.push(Thread {
                tid,
                ..Thread::default()
            });
            threads.len() - 1
        });
        &mut threads[at]
    }

    /// A process has called an object of another one. They come in the order of the objects.
    fn link(&mut self, to: u32, node: u32, from: u32) {
        if from > 0 {
            self.process(from);
        }
        if to == 0 {
            return;
        }
        let nodes = &mut self.process(to).nodes;
        if nodes.last().is_none_or(|last| last.id != u64::from(node)) {
            nodes.push(Node {
                id: node.into(),
                ..Node::default()
            });
        }
        nodes.last_mut().expect("there is one").holders.push(from);
    }

    /// A thread that waits for a reply: it can only be called back.
    fn awaits(&self, pid: u32, tid: u32) -> bool {
        let threads = self.processes.get(&pid).map(|one| &one.threads);
        let mut threads = threads.into_iter().flatten();
        threads.any(|one| one.tid == tid && !one.outgoing.is_empty())
    }

    /// A call that is under way. They come in the order in which they were sent.
    ///
    /// * `busy`: the objects that have been sent a one-way call which is not over
    fn open(&mut self, call: &Call, busy: &mut HashSet<u32>) {
        let (from, to) = (pid(call.from.pid), pid(call.to.pid));
        let (from_tid, to_tid) = (pid(call.from.tid), pid(call.to.tid));
        let received_ns = call.received_ns.filter(|time_ns| *time_ns <= self.at_ns);
        let is_replied = call.replied_ns.is_some_and(|time_ns| time_ns <= self.at_ns);
        let is_to_thread = received_ns.is_some() || self.awaits(to, to_tid);
        let transaction = Transaction {
            id: call.id.into(),
            from_pid: from,
            from_tid,
            to_pid: to,
            to_tid: if is_to_thread { to_tid } else { 0 },
            code: call.code,
            is_oneway: call.oneway,
            elapsed_ms: Some((self.at_ns - call.sent_ns) / 1_000_000),
            node: Some(call.node.into()),
            bytes: call.size.unwrap_or(0),
            ..Transaction::default()
        };
        if !call.oneway && from > 0 {
            let made = &mut self.thread(from, from_tid).outgoing;
            made.insert(0, transaction.clone());
            self.changed.entry((from, from_tid)).or_default().0 = call.sent_ns;
        }
        if to == 0 {
            return;
        }
        match (received_ns, call.oneway) {
            (Some(_), false) if is_replied => {}
            (Some(received_ns), false) => {
                let handled = &mut self.thread(to, to_tid).incoming;
                handled.insert(0, transaction);
                self.changed.entry((to, to_tid)).or_default().1 = received_ns;
            }
            (Some(_), true) => {
                busy.insert(call.node);
                self.thread(to, to_tid).looper = LOOPER_SERVES;
                self.process(to).delivered += 1;
            }
            (None, true) if !busy.insert(call.node) => {
                let mut nodes = self.process(to).nodes.iter_mut();
                if let Some(node) = nodes.find(|node| node.id == u64::from(call.node)) {
                    node.pending.push(transaction);
                }
            }
            (None, _) => self.process(to).pending.push(transaction),
        }
    }

    fn finish(mut self) -> Vec<Process> {
        for process in self.processes.values_mut() {
            for thread in &mut process.threads {
                let changed = self.changed.get(&(process.pid, thread.tid));
                thread.awaits_reply = changed.is_some_and(|(sent, received)| sent >= received);
            }
        }
        self.processes.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_events::thread_names::Thread as Named;

    fn thread(pid: i32, tid: i32) -> Named {
        Named {
            pid,
            tid,
            process: format!("p{pid}"),
            ..Named::default()
        }
    }

    /// Sent by process 10, with times in milliseconds.
    fn call(id: u32, oneway: bool, sent: u64, received: Option<u64>, done: Option<u64>) -> Made {
        let ns = |ms: u64| ms * 1_000_000;
        let call = Call {
            id,
            from: thread(10, 10),
            to: thread(20, if received.is_some() { 21 } else { 0 }),
            node: 7,
            service: Some("a.service".to_string()),
            code: 3,
            size: Some(100),
            oneway,
            sent_ns: ns(sent),
            received_ns: received.map(ns),
            replied_ns: done.filter(|_| !oneway).map(ns),
            done_ns: done.map(ns),
            unfinished: done.is_none(),
            ..Call::default()
        };
        Made {
            until_ns: done.map_or(u64::MAX, ns),
            call,
        }
    }

    fn past(calls: Vec<Made>) -> Past {
        Past {
            path: PathBuf::from("calls.rec"),
            calls,
            bytes: 0,
            whole: 1_000_000_000..10_000_000_000,
            lost: 0,
            flaw: None,
            aidl: BTreeMap::new(),
        }
    }

    #[test]
    fn calls_are_under_way_from_their_sending_to_their_end() {
        let past = past(vec![
            call(1, false, 1000, Some(1500), Some(2000)),
            call(2, true, 3000, Some(3100), None),
            call(3, true, 3200, None, None),
            call(4, false, 4000, None, None),
        ]);
        let at = |ms: u64| past.processes(ms * 1_000_000);
        let [client, service] = &at(1200)[..] else {
            panic!("two processes");
        };
        assert_eq!((client.pid, service.pid), (10, 20));
        assert!(client.threads[0].awaits_reply && service.threads.is_empty());
        assert_eq!(client.threads[0].outgoing[0].elapsed_ms, Some(200));
        assert_eq!((service.pending.len(), service.pending[0].to_tid), (1, 0));
        let handled = &at(1600)[1];
        assert_eq!(handled.pending.len(), 0);
        assert_eq!(handled.threads[0].incoming[0].from_pid, 10);
        // Over, with the object that was called.
        let after = &at(2500);
        assert!(after.iter().all(|one| one.threads.is_empty()));
        assert_eq!(
            (after[1].nodes[0].id, &after[1].nodes[0].holders),
            (7, &vec![10])
        );
        // A one-way call is handled, the other one waits for its turn, a call for a thread.
        let end = &at(4000)[1];
        assert_eq!((end.oneway_threads(), end.nodes[0].pending.len()), (1, 1));
        assert_eq!((end.pending.len(), end.nodes[0].pending[0].bytes), (1, 100));
        assert_eq!(past.services()[&7], "a.service");
        assert_eq!(past.known().command(20), "p20");
    }
}
