// SPDX-License-Identifier: Apache-2.0
//! What is registered on a device: services and callbacks by name. An entry charges its user, and
//! keeps a reference to the object that it is for, as long as it is there.
use super::callbacks::{Callback, Callbacks};
use super::quota::Quota;
use super::references::{Clients, Kind, References};
use super::restarts::Restarts;
use crate::wire::caller::Caller;
use crate::wire::hidl::names::{full, package_of, split};
use crate::wire::port::Port;
use crate::wire::reply::{FoundService, Refusal};
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::{Speaker, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Instant;

/// `FLAG_IS_LAZY_SERVICE` among the bits of the dump priority, from Android 15 r20 on.
const FLAG_IS_LAZY: i32 = 1 << 30;

/// What the name of a service's accessor begins with, before that of the service.
const ACCESSOR_PREFIX: &str = "android.os.IAccessor/";

#[derive(Debug)]
pub struct Service {
    pub target: Target,
    pub stability: Stability,
    pub owner: Caller,
    pub priority: i32,
    pub allow_isolated: bool,
    /// The process that registered it, which reads calls as it writes them.
    pub registrant: Speaker,
    /// Which registration of its name this is.
    pub(super) serial: u64,
}

impl Service {
    pub fn new(target: Target, stability: Stability, owner: Caller, priority: i32) -> Service {
        Service {
            target,
            stability,
            owner,
            priority,
            allow_isolated: false,
            registrant: Speaker::default(),
            serial: 0,
        }
    }

    pub(super) fn binder(&self) -> (Target, Stability) {
        (self.target, self.stability.or_system())
    }

    pub fn found(&self) -> FoundService {
        FoundService {
            binder: Some((self.target, self.stability)),
            is_lazy: self.priority & FLAG_IS_LAZY != 0,
            accessor: None,
        }
    }
}

/// A callback to be called, or the end of those for an object's clients.
pub(super) enum NextOfClients<'a> {
    End,
    /// Nothing is left of a name.
    Passed,
    Callback(&'a mut Callback, (Target, Stability)),
}

pub(super) struct Entries {
    services: BTreeMap<String, Service>,
    watches: BTreeMap<String, Callbacks>,
    client_callbacks: BTreeMap<String, Callbacks>,
    /// The objects with callbacks for their clients, each with the names that have some.
    lazy: BTreeMap<u32, BTreeSet<String>>,
    /// HIDL: the names of an object, by instance and interface.
    instances: BTreeSet<(Target, String, String)>,
    /// How many of the services are accessors.
    accessors: usize,
    references: References,
    restarts: Restarts,
    quota: Quota,
    last_serial: u64,
    /// Whether the names are HIDL's: an interface and an instance, one object under several names.
    is_hidl: bool,
}

impl Entries {
    pub fn new(quota: Quota, is_hidl: bool) -> Entries {
        Entries {
            services: BTreeMap::new(),
            watches: BTreeMap::new(),
            client_callbacks: BTreeMap::new(),
            lazy: BTreeMap::new(),
            instances: BTreeSet::new(),
            accessors: 0,
            references: References::default(),
            restarts: Restarts::default(),
            quota,
            last_serial: 0,
            is_hidl,
        }
    }

    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.get(name)
    }

    /// The services in the order of their names, from one on.
    pub fn services_from(&self, from: Bound<&str>) -> impl Iterator<Item = (&str, &Service)> {
        self.services
            .range::<str, _>((from, Bound::Unbounded))
            .map(|(name, service)| (name.as_str(), service))
    }

    /// How often a service was restarted in the last minute.
    pub fn restarts(&self, name: &str, service: &Service) -> usize {
        self.restarts
            .of(service.owner.charged, name, Instant::now())
    }

    /// The accessor that is registered for a name.
    pub fn accessor(&self, name: &str) -> Option<&Service> {
        match self.accessors {
            0 => None,
            _ => self.services.get(&format!("{ACCESSOR_PREFIX}{name}")),
        }
    }

    /// HIDL: the names of an object with this instance.
    pub fn names_of(&self, target: Target, instance: &str) -> Vec<String> {
        let from = (target, instance.to_string(), String::new());
        let all = self.instances.range(from..);
        all.take_while(|(other, its, _)| *other == target && its == instance)
            .map(|(_, _, interface)| full(interface, instance))
            .collect()
    }

    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    pub fn references(&mut self) -> &mut References {
        &mut self.references
    }

    fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    /// Adds a service, in the place of one that has the name. Returns which registration it is.
    pub fn put_service(
        &mut self,
        port: &mut dyn Port,
        name: &str,
        mut service: Service,
    ) -> Result<u64, Refusal> {
        let (owner, target) = (service.owner, service.target);
        let charged = self.services.get(name).map(|old| old.owner.charged);
        if charged != Some(owner.charged) {
            self.quota.take(owner.charged)?;
            if let Some(charged) = charged {
                self.quota.give_back(charged);
            }
        }
        if let Target::Handle(handle) = target {
            let used = (Kind::Service, name);
            self.references.add(port, handle, owner.charged, used);
        }
        service.serial = self.next_serial();
        match self.services.insert(name.to_string(), service) {
            Some(old) if old.target != target => {
                self.restarts.ended(old.owner.charged, name, Instant::now());
                self.forget_target(name, old.target);
                self.note_target(name, target, self.has_clients(old.target));
                self.drop_reference(port, old.target, name);
            }
            Some(_) => {}
            None => {
                self.accessors += usize::from(name.starts_with(ACCESSOR_PREFIX));
                self.note_target(name, target, false);
            }
        }
        Ok(self.last_serial)
    }

    pub fn remove_service(&mut self, port: &mut dyn Port, name: &str) {
        if let Some(service) = self.services.remove(name) {
            let charged = service.owner.charged;
            self.restarts.ended(charged, name, Instant::now());
            self.quota.give_back(charged);
            self.accessors -= usize::from(name.starts_with(ACCESSOR_PREFIX));
            self.forget_target(name, service.target);
            self.drop_reference(port, service.target, name);
        }
    }

    fn drop_reference(&mut self, port: &mut dyn Port, target: Target, name: &str) {
        if let Target::Handle(handle) = target {
            self.references.remove(port, handle, Kind::Service, name);
        }
    }

    /// Notes that an object has a name.
    ///
    /// * `has_clients`: whether the object has that had the name before
    fn note_target(&mut self, name: &str, target: Target, has_clients: bool) {
        if self.is_hidl {
            let (interface, instance) = split(name);
            let entry = (target, instance.to_string(), interface.to_string());
            self.instances.insert(entry);
        }
        if self.client_callbacks.contains_key(name) {
            self.note_lazy(name, target, has_clients);
        }
    }

    /// Forgets that an object has a name.
    fn forget_target(&mut self, name: &str, target: Target) {
        if self.is_hidl {
            let (interface, instance) = split(name);
            let entry = (target, instance.to_string(), interface.to_string());
            self.instances.remove(&entry);
        }
        self.forget_lazy(name, target);
    }

    /// Notes that an object has a name with callbacks for its clients.
    fn note_lazy(&mut self, name: &str, target: Target, has_clients: bool) {
        let Target::Handle(handle) = target else {
            return;
        };
        let names = self.lazy.entry(handle).or_default();
        names.insert(name.to_string());
        if let Some(clients) = self.references.clients(handle) {
            clients.are_there |= has_clients;
        }
    }

    /// Forgets that a name of an object has callbacks for clients.
    fn forget_lazy(&mut self, name: &str, target: Target) {
        let Target::Handle(handle) = target else {
            return;
        };
        let Some(names) = self.lazy.get_mut(&handle) else {
            return;
        };
        names.remove(name);
        if names.is_empty() {
            self.lazy.remove(&handle);
        }
    }

    /// Whether some object has callbacks for its clients.
    pub fn has_lazy(&self) -> bool {
        !self.lazy.is_empty()
    }

    /// The objects with callbacks for their clients, from one on.
    pub fn lazy_from(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        self.lazy.range(from..).map(|(object, _)| *object)
    }

    /// What is known of the clients of an object that has callbacks for them.
    pub fn lazy_clients(&mut self, object: u32) -> Option<&mut Clients> {
        match self.lazy.contains_key(&object) {
            true => self.references.clients(object),
            false => None,
        }
    }

    pub fn has_clients(&self, target: Target) -> bool {
        match target {
            Target::Handle(handle) => self.references.has_clients(handle),
            Target::Own => false,
        }
    }

    fn callbacks(&self, kind: Kind) -> &BTreeMap<String, Callbacks> {
        match kind {
            Kind::Watch => &self.watches,
            _ => &self.client_callbacks,
        }
    }

    fn callbacks_mut(&mut self, kind: Kind) -> &mut BTreeMap<String, Callbacks> {
        match kind {
            Kind::Watch => &mut self.watches,
            _ => &mut self.client_callbacks,
        }
    }

    /// The callbacks of a kind for a name.
    pub fn callbacks_of(&self, kind: Kind, name: &str) -> Option<&Callbacks> {
        self.callbacks(kind).get(name)
    }

    pub fn callback_mut(&mut self, used: (Kind, &str), handle: u32) -> Option<&mut Callback> {
        self.callbacks_mut(used.0).get_mut(used.1)?.get_mut(handle)
    }

    /// What callbacks for a service are registered for, where there are some: its name, and all
    /// names of its interface.
    pub fn watched_as(&self, name: &str) -> Vec<String> {
        let package = self.is_hidl.then(|| package_of(name));
        let keys = [Some(name), package].into_iter().flatten();
        keys.filter(|key| self.watches.contains_key(*key))
            .map(String::from)
            .collect()
    }

    /// Adds a callback. Returns which registration it is.
    pub fn put_callback(
        &mut self,
        port: &mut dyn Port,
        (kind, name): (Kind, &str),
        mut callback: Callback,
    ) -> Result<u64, Refusal> {
        let user = callback.owner.charged;
        self.quota.take(user)?;
        self.references
            .add(port, callback.handle, user, (kind, name));
        callback.serial = self.next_serial();
        let lists = self.callbacks_mut(kind);
        lists.entry(name.to_string()).or_default().add(callback);
        if kind == Kind::Clients {
            if let Some(target) = self.services.get(name).map(|service| service.target) {
                self.note_lazy(name, target, false);
            }
        }
        Ok(self.last_serial)
    }

    /// Removes a callback. Returns whether there was one.
    pub fn remove_callback(
        &mut self,
        port: &mut dyn Port,
        (kind, name): (Kind, &str),
        handle: u32,
    ) -> bool {
        let lists = self.callbacks_mut(kind);
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
        self.references.remove(port, handle, kind, name);
        true
    }

    /// The registration of a service, and the next callback for it.
    ///
    /// * `last`: the callback before; None for the first
    pub fn next_watch(
        &mut self,
        (watched, name): (&str, &str),
        last: Option<u32>,
    ) -> Option<(&Service, &mut Callback)> {
        let service = self.services.get(name)?;
        let callback = self.watches.get_mut(watched)?.after(last)?;
        Some((service, callback))
    }

    /// The next service that a callback waits for.
    ///
    /// * `last`: the name before; None for the first
    pub fn next_watched(&self, watched: &str, last: Option<&str>) -> Option<(&str, &Service)> {
        let from = last.map_or(Bound::Included(watched), Bound::Excluded);
        // A name that ends with the separator stands for all instances of the interface.
        let is_package = self.is_hidl && package_of(watched) == watched;
        let next = self.services_from(from).next();
        next.filter(|(name, _)| match is_package {
            true => name.starts_with(watched),
            false => *name == watched,
        })
    }

    /// The next callback for the clients of an object.
    ///
    /// * `at` and `last`: a name of the object, and the callback before; moved on by this
    pub fn next_of_clients(
        &mut self,
        object: u32,
        (at, last): &mut (String, Option<u32>),
    ) -> NextOfClients<'_> {
        let names = self.lazy.get(&object);
        let from = (Bound::Included(at.as_str()), Bound::Unbounded);
        let Some(name) = names.and_then(|names| names.range::<str, _>(from).next()) else {
            return NextOfClients::End;
        };
        let last_of_name = last.filter(|_| name == at);
        let callbacks = self.client_callbacks.get_mut(name);
        let callback = callbacks.and_then(|all| all.after(last_of_name));
        let (Some(service), Some(callback)) = (self.services.get(name), callback) else {
            // No name is between these two.
            (*at, *last) = (format!("{name}\0"), None);
            return NextOfClients::Passed;
        };
        (*at, *last) = (name.clone(), Some(callback.handle));
        NextOfClients::Callback(callback, service.binder())
    }

    /// How many services there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.services.len()
    }

    /// How many objects and registrations there are, for tests of growth.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        (self.references.len(), self.quota.total())
    }
}
