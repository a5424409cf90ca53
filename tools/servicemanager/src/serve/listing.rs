// SPDX-License-Identifier: Apache-2.0
//! The reply to a request for a list of services. It is made in slices, between which the registry
//! is free, and it is bounded: one that does not fit the receive buffer of its client would be lost
//! whole, for every client, as soon as one user registers enough names.
//!
//! The first pass adds up what each user's services take. If that is too much, users get equal
//! shares: whoever needs less than a share leaves the rest to the others. The second pass collects
//! the names. A client that asks for one part of the list after the other (`PART`) gets all of it.
//!
//! Before Android 11 a client asks for one name after the other, by its place in the list. That is
//! one pass to that place, or from the name that the client got last (`positions`).
use super::device_state::State;
use crate::registry::{users, Service};
use crate::wire::caller::Caller;
use crate::wire::hidl::{self, names::split};
use crate::wire::level::numbering::PART;
use crate::wire::reply::{Format, Reply, LEGACY_FAILURE};
use anybinder_driver::parcel::Parcel;
use std::collections::HashMap;
use std::ops::Bound;

/// Bytes of a list: half of what libbinder and rsbinder map for all that a process receives.
const MAX_SIZE: usize = 512 * 1024;
/// Services that one slice looks at. A registry with no more is listed at once.
const SLICE: usize = PART;

/// What is listed, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// AIDL: the names of services with one of these priorities.
    Names { format: Format, priority: i32 },
    /// AIDL before Android 11: the name at a place among those.
    NameAt { index: usize, priority: i32 },
    /// AIDL: names and processes, and how often they were restarted, if that is asked for.
    DebugInfo { format: Format, restarts: bool },
    /// HIDL: the names.
    HidlNames,
    /// HIDL: names and processes.
    HidlDebugInfo,
    /// HIDL: the instances of an interface, which ends with the separator.
    HidlInstances(String),
}

/// A service in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    pid: i32,
    restarts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub caller: Caller,
    /// Who is charged for it, if it takes long.
    pub charged: u32,
    wanted: Wanted,
    /// The last name that was looked at.
    at: Option<String>,
    /// How many names are before the wanted one.
    before: usize,
    /// Bytes by user, in this pass.
    sizes: HashMap<u32, usize>,
    /// Bytes of each user; None during the first pass.
    share: Option<usize>,
    entries: Vec<Entry>,
    /// How many entries are wanted at most.
    most: usize,
    left_out: usize,
}

/// What the first slices of a list lead to.
pub enum Begun {
    Done(Reply),
    /// A list that takes long, to be gone on with.
    Long(Box<Listing>),
}

/// The greatest share for which the sizes, each cut to it, add up to at most `all`.
fn share(sizes: impl Iterator<Item = usize>, all: usize) -> usize {
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    let mut rest = all;
    for (index, size) in sizes.iter().enumerate() {
        let share = rest / (sizes.len() - index);
        if *size > share {
            return share;
        }
        rest -= size;
    }
    usize::MAX
}

impl Wanted {
    fn includes(&self, service: &Service) -> bool {
        match self {
            Wanted::Names { priority, .. } | Wanted::NameAt { priority, .. } => {
                service.priority & priority != 0
            }
            _ => true,
        }
    }

    /// What the names begin with.
    fn prefix(&self) -> &str {
        match self {
            Wanted::HidlInstances(prefix) => prefix,
            _ => "",
        }
    }

    /// Bytes that a service takes in the reply, with its objects and what pads them.
    fn size(&self, name: &str) -> usize {
        match self {
            Wanted::Names { .. } | Wanted::NameAt { .. } => name.len() * 2 + 8,
            Wanted::DebugInfo { .. } => name.len() * 2 + 20,
            Wanted::HidlNames => name.len() + 80,
            Wanted::HidlDebugInfo => name.len() + 240,
            Wanted::HidlInstances(_) => split(name).1.len() + 80,
        }
    }
}

impl Listing {
    pub fn new(caller: Caller, wanted: Wanted) -> Listing {
        Listing {
            caller,
            charged: caller.charged,
            wanted,
            at: None,
            before: 0,
            sizes: HashMap::new(),
            share: None,
            entries: Vec::new(),
            most: usize::MAX,
            left_out: 0,
        }
    }

    /// The name at a place in the list of all.
    pub fn name_at(state: &State, caller: Caller, index: usize, priority: i32) -> Listing {
        let mut listing = Listing::new(caller, Wanted::NameAt { index, priority });
        (listing.share, listing.most) = (Some(usize::MAX), 1);
        listing.at = state.positions.before(caller, index, priority);
        listing.before = if listing.at.is_some() { 0 } else { index };
        listing
    }

