// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a process, which is marked.
use super::rows::{mark, Mark, ProcessRow, Sample, Seen};
use crate::command::observing::system::meter::{Calls, Measured};
use crate::command::observing::system::text::time;
use crate::command::observing::system::waits;
use anybinder_client::restarts::{by_process, Restarted};
use anybinder_mount::binderfs::ProcessStats;
use anybinder_mount::state_report::{Process, Thread};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A call that waits for a thread for less is only unlucky.
const NO_THREAD_MS: u64 = 100;
/// Less than so much of the space for one-way calls is too little.
const LITTLE: u64 = 16 * 1024;
/// References leak if there are so many, and none of the last looks found fewer than the one before
/// it, and so many found more.
const LEAK_MIN: u32 = 100;
const LEAK_LOOKS: usize = 8;
const LEAK_GROWTHS: usize = 3;

/// A service that is restarted so often in a minute crashes.
const MANY_RESTARTS: u32 = 3;

/// The marks, causes before what they cause.
const ORDER: [&str; 10] = [
    "RESTARTS",
    "FROZEN",
    "NO THREAD",
    "BACKLOG",
    "LEAK",
    "NO SPACE",
    "DEAD NOTICE",
    "PRIORITY",
    "CIRCLE",
    "HANGING",
];

/// Causes first.
pub fn sort(marks: &mut [Mark]) {
    marks.sort_by_key(|mark| ORDER.iter().position(|name| *name == mark.mark));
}

/// Adds how often services were restarted, and marks those that crash again and again.
pub fn add_restarts(sample: &mut Sample, services: &[Restarted]) {
    let of_processes = by_process(services);
    for row in &mut sample.processes {
        let restarts = of_processes.get(&row.pid).copied().unwrap_or(0);
        row.restarts = Some(restarts);
        if restarts >= MANY_RESTARTS {
            let why = format!("a service of it was restarted {restarts} times in the last minute");
            mark(&mut sample.marks, row, "RESTARTS", why);
        }
    }
    let of_services = services.iter().map(|one| (one.name.as_str(), one.restarts));
    let of_services: HashMap<&str, u32> = of_services.collect();
    for row in &mut sample.services {
        row.restarts = of_services.get(row.name.as_str()).copied();
    }
    sort(&mut sample.marks);
}

/// How many references each process had at the last looks.
#[derive(Default)]
pub struct References(HashMap<u32, VecDeque<u32>>);

impl References {
    pub fn look(&mut self, stats: &[ProcessStats]) {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        for one in stats {
            *counts.entry(one.pid).or_default() += one.refs;
        }
        self.0.retain(|pid, _| counts.contains_key(pid));
        for (pid, count) in counts {
            let looks = self.0.entry(pid).or_default();
            // Growth begins with the fewest.
            if looks.back().is_some_and(|last| *last > count) {
                looks.clear();
            }
            looks.push_back(count);
            if looks.len() > LEAK_LOOKS {
                looks.pop_front();
            }
        }
    }

    /// How many a process that leaks had first, and has.
    fn leak(&self, pid: u32) -> Option<(u32, u32)> {
        let looks = self.0.get(&pid)?;
        let (first, last) = (*looks.front()?, *looks.back()?);
        let pairs = looks.iter().zip(looks.iter().skip(1));
        let growths = pairs.filter(|(before, after)| before < after).count();
        (growths >= LEAK_GROWTHS && last >= LEAK_MIN).then_some((first, last))
    }
}

/// The process whose objects most handles of a process are for, and how many they are.
fn most_handles(pid: u32, processes: &[Process]) -> Option<(u32, usize)> {
    let nodes = |one: &Process| one.nodes.iter().map(|node| node.id).collect::<Vec<_>>();
    let owned = processes
        .iter()
        .flat_map(|one| nodes(one).into_iter().map(|id| (id, one.pid)));
    let owners: HashMap<u64, u32> = owned.collect();
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let own = processes.iter().filter(|one| one.pid == pid);
    for handle in own.flat_map(|one| &one.handles) {
        if let Some(owner) = owners.get(&handle.node) {
            *counts.entry(*owner).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(pid, count)| (*count, *pid))
}

pub fn mark_leaks(
    rows: &mut BTreeMap<u32, ProcessRow>,
    references: &References,
    processes: &[Process],
    seen: &mut Seen,
) {
    for (pid, row) in rows {
        let Some((first, last)) = references.leak(*pid) else {
            continue;
        };
        let mut why = format!("its references grow look after look, from {first} to {last}");
        if let Some((owner, count)) = most_handles(*pid, processes) {
            let owner = format!("{owner} {}", seen.command(owner));
            why += &format!("; {count} are of objects of {}", owner.trim_end());
        }
        seen.mark(row, "LEAK", why);
    }
}

/// The processes that have not acknowledged a notice of a death.
pub fn dead_notices(processes: &[Process]) -> HashSet<u32> {
    let with = processes.iter().filter(|one| one.has_dead_notice);
    with.map(|one| one.pid).collect()
}

pub fn mark_dead_notices<'a>(
    rows: &mut BTreeMap<u32, ProcessRow>,
    pids: impl Iterator<Item = &'a u32>,
    marks: &mut Vec<Mark>,
) {
    for pid in pids {
        if let Some(row) = rows.get_mut(pid) {
            let why = "it has not acknowledged a notice of a death, at two looks".to_string();
            mark(marks, row, "DEAD NOTICE", why);
        }
    }
}

