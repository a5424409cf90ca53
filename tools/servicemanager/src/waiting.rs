// SPDX-License-Identifier: Apache-2.0
//! How many threads may wait for the services of each user: a service that does not reply keeps a
//! thread until its process ends.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAX_PER_USER: usize = 32;
/// Of all users; root and the user that runs the service manager have as many more.
const MAX_TOTAL: usize = 128;

/// Counts the waiting threads of a device.
pub struct Waiting {
    own_uid: u32,
    by_user: Mutex<HashMap<u32, usize>>,
}

/// The place of one waiting thread, until it is dropped.
pub struct Place {
    waiting: Arc<Waiting>,
    uid: u32,
}

impl Waiting {
    pub fn new() -> Waiting {
        Waiting {
            own_uid: rustix::process::getuid().as_raw(),
            by_user: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a thread that waits for a service of this user; None if there is none left.
    pub fn enter(self: &Arc<Waiting>, uid: u32) -> Option<Place> {
        let reserve = match uid == 0 || uid == self.own_uid {
            true => MAX_PER_USER,
            false => 0,
        };
        let mut counts = self.counts();
        let total: usize = counts.values().sum();
        let count = counts.get(&uid).copied().unwrap_or(0);
        if count >= MAX_PER_USER + reserve || total >= MAX_TOTAL + reserve {
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
        let waiting = Arc::new(Waiting {
            own_uid: 9,
            by_user: Mutex::default(),
        });
        let mut places: Vec<Place> = (0..MAX_PER_USER)
            .map(|_| waiting.enter(1).unwrap())
            .collect();
        assert!(waiting.enter(1).is_none());
        places.pop();
        places.push(waiting.enter(1).unwrap());
        for uid in 2..=4 {
            places.extend((0..MAX_PER_USER).map(|_| waiting.enter(uid).unwrap()));
        }
        assert!(waiting.enter(5).is_none());
        assert!(waiting.enter(0).is_some() && waiting.enter(9).is_some());
        drop(places);
        assert!(waiting.counts().is_empty());
    }
}