    /// The part of the list behind a name, which always fits.
    pub fn part_after(self, name: String) -> Listing {
        Listing {
            at: Some(name),
            share: Some(usize::MAX),
            most: PART,
            ..self
        }
    }

    /// Makes the list, if that is short work.
    pub fn begin(mut self, state: &mut State) -> Begun {
        // One slice for each pass.
        if self.step(state) && self.step(state) {
            self.charged = users::charged(self.caller.pid, self.caller.uid);
            return Begun::Long(Box::new(self));
        }
        self.note(state);
        Begun::Done(self.reply())
    }

    /// Notes what the list leads to: where its client is, or what it lacks.
    pub fn note(&self, state: &mut State) {
        if self.left_out > 0 {
            state.log_cut(self.caller, self.left_out);
        }
        if let (Wanted::NameAt { index, priority }, Some(entry)) =
            (&self.wanted, self.entries.first())
        {
            let positions = &mut state.positions;
            positions.note(self.caller, *index, *priority, &entry.name);
        }
    }

    /// Looks at some services. False: that was all.
    pub fn step(&mut self, state: &State) -> bool {
        let prefix = self.wanted.prefix().to_string();
        let at = self.at.take();
        let from = match &at {
            Some(name) => Bound::Excluded(name.as_str()),
            None => Bound::Included(prefix.as_str()),
        };
        let services = state.registry.services_from(from);
        let services = services.take_while(|(name, _)| name.starts_with(&prefix));
        let mut count = 0;
        let mut last = None;
        for (name, service) in services.take(SLICE) {
            count += 1;
            last = Some(name);
            if self.wanted.includes(service) && state.policy.may_find(self.caller, name) {
                self.look(state, name, service);
            }
            if self.entries.len() >= self.most {
                return false;
            }
        }
        if let (SLICE, Some(last)) = (count, last) {
            self.at = Some(last.to_string());
            return true;
        }
        if self.share.is_some() {
            return false;
        }
        self.share = Some(share(self.sizes.values().copied(), MAX_SIZE));
        self.sizes.clear();
        true
    }

    fn look(&mut self, state: &State, name: &str, service: &Service) {
        if self.before > 0 {
            self.before -= 1;
            return;
        }
        let size = self.sizes.entry(service.owner.charged).or_default();
        *size += self.wanted.size(name);
        match self.share {
            None => {}
            Some(share) if *size > share => self.left_out += 1,
            Some(_) => self.entries.push(Entry {
                name: name.to_string(),
                pid: service.owner.pid,
                restarts: match self.wanted {
                    Wanted::DebugInfo { restarts: true, .. } => {
                        state.registry.restarts(name, service)
                    }
                    _ => 0,
                },
            }),
        }
    }

    /// How many services had no room.
    #[cfg(test)]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    pub fn reply(self) -> Reply {
        let names = || self.entries.iter().map(|entry| entry.name.as_str());
        match &self.wanted {
            Wanted::Names { format, .. } => {
                let mut reply = format.done();
                reply.strings16(names().collect::<Vec<_>>().into_iter());
                Reply::Parcel(reply)
            }
            Wanted::NameAt { .. } => match self.entries.first() {
                Some(entry) => {
                    let mut reply = Parcel::default();
                    reply.string16(&entry.name);
                    Reply::Parcel(reply)
                }
                // Behind the last.
                None => LEGACY_FAILURE,
            },
            Wanted::DebugInfo { format, restarts } => {
                let mut reply = format.done();
                reply.i32(self.entries.len() as i32);
                for entry in &self.entries {
                    reply.sized(|info| {
                        info.string16(&entry.name).i32(entry.pid);
                        if *restarts {
                            info.i32(entry.restarts as i32);
                        }
                    });
                }
                Reply::Parcel(reply)
            }
            Wanted::HidlNames => hidl::strings(&names().collect::<Vec<_>>()),
            Wanted::HidlDebugInfo => {
                let services = self.entries.iter();
                hidl::debug_info(services.map(|entry| (entry.name.as_str(), entry.pid)))
            }
            Wanted::HidlInstances(_) => {
                hidl::strings(&names().map(|name| split(name).1).collect::<Vec<_>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_needs_less_leaves_it_to_the_others() {
        assert_eq!(share([10, 20, 30].into_iter(), 60), usize::MAX);
        assert_eq!(share([10, 20, 31].into_iter(), 60), 30);
        assert_eq!(share([1, 100, 100].into_iter(), 61), 30);
        assert_eq!(share([100].into_iter(), 7), 7);
        assert_eq!(share(std::iter::empty(), 7), usize::MAX);
    }
}
