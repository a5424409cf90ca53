// SPDX-License-Identifier: Apache-2.0
//! The services of one device, and the callbacks that wait for them.
use crate::caller::Caller;
use crate::handles::{Handles, Kind, Port};
use crate::hidl::names::{package_of, split, CLIENT_CALLBACK, NOTIFICATION};
use crate::level_set::LevelSet;
use crate::outbox::Notice;
use crate::queues::Queues;
use crate::quota::Quota;
use crate::reply::{FoundService, Refusal};
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Parcel, Target};
use rsbinder::ExceptionCode;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// `FLAG_IS_LAZY_SERVICE` among the bits of the dump priority, from Android 15 r20 on.
const FLAG_IS_LAZY: i32 = 1 << 30;

/// What the name of a service's accessor begins with, before that of the service.
const ACCESSOR_PREFIX: &str = "android.os.IAccessor/";

/// References to a service that are no clients: ours, and during a call the one of its parcel. As
/// in AOSP's service manager.
const KNOWN_CLIENTS: u32 = 1;
const KNOWN_CLIENTS_IN_CALL: u32 = 2;

/// Callbacks of one user for one name: each of them is a call whenever the service is added.
pub const MAX_CALLBACKS: usize = 256;

/// Registrations of dead objects that are removed between two requests.
const FORGOTTEN_AT_ONCE: usize = 16;

/// The only method of `IServiceCallback` and of `IClientCallback`.
const CALLBACK_CODE: u32 = 1;

const NO_STRICT_MODE: i32 = 0;

#[derive(Debug)]
pub struct Service {
    pub target: Target,
    pub stability: Stability,
    pub owner: Caller,
    pub priority: i32,
    pub allow_isolated: bool,
    /// Which registration of its name this is.
    pub(crate) serial: u64,
    has_clients: bool,
    /// A client was given the service and may not have its reference yet.
    has_new_client: bool,
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
            has_clients: false,
            has_new_client: false,
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

/// How the client of a callback reads its parcels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Aidl {
        header_word: i32,
        form: StabilityForm,
    },
    Hidl,
}

/// A callback object of a client, which reads parcels in the format of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    pub handle: u32,
    pub dialect: Dialect,
    /// The levels that its client may have.
    pub levels: LevelSet,
    pub owner: Caller,
}

impl Callback {
    /// * `is_old`: whether the service was registered before the callback; only HIDL says so
    pub(crate) fn registered(
        &self,
        port: &mut dyn Port,
        name: &str,
        service: (Target, Stability),
        is_old: bool,
    ) {
        let parcel = match self.dialect {
            Dialect::Aidl { header_word, form } => {
                let mut parcel =
                    Parcel::call(NO_STRICT_MODE, header_word, "android.os.IServiceCallback");
                parcel.string16(name).binder(Some(service), form);
                parcel
            }
            Dialect::Hidl => {
                let (interface, instance) = split(name);
                let mut parcel = Parcel::hidl_call(NOTIFICATION);
                parcel
                    .hidl_string(interface)
                    .hidl_string(instance)
                    .hidl_byte(is_old.into());
                parcel
            }
        };
        port.send(self.handle, CALLBACK_CODE, parcel);
    }

    fn clients(&self, port: &mut dyn Port, service: (Target, Stability), has_clients: bool) {
        let parcel = match self.dialect {
            Dialect::Aidl { header_word, form } => {
                let mut parcel =
                    Parcel::call(NO_STRICT_MODE, header_word, "android.os.IClientCallback");
                parcel.binder(Some(service), form).i32(has_clients.into());
                parcel
            }
            Dialect::Hidl => {
                let mut parcel = Parcel::hidl_call(CLIENT_CALLBACK);
                parcel
                    .binder(Some(service), StabilityForm::Absent)
                    .hidl_byte(has_clients.into());
                parcel
            }
        };
        port.send(self.handle, CALLBACK_CODE, parcel);
    }
}

pub(crate) type Outcome = Result<(), Refusal>;

pub(crate) fn refuse<T>(exception: ExceptionCode, message: &str) -> Result<T, Refusal> {
    Err(Refusal::new(exception, message))
}

/// Refuses one more callback for a name to a user that has very many.
fn check_callbacks(callbacks: Option<&Vec<Callback>>, owner: Caller) -> Outcome {
    let of_user = |one: &&Callback| one.owner.charged == owner.charged;
    let count = callbacks.map_or(0, |all| all.iter().filter(of_user).count());
    match count < MAX_CALLBACKS {
        true => Ok(()),
        false => refuse(
            ExceptionCode::IllegalState,
            "this user has 256 callbacks for this name",
        ),
    }
}

pub struct Registry {
    pub(crate) services: BTreeMap<String, Service>,
    pub(crate) watches: BTreeMap<String, Vec<Callback>>,
    pub(crate) client_callbacks: BTreeMap<String, Vec<Callback>>,
    pub(crate) handles: Handles,
    pub(crate) quota: Quota,
    /// Callbacks that wait to be called.
    pub(crate) outbox: Queues<Notice>,
    /// The cookies of dead handles.
    dead: Queues<u64>,
    last_serial: u64,
    /// Whether the names are HIDL's: an interface and an instance, one object under several names.
    pub(crate) is_hidl: bool,
    /// Whether a service may be replaced by a process of another user.
    allow_replacing_others: bool,
}

