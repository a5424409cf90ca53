// SPDX-License-Identifier: Apache-2.0
//! Where clients are in the list of services that they ask for name by name, as those before
//! Android 11 do: so that the next name is not counted from the first.
use crate::registry::users;
use crate::wire::caller::Caller;
use std::collections::{HashMap, VecDeque};

/// Walks of one user that are remembered; the oldest is forgotten first.
const MAX_PER_USER: usize = 8;
/// Users; all are forgotten if there are more.
const MAX_USERS: usize = 256;

/// A process, its user and context, and the priority of what it lists.
type Walk = (i32, u32, u32, i32);

#[derive(Default)]
pub struct Positions {
    /// The place and the name that the client was given last.
    last: HashMap<Walk, (usize, String)>,
    /// By who is charged.
    of_user: HashMap<u32, VecDeque<Walk>>,
}

fn walk(caller: Caller, priority: i32) -> Walk {
    (caller.pid, caller.uid, caller.context, priority)
}

impl Positions {
    /// The name before this place, if it is the last one that the caller was given.
    pub fn before(&self, caller: Caller, index: usize, priority: i32) -> Option<String> {
        let (last, name) = self.last.get(&walk(caller, priority))?;
        (last + 1 == index).then(|| name.clone())
    }

    /// The caller was given a name.
    pub fn note(&mut self, caller: Caller, index: usize, priority: i32, name: &str) {
        let walk = walk(caller, priority);
        if self.last.insert(walk, (index, name.to_string())).is_some() {
            return;
        }
        let user = users::charged(caller.pid, caller.uid);
        let walks = self.of_user.entry(user).or_default();
        walks.push_back(walk);
        if walks.len() > MAX_PER_USER {
            if let Some(oldest) = walks.pop_front() {
                self.last.remove(&oldest);
            }
        }
        if self.of_user.len() > MAX_USERS {
            *self = Positions::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_that_of_its_caller_and_their_number_is_bounded() {
        let caller = |uid: u32, context: u32| Caller {
            uid,
            context,
            ..Caller::default()
        };
        let mut positions = Positions::default();
        positions.note(caller(7, 1), 4, 0, "e");
        assert_eq!(positions.before(caller(7, 1), 5, 0).as_deref(), Some("e"));
        for (context, index, priority) in [(1, 4, 0), (1, 6, 0), (2, 5, 0), (1, 5, 1)] {
            assert_eq!(positions.before(caller(7, context), index, priority), None);
        }
        positions.note(caller(7, 1), 5, 0, "f");
        assert_eq!(positions.last.len(), 1);
        for context in 0..100 {
            positions.note(caller(7, context), 0, 0, "a");
        }
        assert_eq!(positions.last.len(), MAX_PER_USER);
        for user in 0..1000 {
            positions.note(caller(user, 1), 0, 0, "a");
            assert!(positions.of_user.len() <= MAX_USERS && positions.last.len() <= 2 * MAX_USERS);
        }
    }
}