/// Processes that serve calls less urgently than their callers run; of the callers, the one with
/// most such calls.
pub fn mark_priorities(rows: &mut BTreeMap<u32, ProcessRow>, measured: &Measured, seen: &mut Seen) {
    let mut served: HashMap<u32, HashMap<u32, Calls>> = HashMap::new();
    for (key, calls) in measured.calls.iter().filter(|one| one.1.not_inherited > 0) {
        let callers = served.entry(key.to).or_default();
        *callers.entry(key.from).or_default() += calls;
    }
    for (pid, row) in rows {
        let callers = served.get(pid).into_iter().flatten();
        let most = callers.max_by_key(|(from, calls)| (calls.not_inherited, **from));
        let Some((from, calls)) = most else {
            continue;
        };
        if let Some((caller, served)) = calls.priorities {
            let count = match calls.not_inherited {
                1 => "1 call".to_string(),
                count => format!("{count} calls"),
            };
            let party = format!("{from} {}", seen.command(*from));
            let party = party.trim_end();
            let why = format!("it served {count} of {party} at {served}, made at {caller}");
            seen.mark(row, "PRIORITY", why);
        }
    }
}

/// `oldest_ms`: the age of the oldest call that waits for a thread.
pub fn mark_no_thread(
    row: &mut ProcessRow,
    process: &Process,
    oldest_ms: Option<u64>,
    hanging_ms: u64,
    marks: &mut Vec<Mark>,
) {
    // A thread that waits for a reply does not take other calls.
    let is_idle =
        |one: &&Thread| one.is_waiting() && waits::awaited(one).or(waits::handled(one)).is_none();
    let has_idle = process.threads.iter().any(|one| is_idle(&one));
    if has_idle || oldest_ms < Some(NO_THREAD_MS.min(hanging_ms)) {
        return;
    }
    let calls = match process.pending.len() {
        1 => "1 call waits".to_string(),
        calls => format!("{calls} calls wait"),
    };
    let all = row
        .threads
        .map_or_else(String::new, |all| format!(" of {all}"));
    let why = format!(
        "{calls} for a thread, since {}; {}{all} handle a call",
        time(oldest_ms.unwrap_or(0)),
        row.busy,
    );
    mark(marks, row, "NO THREAD", why);
}

/// Why no thread of a process runs.
fn halted(pid: u32) -> Option<&'static str> {
    let read = |path: String| std::fs::read_to_string(path).ok();
    let stat = read(format!("/proc/{pid}/stat"))?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    if matches!(state, 'T' | 't') {
        return Some("it is stopped");
    }
    let groups = read(format!("/proc/{pid}/cgroup"))?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let events = read(format!("/sys/fs/cgroup{group}/cgroup.events"))?;
    let is_frozen = events.lines().any(|line| line == "frozen 1");
    is_frozen.then_some("its cgroup is frozen")
}

/// Processes that calls wait for, and that do not run.
pub fn mark_frozen(row: &mut ProcessRow, oldest_ms: Option<u64>, marks: &mut Vec<Mark>) {
    let backlogs = row.backlogs.iter().filter_map(|one| one.oldest_ms);
    if backlogs.max().max(oldest_ms) < Some(NO_THREAD_MS) {
        return;
    }
    if let Some(why) = halted(row.pid) {
        let why = format!("{why}, and {} calls wait for it", row.all_waiting());
        mark(marks, row, "FROZEN", why);
    }
}

/// Buffers of which more than four fifths are used, or the space for one-way calls.
pub fn mark_space(
    rows: &mut BTreeMap<u32, ProcessRow>,
    stats: &[ProcessStats],
    marks: &mut Vec<Mark>,
) {
    // With several devices, of the one with least space.
    let mut free: HashMap<u32, (u64, u32)> = HashMap::new();
    for one in stats.iter().filter(|one| one.buffers > 0) {
        let (least, opens) = free.entry(one.pid).or_insert((u64::MAX, 0));
        *least = one.free_async.min(*least);
        *opens += 1;
    }
    for (pid, row) in rows {
        let (Some(used), Some(size)) = (row.buffer_bytes, row.buffer_size) else {
            continue;
        };
        let little = |(free, opens): &(u64, u32)| match opens {
            1 => *free < LITTLE.max(size / 10),
            _ => *free < LITTLE,
        };
        let why = match free.get(pid) {
            _ if used > size / 5 * 4 => format!("{used} of {size} bytes of its buffer are used"),
            Some(one) if little(one) => format!("{} bytes are left for one-way calls", one.0),
            _ => continue,
        };
        mark(marks, row, "NO SPACE", why);
    }
}

pub fn mark_circles(
    rows: &mut BTreeMap<u32, ProcessRow>,
    processes: &[Process],
    marks: &mut Vec<Mark>,
) {
    for circle in waits::circles(processes) {
        let pids = waits::pids(&circle);
        let round = pids.iter().chain(pids.first());
        let round: Vec<String> = round.map(u32::to_string).collect();
        let why = format!("waits in a circle: {}", round.join(" -> "));
        for pid in pids {
            if let Some(row) = rows.get_mut(&pid) {
                mark(marks, row, "CIRCLE", why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(references: &mut References, count: u32) {
        let one = ProcessStats {
            pid: 7,
            refs: count,
            ..ProcessStats::default()
        };
        references.look(&[one]);
    }

    #[test]
    fn references_that_grow_look_after_look_leak() {
        let mut references = References::default();
        for count in [97, 98, 98, 99] {
            look(&mut references, count);
        }
        assert_eq!(references.leak(7), None);
        look(&mut references, 100);
        assert_eq!(references.leak(7), Some((97, 100)));
        // A process that gives some back does not leak.
        look(&mut references, 99);
        look(&mut references, 120);
        assert_eq!(references.leak(7), None);
        assert_eq!(references.leak(8), None);
    }
}
