// SPDX-License-Identifier: Apache-2.0
//! The handles that the registry keeps, and what for: one reference and one death notification for
//! each handle, however often it is registered.
use crate::wire::port::Port;
use std::collections::{BTreeSet, HashMap};

/// A registration that keeps a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Service,
    /// A callback for a name that is registered.
    Watch,
    /// A callback for the number of clients of a service.
    Clients,
}

/// What is known of the clients of an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clients {
    pub are_there: bool,
    /// A client was given the object and may not have its reference yet.
    pub is_new: bool,
}

#[derive(Default)]
struct Reference {
    cookie: u64,
    /// Who is charged for the first use.
    user: u32,
    is_dead: bool,
    clients: Clients,
    uses: BTreeSet<(Kind, String)>,
}

#[derive(Default)]
pub struct References {
    by_handle: HashMap<u32, Reference>,
    /// The handle of each cookie. A cookie is never used again: the driver may reuse the number of
    /// a handle while a notification of the old one is on its way.
    cookies: HashMap<u64, u32>,
    last_cookie: u64,
}

impl References {
    /// Some of the names that a handle is kept for, in their order, from one on.
    pub fn names_from(&self, handle: u32, kind: Kind, from: &str) -> impl Iterator<Item = &str> {
        let uses = self.by_handle.get(&handle).map(|reference| &reference.uses);
        let from = (kind, from.to_string())..;
        let uses = uses
            .into_iter()
            .flat_map(move |uses| uses.range(from.clone()));
        uses.take_while(move |(other, _)| *other == kind)
            .map(|(_, name)| name.as_str())
    }

    pub fn clients(&mut self, handle: u32) -> Option<&mut Clients> {
        self.by_handle
            .get_mut(&handle)
            .map(|reference| &mut reference.clients)
    }

    /// The user who is charged for a handle.
    pub fn user(&self, handle: u32) -> u32 {
        self.by_handle
            .get(&handle)
            .map_or(0, |reference| reference.user)
    }

    pub fn has_clients(&self, handle: u32) -> bool {
        let reference = self.by_handle.get(&handle);
        reference.is_some_and(|reference| reference.clients.are_there)
    }

    /// * `user`: who is charged for it
    pub fn add(&mut self, port: &mut dyn Port, handle: u32, user: u32, (kind, name): (Kind, &str)) {
        let reference = self.by_handle.entry(handle).or_default();
        if reference.uses.is_empty() {
            self.last_cookie += 1;
            reference.cookie = self.last_cookie;
            reference.user = user;
            self.cookies.insert(reference.cookie, handle);
            port.keep(handle, reference.cookie);
        }
        reference.uses.insert((kind, name.to_string()));
    }

    pub fn remove(&mut self, port: &mut dyn Port, handle: u32, kind: Kind, name: &str) {
        let Some(reference) = self.by_handle.get_mut(&handle) else {
            return;
        };
        reference.uses.remove(&(kind, name.to_string()));
        if reference.uses.is_empty() {
            let (cookie, is_dead) = (reference.cookie, reference.is_dead);
            self.by_handle.remove(&handle);
            self.cookies.remove(&cookie);
            port.drop_handle(handle, cookie, is_dead);
        }
    }

    /// Notes a death. Returns the user who is charged for the handle.
    pub fn died(&mut self, cookie: u64) -> Option<u32> {
        let handle = self.cookies.get(&cookie)?;
        let reference = self.by_handle.get_mut(handle)?;
        reference.is_dead = true;
        Some(reference.user)
    }

    /// A registration that keeps the handle of a cookie.
    pub fn first_use(&self, cookie: u64) -> Option<(u32, Kind, String)> {
        let handle = *self.cookies.get(&cookie)?;
        let (kind, name) = self.by_handle.get(&handle)?.uses.first()?;
        Some((handle, *kind, name.clone()))
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_handle.len()
    }
}
