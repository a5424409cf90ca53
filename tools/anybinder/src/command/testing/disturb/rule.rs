// SPDX-License-Identifier: Apache-2.0
//! Which calls are disturbed, and how.
use super::Arguments;
use anybinder_driver::abi::{TransactionData, TF_ONE_WAY};
use anybinder_driver::parcel::Parcel;
use anybinder_driver::relay::Verdict;
use anybinder_mount::process::command_name;
use fastrand::Rng;
use rsbinder::{FIRST_CALL_TRANSACTION, LAST_CALL_TRANSACTION};
use std::sync::atomic::{AtomicU64, Ordering};

/// The exit status of a process that died as the rule says.
pub const DIED: i32 = 100;

#[derive(Clone, Debug)]
pub enum Effect {
    /// The delay is all.
    Pass,
    Status(i32),
    Reply(Parcel),
    Die,
    Drop,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub arguments: Arguments,
    /// None for all methods of the interface.
    pub code: Option<u32>,
    pub effect: Effect,
}

/// What has come, in memory that the processes of a command share.
#[derive(Debug, Default)]
pub struct Counts {
    pub calls: AtomicU64,
    /// Calls that the rule is about, whether or not it is their turn.
    matched: AtomicU64,
    pub disturbed: AtomicU64,
}

/// A number from 0 to 1 for the nth call: evenly distributed, the same each time.
fn chance(seed: u64, number: u64) -> f64 {
    let first = Rng::with_seed(seed).u64(..);
    Rng::with_seed(first.wrapping_add(number)).f64()
}

impl Rule {
    fn is_about(&self, call: &TransactionData) -> bool {
        let is_oneway = call.flags & TF_ONE_WAY != 0;
        let can_be_done = match self.effect {
            Effect::Status(_) | Effect::Reply(_) => !is_oneway,
            Effect::Drop => is_oneway,
            Effect::Pass | Effect::Die => true,
        };
        let methods = FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION;
        let is_method = match self.code {
            Some(code) => call.code == code,
            None => methods.contains(&call.code),
        };
        let is_caller = |who: &String| match who.parse::<u32>() {
            Ok(uid) => call.sender_euid == uid,
            Err(_) => command_name(call.sender_pid.cast_unsigned()) == *who,
        };
        can_be_done && is_method && self.arguments.caller.as_ref().is_none_or(is_caller)
    }

    /// Whether it is the turn of a call that the rule is about.
    fn is_chosen(&self, counts: &Counts) -> bool {
        let number = counts.matched.fetch_add(1, Ordering::Relaxed);
        if chance(self.arguments.seed, number) >= self.arguments.rate {
            return false;
        }
        let count = self.arguments.count.unwrap_or(u64::MAX);
        let limited = |disturbed: u64| (disturbed < count).then_some(disturbed + 1);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        counts.disturbed.fetch_update(set, get, limited).is_ok()
    }

    /// What becomes of a call, after the delay.
    pub fn judge(&self, counts: &Counts, call: &TransactionData) -> Verdict {
        counts.calls.fetch_add(1, Ordering::Relaxed);
        if !self.is_about(call) || !self.is_chosen(counts) {
            return Verdict::Pass;
        }
        std::thread::sleep(self.arguments.delay.unwrap_or_default());
        match &self.effect {
            Effect::Pass => Verdict::Pass,
            Effect::Status(status) => Verdict::Status(*status),
            Effect::Reply(parcel) => Verdict::Reply(parcel.clone()),
            Effect::Die => std::process::exit(DIED),
            Effect::Drop => Verdict::Drop,
        }
    }
}
