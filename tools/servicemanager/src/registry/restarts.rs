// SPDX-License-Identifier: Apache-2.0
//! How often the services of a name ended of late. A service that is registered now was restarted
//! as often. Of each user the last ends are kept, so that none makes the others' forgotten.
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The time that counts.
const RECENT: Duration = Duration::from_secs(60);
/// How many ends are kept of a user.
const MOST_OF_USER: usize = 256;

/// When the services of which names ended, by the user who was charged for them.
#[derive(Default)]
pub struct Restarts(HashMap<u32, VecDeque<(Instant, String)>>);

impl Restarts {
    /// Notes that a service died, was removed, or was replaced by another object.
    pub fn ended(&mut self, user: u32, name: &str, now: Instant) {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < RECENT;
        self.0
            .retain(|_, ends| ends.back().is_some_and(|(at, _)| is_recent(at)));
        let ends = self.0.entry(user).or_default();
        while ends.len() >= MOST_OF_USER || ends.front().is_some_and(|(at, _)| !is_recent(at)) {
            ends.pop_front();
        }
        ends.push_back((now, name.to_string()));
    }

    /// How many services of a user ended under a name in the last minute.
    pub fn of(&self, user: u32, name: &str, now: Instant) -> usize {
        let ends = self.0.get(&user).into_iter().flatten();
        ends.filter(|(at, ended)| ended == name && now.saturating_duration_since(*at) < RECENT)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_count_for_a_minute_and_each_user_by_itself() {
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        let mut restarts = Restarts::default();
        restarts.ended(1, "a", at(0));
        restarts.ended(1, "a", at(50));
        restarts.ended(2, "a", at(50));
        restarts.ended(1, "b", at(59));
        let counts = [59, 60, 109, 110].map(|s| restarts.of(1, "a", at(s)));
        assert_eq!(counts, [2, 1, 1, 0]);
        for _ in 0..2 * MOST_OF_USER {
            restarts.ended(3, "c", at(60));
        }
        assert_eq!(restarts.of(3, "c", at(60)), MOST_OF_USER);
        assert_eq!(restarts.of(2, "a", at(60)), 1);
        restarts.ended(1, "a", at(300));
        assert_eq!(restarts.0.len(), 1);
    }
}
