// SPDX-License-Identifier: Apache-2.0
//! Work that waits, in a queue for each user who caused it: they take turns.
use std::collections::{HashMap, VecDeque};

pub struct Queues<T> {
    of_user: HashMap<u32, VecDeque<T>>,
    /// The users who have some, the next one first.
    users: VecDeque<u32>,
}

impl<T> Default for Queues<T> {
    fn default() -> Queues<T> {
        Queues {
            of_user: HashMap::new(),
            users: VecDeque::new(),
        }
    }
}

impl<T> Queues<T> {
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// How many wait of a user.
    pub fn len(&self, user: u32) -> usize {
        self.of_user.get(&user).map_or(0, VecDeque::len)
    }

    pub fn push(&mut self, user: u32, one: T) {
        let queue = self.of_user.entry(user).or_default();
        if queue.is_empty() {
            self.users.push_back(user);
        }
        queue.push_back(one);
    }

    /// The next one of the user whose turn it is, and that user.
    pub fn pop(&mut self) -> Option<(u32, T)> {
        let user = self.users.pop_front()?;
        let queue = self.of_user.get_mut(&user)?;
        let one = queue.pop_front()?;
        match queue.is_empty() {
            true => drop(self.of_user.remove(&user)),
            false => self.users.push_back(user),
        }
        Some((user, one))
    }

    /// Puts back what `pop` returned and is not finished: it is the next one of its user.
    pub fn put_back(&mut self, user: u32, one: T) {
        let queue = self.of_user.entry(user).or_default();
        if queue.is_empty() {
            self.users.push_back(user);
        }
        queue.push_front(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns() {
        let mut queues = Queues::default();
        for (user, one) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
            queues.push(user, one);
        }
        assert_eq!((queues.len(1), queues.len(4)), (3, 0));
        let first = queues.pop().unwrap();
        assert_eq!(first, (1, 10));
        queues.put_back(3, 29);
        assert_eq!(queues.pop(), Some((2, 20)));
        queues.put_back(2, 20);
        queues.put_back(1, 10);
        let order: Vec<i32> = std::iter::from_fn(|| queues.pop())
            .map(|(_, one)| one)
            .collect();
        assert_eq!(order, [29, 10, 20, 30, 11, 21, 12]);
        assert!(queues.is_empty() && queues.of_user.is_empty());
    }
}
