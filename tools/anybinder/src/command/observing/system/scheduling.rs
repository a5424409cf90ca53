// SPDX-License-Identifier: Apache-2.0
//! Scheduling policies and priorities as short words: `n-10` is a nice value, `f50` is `SCHED_FIFO`
//! and `r50` is `SCHED_RR` with a real-time priority.

/// Fields of `/proc/PID/task/TID/stat`, counted behind the name of the program.
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;
/// On the kernel's scale real-time priorities are below these, from 99 down.
const NICE_BASE: i32 = 120;
const NICE_MAX: i32 = 19;

fn word(policy: u32, nice: i32, rt_priority: i32) -> String {
    match policy {
        1 => format!("f{rt_priority}"),
        2 => format!("r{rt_priority}"),
        3 => format!("b{nice}"),
        5 => "idle".to_string(),
        6 => "dl".to_string(),
        _ => format!("n{nice}"),
    }
}

fn parse(stat: &str) -> Option<String> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let policy = u32::try_from(number(POLICY)?).ok()?;
    Some(word(policy, number(NICE)?, number(RT_PRIORITY)?))
}

/// That of a thread at this moment, inherited or its own. None if it has ended.
pub fn of_thread(pid: u32, tid: u32) -> Option<String> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
}

/// The least priority of a node, `policy:priority` on the kernel's scale. None if it has none.
pub fn minimum(text: &str) -> Option<String> {
    let (policy, rank) = text.split_once(':')?;
    let (policy, rank): (u32, i32) = (policy.parse().ok()?, rank.parse().ok()?);
    let nice = rank - NICE_BASE;
    (nice <= NICE_MAX).then(|| word(policy, nice, 99 - rank))
}

/// Those of a process: one word, or `mixed`.
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
        assert_eq!(parse(&stat(-10, 0, 0)).as_deref(), Some("n-10"));
        assert_eq!(parse(&stat(0, 50, 1)).as_deref(), Some("f50"));
        assert_eq!(parse("7 (gone"), None);
        assert_eq!(minimum("1:49").as_deref(), Some("f50"));
        assert_eq!(minimum("0:110").as_deref(), Some("n-10"));
        assert_eq!(minimum("0:247"), None);
        assert_eq!(summary(["n0", "f50", "n0"].into_iter()), "mixed");
        assert_eq!(summary(["n0", "n0"].into_iter()), "n0");
        let own = of_thread(
            std::process::id(),
            rustix::thread::gettid().as_raw_pid() as u32,
        );
        assert!(own.is_some());
    }
}
