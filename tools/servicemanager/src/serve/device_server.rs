// SPDX-License-Identifier: Apache-2.0
//! The threads of one device. One of them serves it: it waits for work and does it. Nothing that it
//! sends is waited for, so that no client holds it up.
//!
//! A HIDL service that is added without its interfaces has to be asked for them, and it expects the
//! question in the thread that adds it. The driver sends a call there only if it comes from the
//! thread that has the request. So that thread starts another one, which serves from then on, asks,
//! waits as long as that takes, replies and ends. `waiting` bounds how many of them a user has.
//!
//! Long work is cut, so that a request that is short waits for a slice at most. A list of very many
//! services (`listing`) is made by a thread that was relieved likewise; such threads take turns by
//! user. Callbacks (`outbox`) and the deaths of many services are worked off a few at a time
//! between requests, by the thread that serves.
use super::dispatch::Manager;
use super::hidl_methods;
use super::listing::Listing;
use super::turns::{Turn as Slice, Turns};
use super::waiting::{Place, Waiting};
use super::work::{Answer, PendingAdd, Work};
use crate::registry::Removal;
use crate::wire::attached_files;
use crate::wire::caller::{Caller, Transaction};
use crate::wire::hidl;
use crate::wire::reply::Reply;
use anybinder_driver::abi::{self, TransactionData};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::parcel::Parcel;
use anybinder_driver::receive_map::Memory;
use rsbinder::StatusCode;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the clients of lazy services are counted, as in AOSP's service manager.
const CLIENTS_INTERVAL: Duration = Duration::from_secs(5);

/// Ample for a thread that waits; most of it is never touched.
const STACK_SIZE: usize = 256 * 1024;

/// How long after long work the memory that it took is returned, if there is no more of it.
const TRIM_AFTER: Duration = Duration::from_secs(1);

/// How often work is looked for that threads which ask services left.
const LEFT_INTERVAL: Duration = Duration::from_millis(100);

/// Threads that ask services for their interfaces, and those that make lists: of one user, and of
/// all users. A request for one more is refused.
const ASKING: (usize, usize) = (32, 128);
const LISTING: (usize, usize) = (64, 128);

/// What the threads of a device share.
struct Shared {
    name: String,
    manager: Mutex<Manager>,
    /// Whether the thread that serves wants the manager, which threads with lists then leave to it.
    wanted: AtomicUsize,
    asking: Arc<Waiting>,
    listing: Arc<Waiting>,
    turns: Turns,
}

impl Shared {
    fn new(name: &str, manager: Manager) -> Shared {
        Shared {
            name: name.to_string(),
            manager: Mutex::new(manager),
            wanted: AtomicUsize::new(0),
            asking: Arc::new(Waiting::new(ASKING)),
            listing: Arc::new(Waiting::new(LISTING)),
            turns: Turns::default(),
        }
    }

    /// What bounds the threads that do such work.
    fn places(&self, work: &Work) -> &Arc<Waiting> {
        match work {
            Work::AskChain(_) => &self.asking,
            Work::List(_) | Work::Remove(_) => &self.listing,
        }
    }

    /// Works in slices, one for each turn of a user, until a step is the last. In between the
    /// manager is left to the thread that serves. Returns a further turn.
    fn in_slices(
        &self,
        user: u32,
        mut step: impl FnMut(&mut Manager) -> io::Result<bool>,
    ) -> io::Result<Slice<'_>> {
        loop {
            let _slice = self.turns.take(user);
            while self.wanted.load(Ordering::Relaxed) > 0 {
                thread::yield_now();
            }
            if !step(&mut manager(self))? {
                break;
            }
        }
        Ok(self.turns.take(user))
    }
}

/// The thread that serves a device.
pub struct Server {
    shared: Arc<Shared>,
    driver: Driver,
    events: VecDeque<Event>,
    counted: Instant,
    /// The last long work, until its memory was returned.
    long_work: Option<Instant>,
}

/// Whether this thread goes on serving.
enum Turn {
    Goes,
    /// Another thread serves; this one does the rest of its request.
    Relieved(Box<Task>),
}

/// A request that takes long.
struct Task {
    request: TransactionData,
    work: Work,
    _place: Place,
}

/// Why a device is served no more.
pub struct End {
    pub why: String,
    pub cause: Cause,
}

