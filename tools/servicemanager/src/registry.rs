// SPDX-License-Identifier: Apache-2.0
//! The services of one device, and the callbacks that wait for them. This is the door of the
//! layer: below it are what is registered (`entries`), the calls to callbacks (`outbox`) and the
//! clients of lazy services (`client_count`), none of which knows the others but the first.
mod callback_removal;
mod callbacks;
mod client_count;
mod entries;
mod outbox;
mod queues;
mod quota;
mod references;
mod restarts;
pub mod users;

pub use callback_removal::Removal;
pub use callbacks::Callback;
pub use entries::Service;
pub use quota::{Quota, DEFAULT_PER_USER};
pub use references::Kind;

use crate::wire::caller::Caller;
use crate::wire::hidl::interface::MAX_CHAIN;
use crate::wire::hidl::names::{full, split, BASE};
use crate::wire::level::LevelSet;
use crate::wire::port::Port;
use crate::wire::reply::{refuse, FoundService, Outcome, Refusal};
use anybinder_driver::parcel::Target;
use callbacks::Callbacks;
use client_count::{count, note_new, Counting, When};
use entries::Entries;
use outbox::{Job, Outbox};
use queues::Queues;
use rsbinder::ExceptionCode;
use std::ops::Bound;

/// Registrations of dead objects that are removed between two requests.
const FORGOTTEN_AT_ONCE: usize = 16;

pub struct Registry {
    entries: Entries,
    counting: Counting,
    /// Callbacks that wait to be called.
    outbox: Outbox,
    /// The cookies of dead handles.
    dead: Queues<u64>,
    /// Whether a service may be replaced by a process of another user.
    allow_replacing_others: bool,
}

impl Registry {
    pub fn new(quota: Quota, is_hidl: bool, allow_replacing_others: bool) -> Registry {
        Registry {
            entries: Entries::new(quota, is_hidl),
            counting: Counting::default(),
            outbox: Outbox::default(),
            dead: Queues::default(),
            allow_replacing_others,
        }
    }

    pub fn service(&self, name: &str) -> Option<&Service> {
        self.entries.service(name)
    }

    /// The services in the order of their names, from one on.
    pub fn services_from(&self, from: Bound<&str>) -> impl Iterator<Item = (&str, &Service)> {
        self.entries.services_from(from)
    }

    /// How often a service was restarted in the last minute.
    pub fn restarts(&self, name: &str, service: &Service) -> usize {
        self.entries.restarts(name, service)
    }

    /// The accessor that is registered for a name.
    pub fn accessor(&self, name: &str) -> Option<&Service> {
        self.entries.accessor(name)
    }

    pub fn add(&mut self, port: &mut dyn Port, name: &str, service: Service) -> Outcome {
        self.check_replacing(name, &service)?;
        self.insert(port, name, service)
    }

    /// Whether the owner of a service may have a name.
    fn check_replacing(&self, name: &str, service: &Service) -> Outcome {
        let is_others = self
            .service(name)
            .is_some_and(|old| old.target != service.target && old.owner.uid != service.owner.uid);
        match is_others && !self.allow_replacing_others {
            true => refuse(
                ExceptionCode::Security,
                "the name is registered by another user",
            ),
            false => Ok(()),
        }
    }

    /// Adds a service under a name that its owner may have.
    fn insert(&mut self, port: &mut dyn Port, name: &str, mut service: Service) -> Outcome {
        if let Some(old) = self.service(name) {
            // A process that has the object may register it again, and does not become its owner.
            if old.target == service.target && !self.allow_replacing_others {
                service.owner = old.owner;
            }
        }
        let (owner, target) = (service.owner, service.target);
        let watched = self.entries.watched_as(name);
        self.outbox.check_room(owner, watched.len())?;
        let serial = self.entries.put_service(port, name, service)?;
        if !watched.is_empty() {
            self.note_new_client(port, target);
        }
        if self.entries.callbacks_of(Kind::Clients, name).is_some() {
            self.tell_of_clients(port, target);
        }
        for watched in watched {
            let job = Job::Service {
                watched,
                name: name.to_string(),
                serial,
                last: None,
            };
            let entries = &mut self.entries;
            self.outbox.begin(entries, port, owner.charged, job);
        }
        Ok(())
    }

    /// Looks up a service for a client, whose reference counts from now on.
    pub fn find(&mut self, port: &mut dyn Port, name: &str) -> Option<FoundService> {
        let service = self.service(name)?;
        let mut found = service.found();
        let target = service.target;
        // Android declares in a manifest what the accessor of a service is; here its user
        // registers it. Another user's could stand in for the service, and does not count.
        let accessor = self.accessor(name);
        let accessor = accessor.filter(|accessor| accessor.owner.uid == service.owner.uid);
        found.accessor = accessor.map(|accessor| (accessor.target, accessor.stability));
        self.note_new_client(port, target);
        Some(found)
    }

