// SPDX-License-Identifier: Apache-2.0
//! Callback objects of clients, and those that are registered for one name.
use crate::wire::caller::Caller;
use crate::wire::level::LevelSet;
use crate::wire::notification::{self, Dialect};
use crate::wire::port::Port;
use crate::wire::reply::{refuse, Outcome};
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// Callbacks of one user for one name: each of them is a call whenever the service is added.
const MAX_CALLBACKS: usize = 256;

/// A callback object of a client, which reads parcels in the format of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    pub handle: u32,
    pub dialect: Dialect,
    /// The levels that its client may have.
    pub levels: LevelSet,
    pub owner: Caller,
    /// Which registration it is, counted together with those of services.
    pub(super) serial: u64,
    /// Whether a callback for clients was told last that there are some.
    pub(super) knows_clients: bool,
}

impl Callback {
    pub fn new(handle: u32, dialect: Dialect, levels: LevelSet, owner: Caller) -> Callback {
        Callback {
            handle,
            dialect,
            levels,
            owner,
            serial: 0,
            knows_clients: false,
        }
    }

    /// Tells of a service that is registered.
    pub fn registered(
        &self,
        port: &mut dyn Port,
        name: &str,
        service: (Target, Stability),
        is_old: bool,
    ) {
        let parcel = self.dialect.registered(name, service, is_old);
        port.send(self.handle, notification::CODE, parcel);
    }

    /// Tells a callback for clients whether there are any.
    pub fn clients(
        &mut self,
        port: &mut dyn Port,
        service: (Target, Stability),
        has_clients: bool,
    ) {
        self.knows_clients = has_clients;
        let parcel = self.dialect.clients(service, has_clients);
        port.send(self.handle, notification::CODE, parcel);
    }
}

/// The callbacks for one name, by their handles.
#[derive(Default)]
pub struct Callbacks {
    all: BTreeMap<u32, Callback>,
    of_user: HashMap<u32, usize>,
}

impl Callbacks {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, handle: u32) -> Option<&Callback> {
        self.all.get(&handle)
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut Callback> {
        self.all.get_mut(&handle)
    }

    /// The first one behind a handle.
    pub fn after(&mut self, handle: Option<u32>) -> Option<&mut Callback> {
        let from = handle.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.all.range_mut((from, Bound::Unbounded)).next();
        next.map(|(_, callback)| callback)
    }

    /// Refuses one more to a user that has very many.
    pub fn check(&self, owner: Caller) -> Outcome {
        match self.of_user.get(&owner.charged) {
            Some(count) if *count >= MAX_CALLBACKS => refuse(
                ExceptionCode::IllegalState,
                "this user has 256 callbacks for this name",
            ),
            _ => Ok(()),
        }
    }

    pub fn add(&mut self, callback: Callback) {
        *self.of_user.entry(callback.owner.charged).or_default() += 1;
        self.all.insert(callback.handle, callback);
    }

    pub fn remove(&mut self, handle: u32) -> Option<Callback> {
        let gone = self.all.remove(&handle)?;
        let user = gone.owner.charged;
        if let Some(count) = self.of_user.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                self.of_user.remove(&user);
            }
        }
        Some(gone)
    }

    /// The handles of all.
    pub fn handles(&self) -> Vec<u32> {
        self.all.keys().copied().collect()
    }
}