/// What can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The driver has ended: there may be another one at the same path.
    Driver,
    /// The device has a service manager already.
    Taken,
    Other,
}

impl Server {
    pub fn new(name: &str, driver: Driver, manager: Manager) -> Server {
        Server {
            shared: Arc::new(Shared::new(name, manager)),
            driver,
            events: VecDeque::new(),
            counted: Instant::now(),
            long_work: None,
        }
    }

    /// Serves until the driver ends, or until another thread does.
    ///
    /// * `ended`: told why the device is served no more
    pub fn serve(mut self, ended: &Sender<End>) {
        let why = loop {
            match self.turn(ended) {
                Ok(Turn::Goes) => {}
                Ok(Turn::Relieved(task)) => {
                    let shared = Arc::clone(&self.shared);
                    let finished = self.finish(&shared, *task);
                    match finished {
                        Ok(_slice) => return self.driver.leave(),
                        Err(err) => break err,
                    }
                }
                Err(err) => break err,
            }
        };
        // The receiver lives as long as the process.
        let _ = ended.send(End {
            why: format!("{} is served no more: {why}", self.shared.name),
            cause: match why.kind() {
                io::ErrorKind::ConnectionRefused
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::NotConnected => Cause::Driver,
                _ => Cause::Other,
            },
        });
    }

    fn turn(&mut self, ended: &Sender<End>) -> io::Result<Turn> {
        if self.events.is_empty() {
            let (is_lazy, has_chores, is_long) = {
                let manager = serve_with(&self.shared);
                let registry = &manager.state.registry;
                let is_long = registry.has_notices() || registry.has_dead();
                let has_chores = is_long || registry.is_counting();
                (registry.has_lazy_services(), has_chores, is_long)
            };
            let until_count = || CLIENTS_INTERVAL.saturating_sub(self.counted.elapsed());
            let until_trim = self
                .long_work
                .map(|at| TRIM_AFTER.saturating_sub(at.elapsed()));
            // A thread that asks may leave some, and cannot wake this one.
            let until_asked = self.shared.asking.is_used().then_some(LEFT_INTERVAL);
            let timeout = match has_chores {
                true => Some(Duration::ZERO),
                false => is_lazy
                    .then(until_count)
                    .into_iter()
                    .chain(until_trim)
                    .chain(until_asked)
                    .min(),
            };
            if timeout.is_none() {
                self.events.extend(self.driver.exchange_and_wait()?);
            } else if self.driver.has_commands() || self.driver.wait(timeout)? {
                self.events.extend(self.driver.exchange()?);
            }
            if is_lazy && self.counted.elapsed() >= CLIENTS_INTERVAL {
                self.counted = Instant::now();
                serve_with(&self.shared).state.registry.begin_count();
            }
            if has_chores {
                self.chores()?;
                if is_long {
                    self.long_work = Some(Instant::now());
                }
            } else if self.long_work.is_some_and(|at| at.elapsed() >= TRIM_AFTER) {
                self.long_work = None;
                return_memory();
            }
        }
        while let Some(event) = self.events.pop_front() {
            let shared = Arc::clone(&self.shared);
            let mut manager = serve_with(&shared);
            match event {
                Event::Died(cookie) => manager.state.registry.died(cookie),
                Event::Transaction(request, context) => {
                    if let Some(task) = self.transaction(&mut manager, request, context) {
                        drop(manager);
                        if let Some(task) = self.relieve(task, ended) {
                            return Ok(Turn::Relieved(Box::new(task)));
                        }
                    }
                }
                // A callback or a reply that did not reach its receiver: it is dead or full.
                _ => {}
            }
            // Else they are written as this thread waits again.
            if !self.events.is_empty() || !self.driver.has_only_replies() {
                self.flush()?;
            }
        }
        Ok(Turn::Goes)
    }

    /// Some of the work that no caller waits for.
    fn chores(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut manager = serve_with(&shared);
        manager.state.registry.forget_dead(&mut self.driver);
        manager.state.registry.send_notices(&mut self.driver);
        manager.state.registry.count_clients(&mut self.driver);
        self.flush()
    }

    /// Writes the commands. What they say of handles must be written before another thread looks
    /// at the registry.
    fn flush(&mut self) -> io::Result<()> {
        while self.driver.has_commands() {
            self.events.extend(self.driver.exchange()?);
        }
        Ok(())
    }

