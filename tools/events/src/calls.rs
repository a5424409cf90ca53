// SPDX-License-Identifier: Apache-2.0
//! From events to calls.
//!
//! A call is known by the number of its transaction. Its reply has another number, and no event
//! says whose reply it is: it answers the call that its thread received last and has not answered
//! yet, as in the driver itself. An error is delivered to a thread that waits; it is that of the
//! call which the thread made last.
//!
//! No event says that a thread ends. What is kept of the calls of threads refers to calls that are
//! watched, or goes with the next sweep; and calls are watched up to a number and to a size.
mod call_record;

use crate::event::{error_name, Event, Transaction, What, TF_ONE_WAY};
use crate::payload::Payload;
use crate::thread_names::{Names, Thread};
pub use call_record::Call;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// How long a call that is over waits to be complete with the end of its buffer.
const AWAIT_NS: u64 = 50_000_000;
/// Calls that are watched, and what they take of the memory; beyond, the oldest one is given up.
const OPEN_MAX: usize = 200_000;
const HELD_MAX: usize = 64 << 20;
const OBJECT_BYTES: usize = 16;
/// After so many events what refers to calls that are over is forgotten.
const SWEEP: usize = 1 << 16;
const TARGETS_MAX: usize = 1000;

/// Puts calls together. `push` takes the events in order; `take` gives the calls that are over.
#[derive(Default)]
pub struct Assembler {
    open: HashMap<u32, Box<Call>>,
    /// What those take of the memory, or more.
    held: usize,
    /// Open calls by age; those that are over already are skipped.
    ages: VecDeque<u32>,
    /// Calls that are over, in that order, by their number in `open`.
    over: VecDeque<u32>,
    /// Ready to be taken.
    ready: Vec<Call>,
    /// The calls that a thread waits for, the innermost last.
    waiting: HashMap<i32, Vec<u32>>,
    /// The calls that a thread serves, the innermost last.
    serving: HashMap<i32, Vec<u32>>,
    /// The open calls that a process serves and is to reply to.
    served: HashMap<i32, BTreeSet<u32>>,
    /// The call of each reply that was not received yet.
    replies: HashMap<u32, u32>,
    /// The transaction that a thread sent last.
    last_sent: HashMap<i32, u32>,
    /// The objects of calls that are going to fail.
    targets: HashMap<u32, u32>,
    /// Events since the last sweep.
    pushed: usize,
    pub lost: u64,
}

impl Assembler {
    pub fn push(&mut self, event: &Event, names: &mut Names) {
        self.pushed += 1;
        if self.pushed >= SWEEP {
            self.sweep();
        }
        let said = event.thread.as_ref();
        match &event.what {
            What::Sent(sent) if sent.reply => self.replied(event, sent),
            What::Sent(sent) => self.start(event, sent, names),
            What::Begun {
                transaction,
                age_ns,
                size,
            } => self.begun(event, transaction, (*age_ns, *size), names),
            What::Opened { pid, name } => names.opened(*pid, name),
            What::Received { id } => {
                let pid = self.open.get(id).map_or(0, |call| call.to.pid);
                let thread = names.thread(event.tid, pid, said);
                self.received(event, *id, thread);
            }
            What::Stage { .. } => {}
            What::Buffer {
                id,
                data,
                offsets,
                extra,
            } => self.sized(*id, *data, offsets + extra),
            What::BufferFreed { id } => self.freed(event, *id),
            What::BufferFailed { .. } => {}
            What::BufferOutdated { id } => self.fail_call(*id, event.time_ns, "replaced"),
            What::Object { id, node, value } => self.object(*id, *node, *value),
            What::Data {
                id,
                offset,
                bytes,
                objects,
            } => {
                if let Some(payload) = self.payload(*id) {
                    payload.add(*offset, &bytes.0, objects);
                    self.hold(bytes.0.len() + OBJECT_BYTES * objects.len());
                }
            }
            What::File { id } => self.count(*id, |call| (&mut call.files, &mut call.reply_files)),
            What::Return { code } => {
                if let Some(error) = error_name(*code) {
                    self.failed(event, error, names);
                }
            }
            What::Failed {
                transaction,
                error,
                errno,
                size,
            } => self.told_why(event, transaction, (*error, *errno, *size), names),
            What::Target { id, node } => {
                self.targets.insert(*id, *node);
            }
            What::Lost { count } => self.lose(*count),
            What::Priorities { id, caller, served } => {
                if let Some(call) = self.open.get_mut(id) {
                    call.priority = *caller;
                    call.served_at = Some(*served);
                    call.not_inherited = caller.is_some_and(|caller| served.is_below(caller));
                }
            }
        }
        self.sort_out(event.time_ns);
    }

