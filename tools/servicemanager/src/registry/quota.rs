// SPDX-License-Identifier: Apache-2.0
//! How many registrations a user may have, so that one cannot take the memory of all.
use super::users;
use crate::wire::reply::Refusal;
use rsbinder::ExceptionCode;
use std::collections::HashMap;

pub const DEFAULT_PER_USER: usize = 16_384;

/// The bound for all users, as a multiple of the bound for one.
const USERS_AT_THE_LIMIT: usize = 4;

/// Services and callbacks by user (`users`). Nobody takes more than half of what the others left,
/// so that users at their limits never leave nothing to one more. Root and the user that runs the
/// service manager have no limit of their own, and a reserve in the limit for all.
pub struct Quota {
    per_user: usize,
    taken: HashMap<u32, usize>,
    total: usize,
}

impl Quota {
    pub fn new(per_user: usize) -> Quota {
        Quota {
            per_user,
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
        let is_privileged = users::is_privileged(uid);
        let all = self.per_user.saturating_mul(USERS_AT_THE_LIMIT);
        let reserve = if is_privileged { self.per_user } else { 0 };
        let taken = self.taken.get(&uid).copied().unwrap_or(0);
        let left = all.saturating_sub(self.total - taken);
        let share = self.per_user.min(left.div_ceil(2));
        let is_above = !is_privileged && taken + count > share;
        if is_above || self.total + count > all + reserve {
            let message = format!(
                "user {uid} has {taken} services and callbacks registered, all users {}; the \
                 service manager allows {share} and {all}",
                self.total
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
    fn users_at_the_limit_leave_room_for_others() {
        let mut quota = Quota::new(16);
        let fill = |quota: &mut Quota, uid| (0..).find(|_| quota.take(uid).is_err()).unwrap();
        let uids = [70_001, 70_002, 70_003, 70_004, 70_005, 70_006];
        let taken = uids.map(|uid| fill(&mut quota, uid));
        assert_eq!(taken, [16, 16, 16, 8, 4, 2]);
        assert!(quota.check(70_007, 1).is_ok() && quota.check(70_007, 2).is_err());
        for _ in 0..taken[0] {
            quota.give_back(uids[0]);
        }
        assert!(quota.check(70_007, 9).is_ok());
        // Root has no share, and a reserve.
        assert_eq!(fill(&mut quota, 0), 64 + 16 - 46);
    }
}