    fn answer(
        &mut self,
        manager: &mut Manager,
        request: &TransactionData,
        context: Option<u64>,
    ) -> Answer {
        let opened = self.driver.opened();
        let contents = self.driver.contents(request);
        if let Some((data, offsets)) = &contents {
            attached_files::close_all(data, offsets);
        }
        let context = context.and_then(|address| self.driver.text(address));
        let caller = Caller {
            pid: request.sender_pid,
            uid: request.sender_euid,
            charged: request.sender_euid,
            context: context.map_or(0, |text| manager.state.policy.context_number(&text)),
        };
        if request.flags & abi::TF_ONE_WAY != 0 {
            // The driver does not say which process it comes from, so that nobody could be charged.
            let why = "it is a one-way call, which no method here is";
            manager.state.log_refusal(caller, request.code, why);
            return StatusCode::InvalidOperation.into();
        }
        match &contents {
            Some((data, offsets)) => {
                let transaction = Transaction {
                    code: request.code,
                    caller,
                    data,
                    offsets,
                    memory: &opened.map,
                };
                manager.answer(&mut self.driver, &transaction)
            }
            None => StatusCode::BadValue.into(),
        }
    }

    /// Answers a request, or returns what has to be done before.
    fn transaction(
        &mut self,
        manager: &mut Manager,
        request: TransactionData,
        context: Option<u64>,
    ) -> Option<Task> {
        match self.answer(manager, &request, context) {
            Answer::Reply(reply) => self.reply(&request, reply),
            Answer::Work(work) => match self.shared.places(&work).enter(work.charged()) {
                Some(place) => {
                    return Some(Task {
                        request,
                        work,
                        _place: place,
                    })
                }
                None => {
                    let reply = refuse(manager, &work, Refused::TooMany);
                    self.reply(&request, reply);
                }
            },
        }
        self.driver.free(&request);
        None
    }

    fn reply(&mut self, request: &TransactionData, reply: Reply) {
        if request.flags & abi::TF_ONE_WAY != 0 {
            return;
        }
        match reply {
            Reply::Parcel(parcel) => self.driver.reply(parcel),
            Reply::Status(status) => self.driver.reply_status(status),
        }
    }

    /// Starts the thread that serves from now on. Refuses the request if that fails.
    fn relieve(&mut self, task: Task, ended: &Sender<End>) -> Option<Task> {
        let next = Server {
            shared: Arc::clone(&self.shared),
            driver: self.driver.for_another_thread(),
            events: std::mem::take(&mut self.events),
            counted: self.counted,
            long_work: Some(Instant::now()),
        };
        let ended = ended.clone();
        let builder = thread::Builder::new().stack_size(STACK_SIZE);
        match builder.spawn(move || next.serve(&ended)) {
            Ok(_) => Some(task),
            Err(err) => {
                let mut manager = serve_with(&self.shared);
                let reply = refuse(&mut manager, &task.work, Refused::NoThread(&err));
                drop(manager);
                self.reply(&task.request, reply);
                self.driver.free(&task.request);
                None
            }
        }
    }

