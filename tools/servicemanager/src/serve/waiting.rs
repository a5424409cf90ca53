// SPDX-License-Identifier: Apache-2.0
//! How many threads may wait for the services of each user: a service that does not reply keeps a
//! thread until its process ends.
use crate::registry::users;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the threads of a device that do one kind of work. Root and the user that runs the service
/// manager have twice the places of others, and as many of their own beside those of all.
pub struct Waiting {
    per_user: usize,
    total: usize,
    by_user: Mutex<HashMap<u32, usize>>,
}

/// The place of one waiting thread, until it is dropped.
pub struct Place {
    waiting: Arc<Waiting>,
    uid: u32,
}

impl Waiting {
    /// * `places`: of one user, and of all users
    pub fn new(places: (usize, usize)) -> Waiting {
        Waiting {
            per_user: places.0,
            total: places.1,
            by_user: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any thread waits.
    pub fn is_used(&self) -> bool {
        !self.counts().is_empty()
    }

    /// A place for a thread that waits for a service of this user; None if there is none left.
    pub fn enter(self: &Arc<Waiting>, uid: u32) -> Option<Place> {
        let reserve = match users::is_privileged(uid) {
            true => self.per_user,
            false => 0,
        };
        let mut counts = self.counts();
        let total: usize = counts.values().sum();
        let count = counts.get(&uid).copied().unwrap_or(0);
        // Users at their limits leave something to one more: nobody takes more than half of what
        // the others left.
        let left = (self.total + reserve).saturating_sub(total - count);
        let share = match reserve {
            0 => self.per_user.min(left.div_ceil(2)),
            reserve => left.min(self.per_user + reserve),
        };
        if count >= share {
            return None;
        }
        counts.insert(uid, count + 1);
        Some(Place {
            waiting: Arc::clone(self),
            uid,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.waiting.counts();
        if let Some(count) = counts.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_whose_services_hang_leaves_places_for_others() {
        let waiting = Arc::new(Waiting::new((32, 128)));
        let mut places: Vec<Place> = (0..32).map(|_| waiting.enter(70_001).unwrap()).collect();
        assert!(waiting.enter(70_001).is_none());
        places.pop();
        places.push(waiting.enter(70_001).unwrap());
        for (uid, count) in [(70_002, 32), (70_003, 32), (70_004, 16), (70_005, 8)] {
            places.extend((0..count).map(|_| waiting.enter(uid).unwrap()));
            assert!(waiting.enter(uid).is_none(), "{uid}");
        }
        assert!(waiting.enter(70_006).is_some());
        places.extend((0..40).map(|_| waiting.enter(0).unwrap()));
        assert!(waiting.enter(0).is_none());
        drop(places);
        assert!(waiting.counts().is_empty());
    }
}