    /// The calls that are over; `now_ns`: the time, so that those of which nothing more is heard
    /// are among them.
    pub fn take(&mut self, now_ns: u64) -> Vec<Call> {
        self.sort_out(now_ns);
        std::mem::take(&mut self.ready)
    }

    /// The calls that are left when the trace ends, the oldest first.
    pub fn finish(&mut self) -> Vec<Call> {
        let mut left: Vec<Call> = self.open.drain().map(|(_, call)| *call).collect();
        left.sort_by_key(|call| call.sent_ns);
        for call in &mut left {
            call.unfinished = !call.is_over();
        }
        let mut calls = std::mem::take(&mut self.ready);
        calls.append(&mut left);
        calls
    }

    fn start(&mut self, event: &Event, sent: &Transaction, names: &mut Names) {
        // Each has a number of its own, but perhaps in a recording that was forged; or it was seen
        // before its event was.
        if let Some(call) = self.open.get_mut(&sent.id) {
            if std::mem::take(&mut call.begun_before) {
                call.sent_ns = event.time_ns;
            }
            return;
        }
        let from = names.thread(event.tid, sent.from_pid, event.thread.as_ref());
        let to = match sent.to_tid {
            0 => Thread {
                tid: 0,
                thread: String::new(),
                ..names.process(sent.to_pid)
            },
            tid => names.thread(tid, sent.to_pid, None),
        };
        let served = self.serving.get(&event.tid);
        let own = served.and_then(|ids| ids.last().copied());
        let parent = own.or_else(|| self.only_one_served(from.pid));
        let mut call = Call {
            id: sent.id,
            parent,
            by_other_thread: own.is_none() && parent.is_some(),
            from,
            to,
            node: sent.node,
            code: sent.code,
            flags: sent.flags,
            oneway: sent.flags & TF_ONE_WAY != 0,
            sent_ns: event.time_ns,
            ..Call::default()
        };
        call.give_names(names);
        if self.open.len() >= OPEN_MAX {
            self.give_up_oldest();
        }
        self.hold(call.bytes());
        if !call.oneway {
            self.waiting.entry(event.tid).or_default().push(sent.id);
        }
        self.last_sent.insert(event.tid, sent.id);
        self.ages.push_back(sent.id);
        self.open.insert(sent.id, Box::new(call));
    }

    /// A call that was sent before the first event, outer ones first.
    fn begun(
        &mut self,
        event: &Event,
        sent: &Transaction,
        (age_ns, size): (u64, u64),
        names: &mut Names,
    ) {
        if self.open.contains_key(&sent.id) {
            return;
        }
        self.start(event, sent, names);
        let Some(call) = self.open.get_mut(&sent.id) else {
            return;
        };
        call.begun_before = true;
        call.sent_ns = event.time_ns.saturating_sub(age_ns);
        call.size = Some(size);
        if sent.to_tid != 0 {
            self.serve(sent.to_tid, sent.id);
        }
    }

    /// A thread serves a call from now on.
    fn serve(&mut self, tid: i32, id: u32) {
        let Some(call) = self.open.get(&id) else {
            return;
        };
        if !call.oneway && !call.is_over() && call.to.pid != 0 {
            self.served.entry(call.to.pid).or_default().insert(id);
        }
        let serving = self.serving.entry(tid).or_default();
        serving.retain(|one| *one != id);
        serving.push(id);
    }

