// SPDX-License-Identifier: Apache-2.0
//! The services of one device, and the callbacks that wait for them.
use crate::callbacks::Callbacks;
use crate::caller::Caller;
use crate::handles::{Handles, Kind, Port};
use crate::hidl::names::split;
use crate::outbox::Job;
use crate::queues::Queues;
use crate::quota::Quota;
use crate::reply::{FoundService, Refusal};
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// `FLAG_IS_LAZY_SERVICE` among the bits of the dump priority, from Android 15 r20 on.
const FLAG_IS_LAZY: i32 = 1 << 30;

/// What the name of a service's accessor begins with, before that of the service.
const ACCESSOR_PREFIX: &str = "android.os.IAccessor/";

/// Registrations of dead objects that are removed between two requests.
const FORGOTTEN_AT_ONCE: usize = 16;

#[derive(Debug)]
pub struct Service {
    pub target: Target,
    pub stability: Stability,
    pub owner: Caller,
    pub priority: i32,
    pub allow_isolated: bool,
    /// Which registration of its name this is.
    pub(crate) serial: u64,
}

impl Service {
    pub fn new(target: Target, stability: Stability, owner: Caller, priority: i32) -> Service {
        Service {
            target,
            stability,
            owner,
            priority,
            allow_isolated: false,
            serial: 0,
        }
    }

