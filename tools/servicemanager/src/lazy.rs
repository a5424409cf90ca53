// SPDX-License-Identifier: Apache-2.0
//! The clients of services: lazy ones want to be told when they get their first and lose their
//! last, and unregister themselves then. An object is counted once, whatever the number of its
//! names; who has it by one name is a client of all.
use crate::callbacks::Callback;
use crate::caller::Caller;
use crate::handles::{Kind, Port};
use crate::outbox::Job;
use crate::registry::{refuse, Outcome, Registry, Service};
use crate::reply::Refusal;
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;

/// References to a service that are no clients: ours, and during a call the one of its parcel. As
/// in AOSP's service manager.
const KNOWN_CLIENTS: u32 = 1;
const KNOWN_CLIENTS_IN_CALL: u32 = 2;

/// Objects that are counted between two requests.
const COUNTED_AT_ONCE: usize = 8;

impl Registry {
    /// Whether the clients of some object have to be counted from time to time.
    pub fn has_lazy_services(&self) -> bool {
        !self.lazy.is_empty()
    }

    pub(crate) fn has_clients(&self, target: Target) -> bool {
        match target {
            Target::Handle(handle) => self.handles.has_clients(handle),
            Target::Own => false,
        }
    }

    /// Notes that an object has a name with callbacks for its clients.
    pub(crate) fn note_lazy(&mut self, name: &str, target: Target, has_clients: bool) {
        let Target::Handle(handle) = target else {
            return;
        };
        self.lazy
            .entry(handle)
            .or_default()
            .insert(name.to_string());
        if let Some(clients) = self.handles.clients(handle) {
            clients.are_there |= has_clients;
        }
    }

    /// The opposite.
    pub(crate) fn forget_lazy(&mut self, name: &str, target: Target) {
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

    /// A client is given an object.
    pub(crate) fn note_new_client(&mut self, port: &mut dyn Port, target: Target) {
        let Target::Handle(handle) = target else {
            return;
        };
        self.set_new_client(handle);
        // One that is known to have clients is counted by `count_clients`.
        if !self.handles.has_clients(handle) {
            self.update_clients(port, handle, KNOWN_CLIENTS_IN_CALL, false);
            self.set_new_client(handle);
        }
    }

    fn set_new_client(&mut self, handle: u32) {
        if let Some(clients) = self.handles.clients(handle) {
            clients.is_new = true;
        }
    }

    /// Compares the number of references to an object with what the callbacks for its clients know,
    /// and has them called if that changed. Returns whether there are clients.
    ///
    /// * `is_interval`: whether clients may be found to have gone
    fn update_clients(
        &mut self,
        port: &mut dyn Port,
        object: u32,
        known: u32,
        is_interval: bool,
    ) -> bool {
        if !self.lazy.contains_key(&object) {
            return true;
        }
        let Some(count) = port.strong_count(object) else {
            return true;
        };
        let Some(clients) = self.handles.clients(object) else {
            return true;
        };
        let has_references = count > known;
        let is_new = std::mem::take(&mut clients.is_new);
        let are_there = match () {
            () if has_references || is_new => true,
            () if is_interval => false,
            () => clients.are_there,
        };
        if are_there != clients.are_there {
            clients.are_there = are_there;
            self.tell_of_clients(port, Target::Handle(object));
        }
        are_there
    }

    /// Callbacks that do not know of the clients of an object are told.
    pub(crate) fn tell_of_clients(&mut self, port: &mut dyn Port, target: Target) {
        if let Target::Handle(object) = target {
            let last = (String::new(), None);
            let user = self.handles.user(object);
            self.begin(port, user, Job::Clients { object, last });
        }
    }

    /// Has the clients of every object counted that has callbacks for them.
    pub fn begin_count(&mut self) {
        self.counting.get_or_insert(0);
    }

    /// Whether objects are left to be counted.
    pub fn is_counting(&self) -> bool {
        self.counting.is_some()
    }

    /// Counts the clients of some objects.
    pub fn count_clients(&mut self, port: &mut dyn Port) {
        let Some(from) = self.counting.take() else {
            return;
        };
        let objects = self.lazy.range(from..).map(|(object, _)| *object);
        let objects: Vec<u32> = objects.take(COUNTED_AT_ONCE + 1).collect();
        for object in objects.iter().take(COUNTED_AT_ONCE) {
            self.update_clients(port, *object, KNOWN_CLIENTS, true);
        }
        self.counting = objects.get(COUNTED_AT_ONCE).copied();
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
        mut callback: Callback,
    ) -> Outcome {
        let mismatch = ExceptionCode::IllegalArgument;
        let service = self.own_service(callback.owner, name, target, mismatch)?;
        let binder = service.binder();
        if let Some(callbacks) = self.client_callbacks.get(name) {
            if callbacks.get(callback.handle).is_some() {
                return Ok(());
            }
            callbacks.check(callback.owner)?;
        }
        let user = callback.owner.charged;
        self.quota.take(user)?;
        let used = (Kind::Clients, name);
        self.handles.add(port, callback.handle, user, used);
        if self.has_clients(target) {
            callback.clients(port, binder, true);
        }
        let callbacks = self.client_callbacks.entry(name.to_string()).or_default();
        callbacks.add(callback);
        self.note_lazy(name, target, false);
        if let Target::Handle(object) = target {
            self.update_clients(port, object, KNOWN_CLIENTS_IN_CALL, false);
        }
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
        self.own_service(caller, name, target, ExceptionCode::IllegalState)?;
        let Target::Handle(object) = target else {
            return refuse(ExceptionCode::IllegalState, "the service has clients");
        };
        if self.handles.clients(object).is_some_and(|one| one.is_new) {
            return refuse(ExceptionCode::IllegalState, "a client is about to use it");
        }
        if self.update_clients(port, object, KNOWN_CLIENTS_IN_CALL, false) {
            self.set_new_client(object);
            return refuse(ExceptionCode::IllegalState, "the service has clients");
        }
        self.remove_service(name);
        self.handles.remove(port, object, Kind::Service, name);
        Ok(())
    }
}
