// SPDX-License-Identifier: Apache-2.0
//! Notices of the death of an object in another process.
//!
//! A link belongs to its proxy; when it goes, by whichever way, `onUnlinked` is called once.
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rsbinder::{DeathRecipient, WIBinder};

use crate::{boxed, lock, UserData};

type Callback = unsafe extern "C" fn(*mut c_void);

pub struct AIBinder_DeathRecipient {
    shared: Arc<Shared>,
}

struct Shared {
    on_died: Callback,
    on_unlinked: Mutex<Option<Callback>>,
    links: Mutex<Vec<Weak<Link>>>,
}

pub struct Link {
    recipient: Arc<Shared>,
    cookie: UserData,
    is_over: AtomicBool,
}

impl AIBinder_DeathRecipient {
    pub fn link(&self, cookie: *mut c_void) -> Arc<Link> {
        let link = Arc::new(Link {
            recipient: Arc::clone(&self.shared),
            cookie: UserData(cookie),
            is_over: AtomicBool::new(false),
        });
        let mut links = lock(&self.shared.links);
        links.retain(|other| other.strong_count() > 0);
        links.push(Arc::downgrade(&link));
        link
    }
}

impl Link {
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether this is how it was asked for, and it goes on.
    pub fn is_of(&self, recipient: &AIBinder_DeathRecipient, cookie: *mut c_void) -> bool {
        let is_its_own = Arc::ptr_eq(&self.recipient, &recipient.shared);
        is_its_own && self.cookie.get() == cookie && !self.is_over()
    }

    fn end(&self) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        let on_unlinked = *lock(&self.recipient.on_unlinked);
        if let Some(on_unlinked) = on_unlinked {
            // SAFETY: the user's function, with the user's data.
            unsafe { on_unlinked(self.cookie.get()) };
        }
    }
}

impl DeathRecipient for Link {
    fn binder_died(&self, _: &WIBinder) {
        if !self.is_over() {
            // SAFETY: as in `end`.
            unsafe { (self.recipient.on_died)(self.cookie.get()) };
        }
        self.end();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

#[no_mangle]
pub extern "C" fn AIBinder_DeathRecipient_new(
    on_died: Option<Callback>,
) -> *mut AIBinder_DeathRecipient {
    boxed(on_died.map(|on_died| AIBinder_DeathRecipient {
        shared: Arc::new(Shared {
            on_died,
            on_unlinked: Mutex::default(),
            links: Mutex::default(),
        }),
    }))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_DeathRecipient_setOnUnlinked(
    recipient: *mut AIBinder_DeathRecipient,
    on_unlinked: Option<Callback>,
) {
    if let Some(recipient) = recipient.as_ref() {
        *lock(&recipient.shared.on_unlinked) = on_unlinked;
    }
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_DeathRecipient_delete(recipient: *mut AIBinder_DeathRecipient) {
    if recipient.is_null() {
        return;
    }
    let shared = Box::from_raw(recipient).shared;
    for link in std::mem::take(&mut *lock(&shared.links))
        .iter()
        .filter_map(Weak::upgrade)
    {
        link.end();
    }
}
