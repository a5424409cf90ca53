// SPDX-License-Identifier: Apache-2.0
//! `binder_logs/state` and the transaction logs, as all drivers write them: who has which objects,
//! handles and threads, and which transactions have not ended.
use crate::binderfs::debugfs;
use crate::mount::Mount;
use crate::served::STATS_ADVICE;
use anybinder_cli::error::Result;
use serde::Serialize;
use std::collections::HashMap;

/// The looper flags of a thread that serves calls: registered, or entered by itself.
const LOOPER_SERVES: u32 = 0x03;
/// The state of a looper that serves, has left again, or had no right to begin.
const LOOPER_SERVED: u32 = 0x0f;
/// The state of a looper that has left again.
const LOOPER_EXITED: u32 = 0x04;
/// The state of a looper that waits for work.
const LOOPER_WAITING: u32 = 0x10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Transaction {
    pub id: u64,
    pub from_pid: u32,
    pub from_tid: u32,
    pub to_pid: u32,
    /// 0 as long as no thread has it.
    pub to_tid: u32,
    pub code: u32,
    pub is_oneway: bool,
    pub is_reply: bool,
    /// None on drivers before Linux 6.2, which do not say it.
    pub elapsed_ms: Option<u64>,
    pub node: Option<u64>,
    /// The bytes of data and offsets, where the buffer is this process's.
    pub bytes: u64,
    /// The priority at which it is handled, as the driver prints it.
    pub priority: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    pub tid: u32,
    pub looper: u32,
    /// The innermost call that it is in is one that it made: it waits for the reply.
    pub awaits_reply: bool,
    /// Calls of this thread that were not replied to. Both lists begin with the innermost call.
    pub outgoing: Vec<Transaction>,
    /// Calls that this thread handles.
    pub incoming: Vec<Transaction>,
}

/// An object of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    pub id: u64,
    /// The processes that have a handle of it.
    pub holders: Vec<u32>,
    /// One-way calls that wait for their turn.
    pub pending: Vec<Transaction>,
    /// The least priority of a thread that handles a call of it, as `policy:priority`, if the
    /// driver prints it.
    pub priority: Option<String>,
}

/// A handle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Handle {
    pub number: u32,
    pub node: u64,
    /// The owner of the object has died.
    pub is_dead: bool,
}

/// A process that has a device open; one for each open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Process {
    pub pid: u32,
    /// The device's name.
    pub context: String,
    pub threads: Vec<Thread>,
    pub nodes: Vec<Node>,
    pub handles: Vec<Handle>,
    /// Bytes in buffers that were not freed yet.
    pub buffer_bytes: u64,
    pub buffers: u32,
    /// The buffers that belong to no transaction: of one-way calls that are handled, and what was
    /// not freed.
    pub delivered: u32,
    /// A notice of a death was delivered, and not acknowledged yet.
    pub has_dead_notice: bool,
    /// Transactions that wait for a thread of the process.
    pub pending: Vec<Transaction>,
}

impl Process {
    /// How many threads handle a one-way call.
    pub fn oneway_threads(&self) -> usize {
        let away = self.threads.iter().filter(|thread| thread.is_away());
        away.count().min(self.delivered as usize)
    }
}

impl Thread {
    pub fn is_waiting(&self) -> bool {
        self.looper & LOOPER_WAITING != 0
    }

    /// The thread serves calls, or did, also if it broke a rule of that.
    pub fn has_served(&self) -> bool {
        self.looper & LOOPER_SERVED != 0
    }

    /// The thread serves calls, but it neither waits nor is it in a transaction. The driver keeps
    /// the buffer of a one-way call that is handled, not the thread.
    pub fn is_away(&self) -> bool {
        let is_in_none = self.incoming.is_empty() && self.outgoing.is_empty();
        let serves = self.looper & LOOPER_SERVES != 0 && self.looper & LOOPER_EXITED == 0;
        serves && is_in_none && !self.is_waiting()
    }
}

/// A line of a transaction log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Logged {
    pub id: u64,
    /// `call`, `async` or `reply`.
    pub kind: String,
    pub from_pid: u32,
    pub to_pid: u32,
    pub context: String,
    pub node: u64,
    pub size: u64,
    /// The line as it is.
    pub line: String,
}

/// The text of a file of `binder_logs`. Fails if the user may not read it.
pub fn read_log(mount: &Mount, name: &str) -> Result<String> {
    let path = mount.file("binder_logs").join(name);
    let read = std::fs::read(&path).or_else(|err| match err.kind() {
        // A daemon's user that may not read is not helped by the kernel's own driver.
        std::io::ErrorKind::PermissionDenied => Err(err),
        _ => std::fs::read(debugfs(mount).join(name)).map_err(|_| err),
    });
    let text = read.map_err(|err| mount.unreadable(&path, &err, STATS_ADVICE))?;
    Ok(String::from_utf8(text)
        .unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned()))
}

