// SPDX-License-Identifier: Apache-2.0
//! The clients of services: lazy ones want to be told when they get their first and lose their
//! last, and unregister themselves then. An object is counted once, whatever the number of its
//! names; who has it by one name is a client of all.
use super::entries::Entries;
use crate::wire::port::Port;
use anybinder_driver::parcel::Target;

/// References to a service that are no clients: ours, and during a call the one of its parcel. As
/// in AOSP's service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In a call, only new clients are found.
    InCall = 2,
    /// At intervals, those are found that have gone.
    AtInterval = 1,
}

/// Objects that are counted between two requests.
const COUNTED_AT_ONCE: usize = 8;

/// What a count has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub are_there: bool,
    /// The callbacks for the clients of the object do not know it yet.
    pub is_news: bool,
}

/// Notes that an object was given to a client, which may not have its reference yet.
pub fn note_new(entries: &mut Entries, object: u32) {
    if let Some(clients) = entries.references().clients(object) {
        clients.is_new = true;
    }
}

/// Compares the number of references to an object with what the callbacks for its clients know. An
/// object without such callbacks counts as one with clients.
pub fn count(entries: &mut Entries, port: &mut dyn Port, object: u32, when: When) -> Counted {
    let unknown = Counted {
        are_there: true,
        is_news: false,
    };
    let Some(clients) = entries.lazy_clients(object) else {
        return unknown;
    };
    let Some(count) = port.strong_count(object) else {
        return unknown;
    };
    let has_references = count > when as u32;
    let is_new = std::mem::take(&mut clients.is_new);
    let before = clients.are_there;
    clients.are_there = has_references || is_new || (before && when == When::InCall);
    Counted {
        are_there: clients.are_there,
        is_news: clients.are_there != before,
    }
}

/// Walks through the objects that have callbacks for their clients.
#[derive(Default)]
pub struct Counting {
    /// The object that is counted next, while that is done.
    next: Option<u32>,
}

impl Counting {
    pub fn begin(&mut self) {
        self.next.get_or_insert(0);
    }

    /// Whether objects are left to be counted.
    pub fn goes_on(&self) -> bool {
        self.next.is_some()
    }

    /// Counts the clients of some objects. Returns those of which there is news.
    pub fn step(&mut self, entries: &mut Entries, port: &mut dyn Port) -> Vec<Target> {
        let Some(from) = self.next.take() else {
            return Vec::new();
        };
        let mut objects: Vec<u32> = entries.lazy_from(from).take(COUNTED_AT_ONCE + 1).collect();
        self.next = objects.get(COUNTED_AT_ONCE).copied();
        objects.truncate(COUNTED_AT_ONCE);
        objects.retain(|object| count(entries, port, *object, When::AtInterval).is_news);
        objects.into_iter().map(Target::Handle).collect()
    }
}