    /// The service, if the caller is the process that registered it.
    fn own_service(
        &self,
        caller: Caller,
        name: &str,
        target: Target,
        mismatch: ExceptionCode,
    ) -> Result<&Service, Refusal> {
        let Some(service) = self.service(name) else {
            return refuse(mismatch, "no service is registered under this name");
        };
        // A process in another pid namespace has no number here.
        let is_other_user = caller.pid == 0 && service.owner.uid != caller.uid;
        if service.owner.pid != caller.pid || is_other_user {
            let why = "only the process that registered the service may do this";
            return refuse(ExceptionCode::UnsupportedOperation, why);
        }
        if service.target != target {
            return refuse(mismatch, "another object is registered under this name");
        }
        Ok(service)
    }

    /// Removes a service that has no clients.
    pub fn try_unregister(
        &mut self,
        port: &mut dyn Port,
        caller: Caller,
        name: &str,
        target: Target,
    ) -> Outcome {
        self.own_service(caller, name, target, ExceptionCode::IllegalState)?;
        let Target::Handle(object) = target else {
            return refuse(ExceptionCode::IllegalState, "the service has clients");
        };
        let clients = self.entries.references().clients(object);
        if clients.is_some_and(|clients| clients.is_new) {
            return refuse(ExceptionCode::IllegalState, "a client is about to use it");
        }
        if self.count_clients_of(port, object, When::InCall) {
            note_new(&mut self.entries, object);
            return refuse(ExceptionCode::IllegalState, "the service has clients");
        }
        self.entries.remove_service(port, name);
        Ok(())
    }
}

/// Death of what is registered.
impl Registry {
    /// After the death of its process, `forget_dead` removes what an object was registered for.
    pub fn died(&mut self, cookie: u64) {
        if let Some(user) = self.entries.references().died(cookie) {
            self.dead.push(user, cookie);
        }
    }

    /// Whether registrations of dead objects are left.
    pub fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// Removes some of the registrations of dead objects, in turns between users. The handle, with
    /// which the driver could mean another object later, goes with the last of them.
    pub fn forget_dead(&mut self, port: &mut dyn Port) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let Some((user, cookie)) = self.dead.pop() else {
                return;
            };
            let references = self.entries.references();
            let Some((handle, kind, name)) = references.first_use(cookie) else {
                continue;
            };
            match kind {
                Kind::Service => self.entries.remove_service(port, &name),
                kind => drop(self.entries.remove_callback(port, (kind, &name), handle)),
            }
            self.dead.push(user, cookie);
        }
    }
}

/// Callbacks for services that are registered.
impl Registry {
    /// The levels of the client that registered a callback for a name; None if none did.
    pub fn watch_levels(&self, name: &str, handle: u32) -> Option<LevelSet> {
        let callbacks = self.entries.callbacks_of(Kind::Watch, name)?;
        Some(callbacks.get(handle)?.levels)
    }

    /// Whether the callback is registered already. Refuses one more to a user that has very many.
    fn has_callback(&self, used: (Kind, &str), callback: &Callback) -> Result<bool, Refusal> {
        let Some(callbacks) = self.entries.callbacks_of(used.0, used.1) else {
            return Ok(false);
        };
        let is_there = callbacks.get(callback.handle).is_some();
        if !is_there {
            callbacks.check(callback.owner)?;
        }
        Ok(is_there)
    }

    /// Calls back now if the service is registered, and whenever it is registered.
    pub fn watch(&mut self, port: &mut dyn Port, name: &str, callback: Callback) -> Outcome {
        let used = (Kind::Watch, name);
        if self.has_callback(used, &callback)? {
            return Ok(());
        }
        self.outbox.check_room(callback.owner, 1)?;
        let (handle, user) = (callback.handle, callback.owner.charged);
        let job = Job::Callback {
            watched: name.to_string(),
            handle,
            serial: self.entries.put_callback(port, used, callback)?,
            last: None,
        };
        self.outbox.begin(&mut self.entries, port, user, job);
        Ok(())
    }

    pub fn unwatch(&mut self, port: &mut dyn Port, name: &str, handle: u32) -> Outcome {
        match self.remove_watch(port, name, handle) {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "this callback is not registered for this name",
            ),
        }
    }

    /// Removes a callback for services. Returns whether there was one.
    pub fn remove_watch(&mut self, port: &mut dyn Port, name: &str, handle: u32) -> bool {
        let used = (Kind::Watch, name);
        self.entries.remove_callback(port, used, handle)
    }

    /// Removes a callback from some more names. False: that was all.
    pub fn remove_some(&mut self, removal: &mut Removal, port: &mut dyn Port) -> bool {
        removal.step(&mut self.entries, port)
    }

    /// Whether callbacks wait to be called.
    pub fn has_notices(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Calls some of the callbacks that wait.
    pub fn send_notices(&mut self, port: &mut dyn Port) {
        self.outbox.send(&mut self.entries, port);
    }
}

