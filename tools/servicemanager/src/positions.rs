// SPDX-License-Identifier: Apache-2.0
//! Where clients are in the list of services that they ask for name by name, as those before
//! Android 11 do: so that the next name is not counted from the first.
use crate::caller::Caller;
use std::collections::{HashMap, VecDeque};

/// Walks of one user that are remembered; the oldest is forgotten first.
const MAX_PER_USER: usize = 8;
/// Users; all are forgotten if there are more.
const MAX_USERS: usize = 256;

struct Position {
    caller: Caller,
    priority: i32,
    index: usize,
    name: String,
}

#[derive(Default)]
pub struct Positions {
    of_user: HashMap<u32, VecDeque<Position>>,
}

impl Positions {
    /// The name before this place, if it is the last one that the caller was given.
    pub fn before(&self, caller: Caller, index: usize, priority: i32) -> Option<String> {
        let all = self.of_user.get(&caller.charged)?;
        let position = all.iter().find(|one| {
            one.caller == caller && one.priority == priority && one.index + 1 == index
        })?;
        Some(position.name.clone())
    }

    /// The caller was given a name.
    pub fn note(&mut self, caller: Caller, index: usize, priority: i32, name: &str) {
        if self.of_user.len() >= MAX_USERS && !self.of_user.contains_key(&caller.charged) {
            self.of_user.clear();
        }
        let all = self.of_user.entry(caller.charged).or_default();
        all.retain(|one| one.caller != caller || one.priority != priority);
        if all.len() >= MAX_PER_USER {
            all.pop_front();
        }
        all.push_back(Position {
            caller,
            priority,
            index,
            name: name.to_string(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_that_of_its_caller_and_their_number_is_bounded() {
        let caller = |pid: i32, charged: u32| Caller {
            pid,
            charged,
            ..Caller::default()
        };
        let mut positions = Positions::default();
        positions.note(caller(1, 7), 4, 0, "e");
        assert_eq!(positions.before(caller(1, 7), 5, 0).as_deref(), Some("e"));
        for (pid, index, priority) in [(1, 4, 0), (1, 6, 0), (2, 5, 0), (1, 5, 1)] {
            assert_eq!(positions.before(caller(pid, 7), index, priority), None);
        }
        for pid in 0..100 {
            positions.note(caller(pid, 7), 0, 0, "a");
        }
        assert_eq!(positions.of_user[&7].len(), MAX_PER_USER);
        for user in 0..1000 {
            positions.note(caller(1, user), 0, 0, "a");
        }
        assert!(positions.of_user.len() <= MAX_USERS);
    }
}
