// SPDX-License-Identifier: Apache-2.0
//! Callbacks for services that are registered, and the removal of callbacks of both kinds.
use crate::callbacks::Callback;
use crate::caller::Caller;
use crate::handles::{Kind, Port};
use crate::level_set::LevelSet;
use crate::outbox::Job;
use crate::registry::{refuse, Outcome, Registry};
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;

/// Registrations of a callback that one slice looks at.
const SLICE: usize = 16;

impl Registry {
    /// The levels of the client that registered a callback for a name; None if none did.
    pub fn watch_levels(&self, name: &str, handle: u32) -> Option<LevelSet> {
        let callback = self.watches.get(name)?.get(handle)?;
        Some(callback.levels)
    }

    /// Calls back now if the service is registered, and whenever it is registered.
    pub fn watch(&mut self, port: &mut dyn Port, name: &str, mut callback: Callback) -> Outcome {
        let user = callback.owner.charged;
        if let Some(callbacks) = self.watches.get(name) {
            if callbacks.get(callback.handle).is_some() {
                return Ok(());
            }
            callbacks.check(callback.owner)?;
        }
        self.check_room(callback.owner, 1)?;
        self.quota.take(user)?;
        let handle = callback.handle;
        self.handles.add(port, handle, user, (Kind::Watch, name));
        self.last_serial += 1;
        callback.serial = self.last_serial;
        let callbacks = self.watches.entry(name.to_string()).or_default();
        callbacks.add(callback);
        let job = Job::Callback {
            watched: name.to_string(),
            handle,
            serial: callback.serial,
            last: None,
        };
        self.begin(port, user, job);
        Ok(())
    }

    pub fn unwatch(&mut self, port: &mut dyn Port, name: &str, handle: u32) -> Outcome {
        match self.remove_callback(port, Kind::Watch, name, handle) {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "this callback is not registered for this name",
            ),
        }
    }

    /// Removes a callback and its use of the handle. Returns whether there was one.
    pub(crate) fn remove_callback(
        &mut self,
        port: &mut dyn Port,
        kind: Kind,
        name: &str,
        handle: u32,
    ) -> bool {
        let lists = match kind {
            Kind::Watch => &mut self.watches,
            _ => &mut self.client_callbacks,
        };
        let Some(list) = lists.get_mut(name) else {
            return false;
        };
        let Some(gone) = list.remove(handle) else {
            return false;
        };
        if list.is_empty() {
            lists.remove(name);
            let target = self.services.get(name).map(|service| service.target);
            if let (Kind::Clients, Some(target)) = (kind, target) {
                self.forget_lazy(name, target);
            }
        }
        self.quota.give_back(gone.owner.charged);
        self.handles.remove(port, handle, kind, name);
        true
    }
}

/// HIDL: a callback is removed from many names, in slices.
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
    /// Of a callback for services.
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

    /// Of a callback for the clients of one object, or of all.
    pub fn of_clients(caller: Caller, handle: u32, object: Option<Target>) -> Removal {
        Removal {
            kind: Kind::Clients,
            object,
            ..Removal::of_watch(caller, handle, String::new())
        }
    }

    /// Looks at some names. False: that was all.
    pub fn step(&mut self, registry: &mut Registry, port: &mut dyn Port) -> bool {
        let names = registry
            .handles
            .names_from(self.handle, self.kind, &self.at);
        let names = names.take_while(|name| name.starts_with(&self.prefix));
        let names: Vec<String> = names.take(SLICE + 1).map(String::from).collect();
        let next = names.get(SLICE).cloned();
        for name in names.iter().take(SLICE) {
            let target = registry.service(name).map(|service| service.target);
            if self.object.is_none() || self.object == target {
                self.has_found |= registry.remove_callback(port, self.kind, name, self.handle);
            }
        }
        let has_more = next.is_some();
        self.at = next.unwrap_or_default();
        has_more
    }
}
