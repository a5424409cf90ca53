// SPDX-License-Identifier: Apache-2.0
//! What HIDL asks of the registry: a service is registered as each of the interfaces that it
//! extends, under one instance name.
use super::interface::MAX_CHAIN;
use super::names::{full, split, BASE};
use crate::callbacks::Callbacks;
use crate::caller::Caller;
use crate::handles::{Kind, Port};
use crate::registry::{refuse, Registry, Service};
use crate::reply::Refusal;
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;

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
        // All services share the names of the base: whose was registered last has them. Only one
        // that is nothing else stands for a name of the base itself.
        let is_own = |name: &&String| split(name).0 != BASE || names.len() == 1;
        for name in names.iter().filter(is_own) {
            self.check_replacing(name, &new)?;
        }
        let user = new.owner.charged;
        let has =
            |name: &String| self.services.get(name).map(|old| old.owner.charged) == Some(user);
        let more = names.iter().filter(|name| !has(name)).count();
        self.quota.check(user, more)?;
        let watched = names.iter().map(|name| self.watched_as(name).len()).sum();
        self.check_room(new.owner, watched)?;
        self.check_interfaces(new.target, instance, &names)?;
        let old = names.iter().find(is_own);
        let old = old.and_then(|name| self.services.get(name));
        if let Some(old) = old.map(|old| old.target).filter(|old| *old != new.target) {
            // It would stay registered as interfaces that the new one does not extend.
            self.remove_instance(port, new.owner, old, instance);
        }
        names
            .iter()
            .try_for_each(|name| self.insert(port, name, service()))
    }

    /// Refuses to register an object as more interfaces than any service has.
    fn check_interfaces(
        &self,
        target: Target,
        instance: &str,
        names: &[String],
    ) -> Result<(), Refusal> {
        let known = self.names_of(target, instance);
        let new = names.iter().filter(|name| !known.contains(name));
        match known.len() + new.count() <= MAX_CHAIN {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "the object is registered as too many interfaces",
            ),
        }
    }

    /// The names of an object with this instance.
    fn names_of(&self, target: Target, instance: &str) -> Vec<String> {
        let from = (target, instance.to_string(), String::new());
        let all = self.instances.range(from..);
        all.take_while(|(other, its, _)| *other == target && its == instance)
            .map(|(_, _, interface)| full(interface, instance))
            .collect()
    }

    /// Removes an object from the names with this instance that its user registered, with their
    /// client callbacks. As a base it may be registered by any user.
    pub fn remove_instance(
        &mut self,
        port: &mut dyn Port,
        owner: Caller,
        target: Target,
        instance: &str,
    ) {
        for name in self.names_of(target, instance) {
            let its_owner = self.services.get(&name).map(|service| service.owner.uid);
            if its_owner != Some(owner.uid) && !self.allow_replacing_others {
                continue;
            }
            self.remove_service(&name);
            if let Target::Handle(handle) = target {
                self.handles.remove(port, handle, Kind::Service, &name);
            }
            self.remove_client_callbacks(port, &name);
        }
    }

    /// Removes the callbacks for the clients of a service that is registered no more.
    pub fn remove_client_callbacks(&mut self, port: &mut dyn Port, name: &str) {
        let callbacks = self.client_callbacks.get(name);
        for handle in callbacks.map_or(Vec::new(), Callbacks::handles) {
            self.remove_callback(port, Kind::Clients, name, handle);
        }
    }
}