    /// Does a task, and prepares the reply, which `leave` writes. Returns the slice, if any, that
    /// writing it belongs to.
    fn finish<'a>(&mut self, shared: &'a Shared, task: Task) -> io::Result<Option<Slice<'a>>> {
        match task.work {
            Work::AskChain(pending) => self.ask(shared, &task.request, &pending).map(|()| None),
            Work::List(listing) => self.list(shared, &task.request, *listing).map(Some),
            Work::Remove(removal) => self.remove(shared, &task.request, *removal).map(Some),
        }
    }

    /// Returns the last slice: a reply of that size takes long to make and to write, too.
    fn list<'a>(
        &mut self,
        shared: &'a Shared,
        request: &TransactionData,
        mut listing: Listing,
    ) -> io::Result<Slice<'a>> {
        let slice = shared.in_slices(listing.charged, |manager| {
            let has_more = listing.step(&manager.state);
            if !has_more {
                listing.note(&mut manager.state);
            }
            Ok(has_more)
        })?;
        self.driver.free(request);
        self.reply(request, listing.reply());
        Ok(slice)
    }

    /// Removes callbacks.
    fn remove<'a>(
        &mut self,
        shared: &'a Shared,
        request: &TransactionData,
        mut removal: Removal,
    ) -> io::Result<Slice<'a>> {
        let slice = shared.in_slices(removal.caller.charged, |manager| {
            let registry = &mut manager.state.registry;
            let has_more = registry.remove_some(&mut removal, &mut self.driver);
            // Written before another thread looks at the registry, as in `ask`.
            self.flush()?;
            Ok(has_more)
        })?;
        self.driver.free(request);
        self.reply(request, hidl_methods::removal_done(&removal));
        Ok(slice)
    }

    /// Asks a service for its interfaces, and adds it.
    fn ask(
        &mut self,
        shared: &Shared,
        request: &TransactionData,
        pending: &PendingAdd,
    ) -> io::Result<()> {
        let mut events = Vec::new();
        let parcel = Parcel::hidl_call(hidl::names::BASE);
        let asked = (pending.handle, hidl::interface::INTERFACE_CHAIN, 0);
        let mut serve = |driver: &mut Driver, event| match event {
            Event::Transaction(..) => driver.refuse(event),
            other => events.push(other),
        };
        let outcome = self.driver.call(asked, parcel, None, &mut serve)?;
        let chain = outcome.reply().ok().and_then(|reply| {
            let opened = self.driver.opened();
            let memory: &dyn Memory = &opened.map;
            let chain = hidl::read_chain(&reply.data, &reply.offsets, memory);
            self.driver.give_back(&reply);
            chain
        });
        let mut manager = manager(shared);
        for event in events {
            if let Event::Died(cookie) = event {
                manager.state.registry.died(cookie);
            }
        }
        let state = &mut manager.state;
        let answer =
            hidl_methods::add_with_chain(state, &mut self.driver, pending, chain.as_deref());
        // The reference of the registry is taken before that of the request goes.
        self.driver.free(request);
        // While this thread has the request it gets no other work, so that nothing is lost.
        self.flush()?;
        self.reply(request, answer);
        Ok(())
    }
}

/// Why work is not done.
enum Refused<'a> {
    /// The user has very much such work already.
    TooMany,
    NoThread(&'a io::Error),
}

/// The reply to a request whose work is not done.
fn refuse(manager: &mut Manager, work: &Work, refused: Refused) -> Reply {
    let (why, status) = match (refused, work) {
        (Refused::NoThread(err), _) => (
            format!("no thread can do what takes long: {err}"),
            StatusCode::NoMemory,
        ),
        (Refused::TooMany, Work::AskChain(_)) => (
            "too many services of this user do not tell their interfaces".to_string(),
            StatusCode::WouldBlock,
        ),
        (Refused::TooMany, Work::List(_)) => (
            "too many long lists of this user are being made".to_string(),
            StatusCode::WouldBlock,
        ),
        (Refused::TooMany, Work::Remove(_)) => (
            "too many callbacks of this user are being removed".to_string(),
            StatusCode::WouldBlock,
        ),
    };
    match work {
        Work::AskChain(pending) => hidl_methods::refuse_add(&mut manager.state, pending, &why),
        _ => {
            manager.state.log_refusal(work.caller(), 0, &why);
            status.into()
        }
    }
}

/// Each thread that made a list has left a heap of its own, which the library keeps.
fn return_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only returns what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The manager, for the thread that serves.
fn serve_with(shared: &Shared) -> MutexGuard<'_, Manager> {
    shared.wanted.fetch_add(1, Ordering::Relaxed);
    let guard = manager(shared);
    shared.wanted.fetch_sub(1, Ordering::Relaxed);
    guard
}

/// The registry is consistent after each call, also one that panicked.
fn manager(shared: &Shared) -> MutexGuard<'_, Manager> {
    shared
        .manager
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::fairness_test::{policy, settings, FakeDriver};

    #[test]
    fn long_work_waits_for_its_turn() {
        let port = &mut FakeDriver::default();
        let manager = Manager::new("test", settings(false), policy(), port);
        let shared = Shared::new("test", manager);
        let steps = AtomicUsize::new(0);
        thread::scope(|scope| {
            let turn = shared.turns.take(1);
            scope.spawn(|| {
                let last = shared.in_slices(2, |_| Ok(steps.fetch_add(1, Ordering::SeqCst) < 2));
                assert!(last.is_ok());
            });
            shared.turns.wait_for(1);
            assert_eq!(steps.load(Ordering::SeqCst), 0);
            drop(turn);
        });
        assert_eq!(steps.load(Ordering::SeqCst), 3);
    }
}