    /// Makes room for so many bytes of open calls.
    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        while self.held > HELD_MAX && self.give_up_oldest() {}
    }

    /// A call is no longer watched.
    fn close(&mut self, id: u32) -> Option<Call> {
        self.not_served(id);
        let call = self.open.remove(&id)?;
        self.held = self.held.saturating_sub(call.bytes());
        Some(*call)
    }

    /// The call is replied to, or over.
    fn not_served(&mut self, id: u32) {
        let Some(call) = self.open.get(&id) else {
            return;
        };
        if let Some(ids) = self.served.get_mut(&call.to.pid) {
            ids.remove(&id);
            if ids.is_empty() {
                self.served.remove(&call.to.pid);
            }
        }
    }

    /// Forgets what refers to calls that are not open: their threads may have ended inside them.
    fn sweep(&mut self) {
        self.pushed = 0;
        let open = &self.open;
        let is_open = |id: &u32| open.contains_key(id);
        for threads in [&mut self.waiting, &mut self.serving] {
            threads.retain(|_, ids| {
                ids.retain(is_open);
                !ids.is_empty()
            });
        }
        self.replies.retain(|_, id| is_open(id));
        self.last_sent.retain(|_, id| is_open(id));
        let mut known = HashSet::new();
        self.ages.retain(|id| is_open(id) && known.insert(*id));
        self.over.retain(is_open);
        // Each is asked for by one of the next events, or never.
        if self.targets.len() > TARGETS_MAX {
            self.targets.clear();
        }
        self.held = self.open.values().map(|call| call.bytes()).sum();
    }

    /// The call that a process is serving and is to reply to, if there is just one.
    fn only_one_served(&self, pid: i32) -> Option<u32> {
        let served = self.served.get(&pid)?;
        served.first().copied().filter(|_| served.len() == 1)
    }

    /// False: there is none.
    fn give_up_oldest(&mut self) -> bool {
        while let Some(id) = self.ages.pop_front() {
            if let Some(mut call) = self.close(id) {
                call.unfinished = !call.is_over();
                self.ready.push(call);
                return true;
            }
        }
        false
    }

    fn received(&mut self, event: &Event, id: u32, thread: Thread) {
        if let Some(call_id) = self.replies.remove(&id) {
            self.end(call_id, event.time_ns);
            return;
        }
        self.not_served(id);
        let Some(call) = self.open.get_mut(&id) else {
            return;
        };
        call.received_ns = Some(event.time_ns);
        call.to = thread;
        // A thread that waits for no reply is done with the one-way call that it served.
        let serving = self.serving.get_mut(&event.tid);
        if let (Some(serving), false) = (serving, self.waiting.contains_key(&event.tid)) {
            let open = &self.open;
            serving.retain(|id| open.get(id).is_some_and(|call| !call.oneway));
        }
        self.serve(event.tid, id);
    }

    /// The call that a thread serves and is to reply to.
    fn replied_to(&mut self, tid: i32) -> Option<u32> {
        let serving = self.serving.get_mut(&tid)?;
        let open = &self.open;
        let is_oneway = |id: &u32| open.get(id).is_some_and(|call| call.oneway);
        let at = serving.iter().rposition(|id| !is_oneway(id))?;
        let left = serving.split_off(at);
        if serving.is_empty() {
            self.serving.remove(&tid);
        }
        left.iter().for_each(|id| self.not_served(*id));
        left.first().copied()
    }

    /// A call that is not over, or was not taken yet.
    pub fn open_call(&self, id: u32) -> Option<&Call> {
        self.open.get(&id).map(Box::as_ref)
    }

    fn replied(&mut self, event: &Event, reply: &Transaction) {
        let Some(id) = self.replied_to(event.tid) else {
            return;
        };
        if let Some(call) = self.open.get_mut(&id) {
            call.replied_ns = Some(event.time_ns);
            call.reply_id = Some(reply.id);
            call.reply_flags = reply.flags;
            self.replies.insert(reply.id, id);
        }
    }

    /// The data of a call or a reply.
    fn payload(&mut self, id: u32) -> Option<&mut Payload> {
        match self.replies.get(&id) {
            Some(call_id) => Some(&mut self.open.get_mut(call_id)?.reply_data),
            None => Some(&mut self.open.get_mut(&id)?.request_data),
        }
    }

    fn sized(&mut self, id: u32, data: u64, rest: u64) {
        let reply_of = self.replies.get(&id).copied();
        let Some(call) = self.open.get_mut(&reply_of.unwrap_or(id)) else {
            return;
        };
        match reply_of {
            Some(_) => {
                call.reply_size = Some(data + rest);
                call.reply_data.size = data;
            }
            None => {
                call.size = Some(data + rest);
                call.request_data.size = data;
            }
        }
    }

    fn count(&mut self, id: u32, counters: impl Fn(&mut Call) -> (&mut u32, &mut u32)) {
        let reply_of = self.replies.get(&id).copied();
        if let Some(call) = self.open.get_mut(&reply_of.unwrap_or(id)) {
            let (of_call, of_reply) = counters(call);
            *(if reply_of.is_some() {
                of_reply
            } else {
                of_call
            }) += 1;
        }
    }

    fn object(&mut self, id: u32, node: u32, value: Option<u64>) {
        self.count(id, |call| (&mut call.objects, &mut call.reply_objects));
        if let (Some(value), Some(payload)) = (value, self.payload(id)) {
            payload.add_node(value, node);
            self.hold(OBJECT_BYTES);
        }
    }

    fn freed(&mut self, event: &Event, id: u32) {
        let Some(call) = self.open.get_mut(&id) else {
            return;
        };
        call.freed_ns = Some(event.time_ns);
        if call.oneway {
            if let Some(serving) = self.serving.get_mut(&event.tid) {
                serving.retain(|served| *served != id);
                if serving.is_empty() {
                    self.serving.remove(&event.tid);
                }
            }
            self.end(id, event.time_ns);
        }
    }

    fn end(&mut self, id: u32, time_ns: u64) {
        let Some(call) = self.open.get_mut(&id) else {
            return;
        };
        if call.done_ns.is_some() {
            return;
        }
        call.done_ns = Some(time_ns);
        let tid = call.from.tid;
        self.not_served(id);
        if let Some(ids) = self.waiting.get_mut(&tid) {
            ids.retain(|waiting| *waiting != id);
            if ids.is_empty() {
                self.waiting.remove(&tid);
            }
        }
        self.over.push_back(id);
    }

    fn fail_call(&mut self, id: u32, time_ns: u64, error: &str) {
        if let Some(call) = self.open.get_mut(&id) {
            call.error = Some(error.to_string());
            self.end(id, time_ns);
        }
    }

    /// The thread of `event` got an error.
    fn failed(&mut self, event: &Event, error: &str, names: &mut Names) {
        let last = self.last_sent.get(&event.tid).copied();
        let oneway = last.filter(|id| {
            let call = self.open.get(id);
            call.is_some_and(|call| call.oneway && !call.is_over() && call.received_ns.is_none())
        });
        let waiting = self
            .waiting
            .get(&event.tid)
            .and_then(|ids| ids.last().copied());
        match oneway.or(waiting) {
            Some(id) => self.fail_call(id, event.time_ns, error),
            None => self.ready.push(Call {
                from: names.thread(event.tid, 0, event.thread.as_ref()),
                sent_ns: event.time_ns,
                done_ns: Some(event.time_ns),
                error: Some(error.to_string()),
                ..Call::default()
            }),
        }
    }

    /// Why a transaction fails, of which its thread is told later.
    fn told_why(
        &mut self,
        event: &Event,
        failed: &Transaction,
        (error, errno, size): (u32, i32, u32),
        names: &mut Names,
    ) {
        if error_name(error & 0xffff).is_none() {
            return;
        }
        if failed.reply {
            let id = self.replies.remove(&failed.id);
            let id = id.or_else(|| self.replied_to(event.tid));
            if let Some(call) = id.and_then(|id| self.open.get_mut(&id)) {
                call.reply_id = Some(failed.id);
                call.errno = Some(-errno);
            }
            return;
        }
        let node = self.targets.remove(&failed.id).unwrap_or(failed.node);
        self.start(event, &Transaction { node, ..*failed }, names);
        if let Some(call) = self.open.get_mut(&failed.id) {
            call.size = call.size.max(Some(u64::from(size)));
            call.errno = (errno != 0).then_some(-errno);
        }
    }

    /// Begins anew, since it cannot be told any more which reply belongs to which call.
    fn lose(&mut self, count: u64) {
        self.lost += count;
        let mut left = self.finish();
        self.ready.append(&mut left);
        let lost = self.lost;
        let ready = std::mem::take(&mut self.ready);
        *self = Assembler {
            ready,
            lost,
            ..Assembler::default()
        };
    }

    /// Calls that are over and complete, or over for long, are ready.
    fn sort_out(&mut self, now_ns: u64) {
        while let Some(id) = self.over.front() {
            let is_ready = self.open.get(id).is_none_or(|call| {
                let done = call.done_ns.unwrap_or(now_ns);
                call.is_complete() || now_ns.saturating_sub(done) > AWAIT_NS
            });
            if !is_ready {
                return;
            }
            let id = *id;
            self.over.pop_front();
            let call = self.close(id);
            self.ready.extend(call);
        }
        while self
            .ages
            .front()
            .is_some_and(|id| !self.open.contains_key(id))
        {
            self.ages.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
