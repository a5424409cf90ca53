// SPDX-License-Identifier: Apache-2.0
//! What `anybinder top` shows, as data: also its JSON.
use crate::command::observing::system::backlog::Backlog;
use crate::command::observing::system::known::Known;
use crate::command::observing::system::meter::Latency;
use crate::command::observing::system::methods::Methods;
use crate::command::observing::system::text::{called, time};
use crate::command::observing::system::thread_priority;
use anybinder_events::event::Priority;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// For the reply to a call.
    Waits,
    Handles,
    /// The thread handles a one-way call: the driver does not keep which thread handles which.
    Oneway,
    /// The thread waits for work.
    Idle,
    /// The thread is not in the driver.
    Outside,
}

/// The other side of the call that a thread is in.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    pub pid: u32,
    /// 0 as long as no thread has taken the call.
    pub tid: u32,
    pub command: String,
    pub code: u32,
    /// The name of the method, if it is known.
    pub method: Option<String>,
    pub is_oneway: bool,
    pub service: Option<String>,
    pub for_ms: u64,
    /// The priority that the call was sent with, as the driver prints it.
    pub priority: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Activity {
    pub tid: u32,
    pub doing: Doing,
    pub with: Option<Peer>,
    /// Policy and priority at this moment.
    pub scheduling: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct ProcessRow {
    pub pid: u32,
    pub command: String,
    pub services: Vec<String>,
    /// Transactions that were delivered to it, and that it sent.
    pub received_per_s: f64,
    pub sent_per_s: f64,
    /// Latencies of the calls that the process served, and of those that it made.
    pub served: Option<Latency>,
    pub made: Option<Latency>,
    /// Calls that wait for a thread of it.
    pub waiting: usize,
    /// One-way calls that wait for their turn, by object.
    pub backlogs: Vec<Backlog>,
    /// Threads that handle a call, of all that it has.
    pub busy: usize,
    /// Threads, like the next fields, are None in a recording.
    pub threads: Option<usize>,
    pub buffer_bytes: Option<u64>,
    pub buffer_size: Option<u64>,
    pub references: Option<u32>,
    /// How often its services were restarted in the last minute, where the service manager tells.
    pub restarts: Option<u32>,
    /// Policy and priority of its threads, if they are the same.
    pub scheduling: String,
    pub marks: Vec<&'static str>,
    /// What each thread does.
    pub activities: Vec<Activity>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Method {
    pub code: u32,
    /// Its name, if that is known.
    pub name: Option<String>,
    pub is_oneway: bool,
    pub calls_per_s: f64,
    pub errors_per_s: f64,
    pub bytes_per_s: f64,
    pub latency: Option<Latency>,
    /// Until a thread took the call.
    pub queued: Option<Latency>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Caller {
    pub pid: u32,
    pub command: String,
    pub has_handle: bool,
    pub calls_per_s: Option<f64>,
    pub latency: Option<Latency>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct ServiceRow {
    pub name: String,
    pub pid: u32,
    pub command: String,
    /// None where the events may not be read.
    pub calls_per_s: Option<f64>,
    pub errors_per_s: Option<f64>,
    pub latency: Option<Latency>,
    pub waiting: usize,
    /// How often it was restarted in the last minute, where the service manager tells.
    pub restarts: Option<u32>,
    /// One-way calls that wait for their turn.
    pub backlog: Option<Backlog>,
    /// The least policy and priority of a thread that handles a call of it.
    pub priority: Option<String>,
    pub methods: Vec<Method>,
    pub callers: Vec<Caller>,
}

/// Something that is wrong with a process.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    pub mark: &'static str,
    pub pid: u32,
    pub command: String,
    pub why: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    pub processes: Vec<ProcessRow>,
    pub services: Vec<ServiceRow>,
    pub marks: Vec<Mark>,
    pub measured_s: f64,
    pub lost_events: u64,
    /// Why there are no latencies.
    pub no_latencies: Option<String>,
    /// What a recording does not have; None of what is there at present.
    pub not_recorded: Option<&'static str>,
}

impl Mark {
    /// In a line; names of programs may be left out.
    pub fn text(&self) -> String {
        let process = format!("{} {}", self.pid, self.command);
        format!("{} {}: {}", self.mark, process.trim_end(), self.why)
    }
}

impl ProcessRow {
    pub fn matches(&self, word: &str) -> bool {
        self.pid.to_string().contains(word)
            || self.command.contains(word)
            || self.services.iter().any(|service| service.contains(word))
    }

    /// All that waits.
    pub fn all_waiting(&self) -> usize {
        let oneway = self.backlogs.iter().map(|one| one.calls);
        self.waiting + oneway.sum::<usize>()
    }

    /// A thread may be in the reports of several devices, and waits in one.
    pub fn add_activity(&mut self, activity: Activity) {
        let known = self
            .activities
            .iter_mut()
            .find(|one| one.tid == activity.tid);
        match known {
            Some(known) if known.doing == Doing::Outside => *known = activity,
            Some(_) => {}
            None => self.activities.push(activity),
        }
    }

    /// The latency of the calls that the process served, or, if it only calls, of its own.
    pub fn latency(&self) -> Option<Latency> {
        self.served.or(self.made)
    }
}

impl ServiceRow {
    pub fn matches(&self, word: &str) -> bool {
        self.pid.to_string().contains(word)
            || self.command.contains(word)
            || self.name.contains(word)
    }
}

impl Activity {
    pub fn text(&self) -> String {
        let Some(peer) = &self.with else {
            return match self.doing {
                Doing::Idle => "waits for work".to_string(),
                Doing::Oneway => "handles a one-way call".to_string(),
                _ => "is not in the driver".to_string(),
            };
        };
        let of = match &peer.service {
            Some(name) => format!(" of {name}"),
            None => String::new(),
        };
        let party = format!("{} {}", peer.pid, peer.command);
        let party = party.trim_end();
        let since = time(peer.for_ms);
        let called = called(peer.method.as_deref(), peer.code);
        match (self.doing, peer.tid) {
            (Doing::Waits, 0) => {
                format!("waits {since} for any thread of {party}: {called}{of}")
            }
            (Doing::Waits, tid) => {
                format!("waits {since} for {party}, thread {tid}: {called}{of}")
            }
            _ => {
                let kind = if peer.is_oneway {
                    "one-way call"
                } else {
                    "call"
                };
                let sent = match thread_priority::of_report(&peer.priority).unwrap_or_default() {
                    ordinary if ordinary == Priority::default() => String::new(),
                    priority => format!(", sent at {priority}"),
                };
                format!("handles, for {since}, a {kind} of {party}: {called}{of}{sent}")
            }
        }
    }
}

impl Sample {
    /// Leaves only what `word` is in; marks, those of the processes that are left.
    pub fn filter(&mut self, word: &str) {
        self.processes.retain(|row| row.matches(word));
        self.services.retain(|row| row.matches(word));
        let kept: std::collections::HashSet<u32> =
            self.processes.iter().map(|row| row.pid).collect();
        self.marks.retain(|mark| kept.contains(&mark.pid));
    }

    /// The process that is named by its pid or its command.
    pub fn process(&self, wanted: &str) -> Option<&ProcessRow> {
        let pid = wanted.parse::<u32>().ok();
        self.processes
            .iter()
            .find(|row| Some(row.pid) == pid || row.command == wanted)
    }

    pub fn service(&self, wanted: &str) -> Option<&ServiceRow> {
        let exact = self.services.iter().find(|row| row.name == wanted);
        exact.or_else(|| self.services.iter().find(|row| row.name.contains(wanted)))
    }
}

/// What is gathered for one sample.
pub struct Seen<'a> {
    pub names: &'a HashMap<u64, String>,
    pub known: Arc<Known>,
    pub methods: &'a Methods,
    pub commands: HashMap<u32, String>,
    /// By node.
    pub backlogs: HashMap<u64, Backlog>,
    pub marks: Vec<Mark>,
}

impl Seen<'_> {
    pub fn command(&self, pid: u32) -> String {
        match self.commands.get(&pid) {
            Some(command) => command.clone(),
            None => self.known.command(pid),
        }
    }

    pub fn mark(&mut self, row: &mut ProcessRow, name: &'static str, why: String) {
        mark(&mut self.marks, row, name, why);
    }
}

/// Marks a row, once with each mark, and notes why.
pub fn mark(marks: &mut Vec<Mark>, row: &mut ProcessRow, name: &'static str, why: String) {
    if !row.marks.contains(&name) {
        row.marks.push(name);
    }
    marks.push(Mark {
        mark: name,
        pid: row.pid,
        command: row.command.clone(),
        why,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_at_which_priority_it_was_sent() {
        let text = |priority: &str| {
            let peer = Peer {
                pid: 7,
                tid: 8,
                command: "client".to_string(),
                code: 1,
                method: None,
                is_oneway: false,
                service: None,
                for_ms: 0,
                priority: priority.to_string(),
            };
            let activity = Activity {
                tid: 9,
                doing: Doing::Handles,
                with: Some(peer),
                scheduling: None,
            };
            activity.text()
        };
        assert!(text("1:49").ends_with("code 1, sent at SCHED_FIFO 50"));
        assert!(text("0:110").ends_with("code 1, sent at nice -10"));
        assert!(text("10").ends_with("code 1, sent at nice 10"));
        for ordinary in ["0:120", "0", ""] {
            assert!(text(ordinary).ends_with("code 1"), "{ordinary}");
        }
    }
}
