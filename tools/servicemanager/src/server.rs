// SPDX-License-Identifier: Apache-2.0
//! The threads of one device. One of them serves it: it waits for work and does it. Nothing that it
//! sends is waited for, so that no client holds it up.
//!
//! A HIDL service that is added without its interfaces has to be asked for them, and it expects the
//! question in the thread that adds it. The driver sends a call there only if it comes from the
//! thread that has the request. So that thread starts another one, which serves from then on, asks,
//! waits as long as that takes, replies and ends. `waiting` bounds how many of them a user has.
use crate::caller::{Caller, Transaction};
use crate::hidl;
use crate::manager::Manager;
use crate::reply::{PendingAdd, Reply};
use crate::waiting::{Place, Waiting};
use anybinder_driver::abi::{self, TransactionData};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::map::Memory;
use anybinder_driver::parcel::Parcel;
use rsbinder::StatusCode;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the clients of lazy services are counted, as in AOSP's service manager.
const CLIENTS_INTERVAL: Duration = Duration::from_secs(5);

/// Ample for a thread that waits; most of it is never touched.
const STACK_SIZE: usize = 256 * 1024;

/// What the threads of a device share.
struct Shared {
    name: String,
    manager: Mutex<Manager>,
    waiting: Arc<Waiting>,
}

/// The thread that serves a device.
pub struct Server {
    shared: Arc<Shared>,
    driver: Driver,
    events: VecDeque<Event>,
    counted: Instant,
}

/// Whether this thread goes on serving.
enum Turn {
    Goes,
    /// Another thread serves; this one asks a service for its interfaces.
    Relieved(Box<Question>),
}

/// A service that is asked for its interfaces.
struct Question {
    request: TransactionData,
    pending: PendingAdd,
    _place: Place,
}

/// Why a device is served no more.
pub struct End {
    pub why: String,
    /// The driver has ended: there may be another one at the same path.
    pub is_of_driver: bool,
}

impl Server {
    pub fn new(name: &str, driver: Driver, manager: Manager) -> Server {
        Server {
            shared: Arc::new(Shared {
                name: name.to_string(),
                manager: Mutex::new(manager),
                waiting: Arc::new(Waiting::new()),
            }),
            driver,
            events: VecDeque::new(),
            counted: Instant::now(),
        }
    }

    /// Serves until the driver ends, or until another thread does.
    ///
    /// * `ended`: told why the device is served no more
    pub fn serve(mut self, ended: &Sender<End>) {
        let why = loop {
            match self.turn(ended) {
                Ok(Turn::Goes) => {}
                Ok(Turn::Relieved(question)) => match self.ask(&question) {
                    Ok(()) => return self.driver.leave(),
                    Err(err) => break err,
                },
                Err(err) => break err,
            }
        };
        // The receiver lives as long as the process.
        let _ = ended.send(End {
            why: format!("{} is served no more: {why}", self.shared.name),
            is_of_driver: matches!(
                why.kind(),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted
            ),
        });
    }

    fn turn(&mut self, ended: &Sender<End>) -> io::Result<Turn> {
        if self.events.is_empty() {
            let is_lazy = manager(&self.shared).state.registry.has_lazy_services();
            let timeout = is_lazy.then(|| CLIENTS_INTERVAL.saturating_sub(self.counted.elapsed()));
            // The first command of a thread is that it waits for work.
            if self.driver.has_commands() || self.driver.wait(timeout)? {
                self.events.extend(self.driver.exchange()?);
            }
            if is_lazy && self.counted.elapsed() >= CLIENTS_INTERVAL {
                self.counted = Instant::now();
                let shared = Arc::clone(&self.shared);
                let mut manager = manager(&shared);
                manager.state.registry.check_clients(&mut self.driver);
                self.flush()?;
            }
        }
        while let Some(event) = self.events.pop_front() {
            let shared = Arc::clone(&self.shared);
            let mut manager = manager(&shared);
            match event {
                Event::Died(cookie) => manager.died(&mut self.driver, cookie),
                Event::Transaction(request, context) => {
                    if let Some(question) = self.transaction(&mut manager, request, context) {
                        drop(manager);
                        if let Some(question) = self.relieve(question, ended) {
                            return Ok(Turn::Relieved(Box::new(question)));
                        }
                    }
                }
                // A callback or a reply that did not reach its receiver: it is dead or full.
                Event::Reply(_) | Event::Failed => {}
            }
            self.flush()?;
        }
        Ok(Turn::Goes)
    }