    pub(crate) fn binder(&self) -> (Target, Stability) {
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

pub(crate) type Outcome = Result<(), Refusal>;

pub(crate) fn refuse<T>(exception: ExceptionCode, message: &str) -> Result<T, Refusal> {
    Err(Refusal::new(exception, message))
}

pub struct Registry {
    pub(crate) services: BTreeMap<String, Service>,
    pub(crate) watches: BTreeMap<String, Callbacks>,
    pub(crate) client_callbacks: BTreeMap<String, Callbacks>,
    /// The objects with callbacks for their clients, each with the names that have some.
    pub(crate) lazy: BTreeMap<u32, BTreeSet<String>>,
    /// The object whose clients are counted next, while that is done.
    pub(crate) counting: Option<u32>,
    /// HIDL: the names of an object, by instance and interface.
    pub(crate) instances: BTreeSet<(Target, String, String)>,
    /// How many of the services are accessors.
    accessors: usize,
    pub(crate) handles: Handles,
    pub(crate) quota: Quota,
    /// Callbacks that wait to be called.
    pub(crate) outbox: Queues<Job>,
    /// The cookies of dead handles.
    dead: Queues<u64>,
    pub(crate) last_serial: u64,
    /// Whether the names are HIDL's: an interface and an instance, one object under several names.
    pub(crate) is_hidl: bool,
    /// Whether a service may be replaced by a process of another user.
    pub(crate) allow_replacing_others: bool,
}

impl Registry {
    pub fn new(quota: Quota, is_hidl: bool, allow_replacing_others: bool) -> Registry {
        Registry {
            services: BTreeMap::new(),
            watches: BTreeMap::new(),
            client_callbacks: BTreeMap::new(),
            lazy: BTreeMap::new(),
            counting: None,
            instances: BTreeSet::new(),
            accessors: 0,
            handles: Handles::default(),
            quota,
            outbox: Queues::default(),
            dead: Queues::default(),
            last_serial: 0,
            is_hidl,
            allow_replacing_others,
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

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.services.len()
    }

    pub fn add(&mut self, port: &mut dyn Port, name: &str, service: Service) -> Outcome {
        self.check_replacing(name, &service)?;
        self.insert(port, name, service)
    }

    /// Whether the owner of a service may have a name.
    pub(crate) fn check_replacing(&self, name: &str, service: &Service) -> Outcome {
        let is_others = self
            .services
            .get(name)
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
    pub(crate) fn insert(
        &mut self,
        port: &mut dyn Port,
        name: &str,
        mut service: Service,
    ) -> Outcome {
        let old = self.services.get(name);
        let old = old.map(|old| (old.target, old.owner));
        if let Some((target, owner)) = old {
            // A process that has the object may register it again, and does not become its owner.
            if target == service.target && !self.allow_replacing_others {
                service.owner = owner;
            }
        }
        let owner = service.owner;
        let watched = self.watched_as(name);
        self.check_room(owner, watched.len())?;
        if old.map(|(_, owner)| owner.charged) != Some(owner.charged) {
            self.quota.take(owner.charged)?;
            if let Some((_, old)) = old {
                self.quota.give_back(old.charged);
            }
        }
        if let Target::Handle(handle) = service.target {
            let used = (Kind::Service, name);
            self.handles.add(port, handle, owner.charged, used);
        }
        let target = service.target;
        self.last_serial += 1;
        service.serial = self.last_serial;
        match self.services.insert(name.to_string(), service) {
            Some(old) if old.target != target => {
                self.forget_target(name, old.target);
                self.note_target(name, target, self.has_clients(old.target));
                if let Target::Handle(old) = old.target {
                    self.handles.remove(port, old, Kind::Service, name);
                }
            }
            Some(_) => {}
            None => {
                self.accessors += usize::from(name.starts_with(ACCESSOR_PREFIX));
                self.note_target(name, target, false);
            }
        }
        if !watched.is_empty() {
            self.note_new_client(port, target);
        }
        if self.client_callbacks.contains_key(name) {
            self.tell_of_clients(port, target);
        }
        let serial = self.last_serial;
        for watched in watched {
            let job = Job::Service {
                watched,
                name: name.to_string(),
                serial,
                last: None,
            };
            self.begin(port, owner.charged, job);
        }
        Ok(())
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

    /// The opposite of `note_target`.
    fn forget_target(&mut self, name: &str, target: Target) {
        if self.is_hidl {
            let (interface, instance) = split(name);
            let entry = (target, instance.to_string(), interface.to_string());
            self.instances.remove(&entry);
        }
        self.forget_lazy(name, target);
    }

    /// The accessor that is registered for a name.
    pub fn accessor(&self, name: &str) -> Option<&Service> {
        self.services.get(&format!("{ACCESSOR_PREFIX}{name}"))
    }

    /// Looks up a service for a client, whose reference counts from now on.
    pub fn find(&mut self, port: &mut dyn Port, name: &str) -> Option<FoundService> {
        let service = self.services.get(name)?;
        let mut found = service.found();
        let target = service.target;
        if self.accessors > 0 {
            // Android declares in a manifest what the accessor of a service is; here its user
            // registers it. Another user's could stand in for the service, and does not count.
            let accessor = self.accessor(name);
            let accessor = accessor.filter(|accessor| accessor.owner.uid == service.owner.uid);
            found.accessor = accessor.map(|accessor| (accessor.target, accessor.stability));
        }
        self.note_new_client(port, target);
        Some(found)
    }

    pub(crate) fn remove_service(&mut self, name: &str) {
        if let Some(service) = self.services.remove(name) {
            self.quota.give_back(service.owner.charged);
            self.accessors -= usize::from(name.starts_with(ACCESSOR_PREFIX));
            self.forget_target(name, service.target);
        }
    }

    /// After the death of its process, `forget_dead` removes what an object was registered for.
    pub fn died(&mut self, cookie: u64) {
        if let Some(user) = self.handles.died(cookie) {
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
            let Some((handle, kind, name)) = self.handles.first_use(cookie) else {
                continue;
            };
            match kind {
                Kind::Service => self.remove_service(&name),
                kind => drop(self.remove_callback(port, kind, &name, handle)),
            }
            self.handles.remove(port, handle, kind, &name);
            self.dead.push(user, cookie);
        }
    }

    /// How many handles and registrations there are, for tests of growth.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        (self.handles.len(), self.quota.total())
    }
}
