// SPDX-License-Identifier: Apache-2.0
//! The levels that each client process may have, and its header word, by what it sent so far. A
//! process has one libbinder, so that a call whose meaning is certain tells how to read the others.
use super::set::LevelSet;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// How many processes are remembered; the oldest are forgotten first.
const MAX_PROCESSES: usize = 4096;

/// For so long a number is taken for that of the process that was seen last: no number is used
/// again within it.
const TRUSTED: Duration = Duration::from_millis(10);

struct Known {
    /// The start time of the process: the number may be used again.
    started: u64,
    /// When that was seen.
    seen: Instant,
    levels: LevelSet,
    word: Option<i32>,
    /// When it was learned, as a number of this.
    at: u64,
}

#[derive(Default)]
pub struct Processes {
    known: HashMap<i32, Known>,
    learned: u64,
}

/// When a process started, in ticks since boot; None if it cannot be seen from here.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything. Field 22, the 20th after the name.
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

impl Known {
    /// Whether the number is still that of the process.
    fn is_still(&mut self, pid: i32) -> bool {
        if self.seen.elapsed() < TRUSTED {
            return true;
        }
        let is_still = start_time(pid) == Some(self.started);
        if is_still {
            self.seen = Instant::now();
        }
        is_still
    }
}

impl Processes {
    /// The levels that a process may have, of those that its call allows. What was learned is
    /// dropped if it contradicts the call: the process has executed another program.
    pub fn narrow(&mut self, pid: i32, levels: LevelSet) -> LevelSet {
        if levels.is_single() {
            return levels;
        }
        let Some(known) = self.known.get_mut(&pid) else {
            return levels;
        };
        let both = known.levels.intersection(levels);
        match both.is_empty() || !known.is_still(pid) {
            true => levels,
            false => both,
        }
    }

    /// The levels and the header word of a process, as far as it told.
    pub fn of(&mut self, pid: i32) -> Option<(LevelSet, Option<i32>)> {
        let known = self.known.get_mut(&pid)?;
        known.is_still(pid).then_some((known.levels, known.word))
    }

    /// Remembers that a process sent what only these levels send, with this header word.
    pub fn learn(&mut self, pid: i32, levels: LevelSet, word: Option<i32>) {
        if let Some(known) = self.known.get_mut(&pid) {
            let is_new = known.levels.intersection(levels) != known.levels || known.word != word;
            if !is_new && known.is_still(pid) {
                return;
            }
        }
        // The levels of a process in another pid namespace (pid 0) are not known.
        let Some(started) = start_time(pid) else {
            return;
        };
        let known = self.known.get(&pid).filter(|one| one.started == started);
        let both = known.map_or(levels, |one| one.levels.intersection(levels));
        let levels = if both.is_empty() { levels } else { both };
        self.learned += 1;
        let at = self.learned;
        self.known.insert(
            pid,
            Known {
                started,
                seen: Instant::now(),
                levels,
                word,
                at,
            },
        );
        if self.known.len() > MAX_PROCESSES {
            self.forget_older_half();
        }
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<u64> = self.known.values().map(|known| known.at).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        self.known.retain(|_, known| known.at >= middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_driver::level::Level;

    fn set(levels: &[Level]) -> LevelSet {
        let mut all = LevelSet::default();
        levels.iter().for_each(|level| all.insert(*level));
        all
    }

    #[test]
    fn a_process_is_remembered_and_the_next_one_is_not_taken_for_it() {
        let mut processes = Processes::default();
        let pid = std::process::id() as i32;
        let old = set(&[Level::A11, Level::A14]);
        let asked = set(&[Level::A14, Level::A16]);
        assert_eq!(processes.narrow(pid, asked), asked);
        processes.learn(pid, old, None);
        assert_eq!(processes.narrow(pid, asked), set(&[Level::A14]));
        assert_eq!(processes.narrow(pid + 1, asked), asked);
        let known = processes.known.get_mut(&pid).unwrap();
        known.started += 1;
        known.seen -= TRUSTED;
        assert_eq!(processes.narrow(pid, asked), asked);
    }

    #[test]
    fn a_contradiction_is_learned_anew() {
        let mut processes = Processes::default();
        let pid = std::process::id() as i32;
        processes.learn(pid, set(&[Level::A11]), Some(1));
        processes.learn(pid, set(&[Level::A16]), Some(2));
        assert_eq!(processes.of(pid), Some((set(&[Level::A16]), Some(2))));
        let all = set(&[Level::A11, Level::A16]);
        assert_eq!(processes.narrow(pid, all), set(&[Level::A16]));
    }

    #[test]
    fn memory_is_bounded() {
        let mut processes = Processes::default();
        for number in 1..=2 * MAX_PROCESSES as i32 {
            let at = processes.learned;
            processes.known.insert(
                -number, // none of them is this process
                Known {
                    started: 0,
                    seen: Instant::now(),
                    levels: LevelSet::AIDL,
                    word: None,
                    at,
                },
            );
            processes.learned += 1;
        }
        processes.learn(std::process::id() as i32, LevelSet::AIDL, None);
        assert!(processes.known.len() <= MAX_PROCESSES + 1);
    }
}