    /// Writes the commands. What they say of handles must be written before another thread looks
    /// at the registry.
    fn flush(&mut self) -> io::Result<()> {
        while self.driver.has_commands() {
            self.events.extend(self.driver.exchange()?);
        }
        Ok(())
    }

    /// Answers a request, or returns the question that comes before the answer.
    fn transaction(
        &mut self,
        manager: &mut Manager,
        request: TransactionData,
        context: Option<u64>,
    ) -> Option<Question> {
        let opened = self.driver.opened();
        let contents = self.driver.contents(&request);
        let context = context.and_then(|address| self.driver.text(address));
        let caller = Caller {
            pid: request.sender_pid,
            uid: request.sender_euid,
            context: context.map_or(0, |text| manager.state.policy.context_number(&text)),
        };
        let answer = match &contents {
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
        };
        match answer {
            Reply::AskChain(pending) if request.flags & abi::TF_ONE_WAY == 0 => {
                match self.shared.waiting.enter(caller.uid) {
                    Some(place) => {
                        return Some(Question {
                            request,
                            pending: *pending,
                            _place: place,
                        })
                    }
                    None => {
                        let reply = manager.refuse_add(
                            &pending,
                            "too many services of this user do not tell their interfaces",
                        );
                        self.reply(&request, reply);
                    }
                }
            }
            // Its caller would not know whether it was added.
            Reply::AskChain(pending) => {
                manager.refuse_add(&pending, "it is a one-way call");
            }
            answer => self.reply(&request, answer),
        }
        self.driver.free(&request);
        None
    }

    fn reply(&mut self, request: &TransactionData, answer: Reply) {
        if request.flags & abi::TF_ONE_WAY != 0 {
            return;
        }
        match answer {
            Reply::Parcel(parcel) => self.driver.reply(parcel),
            Reply::Status(status) => self.driver.reply_status(status),
            Reply::AskChain(_) => self
                .driver
                .reply_status(StatusCode::InvalidOperation.into()),
        }
    }

    /// Starts the thread that serves from now on. Refuses the request if that fails.
    fn relieve(&mut self, question: Question, ended: &Sender<End>) -> Option<Question> {
        let next = Server {
            shared: Arc::clone(&self.shared),
            driver: self.driver.for_another_thread(),
            events: std::mem::take(&mut self.events),
            counted: self.counted,
        };
        let ended = ended.clone();
        let builder = thread::Builder::new().stack_size(STACK_SIZE);
        match builder.spawn(move || next.serve(&ended)) {
            Ok(_) => Some(question),
            Err(err) => {
                let why = format!("no thread can wait for its interfaces: {err}");
                let reply = manager(&self.shared).refuse_add(&question.pending, &why);
                self.reply(&question.request, reply);
                self.driver.free(&question.request);
                None
            }
        }
    }

    /// Asks a service for its interfaces, adds it, and prepares the reply, which `leave` writes.
    fn ask(&mut self, question: &Question) -> io::Result<()> {
        let mut events = Vec::new();
        let parcel = Parcel::hidl_call(hidl::names::BASE);
        let handle = question.pending.handle;
        let reply = self.driver.call(
            handle,
            hidl::interface::INTERFACE_CHAIN,
            parcel,
            &mut events,
        )?;
        let chain = reply.and_then(|reply| {
            let (data, offsets) = self.driver.contents(&reply)?;
            let is_status = reply.flags & abi::TF_STATUS_CODE != 0;
            let opened = self.driver.opened();
            let memory: &dyn Memory = &opened.map;
            (!is_status).then(|| hidl::read_chain(&data, &offsets, memory))?
        });
        if let Some(reply) = &reply {
            self.driver.free(reply);
        }
        let shared = Arc::clone(&self.shared);
        let mut manager = manager(&shared);
        for event in events {
            if let Event::Died(cookie) = event {
                manager.died(&mut self.driver, cookie);
            }
        }
        let pending = &question.pending;
        let answer = manager.add_with_chain(&mut self.driver, pending, chain.as_deref());
        // The reference of the registry is taken before that of the request goes.
        self.driver.free(&question.request);
        // While this thread has the request it gets no other work, so that nothing is lost.
        self.flush()?;
        self.reply(&question.request, answer);
        Ok(())
    }
}

/// The registry is consistent after each call, also one that panicked.
fn manager(shared: &Shared) -> MutexGuard<'_, Manager> {
    shared
        .manager
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}
