// SPDX-License-Identifier: Apache-2.0
//! Calls to callbacks. One request can be the reason of thousands: a service is registered that
//! many wait for, or a client asks for all instances of an interface. Each such request leaves one
//! job, whatever the number of its calls. Jobs are worked off a few calls at a time between other
//! requests, in turns between the users who caused them.
use super::entries::{Entries, NextOfClients};
use super::queues::Queues;
use super::references::Kind;
use crate::wire::caller::Caller;
use crate::wire::port::Port;
use crate::wire::reply::{refuse, Outcome};
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;

/// Calls that one request makes at once, and that are made between two requests.
const CALLED_AT_ONCE: usize = 8;

/// Callbacks and services that are looked at for that.
const LOOKED_AT_ONCE: usize = 64;

/// Jobs of one user that may wait. More are refused with the request that would cause them.
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
        /// The last name of the object, and the last callback for it.
        last: (String, Option<u32>),
    },
}

/// What looking at the next callback, or service, has led to.
enum Step {
    Called,
    Passed,
    End,
}

#[derive(Default)]
pub struct Outbox(Queues<Job>);

impl Outbox {
    /// Refuses a request that would leave more jobs than may wait.
    pub fn check_room(&self, cause: Caller, count: usize) -> Outcome {
        match self.0.len(cause.charged) + count <= MAX_PER_USER {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "too many notifications wait that this user has caused",
            ),
        }
    }

    /// Does a job now if it is short, else between other requests. What waits is not overtaken.
    pub fn begin(&mut self, entries: &mut Entries, port: &mut dyn Port, user: u32, job: Job) {
        let is_first = self.is_empty();
        self.0.push(user, job);
        if is_first {
            self.send(entries, port);
        }
    }

    /// Whether no callbacks wait to be called.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls some of the callbacks that wait, in turns between the users who caused that.
    pub fn send(&mut self, entries: &mut Entries, port: &mut dyn Port) {
        let mut called = 0;
        for _ in 0..LOOKED_AT_ONCE {
            let Some((user, mut job)) = self.0.pop() else {
                return;
            };
            match job.step(entries, port) {
                Step::End => continue,
                Step::Called => called += 1,
                Step::Passed => {}
            }
            self.0.put_back(user, job);
            if called == CALLED_AT_ONCE {
                return;
            }
        }
    }
}

impl Job {
    fn step(&mut self, entries: &mut Entries, port: &mut dyn Port) -> Step {
        match self {
            Job::Service {
                watched,
                name,
                serial,
                last,
            } => tell_next_callback(entries, port, (watched, name), (*serial, last)),
            Job::Callback {
                watched,
                handle,
                serial,
                last,
            } => tell_of_next_service(entries, port, (watched, *handle), (*serial, last)),
            Job::Clients { object, last } => tell_next_of_clients(entries, port, *object, last),
        }
    }
}

/// Ends if this registration of the service is gone.
fn tell_next_callback(
    entries: &mut Entries,
    port: &mut dyn Port,
    (watched, name): (&str, &str),
    (serial, last): (u64, &mut Option<u32>),
) -> Step {
    let next = entries.next_watch((watched, name), *last);
    let Some((service, callback)) = next.filter(|(service, _)| service.serial == serial) else {
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
    entries: &mut Entries,
    port: &mut dyn Port,
    (watched, handle): (&str, u32),
    (serial, last): (u64, &mut Option<String>),
) -> Step {
    let callbacks = entries.callbacks_of(Kind::Watch, watched);
    let callback = callbacks.and_then(|all| all.get(handle));
    let Some(callback) = callback.filter(|callback| callback.serial == serial) else {
        return Step::End;
    };
    let Some((name, service)) = entries.next_watched(watched, last.as_deref()) else {
        return Step::End;
    };
    *last = Some(name.to_string());
    if service.serial > serial {
        return Step::Passed;
    }
    callback.registered(port, name, service.binder(), true);
    Step::Called
}

fn tell_next_of_clients(
    entries: &mut Entries,
    port: &mut dyn Port,
    object: u32,
    last: &mut (String, Option<u32>),
) -> Step {
    let has_clients = entries.has_clients(Target::Handle(object));
    match entries.next_of_clients(object, last) {
        NextOfClients::End => Step::End,
        NextOfClients::Callback(callback, service) if callback.knows_clients != has_clients => {
            callback.clients(port, service, has_clients);
            Step::Called
        }
        _ => Step::Passed,
    }
}
