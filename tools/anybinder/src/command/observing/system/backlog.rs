// SPDX-License-Identifier: Apache-2.0
//! One-way calls that wait for their turn. An object is called one-way by one thread at a time; the
//! driver keeps further calls, and no sender notices, until the space for one-way calls is used up.
use super::known::Known;
use super::text::time;
use anybinder_mount::state_report::{Process, Transaction};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// How many calls that wait are a backlog, and how long one call waits that is.
const MANY: usize = 50;
const LONG_MS: u64 = 1000;
/// Senders that are named.
const NAMED: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sender {
    /// 0 if the driver does not say who it is, as that in C before Linux 6.2.
    pub pid: u32,
    pub command: String,
    pub calls: usize,
}

/// The calls that wait for one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backlog {
    pub node: u64,
    pub service: Option<String>,
    pub calls: usize,
    /// None where the driver does not say it.
    pub oldest_ms: Option<u64>,
    pub bytes: u64,
    /// Percent of the half of the buffer that one-way calls may use; None in a recording.
    pub percent: Option<u64>,
    /// The senders, those with most calls first.
    pub senders: Vec<Sender>,
}

/// What the text of a backlog looks up.
pub struct Lookups<'a> {
    pub names: &'a HashMap<u64, String>,
    pub command: &'a dyn Fn(u32) -> String,
    /// How long a transaction waits.
    pub age_ms: &'a mut dyn FnMut(&Transaction) -> Option<u64>,
}

fn senders(calls: &[Transaction], command: &dyn Fn(u32) -> String) -> Vec<Sender> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for call in calls {
        *counts.entry(call.from_pid).or_default() += 1;
    }
    let mut senders: Vec<Sender> = counts
        .into_iter()
        .map(|(pid, calls)| Sender {
            pid,
            command: if pid > 0 { command(pid) } else { String::new() },
            calls,
        })
        .collect();
    senders.sort_by_key(|one| std::cmp::Reverse(one.calls));
    senders
}

/// The objects of a process that calls wait for; the longest queue first.
pub fn of(process: &Process, buffer_size: Option<u64>, lookups: &mut Lookups) -> Vec<Backlog> {
    let nodes = process.nodes.iter().filter(|node| !node.pending.is_empty());
    let mut backlogs: Vec<Backlog> = nodes
        .map(|node| {
            let bytes = node.pending.iter().map(|call| call.bytes).sum();
            Backlog {
                node: node.id,
                service: lookups.names.get(&node.id).cloned(),
                calls: node.pending.len(),
                oldest_ms: node.pending.iter().filter_map(&mut *lookups.age_ms).max(),
                bytes,
                percent: buffer_size.map(|size| bytes * 100 / (size / 2).max(1)),
                senders: senders(&node.pending, lookups.command),
            }
        })
        .collect();
    backlogs.sort_by_key(|one| std::cmp::Reverse(one.calls));
    backlogs
}

/// The objects of a process that calls wait for, in a single look: with the ages that the driver
/// says.
pub fn at_a_look(process: &Process, names: &HashMap<u64, String>, known: &Known) -> Vec<Backlog> {
    if process.nodes.iter().all(|node| node.pending.is_empty()) {
        return Vec::new();
    }
    let mut lookups = Lookups {
        names,
        command: &|pid| known.command(pid),
        age_ms: &mut |call| call.elapsed_ms,
    };
    of(process, known.buffer_size(process.pid), &mut lookups)
}

impl Backlog {
    /// More than a call that just came.
    pub fn is_long(&self, hanging_ms: u64) -> bool {
        self.calls >= MANY || self.oldest_ms >= Some(LONG_MS.min(hanging_ms))
    }

    fn of_whom(&self) -> String {
        let known = self.senders.iter().filter(|one| one.pid > 0);
        let named = known.take(NAMED).map(|one| {
            let name = match one.command.as_str() {
                "" | "-" => one.pid.to_string(),
                command => format!("{} {command}", one.pid),
            };
            match self.senders.len() {
                1 => name,
                _ => format!("{name} ({})", one.calls),
            }
        });
        let named: Vec<String> = named.collect();
        match (named.is_empty(), self.senders.len() > NAMED) {
            (true, _) => String::new(),
            (false, false) => format!(" of {}", named.join(", ")),
            (false, true) => format!(" of {} processes, {}", self.senders.len(), named.join(", ")),
        }
    }

    pub fn text(&self) -> String {
        let (calls, wait) = match self.calls {
            1 => ("1 one-way call".to_string(), "waits"),
            calls => (format!("{calls} one-way calls"), "wait"),
        };
        let at = match &self.service {
            Some(name) => name.clone(),
            None => format!("node {}", self.node),
        };
        let oldest = self
            .oldest_ms
            .map_or_else(String::new, |ms| format!(", the oldest for {}", time(ms)));
        let share = self.percent.map_or_else(String::new, |percent| {
            format!(", {percent} % of the space for one-way calls")
        });
        format!(
            "{calls}{} {wait} for {at}{oldest}; {} bytes{share}",
            self.of_whom(),
            self.bytes,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_mount::state_report;

    const STATE: &str = "\
proc 20
context binder
  node 7: u0 c0 hs 1 hw 1 ls 2 lw 0 is 1 iw 1 tr 1 proc 10
    pending async transaction 3: 00 from 10:10 to 20:0 code 1 flags 11 elapsed 4200ms \
     node 7 size 600:8
    pending async transaction 4: 00 from 11:11 to 20:0 code 1 flags 11 elapsed 90ms \
     node 7 size 600:0
    pending async transaction 5: 00 from 11:11 to 20:0 code 1 flags 11 elapsed 80ms \
     node 7 size 600:0
  node 8: u8 c0 hs 1 hw 1 ls 2 lw 0 is 1 iw 1 tr 1 proc 10
    pending async transaction 9: 00 from 0:0 to 20:0 code 1 flags 11 pri 0 r0
";

    #[test]
    fn length_age_senders_and_share_are_told() {
        let names = HashMap::from([(7, "a.service".to_string())]);
        let mut lookups = Lookups {
            names: &names,
            command: &|pid| format!("p{pid}"),
            age_ms: &mut |call| call.elapsed_ms,
        };
        let all = of(&state_report::parse(STATE)[0], Some(18_080), &mut lookups);
        assert_eq!(
            all[0].text(),
            "3 one-way calls of 11 p11 (2), 10 p10 (1) wait for a.service, the oldest for 4.2 s; \
             1808 bytes, 20 % of the space for one-way calls"
        );
        assert!(all[0].is_long(2000));
        // A driver that says neither who nor when.
        assert_eq!(
            all[1].text(),
            "1 one-way call waits for node 8; 0 bytes, 0 % of the space for one-way calls"
        );
        assert!(!all[1].is_long(1));
    }
}