/// The processes in `binder_logs/state`.
pub fn processes(mount: &Mount) -> Result<Vec<Process>> {
    Ok(parse(&read_log(mount, "state")?))
}

/// The processes that have transactions, with what has to do with these, in
/// `binder_logs/transactions`: a small part of the state.
pub fn busy_processes(mount: &Mount) -> Result<Vec<Process>> {
    Ok(parse(&read_log(mount, "transactions")?))
}

/// The last transactions (`transaction_log`) or failed ones (`failed_transaction_log`).
pub fn logged(mount: &Mount, name: &str) -> Result<Vec<Logged>> {
    Ok(read_log(mount, name)?
        .lines()
        .filter_map(parse_logged)
        .collect())
}

/// The number after a word: `desc 5` of `ref 1: desc 5 node 2`.
fn after<T: std::str::FromStr>(words: &[&str], name: &str) -> Option<T> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1)?.trim_end_matches(':').parse().ok()
}

/// `12:34`, a process and a thread.
fn pair(words: &[&str], name: &str) -> (u32, u32) {
    let at = words.iter().position(|word| *word == name);
    let text = at.and_then(|at| words.get(at + 1)).unwrap_or(&"0:0");
    let (pid, tid) = text.split_once(':').unwrap_or((text, "0"));
    (pid.parse().unwrap_or(0), tid.parse().unwrap_or(0))
}

fn transaction(words: &[&str]) -> Option<Transaction> {
    let (from_pid, from_tid) = pair(words, "from");
    let (to_pid, to_tid) = pair(words, "to");
    let code = words.iter().position(|word| *word == "code")?;
    let code = u32::from_str_radix(words.get(code + 1)?, 16).ok()?;
    let flags = words.iter().position(|word| *word == "flags");
    let flags = flags.and_then(|at| u32::from_str_radix(words.get(at + 1)?, 16).ok());
    let elapsed = words.iter().position(|word| *word == "elapsed");
    let elapsed = elapsed.and_then(|at| words.get(at + 1)?.strip_suffix("ms")?.parse().ok());
    Some(Transaction {
        id: after(words, "transaction")?,
        from_pid,
        from_tid,
        to_pid,
        to_tid,
        code,
        is_oneway: flags.unwrap_or(0) & 1 != 0,
        is_reply: words.contains(&"r1"),
        elapsed_ms: elapsed,
        node: after(words, "node"),
        bytes: buffer_size(words),
        priority: after(words, "pri").unwrap_or_default(),
    })
}

/// The bytes of a buffer: `size 16:8:0`.
fn buffer_size(words: &[&str]) -> u64 {
    let at = words.iter().position(|word| *word == "size");
    let text = at.and_then(|at| words.get(at + 1)).unwrap_or(&"0");
    text.split(':')
        .filter_map(|one| one.parse::<u64>().ok())
        .sum()
}

/// Where the indented lines belong.
enum Within {
    Process,
    Thread,
    Node,
}

impl Process {
    /// Adds what a line of the process says.
    fn add_line(&mut self, within: &mut Within, words: &[&str]) {
        match words {
            ["thread", tid, ..] => {
                *within = Within::Thread;
                let looper: Option<String> = after(words, "l");
                let looper = looper.and_then(|hex| u32::from_str_radix(&hex, 16).ok());
                self.threads.push(Thread {
                    tid: tid.trim_end_matches(':').parse().unwrap_or(0),
                    looper: looper.unwrap_or(0),
                    ..Thread::default()
                });
            }
            ["node", id, ..] => {
                *within = Within::Node;
                let holders = words.iter().position(|word| *word == "proc");
                let holders = holders.map_or(&[][..], |at| &words[at + 1..]);
                self.nodes.push(Node {
                    id: id.trim_end_matches(':').parse().unwrap_or(0),
                    holders: holders.iter().filter_map(|pid| pid.parse().ok()).collect(),
                    pending: Vec::new(),
                    priority: after(&words[..words.len().min(6)], "pri"),
                });
            }
            ["ref", ..] => self.handles.push(Handle {
                number: after(words, "desc").unwrap_or(0),
                node: after(words, "node").unwrap_or(0),
                is_dead: words.contains(&"dead"),
            }),
            ["buffer", ..] => {
                self.buffers += 1;
                self.buffer_bytes += buffer_size(words);
                self.delivered += u32::from(words.last() == Some(&"delivered"));
            }
            ["has", "delivered", "dead", ..] => self.has_dead_notice = true,
            _ => self.pending.extend(transaction(words)),
        }
    }

