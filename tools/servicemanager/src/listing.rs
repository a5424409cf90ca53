// SPDX-License-Identifier: Apache-2.0
//! The reply to a request for a list of services. It is made in slices, between which the registry
//! is free, and it is bounded: one that does not fit the receive buffer of its client would be lost
//! whole, for every client, as soon as one user registers enough names.
//!
//! The first pass adds up what each user's services take. If that is too much, users get equal
//! shares: whoever needs less than a share leaves the rest to the others. The second pass collects
//! the names.
use crate::caller::Caller;
use crate::hidl::{methods as hidl, names::split};
use crate::registry::Service;
use crate::reply::{Format, Reply};
use crate::state::State;
use std::collections::HashMap;
use std::ops::Bound;

/// Bytes of a list: half of what libbinder and rsbinder map for all that a process receives.
const MAX_SIZE: usize = 512 * 1024;
/// Services that one slice looks at. A registry with no more is listed at once.
const SLICE: usize = 512;

/// What is listed, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// AIDL: the names of services with one of these priorities.
    Names { format: Format, priority: i32 },
    /// AIDL: names and processes.
    DebugInfo { format: Format },
    /// HIDL: the names.
    HidlNames,
    /// HIDL: names and processes.
    HidlDebugInfo,
    /// HIDL: the instances of an interface.
    HidlInstances(String),
}

/// A service in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub pid: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub caller: Caller,
    wanted: Wanted,
    /// The last name that was looked at.
    at: Option<String>,
    /// Bytes by user, in this pass.
    sizes: HashMap<u32, usize>,
    /// Bytes of each user; None during the first pass.
    share: Option<usize>,
    entries: Vec<Entry>,
    left_out: usize,
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
    fn includes(&self, name: &str, service: &Service) -> bool {
        match self {
            Wanted::Names { priority, .. } => service.priority & priority != 0,
            Wanted::HidlInstances(interface) => split(name).0 == interface,
            _ => true,
        }
    }

    /// Bytes that a service takes in the reply, with its objects and what pads them.
    fn size(&self, name: &str) -> usize {
        match self {
            Wanted::Names { .. } => name.len() * 2 + 8,
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
            wanted,
            at: None,
            sizes: HashMap::new(),
            share: None,
            entries: Vec::new(),
            left_out: 0,
        }
    }

    /// The reply, at once if that is short work.
    pub fn begin(mut self, state: &State) -> Reply {
        if state.registry.len() > SLICE {
            return Reply::List(Box::new(self));
        }
        while self.step(state) {}
        self.reply()
    }

    /// Looks at some services. False: that was all.
    pub fn step(&mut self, state: &State) -> bool {
        let from = match &self.at {
            Some(name) => Bound::Excluded(name.clone()),
            None => Bound::Unbounded,
        };
        let mut count = 0;
        for (name, service) in state.registry.services_from(from).take(SLICE) {
            count += 1;
            self.at = Some(name.to_string());
            if self.wanted.includes(name, service) && state.policy.may_find(self.caller, name) {
                self.look(name, service);
            }
        }
        if count == SLICE {
            return true;
        }
        if self.share.is_some() {
            return false;
        }
        self.share = Some(share(self.sizes.values().copied(), MAX_SIZE));
        self.sizes.clear();
        self.at = None;
        true
    }

    fn look(&mut self, name: &str, service: &Service) {
        let size = self.sizes.entry(service.owner.charged).or_default();
        *size += self.wanted.size(name);
        match self.share {
            None => {}
            Some(share) if *size > share => self.left_out += 1,
            Some(_) => self.entries.push(Entry {
                name: name.to_string(),
                pid: service.owner.pid,
            }),
        }
    }

    /// How many services had no room.
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
            Wanted::DebugInfo { format } => {
                let mut reply = format.done();
                reply.i32(self.entries.len() as i32);
                for entry in &self.entries {
                    reply.sized(|info| {
                        info.string16(&entry.name).i32(entry.pid);
                    });
                }
                Reply::Parcel(reply)
            }
            Wanted::HidlNames => hidl::strings(&names().collect::<Vec<_>>()),
            Wanted::HidlDebugInfo => hidl::debug_info(&self.entries),
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
