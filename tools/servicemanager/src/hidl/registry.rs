// SPDX-License-Identifier: Apache-2.0
//! What HIDL asks of the registry: a service is registered as each of the interfaces that it
//! extends, under one instance name.
use super::names::{full, split, BASE};
use crate::handles::{Kind, Port};
use crate::registry::{Registry, Service};
use crate::reply::Refusal;
use anybinder_driver::parcel::Target;

impl Registry {
    /// Adds a service as every interface of its chain, or as none.
    ///
    /// * `service`: makes the entry for one of them
    pub fn add_chain(
        &mut self,
        port: &mut dyn Port,
        instance: &str,
        chain: &[String],
        service: impl Fn() -> Service,
    ) -> Result<(), Refusal> {
        let mut names: Vec<String> = Vec::new();
        for interface in chain {
            let name = full(interface, instance);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let new = service();
        for name in names.iter().filter(|name| split(name).0 != BASE) {
            // All services share the names of the base: whose was registered last has them.
            self.check_replacing(name, &new)?;
        }
        let user = new.owner.charged;
        let has =
            |name: &String| self.services.get(name).map(|old| old.owner.charged) == Some(user);
        let more = names.iter().filter(|name| !has(name)).count();
        self.quota.check(user, more)?;
        let watches = names.iter().map(|name| self.watches_of(name).len()).sum();
        self.check_room(new.owner, watches)?;
        let old = names.first().and_then(|name| self.services.get(name));
        if let Some(old) = old.map(|old| old.target).filter(|old| *old != new.target) {
            // It would stay registered as interfaces that the new one does not extend.
            self.remove_instance(port, old, instance);
        }
        names
            .iter()
            .try_for_each(|name| self.insert(port, name, service()))
    }

    /// Removes an object from all names with this instance, with their client callbacks.
    pub fn remove_instance(&mut self, port: &mut dyn Port, target: Target, instance: &str) {
        let names: Vec<String> = match target {
            Target::Handle(handle) => self.handles.names(handle, Kind::Service),
            Target::Own => self
                .services()
                .filter(|(_, service)| service.target == target)
                .map(|(name, _)| name.to_string())
                .collect(),
        };
        for name in names.iter().filter(|name| split(name).1 == instance) {
            self.remove_service(name);
            if let Target::Handle(handle) = target {
                self.handles.remove(port, handle, Kind::Service, name);
            }
            self.remove_client_callbacks(port, name);
        }
    }

    /// Removes the callbacks for the clients of a service that is registered no more.
    pub fn remove_client_callbacks(&mut self, port: &mut dyn Port, name: &str) {
        let callbacks = self.client_callbacks.get(name).cloned().unwrap_or_default();
        for callback in callbacks {
            self.handles
                .remove(port, callback.handle, Kind::Clients, name);
            self.remove_callback(Kind::Clients, name, callback.handle);
        }
    }

    /// Removes the callbacks of one kind with this handle for the names that match. Returns whether
    /// there were any.
    pub fn unwatch_all(
        &mut self,
        port: &mut dyn Port,
        kind: Kind,
        handle: u32,
        matches: impl Fn(&Registry, &str) -> bool,
    ) -> bool {
        let mut names = self.handles.names(handle, kind);
        names.retain(|name| matches(self, name));
        for name in &names {
            self.handles.remove(port, handle, kind, name);
            self.remove_callback(kind, name, handle);
        }
        !names.is_empty()
    }
}
