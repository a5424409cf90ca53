// SPDX-License-Identifier: Apache-2.0
//! Policies and priorities of threads, calls and nodes, as the kernel writes them.
use anybinder_events::event::Priority;

/// Fields of `/proc/PID/task/TID/stat`, counted behind the name of the program.
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;

fn parse(stat: &str) -> Option<Priority> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let policy = fields.get(POLICY)?.parse().ok()?;
    let value = fields.get(match policy {
        1 | 2 => RT_PRIORITY,
        _ => NICE,
    })?;
    let value = value.parse().ok()?;
    Some(Priority { policy, value })
}

/// The priority of a thread at this moment, inherited or its own. None if it has ended.
pub fn of_thread(pid: u32, tid: u32) -> Option<Priority> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
}

/// The priority of a call, or the least of a node: `POLICY:PRIORITY` on the kernel's scale, with
/// the driver in C a nice value. None if it has none.
pub fn of_report(text: &str) -> Option<Priority> {
    match text.split_once(':') {
        Some((policy, rank)) => Priority::from_rank(policy.parse().ok()?, rank.parse().ok()?),
        None => Some(Priority {
            policy: 0,
            value: text.parse().ok()?,
        }),
    }
}

/// The priorities of a process: one word, or `mixed`.
pub fn summary<'a>(threads: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = threads.collect();
    words.sort_unstable();
    words.dedup();
    match words[..] {
        [] => "-".to_string(),
        [word] => word.to_string(),
        _ => "mixed".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_words() {
        let stat = |nice, rt, policy| {
            let rest = "0 ".repeat(20);
            format!("7 (a) b) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 20 {nice} {rest}{rt} {policy} 0")
        };
        let word = |priority: Option<Priority>| priority.map(Priority::word);
        assert_eq!(word(parse(&stat(-10, 0, 0))).as_deref(), Some("n-10"));
        assert_eq!(word(parse(&stat(0, 50, 1))).as_deref(), Some("f50"));
        assert_eq!(parse("7 (gone"), None);
        assert_eq!(word(of_report("1:49")).as_deref(), Some("f50"));
        assert_eq!(word(of_report("0:110")).as_deref(), Some("n-10"));
        assert_eq!(word(of_report("-5")).as_deref(), Some("n-5"));
        assert_eq!(of_report("0:247"), None);
        assert_eq!(of_report(""), None);
        assert_eq!(summary(["n0", "f50", "n0"].into_iter()), "mixed");
        assert_eq!(summary(["n0", "n0"].into_iter()), "n0");
        let own = of_thread(
            std::process::id(),
            rustix::thread::gettid().as_raw_pid() as u32,
        );
        assert!(own.is_some());
    }
}
