// SPDX-License-Identifier: Apache-2.0
//! What a thread does at the reply of the call that it serves.
//!
//! The caller waits for the reply, so the driver's buffer that the reply was copied from is freed
//! behind it. In front of it, RPC Binder releases the object that was called, with a message of its
//! own; the two are sent at once.
use rsbinder::Parcel;
use std::cell::{Cell, RefCell};

/// Above that, a buffer is freed before the reply is sent: the next call may need the memory.
const LARGEST_KEPT: usize = 16 << 10;

/// What a message that releases objects begins with: DEC_STRONG.
const RELEASE: [u8; 4] = 2u32.to_le_bytes();

thread_local! {
    static COPIED: RefCell<Option<Parcel>> = const { RefCell::new(None) };
    static IS_NEXT: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the parcel of the driver that the reply is a copy of until the reply is sent.
pub fn keep(parcel: Parcel) {
    if parcel.data_size() <= LARGEST_KEPT {
        COPIED.set(Some(parcel));
    }
}

/// Says that the thread's next message, but for releases, is the reply.
pub fn is_next() {
    IS_NEXT.set(true);
}

/// Whether a message is a release in front of the reply.
pub fn goes_with_it(message: &[u8]) -> bool {
    IS_NEXT.get() && message.starts_with(&RELEASE)
}

/// Says that the reply is sent, or will not be.
pub fn is_over() {
    IS_NEXT.set(false);
    drop(COPIED.take());
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsbinder::StatusCode;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static FREED: AtomicUsize = AtomicUsize::new(0);

    fn free(
        _: Option<&Parcel>,
        _: u64,
        _: usize,
        _: u64,
        _: usize,
    ) -> std::result::Result<(), StatusCode> {
        FREED.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn freed() -> usize {
        FREED.swap(0, Ordering::SeqCst)
    }

    #[test]
    fn a_buffer_is_freed_behind_the_reply_if_it_is_small() {
        let mut bytes = vec![0; LARGEST_KEPT + 4];
        let mut parcel_of = |size| {
            // SAFETY: the bytes outlive the parcel and are used by nothing else.
            unsafe { Parcel::from_ipc_parts(bytes.as_mut_ptr(), size, [].as_mut_ptr(), 0, free) }
        };
        keep(parcel_of(LARGEST_KEPT));
        assert_eq!(freed(), 0);
        is_over();
        assert_eq!(freed(), 1);
        keep(parcel_of(LARGEST_KEPT + 4));
        assert_eq!(freed(), 1);
    }
}
