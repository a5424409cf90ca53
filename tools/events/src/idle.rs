// SPDX-License-Identifier: Apache-2.0
//! A thread that runs when no other thread wants its processor (`SCHED_IDLE` of sched(7)): one that
//! wakes up takes the processor from it at once, and from an ordinary thread only after a while.

/// A thread that may be made idle, and is ordinary again when this is dropped.
pub struct Idle {
    tid: libc::pid_t,
    is_idle: bool,
}

fn schedule(tid: libc::pid_t, policy: libc::c_int) -> bool {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: a live structure, which is only read.
    unsafe { libc::sched_setscheduler(tid, policy, &raw const param) == 0 }
}

/// Whether this process may make an idle thread ordinary again, which takes CAP_SYS_NICE or
/// RLIMIT_NICE; tried with a thread that ends then.
fn may_return() -> bool {
    let trial = || schedule(0, libc::SCHED_IDLE) && schedule(0, libc::SCHED_OTHER);
    std::thread::spawn(trial).join().unwrap_or(false)
}

impl Idle {
    /// The calling thread; None if it could not return, or was given a policy by its user.
    pub fn this_thread() -> Option<Self> {
        // SAFETY: plain calls.
        let (policy, tid) = unsafe { (libc::sched_getscheduler(0), libc::gettid()) };
        (policy == libc::SCHED_OTHER && may_return()).then_some(Idle {
            tid,
            is_idle: false,
        })
    }

    /// Any thread of the process may call it.
    pub fn set(&mut self, idle: bool) {
        let policy = [libc::SCHED_OTHER, libc::SCHED_IDLE][usize::from(idle)];
        if idle != self.is_idle && schedule(self.tid, policy) {
            self.is_idle = idle;
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: a plain call.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_is_idle_and_ordinary_again() {
        let Some(mut thread) = Idle::this_thread() else {
            return eprintln!("skipped: no right to leave SCHED_IDLE");
        };
        thread.set(true);
        assert_eq!(policy(), libc::SCHED_IDLE);
        assert!(Idle::this_thread().is_none());
        let other = std::thread::spawn(move || thread.set(false));
        other.join().unwrap();
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}
