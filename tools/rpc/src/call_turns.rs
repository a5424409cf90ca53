// SPDX-License-Identifier: Apache-2.0
//! Whose calls go to the other side next.
//!
//! A call keeps a thread and a connection until it is answered. So each caller has a share of those
//! that may be made at a time, and the calls that exceed it wait, in their order, in threads of
//! their own: there are more threads than calls that may be made, and one is there to receive.
use crate::peer_log::log_peer;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

thread_local! {
    static IS_CALLING: Cell<bool> = const { Cell::new(false) };
}

/// How many calls wait, of one caller and of all. Callers at their limits leave something to one
/// more: nobody takes more than half of what the others left.
const WAITING: (usize, usize) = (64, 128);

/// How many calls are made at a time to the objects of all peers.
const TO_PEERS: usize = 64;

/// Whether this thread makes a call for an object of ours: what comes meanwhile is part of it.
pub fn is_calling() -> bool {
    IS_CALLING.get()
}

/// Makes a call, which may be one within another.
pub fn calling<T>(make: impl FnOnce() -> T) -> T {
    let before = IS_CALLING.replace(true);
    let made = make();
    IS_CALLING.set(before);
    made
}

#[derive(Default)]
struct Table {
    made: HashMap<Arc<str>, usize>,
    queue: VecDeque<(Arc<str>, Arc<Waiter>)>,
}

struct Waiter {
    thread: Thread,
    may_go: AtomicBool,
}

/// Counts the calls of each caller, or to each peer.
pub struct Turns {
    /// How many are made at a time, and of them of one caller.
    most: usize,
    share: usize,
    table: Mutex<Table>,
}

/// The turn of a call, until it is dropped.
pub struct Turn<'a> {
    turns: &'a Turns,
    key: Arc<str>,
}

impl Turns {
    /// * `calls`: how many connections there are; one user leaves a quarter of them to others
    pub fn of_users(calls: usize) -> Turns {
        let share = (calls - calls.div_ceil(4)).max(1);
        Turns::new(calls, share)
    }

    /// * `calls`: how many connections each peer has
    pub fn to_peers(calls: usize) -> Turns {
        Turns::new(TO_PEERS.max(calls), calls)
    }

    fn new(most: usize, share: usize) -> Turns {
        let table = Mutex::default();
        Turns { most, share, table }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_go(&self, table: &Table, key: &str) -> bool {
        let own = table.made.get(key).copied().unwrap_or(0);
        own < self.share && table.made.values().sum::<usize>() < self.most
    }

    /// Waits for the turn of a call. None if too many wait.
    pub fn take(&self, key: Arc<str>) -> Option<Turn<'_>> {
        let mut table = self.lock();
        // Of those that wait, none may go.
        if self.may_go(&table, &key) {
            *table.made.entry(key.clone()).or_default() += 1;
            return Some(Turn { turns: self, key });
        }
        let own = table.queue.iter().filter(|one| one.0 == key).count();
        let left = WAITING.1 - (table.queue.len() - own);
        if own >= WAITING.0.min(left.div_ceil(2)) {
            drop(table);
            log_peer(&format!(
                "{own} calls of {key} wait for their turn; one more is refused."
            ));
            return None;
        }
        let waiter = Arc::new(Waiter {
            thread: std::thread::current(),
            may_go: AtomicBool::new(false),
        });
        table.queue.push_back((key.clone(), waiter.clone()));
        drop(table);
        while !waiter.may_go.load(Ordering::Acquire) {
            std::thread::park();
        }
        Some(Turn { turns: self, key })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut table = self.turns.lock();
        if let Some(made) = table.made.get_mut(&self.key) {
            *made -= 1;
            if *made == 0 {
                table.made.remove(&self.key);
            }
        }
        // The caller with the fewest goes, and of it the call that has waited longest.
        let may_go = |at: &usize| self.turns.may_go(&table, &table.queue[*at].0);
        let made = |at: &usize| table.made.get(&table.queue[*at].0).copied().unwrap_or(0);
        let next = (0..table.queue.len()).filter(may_go).min_by_key(made);
        let Some((key, waiter)) = next.and_then(|at| table.queue.remove(at)) else {
            return;
        };
        *table.made.entry(key).or_default() += 1;
        waiter.may_go.store(true, Ordering::Release);
        waiter.thread.unpark();
    }
}

/// How many threads receive calls where so many are made at a time.
pub fn threads(calls: u32) -> u32 {
    calls + (TO_PEERS + 2 * WAITING.1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, Receiver, Sender};
    use std::thread::JoinHandle;
    use std::time::Duration;

    /// Takes turns in threads, which say who they are when their turn comes.
    struct Callers {
        turns: Arc<Turns>,
        came: (Sender<String>, Receiver<String>),
    }

    impl Callers {
        fn new(turns: Turns) -> Callers {
            let (turns, came) = (Arc::new(turns), channel());
            Callers { turns, came }
        }

        fn wait(&self, key: &'static str) -> JoinHandle<()> {
            let before = self.turns.lock().queue.len();
            let (turns, came) = (self.turns.clone(), self.came.0.clone());
            let thread = std::thread::spawn(move || {
                let turn = turns.take(key.into()).unwrap();
                came.send(key.to_string()).unwrap();
                drop(turn);
            });
            while self.turns.lock().queue.len() == before {
                std::thread::yield_now();
            }
            thread
        }

        fn next(&self) -> String {
            self.came.1.recv_timeout(Duration::from_secs(60)).unwrap()
        }
    }

    #[test]
    fn a_user_leaves_a_call_to_others() {
        for (calls, share) in [(1, 1), (2, 1), (4, 3), (5, 3), (64, 48)] {
            assert_eq!(Turns::of_users(calls).share, share);
        }
        let callers = Callers::new(Turns::of_users(4));
        let take = |key: &str| callers.turns.take(key.into()).unwrap();
        let mut own: Vec<_> = (0..3).map(|_| take("a")).collect();
        let waits = callers.wait("a");
        // It does not wait for those of the other one.
        let other = take("b");
        let waits_too = [callers.wait("b"), callers.wait("c")];
        own.pop();
        // Who has none goes first.
        assert_eq!(
            [callers.next(), callers.next(), callers.next()],
            ["c", "b", "a"]
        );
        drop((own, other));
        for thread in [waits].into_iter().chain(waits_too) {
            thread.join().unwrap();
        }
        let table = callers.turns.lock();
        assert!(table.made.is_empty() && table.queue.is_empty());
    }

    #[test]
    fn calls_that_wait_are_bounded() {
        let callers = Callers::new(Turns::of_users(1));
        let first = callers.turns.take("a".into()).unwrap();
        let mut threads: Vec<_> = (0..WAITING.0).map(|_| callers.wait("a")).collect();
        assert!(callers.turns.take("a".into()).is_none());
        threads.extend((0..32).map(|_| callers.wait("b")));
        assert!(callers.turns.take("b".into()).is_none());
        drop(first);
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_peer_that_does_not_answer_keeps_its_own_calls_only() {
        let turns = Turns::to_peers(2);
        let _own = [turns.take("a".into()), turns.take("a".into())];
        assert!(!turns.may_go(&turns.lock(), "a"));
        assert!((0..TO_PEERS - 2).all(|number| turns.may_go(&turns.lock(), &number.to_string())));
    }
}
