// SPDX-License-Identifier: Apache-2.0
//! Interrupts end a long command early, after it has cleaned up.
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn record_interrupt(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From this call on SIGINT, SIGTERM and SIGHUP no longer end the process; `check` reports them.
pub fn defer() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, record_interrupt as *const () as libc::sighandler_t) };
    }
}

/// Fails if a deferred signal has arrived.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Error::new("Interrupted."));
    }
    Ok(())
}
