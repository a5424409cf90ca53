// SPDX-License-Identifier: Apache-2.0
//! Interrupts end a long command early, and it still cleans up.
use crate::trouble::{Result, Trouble};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_interrupt(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From here on an interrupt is only noted.
pub fn outlive() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is safe at any instant.
        unsafe { libc::signal(signal, note_interrupt as *const () as libc::sighandler_t) };
    }
}

/// Fails once an interrupt has come.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Trouble::new("Interrupted."));
    }
    Ok(())
}
