// SPDX-License-Identifier: Apache-2.0
//! Calls to callbacks. One request can be the reason of thousands: a service is registered that
//! many wait for, or a client asks for all instances of an interface. Each such request leaves one
//! job, whatever the number of its calls. Jobs are worked off a few calls at a time between other
//! requests, in turns between the users who caused them.
use crate::caller::Caller;
use crate::handles::Port;
use crate::hidl::names::package_of;
use crate::registry::{refuse, Outcome, Registry};
use rsbinder::ExceptionCode;
use std::ops::Bound;

/// Calls that one request makes at once, and that are made between two requests.
const CALLED_AT_ONCE: usize = 8;

/// Callbacks and services that are looked at for that.
const LOOKED_AT_ONCE: usize = 64;

/// Of one user. More are refused together with the request that would cause them.
const MAX_PER_USER: usize = 65_536;

/// Callbacks to be called, from the one behind the last that was looked at.
#[derive(Debug)]
pub enum Job {
    /// A service is registered: the callbacks for it that were registered before.
    Service {
        /// The name that they are registered for: of the service or of its interface.
        watched: String,
        name: String,
        /// Which registration of the name it tells of.
        serial: u64,
        last: Option<u32>,
    },
    /// A callback is registered: the services that were registered before.
    Callback {
        watched: String,
        handle: u32,
        /// Which registration of the callback it is.
        serial: u64,
        last: Option<String>,
    },
    /// An object has got its first client, or lost its last: the callbacks for its clients.
    Clients {
        object: u32,
        /// One of its names, and a callback for that.
        last: (String, Option<u32>),
    },
}

/// What looking at the next callback, or service, has led to.
enum Step {
    Called,
    Passed,
    End,
}

impl Registry {
    /// What callbacks for a service are registered for, where there are some: its name, and all
    /// names of its interface.
    pub(crate) fn watched_as(&self, name: &str) -> Vec<String> {
        let package = self.is_hidl.then(|| package_of(name));
        let keys = [Some(name), package].into_iter().flatten();
        keys.filter(|key| self.watches.contains_key(*key))
            .map(String::from)
            .collect()
    }

    /// Refuses a request that would leave more jobs than may wait.
    pub(crate) fn check_room(&self, cause: Caller, count: usize) -> Outcome {
        match self.outbox.len(cause.charged) + count <= MAX_PER_USER {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "too many notifications wait that this user has caused",
            ),
        }
    }

    /// Does a job now if it is short, else between other requests. What waits is not overtaken.
    pub(crate) fn begin(&mut self, port: &mut dyn Port, user: u32, job: Job) {
        let is_first = self.outbox.is_empty();
        self.outbox.push(user, job);
        if is_first {
            self.send_notices(port);
        }
    }

    /// Whether callbacks wait to be called.
    pub fn has_notices(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Calls some of the callbacks that wait, in turns between the users who caused that.
    pub fn send_notices(&mut self, port: &mut dyn Port) {
        let mut called = 0;
        for _ in 0..LOOKED_AT_ONCE {
            let Some((user, mut job)) = self.outbox.pop() else {
                return;
            };
            match self.step(port, &mut job) {
                Step::End => continue,
                Step::Called => called += 1,
                Step::Passed => {}
            }
            self.outbox.put_back(user, job);
            if called == CALLED_AT_ONCE {
                return;
            }
        }
    }

    fn step(&mut self, port: &mut dyn Port, job: &mut Job) -> Step {
        match job {
            Job::Service {
                watched,
                name,
                serial,
                last,
            } => self.tell_next_callback(port, (watched, name), *serial, last),
            Job::Callback {
                watched,
                handle,
                serial,
                last,
            } => self.tell_of_next_service(port, (watched, *handle), *serial, last),
            Job::Clients { object, last } => self.tell_next_of_clients(port, *object, last),
        }
    }

    /// Ends if this registration of the service is gone.
    fn tell_next_callback(
        &mut self,
        port: &mut dyn Port,
        (watched, name): (&str, &str),
        serial: u64,
        last: &mut Option<u32>,
    ) -> Step {
        let service = self.services.get(name);
        let service = service.filter(|service| service.serial == serial);
        let callbacks = self.watches.get_mut(watched);
        let callback = callbacks.and_then(|all| all.after(*last));
        let (Some(service), Some(callback)) = (service, callback) else {
            return Step::End;
        };
        *last = Some(callback.handle);
        if callback.serial > serial {
            return Step::Passed;
        }
        callback.registered(port, name, service.binder(), false);
        Step::Called
    }

    /// Ends if this registration of the callback is gone.
    fn tell_of_next_service(
        &mut self,
        port: &mut dyn Port,
        (watched, handle): (&str, u32),
        serial: u64,
        last: &mut Option<String>,
    ) -> Step {
        let callback = self.watches.get(watched).and_then(|all| all.get(handle));
        let Some(callback) = callback.filter(|callback| callback.serial == serial) else {
            return Step::End;
        };
        let from = match last {
            Some(name) => Bound::Excluded(name.as_str()),
            None => Bound::Included(watched),
        };
        let mut services = self.services.range::<str, _>((from, Bound::Unbounded));
        // A name that ends with the separator stands for all instances of the interface.
        let is_package = self.is_hidl && package_of(watched) == watched;
        let next = services.next().filter(|(name, _)| match is_package {
            true => name.starts_with(watched),
            false => *name == watched,
        });
        let Some((name, service)) = next else {
            return Step::End;
        };
        *last = Some(name.clone());
        if service.serial > serial {
            return Step::Passed;
        }
        callback.registered(port, name, service.binder(), true);
        Step::Called
    }

    fn tell_next_of_clients(
        &mut self,
        port: &mut dyn Port,
        object: u32,
        (at, last): &mut (String, Option<u32>),
    ) -> Step {
        let names = self.lazy.get(&object);
        let from = (Bound::Included(at.as_str()), Bound::Unbounded);
        let Some(name) = names.and_then(|names| names.range::<str, _>(from).next()) else {
            return Step::End;
        };
        let last_of_name = last.filter(|_| name == at);
        let callbacks = self.client_callbacks.get_mut(name);
        let callback = callbacks.and_then(|all| all.after(last_of_name));
        let (Some(service), Some(callback)) = (self.services.get(name), callback) else {
            // No name is between these two.
            (*at, *last) = (format!("{name}\0"), None);
            return Step::Passed;
        };
        (*at, *last) = (name.clone(), Some(callback.handle));
        let has_clients = self.handles.has_clients(object);
        if callback.told == has_clients {
            return Step::Passed;
        }
        callback.clients(port, service.binder(), has_clients);
        Step::Called
    }
}
