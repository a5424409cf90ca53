// SPDX-License-Identifier: Apache-2.0
//! Calls to callbacks that wait to be sent. One request can be the reason of thousands: a service
//! is registered that many wait for, or a client asks for all instances of an interface. They are
//! sent a few at a time between other requests, in turns between the users who caused them.
use crate::caller::Caller;
use crate::handles::Port;
use crate::hidl::names::package_of;
use crate::registry::{refuse, Callback, Outcome, Registry};
use rsbinder::ExceptionCode;
use std::sync::Arc;

/// Callbacks that one request calls at once, and that are called between two requests.
const CALLED_AT_ONCE: usize = 8;

/// Of one user. More are refused together with the request that would cause them.
const MAX_PER_USER: usize = 65_536;

/// That a service is registered, for one callback.
#[derive(Clone, Debug)]
pub struct Notice {
    pub callback: Callback,
    /// The name that the callback is registered for: of the service or of its interface.
    pub watched: Arc<str>,
    pub name: Arc<str>,
    /// Which registration of the name it tells of.
    pub serial: u64,
    /// Whether the service was registered before the callback.
    pub is_old: bool,
}

impl Registry {
    /// The callbacks for a name, and for all names of its interface, with what each was registered
    /// for.
    pub(crate) fn watches_of(&self, name: &str) -> Vec<(Arc<str>, Callback)> {
        let package = self.is_hidl.then(|| package_of(name));
        let keys = [Some(name), package].into_iter().flatten();
        let lists = keys.filter_map(|key| Some((Arc::from(key), self.watches.get(key)?)));
        lists
            .flat_map(|(key, list)| list.iter().map(move |one| (Arc::clone(&key), *one)))
            .collect()
    }

    /// Refuses a request that would call more callbacks than may wait.
    pub(crate) fn check_room(&self, cause: Caller, count: usize) -> Outcome {
        match self.outbox.len(cause.charged) + count <= MAX_PER_USER {
            true => Ok(()),
            false => refuse(
                ExceptionCode::IllegalState,
                "too many notifications wait that this user has caused",
            ),
        }
    }

    /// Calls back now if that is short work, else between other requests. What waits is not
    /// overtaken.
    pub(crate) fn notify(&mut self, port: &mut dyn Port, cause: Caller, notices: Vec<Notice>) {
        if self.outbox.is_empty() && notices.len() <= CALLED_AT_ONCE {
            for notice in &notices {
                self.call_back(port, notice);
            }
            return;
        }
        for notice in notices {
            self.outbox.push(cause.charged, notice);
        }
    }

    /// Nothing, if the callback or this registration of the service is gone by now.
    fn call_back(&self, port: &mut dyn Port, notice: &Notice) {
        let service = self.services.get(&*notice.name);
        let service = service.filter(|service| service.serial == notice.serial);
        let handle = notice.callback.handle;
        if let Some(service) = service.filter(|_| self.is_watching(&notice.watched, handle)) {
            let binder = service.binder();
            notice
                .callback
                .registered(port, &notice.name, binder, notice.is_old);
        }
    }

    /// Whether callbacks wait to be called.
    pub fn has_notices(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Calls some of the callbacks that wait, in turns between the users who caused that.
    pub fn send_notices(&mut self, port: &mut dyn Port) {
        for _ in 0..CALLED_AT_ONCE {
            let Some((_, notice)) = self.outbox.pop() else {
                return;
            };
            self.call_back(port, &notice);
        }
    }
}
