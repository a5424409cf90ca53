// SPDX-License-Identifier: Apache-2.0
//! How many registrations a user may have, so that one cannot take the memory of all.
use crate::reply::Refusal;
use rsbinder::ExceptionCode;
use std::collections::HashMap;

pub const DEFAULT_PER_USER: usize = 16_384;

/// The bound for all users, as a multiple of the bound for one.
const USERS_AT_THE_LIMIT: usize = 4;

/// Services and callbacks by user. Root and the user that runs the service manager have no limit of
/// their own, and a reserve in the limit for all.
pub struct Quota {
    per_user: usize,
    own_uid: u32,
    taken: HashMap<u32, usize>,
    total: usize,
}

impl Quota {
    pub fn new(per_user: usize) -> Quota {
        Quota {
            per_user,
            own_uid: rustix::process::getuid().as_raw(),
            taken: HashMap::new(),
            total: 0,
        }
    }

    pub fn take(&mut self, uid: u32) -> Result<(), Refusal> {
        self.check(uid, 1)?;
        *self.taken.entry(uid).or_default() += 1;
        self.total += 1;
        Ok(())
    }

    /// Whether a user may have so many more.
    pub fn check(&self, uid: u32, count: usize) -> Result<(), Refusal> {
        let is_privileged = uid == 0 || uid == self.own_uid;
        let all = self.per_user.saturating_mul(USERS_AT_THE_LIMIT);
        let reserve = if is_privileged { self.per_user } else { 0 };
        let taken = self.taken.get(&uid).copied().unwrap_or(0);
        let is_above = !is_privileged && taken + count > self.per_user;
        if is_above || self.total + count > all + reserve {
            let message = format!(
                "user {uid} has {taken} services and callbacks registered, all users {}; the \
                 service manager allows {} and {all}",
                self.total, self.per_user
            );
            return Err(Refusal::new(ExceptionCode::IllegalState, message));
        }
        Ok(())
    }

    pub fn give_back(&mut self, uid: u32) {
        let Some(taken) = self.taken.get_mut(&uid) else {
            return;
        };
        *taken -= 1;
        self.total -= 1;
        if *taken == 0 {
            self.taken.remove(&uid);
        }
    }

    #[cfg(test)]
    pub fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_at_the_limit_leaves_room_for_others() {
        let mut quota = Quota::new(2);
        quota.own_uid = 9;
        for _ in 0..2 {
            quota.take(1).unwrap();
        }
        assert!(quota.take(1).is_err());
        quota.check(2, 2).unwrap();
        assert!(quota.check(2, 3).is_err());
        quota.take(2).unwrap();
        quota.give_back(1);
        quota.take(1).unwrap();
        for uid in [2, 3, 3, 4, 4] {
            quota.take(uid).unwrap();
        }
        // All are at the limit, and root has its reserve.
        assert!(quota.take(5).is_err());
        quota.take(0).unwrap();
        quota.take(9).unwrap();
        assert!(quota.take(0).is_err());
    }
}