    /// Adds a transaction of the thread or the node whose line came last.
    fn add_inner_line(&mut self, within: &Within, words: &[&str]) {
        let Some(found) = transaction(words) else {
            return;
        };
        let thread = self.threads.last_mut();
        match (within, words[0], thread, self.nodes.last_mut()) {
            (Within::Node, _, _, Some(node)) => node.pending.push(found),
            (Within::Thread, "outgoing", Some(thread), _) => {
                let is_innermost = thread.outgoing.is_empty() && thread.incoming.is_empty();
                thread.awaits_reply |= is_innermost && !found.is_oneway;
                thread.outgoing.push(found);
            }
            (Within::Thread, "incoming", Some(thread), _) => thread.incoming.push(found),
            _ => self.pending.push(found),
        }
    }
}

/// What a report says.
pub fn parse(state: &str) -> Vec<Process> {
    let mut rows: Vec<Process> = Vec::new();
    let mut within = Within::Process;
    let mut words: Vec<&str> = Vec::new();
    for line in state.split('\n') {
        let depth = line.bytes().take_while(|byte| *byte == b' ').count();
        words.clear();
        words.extend(line[depth..].split(' ').filter(|word| !word.is_empty()));
        match (depth, &words[..], rows.last_mut()) {
            (0, ["proc", pid], _) => {
                within = Within::Process;
                rows.push(Process {
                    pid: pid.parse().unwrap_or(0),
                    ..Process::default()
                });
            }
            (0, ["context", name], Some(row)) => row.context = (*name).to_string(),
            (1 | 2, words, Some(row)) => row.add_line(&mut within, words),
            (3.., words, Some(row)) => row.add_inner_line(&within, words),
            _ => {}
        }
    }
    share_nodes(&mut rows);
    rows
}

/// A call is in the lines of both sides, and only those of its receiver name the node.
fn share_nodes(rows: &mut [Process]) {
    let mut nodes = HashMap::new();
    for thread in rows.iter().flat_map(|row| &row.threads) {
        let named = thread
            .incoming
            .iter()
            .filter_map(|one| Some((one.id, one.node?)));
        nodes.extend(named);
    }
    for thread in rows.iter_mut().flat_map(|row| &mut row.threads) {
        for call in &mut thread.outgoing {
            call.node = call.node.or_else(|| nodes.get(&call.id).copied());
        }
    }
}

/// `5: call  from 10:11 to 20:0 context binder node 3 handle 1 size 4:0 ret 0/0 l=0`
fn parse_logged(line: &str) -> Option<Logged> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(Logged {
        id: words.first()?.trim_end_matches(':').parse().ok()?,
        kind: (*words.get(1)?).to_string(),
        from_pid: pair(&words, "from").0,
        to_pid: pair(&words, "to").0,
        context: after(&words, "context").unwrap_or_default(),
        node: after(&words, "node").unwrap_or(0),
        size: buffer_size(&words),
        line: line.trim().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = include_str!("state_sample.txt");

    #[test]
    fn a_state_is_read() {
        let rows = parse(STATE);
        assert_eq!(rows.len(), 2);
        let one = &rows[0];
        assert_eq!(
            (one.pid, one.context.as_str(), one.threads.len()),
            (71, "binder", 2)
        );
        assert!(one.threads[0].is_waiting() && !one.threads[1].is_waiting());
        let call = &one.threads[1].incoming[0];
        assert_eq!(
            (call.code, call.elapsed_ms, call.node),
            (0x1f, Some(12), Some(3))
        );
        let sent = &one.threads[1].outgoing[0];
        assert_eq!((sent.to_pid, sent.is_oneway, sent.node), (70, true, None));
        assert_eq!(one.nodes[0].holders, [70, 69]);
        let pending = &one.nodes[0].pending[0];
        assert_eq!((pending.id, pending.bytes), (43, 8));
        assert_eq!(pending.priority, "0");
        assert_eq!(one.nodes[0].priority, None);
        assert_eq!(one.nodes[1].priority.as_deref(), Some("1:98"));
        assert_eq!(
            one.handles[1],
            Handle {
                number: 4,
                node: 9,
                is_dead: true
            }
        );
        assert_eq!((one.buffers, one.buffer_bytes), (1, 12));
        assert_eq!((one.delivered, one.oneway_threads()), (1, 0));
        assert!(one.has_dead_notice && !rows[1].has_dead_notice);
        assert_eq!((one.pending.len(), one.pending[0].elapsed_ms), (1, None));
        assert!(rows[1].threads[0].awaits_reply && !one.threads[1].awaits_reply);
        assert_eq!(rows[1].threads[0].outgoing[0].node, Some(3));
        assert_eq!((rows[1].pid, rows[1].context.as_str()), (70, "hwbinder"));
    }
}
