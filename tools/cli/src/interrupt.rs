// SPDX-License-Identifier: Apache-2.0
//! Interrupts end a long command early, after it has cleaned up. SIGPIPE, which the process that
//! passes on the output sends when its reader is gone, does so without a message.
use crate::error::{Error, Kind, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);

extern "C" fn record_interrupt(signal: libc::c_int) {
    QUIET.fetch_or(signal == libc::SIGPIPE, Ordering::Relaxed);
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From this call on SIGINT, SIGTERM, SIGHUP and SIGPIPE no longer end the process; `check` reports
/// them.
pub fn defer() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, record_interrupt as *const () as libc::sighandler_t) };
    }
}

/// Fails if a deferred signal has arrived.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Error::new("Interrupted.").of(Kind::Interrupted));
    }
    Ok(())
}

/// Whether the command ends because its output is read no more, which needs no message.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}
