// SPDX-License-Identifier: Apache-2.0
//! Memory that carries calls again and again.

/// What malloc keeps for the next call in each of its arenas, and from which size on it does not.
/// Above the largest call (--max-size) by default.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: i32 = 8 << 20;
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: i32 = 2 << 20;

/// Lets malloc keep the memory of a call that has ended. By default it returns it to the system,
/// and each call with some 64 KiB pays for page faults: half of its time in this process.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes settings of malloc, which it takes at any time.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}
