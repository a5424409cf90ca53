// SPDX-License-Identifier: Apache-2.0
//! Threads that work in slices, one at a time: users take turns, whatever the number of threads
//! that work for each.
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

struct Waiter {
    thread: Thread,
    is_next: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    is_taken: bool,
    waiting: HashMap<u32, VecDeque<Waiter>>,
    /// The users for whom threads wait, the next one first.
    users: VecDeque<u32>,
}

#[derive(Default)]
pub struct Turns {
    queue: Mutex<Queue>,
}

/// One slice, until it is dropped.
pub struct Turn<'a> {
    turns: &'a Turns,
}

impl Turns {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is the turn of this thread, which works for `user`.
    pub fn take(&self, user: u32) -> Turn<'_> {
        let mut queue = self.queue();
        if !queue.is_taken {
            queue.is_taken = true;
            return Turn { turns: self };
        }
        let is_next = Arc::new(AtomicBool::new(false));
        let of_user = queue.waiting.entry(user).or_default();
        of_user.push_back(Waiter {
            thread: thread::current(),
            is_next: Arc::clone(&is_next),
        });
        if of_user.len() == 1 {
            queue.users.push_back(user);
        }
        drop(queue);
        while !is_next.load(Ordering::Acquire) {
            thread::park();
        }
        Turn { turns: self }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.turns.queue();
        let Some(user) = queue.users.pop_front() else {
            queue.is_taken = false;
            return;
        };
        let of_user = queue.waiting.get_mut(&user);
        let next = of_user.and_then(VecDeque::pop_front);
        match queue.waiting.get(&user).is_none_or(VecDeque::is_empty) {
            true => drop(queue.waiting.remove(&user)),
            false => queue.users.push_back(user),
        }
        drop(queue);
        if let Some(next) = next {
            next.is_next.store(true, Ordering::Release);
            next.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    impl Turns {
        /// Waits until so many threads wait.
        pub fn wait_for(&self, count: usize) {
            let waiting = || -> usize { self.queue().waiting.values().map(VecDeque::len).sum() };
            let end = Instant::now() + Duration::from_secs(60);
            while waiting() < count {
                assert!(Instant::now() < end, "nobody waits for a turn");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_user_with_many_threads_has_one_turn_in_two() {
        let turns = Turns::default();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let first = turns.take(1);
            for (count, user) in [1, 1, 1, 2].into_iter().enumerate() {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take(user);
                    order.lock().unwrap().push(user);
                });
                turns.wait_for(count + 1);
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), [1, 2, 1, 1]);
        assert!(!turns.queue().is_taken && turns.queue().waiting.is_empty());
    }
}
