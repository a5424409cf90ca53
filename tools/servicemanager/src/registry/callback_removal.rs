// SPDX-License-Identifier: Apache-2.0
//! HIDL: a callback is removed from many names, in slices. What dead objects had is removed by
//! `Registry::forget_dead`.
use super::entries::Entries;
use super::references::Kind;
use crate::wire::caller::Caller;
use crate::wire::port::Port;
use anybinder_driver::parcel::Target;

/// Registrations of a callback that one slice looks at.
const SLICE: usize = 16;

/// One request to remove a callback, and how far it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    pub caller: Caller,
    kind: Kind,
    handle: u32,
    /// What the names begin with.
    prefix: String,
    /// Only from names of this object.
    object: Option<Target>,
    /// The first name that was not looked at.
    at: String,
    pub has_found: bool,
}

impl Removal {
    /// Removes a callback for services.
    pub fn of_watch(caller: Caller, handle: u32, prefix: String) -> Removal {
        Removal {
            caller,
            kind: Kind::Watch,
            handle,
            at: prefix.clone(),
            prefix,
            object: None,
            has_found: false,
        }
    }

    /// Removes a callback for the clients of one object, or of all.
    pub fn of_clients(caller: Caller, handle: u32, object: Option<Target>) -> Removal {
        Removal {
            kind: Kind::Clients,
            object,
            ..Removal::of_watch(caller, handle, String::new())
        }
    }

    /// Looks at some names. False: that was all.
    pub(super) fn step(&mut self, entries: &mut Entries, port: &mut dyn Port) -> bool {
        let references = entries.references();
        let names = references.names_from(self.handle, self.kind, &self.at);
        let names = names.take_while(|name| name.starts_with(&self.prefix));
        let names: Vec<String> = names.take(SLICE + 1).map(String::from).collect();
        let next = names.get(SLICE).cloned();
        for name in names.iter().take(SLICE) {
            let target = entries.service(name).map(|service| service.target);
            if self.object.is_none() || self.object == target {
                self.has_found |= entries.remove_callback(port, (self.kind, name), self.handle);
            }
        }
        let has_more = next.is_some();
        self.at = next.unwrap_or_default();
        has_more
    }
}