impl Registry {
    pub fn new(quota: Quota, is_hidl: bool, allow_replacing_others: bool) -> Registry {
        Registry {
            services: BTreeMap::new(),
            watches: BTreeMap::new(),
            client_callbacks: BTreeMap::new(),
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

    pub fn services(&self) -> impl Iterator<Item = (&str, &Service)> {
        self.services_from(Bound::Unbounded)
    }

    /// The services in the order of their names, from one on.
    pub fn services_from(&self, from: Bound<String>) -> impl Iterator<Item = (&str, &Service)> {
        self.services
            .range((from, Bound::Unbounded))
            .map(|(name, service)| (name.as_str(), service))
    }

    pub fn len(&self) -> usize {
        self.services.len()
    }

    /// Whether the number of clients of some service has to be looked at from time to time.
    pub fn has_lazy_services(&self) -> bool {
        !self.client_callbacks.is_empty()
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
        if let Some(old) = old {
            service.has_clients = old.has_clients;
            // A process that has the object may register it again, and does not become its owner.
            if old.target == service.target && !self.allow_replacing_others {
                service.owner = old.owner;
            }
        }
        let owner = service.owner;
        let watches = self.watches_of(name);
        self.check_room(owner, watches.len())?;
        if old.map(|old| old.owner.charged) != Some(owner.charged) {
            self.quota.take(owner.charged)?;
            if let Some(old) = old {
                self.quota.give_back(old.owner.charged);
            }
        }
        let replaced = old.map(|old| old.target);
        if let Target::Handle(handle) = service.target {
            let used = (Kind::Service, name);
            self.handles.add(port, handle, owner.charged, used);
        }
        if let Some(Target::Handle(old)) = replaced.filter(|old| *old != service.target) {
            self.handles.remove(port, old, Kind::Service, name);
        }
        self.last_serial += 1;
        service.serial = self.last_serial;
        self.services.insert(name.to_string(), service);
        if !watches.is_empty() {
            self.note_new_client(port, name);
        }
        let serial = self.last_serial;
        let name: Arc<str> = Arc::from(name);
        let notices = watches.into_iter().map(|(watched, callback)| Notice {
            callback,
            watched,
            name: Arc::clone(&name),
            serial,
            is_old: false,
        });
        self.notify(port, owner, notices.collect());
        Ok(())
    }

    /// The accessor that is registered for a name.
    pub fn accessor(&self, name: &str) -> Option<&Service> {
        self.services.get(&format!("{ACCESSOR_PREFIX}{name}"))
    }

    /// Looks up a service for a client, whose reference counts from now on.
    pub fn find(&mut self, port: &mut dyn Port, name: &str) -> Option<FoundService> {
        let service = self.services.get(name)?;
        let mut found = service.found();
        // Android declares in a manifest what the accessor of a service is; here its user registers
        // it. Another user's could stand in for the service, and does not count.
        let accessor = self.accessor(name);
        let accessor = accessor.filter(|accessor| accessor.owner.uid == service.owner.uid);
        found.accessor = accessor.map(|accessor| (accessor.target, accessor.stability));
        match service.target {
            // Its client callbacks may be registered under another of its names.
            Target::Handle(handle) if self.is_hidl => {
                for name in self.handles.names(handle, Kind::Service) {
                    self.note_new_client(port, &name);
                }
            }
            _ => self.note_new_client(port, name),
        }
        Some(found)
    }

    fn note_new_client(&mut self, port: &mut dyn Port, name: &str) {
        self.set_new_client(name);
        self.update_clients(port, name, KNOWN_CLIENTS_IN_CALL, false);
        self.set_new_client(name);
    }

    fn set_new_client(&mut self, name: &str) {
        if let Some(service) = self.services.get_mut(name) {
            service.has_new_client = true;
        }
    }

    /// Compares the number of references with what the client callbacks know, and calls them if
    /// that changed. Returns whether there are clients.
    ///
    /// * `is_interval`: whether clients may be found to have gone
    fn update_clients(
        &mut self,
        port: &mut dyn Port,
        name: &str,
        known: u32,
        is_interval: bool,
    ) -> bool {
        let callbacks = self.client_callbacks.get(name);
        let (Some(service), Some(callbacks)) = (self.services.get_mut(name), callbacks) else {
            return true;
        };
        let Target::Handle(handle) = service.target else {
            return true;
        };
        let Some(count) = port.strong_count(handle) else {
            return true;
        };
        let has_references = count > known;
        let is_new = std::mem::take(&mut service.has_new_client);
        let has_clients = match () {
            () if has_references || is_new => true,
            () if is_interval => false,
            () => service.has_clients,
        };
        if has_clients != service.has_clients {
            service.has_clients = has_clients;
            let binder = service.binder();
            for callback in callbacks {
                callback.clients(port, binder, has_clients);
            }
        }
        has_clients
    }

    /// Looks at the clients of every service with client callbacks.
    pub fn check_clients(&mut self, port: &mut dyn Port) {
        let names: Vec<String> = self.client_callbacks.keys().cloned().collect();
        for name in names {
            self.update_clients(port, &name, KNOWN_CLIENTS, true);
        }
    }

    /// The levels of the client that registered a callback for a name; None if none did.
    pub fn watch_levels(&self, name: &str, handle: u32) -> Option<LevelSet> {
        let mut watches = self.watches.get(name)?.iter();
        let watch = watches.find(|watch| watch.handle == handle)?;
        Some(watch.levels)
    }

    pub(crate) fn is_watching(&self, name: &str, handle: u32) -> bool {
        self.handles.has(handle, Kind::Watch, name)
    }

    /// Calls back now if the service is registered, and whenever it is registered.
    pub fn watch(&mut self, port: &mut dyn Port, name: &str, callback: Callback) -> Outcome {
        if self.is_watching(name, callback.handle) {
            return Ok(());
        }
        check_callbacks(self.watches.get(name), callback.owner)?;
        // A name that ends with the separator stands for all instances of the interface.
        let is_package = self.is_hidl && package_of(name) == name;
        let from = self.services.range(name.to_string()..);
        let matching = from.take_while(|(other, _)| match is_package {
            true => other.starts_with(name),
            false => *other == name,
        });
        let watched: Arc<str> = Arc::from(name);
        let notices: Vec<Notice> = matching
            .map(|(name, service)| Notice {
                callback,
                watched: Arc::clone(&watched),
                name: Arc::from(name.as_str()),
                serial: service.serial,
                is_old: true,
            })
            .collect();
        self.check_room(callback.owner, notices.len())?;
        self.quota.take(callback.owner.charged)?;
        let user = callback.owner.charged;
        self.handles
            .add(port, callback.handle, user, (Kind::Watch, name));
        self.watches
            .entry(name.to_string())
            .or_default()
            .push(callback);
        self.notify(port, callback.owner, notices);
        Ok(())
    }

    pub fn unwatch(&mut self, port: &mut dyn Port, name: &str, handle: u32) -> Outcome {
        if !self.is_watching(name, handle) {
            let why = "this callback is not registered for this name";
            return refuse(ExceptionCode::IllegalState, why);
        }
        self.handles.remove(port, handle, Kind::Watch, name);
        self.remove_callback(Kind::Watch, name, handle);
        Ok(())
    }

    pub(crate) fn remove_callback(&mut self, kind: Kind, name: &str, handle: u32) {
        let callbacks = match kind {
            Kind::Watch => &mut self.watches,
            _ => &mut self.client_callbacks,
        };
        let Some(list) = callbacks.get_mut(name) else {
            return;
        };
        for gone in list.iter().filter(|callback| callback.handle == handle) {
            self.quota.give_back(gone.owner.charged);
        }
        list.retain(|callback| callback.handle != handle);
        if list.is_empty() {
            callbacks.remove(name);
        }
    }

    /// The service, if the caller is the process that registered it.
    fn own_service(
        &self,
        caller: Caller,
        name: &str,
        target: Target,
        mismatch: ExceptionCode,
    ) -> Result<&Service, Refusal> {
        let Some(service) = self.services.get(name) else {
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
        if self.handles.has(callback.handle, Kind::Clients, name) {
            return Ok(());
        }
        let binder = service.binder();
        let has_clients = service.has_clients;
        check_callbacks(self.client_callbacks.get(name), callback.owner)?;
        self.quota.take(callback.owner.charged)?;
        let user = callback.owner.charged;
        self.handles
            .add(port, callback.handle, user, (Kind::Clients, name));
        self.client_callbacks
            .entry(name.to_string())
            .or_default()
            .push(callback);
        if has_clients {
            callback.clients(port, binder, true);
        }
        self.update_clients(port, name, KNOWN_CLIENTS_IN_CALL, false);
        Ok(())
    }

    /// Removes a service that has no clients.
    pub fn try_unregister(
        &mut self,
        port: &mut dyn Port,
        caller: Caller,
        name: &str,
        target: Target,
    ) -> Outcome {
        let service = self.own_service(caller, name, target, ExceptionCode::IllegalState)?;
        if service.has_new_client {
            return refuse(ExceptionCode::IllegalState, "a client is about to use it");
        }
        if self.update_clients(port, name, KNOWN_CLIENTS_IN_CALL, false) {
            self.set_new_client(name);
            return refuse(ExceptionCode::IllegalState, "the service has clients");
        }
        self.remove_service(name);
        if let Target::Handle(handle) = target {
            self.handles.remove(port, handle, Kind::Service, name);
        }
        Ok(())
    }

    pub(crate) fn remove_service(&mut self, name: &str) {
        if let Some(service) = self.services.remove(name) {
            self.quota.give_back(service.owner.charged);
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
                kind => self.remove_callback(kind, &name, handle),
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