/// Callbacks for the clients of a service.
impl Registry {
    /// Calls back whenever the service gets its first client or loses its last.
    pub fn watch_clients(
        &mut self,
        port: &mut dyn Port,
        name: &str,
        target: Target,
        callback: Callback,
    ) -> Outcome {
        let mismatch = ExceptionCode::IllegalArgument;
        let service = self.own_service(callback.owner, name, target, mismatch)?;
        let binder = (service.target, service.stability.or_system());
        let used = (Kind::Clients, name);
        if self.has_callback(used, &callback)? {
            return Ok(());
        }
        let handle = callback.handle;
        self.entries.put_callback(port, used, callback)?;
        if self.entries.has_clients(target) {
            if let Some(callback) = self.entries.callback_mut(used, handle) {
                callback.clients(port, binder, true);
            }
        }
        if let Target::Handle(object) = target {
            self.count_clients_of(port, object, When::InCall);
        }
        Ok(())
    }

    /// Removes the callbacks for the clients of a service that is registered no more.
    pub fn remove_client_callbacks(&mut self, port: &mut dyn Port, name: &str) {
        let used = (Kind::Clients, name);
        let callbacks = self.entries.callbacks_of(used.0, name);
        for handle in callbacks.map_or(Vec::new(), Callbacks::handles) {
            self.entries.remove_callback(port, used, handle);
        }
    }

    /// Whether the clients of some object have to be counted from time to time.
    pub fn has_lazy_services(&self) -> bool {
        self.entries.has_lazy()
    }

    /// A client is given an object.
    fn note_new_client(&mut self, port: &mut dyn Port, target: Target) {
        let Target::Handle(object) = target else {
            return;
        };
        note_new(&mut self.entries, object);
        // An object that is known to have clients is counted at intervals.
        if !self.entries.has_clients(target) {
            self.count_clients_of(port, object, When::InCall);
            note_new(&mut self.entries, object);
        }
    }

    /// Counts the clients of an object, and has the callbacks for them called if that is news.
    fn count_clients_of(&mut self, port: &mut dyn Port, object: u32, when: When) -> bool {
        let counted = count(&mut self.entries, port, object, when);
        if counted.is_news {
            self.tell_of_clients(port, Target::Handle(object));
        }
        counted.are_there
    }

    /// Callbacks that do not know of the clients of an object are told.
    fn tell_of_clients(&mut self, port: &mut dyn Port, target: Target) {
        if let Target::Handle(object) = target {
            let user = self.entries.references().user(object);
            let last = (String::new(), None);
            let job = Job::Clients { object, last };
            self.outbox.begin(&mut self.entries, port, user, job);
        }
    }

    /// Has the clients of every object counted that has callbacks for them.
    pub fn begin_count(&mut self) {
        self.counting.begin();
    }

    /// Whether objects are left to be counted.
    pub fn is_counting(&self) -> bool {
        self.counting.goes_on()
    }

    /// Counts the clients of some objects.
    pub fn count_clients(&mut self, port: &mut dyn Port) {
        for target in self.counting.step(&mut self.entries, port) {
            self.tell_of_clients(port, target);
        }
    }
}

/// HIDL: a service is registered as each of the interfaces that it extends, under one instance
/// name.
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
        let has = |name: &String| self.service(name).map(|old| old.owner.charged) == Some(user);
        let more = names.iter().filter(|name| !has(name)).count();
        self.entries.quota().check(user, more)?;
        let watched = |name: &String| self.entries.watched_as(name).len();
        let watched = names.iter().map(watched).sum();
        self.outbox.check_room(new.owner, watched)?;
        self.check_interfaces(new.target, instance, &names)?;
        let old = names.iter().find(is_own);
        let old = old.and_then(|name| self.service(name));
        if let Some(old) = old.map(|old| old.target).filter(|old| *old != new.target) {
            // The old one would stay registered as interfaces that the new one does not extend.
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
        let known = self.entries.names_of(target, instance);
        let new = names.iter().filter(|name| !known.contains(name));
        match known.len() + new.count() <= MAX_CHAIN {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "the object is registered as too many interfaces",
            ),
        }
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
        for name in self.entries.names_of(target, instance) {
            let its_owner = self.service(&name).map(|service| service.owner.uid);
            if its_owner != Some(owner.uid) && !self.allow_replacing_others {
                continue;
            }
            self.entries.remove_service(port, &name);
            self.remove_client_callbacks(port, &name);
        }
    }
}

/// What tests of growth look at.
#[cfg(test)]
impl Registry {
    /// How many services there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn remove(&mut self, port: &mut dyn Port, name: &str) {
        self.entries.remove_service(port, name);
    }

    /// How many objects and registrations there are.
    pub fn size(&self) -> (usize, usize) {
        self.entries.size()
    }
}
