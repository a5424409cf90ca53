// SPDX-License-Identifier: Apache-2.0
//! The threads that take calls. One that has to wait, for a time, a program or a client's object,
//! starts another one first if none else waits for calls.
use crate::bus::{Bus, Failure, Object};
use crate::journal::{arguments, Journal, Record};
use crate::known::{Known, Objects};
use crate::methods::Interface;
use crate::prepared::{Behaviour, CallBack, Prepared, Reply, Writer};
use crate::step::Step;
use anybinder_cli::error::{Doing, Result};
use anybinder_client::raw_manager::STRICT_MODE;
use anybinder_driver::abi::{TransactionData, TF_ONE_WAY, TYPE_FD, TYPE_HANDLE};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{objects_of, word, Parcel, Speaker, SYSTEM_HEADER};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::{Format, Parcel as Plan};
use anybinder_parcel::header;
use anybinder_parcel::status::Exception;
use rsbinder::StatusCode;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The threads that wait for calls in the first place, if there may be so many.
const THREADS: usize = 4;

/// An object that a client has given.
#[derive(Clone, Copy)]
struct Given {
    handle: u32,
    speaker: Speaker,
}

/// What all threads share.
pub struct Fake {
    pub bus: Bus,
    pub library: Arc<Mutex<Library>>,
    pub journal: Journal,
    pub known: Objects,
    /// The behaviour of `new INTERFACE`, by the name of the interface.
    pub nested: Mutex<HashMap<String, Arc<Behaviour>>>,
    /// Objects of clients, by the arguments that they came as.
    given: Mutex<HashMap<String, Given>>,
    /// The calls that wait for the controlling program.
    pub asked: Mutex<HashMap<u64, SyncSender<Option<Step>>>>,
    waiting: AtomicUsize,
    threads: AtomicUsize,
    most_threads: usize,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that is served.
struct Call {
    object: Arc<Object>,
    request: TransactionData,
    speaker: Speaker,
    /// Files that came with it, open until it is answered.
    _files: Vec<OwnedFd>,
}

impl Call {
    fn is_oneway(&self) -> bool {
        self.request.flags & TF_ONE_WAY != 0
    }
}

/// The files that came with a call, which are closed at its end, whatever becomes of it.
fn files_of(data: &[u8], offsets: &[u64]) -> Vec<OwnedFd> {
    // SAFETY: the driver has made the descriptor for this call; no one else has it.
    let file = |fd: u32| unsafe { OwnedFd::from_raw_fd(fd.cast_signed()) };
    objects_of(data, offsets, TYPE_FD).map(file).collect()
}

/// What a program of the level reads that has written a header of this length.
fn speaker(data: &[u8], at: usize) -> Speaker {
    Speaker {
        level: match at {
            4 => Level::A9,
            8 => Level::A10,
            _ => Level::default(),
        },
        header_word: word(data, 8)
            .filter(|_| at == 12)
            .map_or(SYSTEM_HEADER, u32::cast_signed),
    }
}

impl Fake {
    pub fn new(
        bus: Bus,
        library: Arc<Mutex<Library>>,
        journal: Journal,
        most_threads: usize,
    ) -> Fake {
        Fake {
            bus,
            library,
            journal,
            known: Objects::default(),
            nested: Mutex::default(),
            given: Mutex::default(),
            asked: Mutex::default(),
            waiting: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            most_threads,
        }
    }

    /// Starts the threads.
    pub fn start(self: &Arc<Fake>, driver: &Driver) -> Result<()> {
        for _ in 0..THREADS {
            self.spawn(driver)
                .doing(|| "starting a thread".to_string())?;
        }
        Ok(())
    }

    fn spawn(self: &Arc<Fake>, driver: &Driver) -> io::Result<()> {
        if self.threads.fetch_add(1, Ordering::SeqCst) >= self.most_threads {
            self.threads.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let (fake, mut driver) = (self.clone(), driver.for_another_thread());
        std::thread::Builder::new().spawn(move || loop {
            match driver.receive() {
                Ok(events) => {
                    fake.waiting.fetch_sub(1, Ordering::SeqCst);
                    events
                        .into_iter()
                        .for_each(|event| fake.event(&mut driver, event));
                    fake.waiting.fetch_add(1, Ordering::SeqCst);
                }
                Err(err) => fake.end(&format!("The driver has ended: {err}."), 1),
            }
        })?;
        Ok(())
    }

    /// Ends this process when all is written that is to be said.
    pub fn end(&self, why: &str, status: i32) -> ! {
        self.journal.line(why, json!({ "ends": why }));
        self.journal.flush();
        std::process::exit(status);
    }

    /// Before a thread waits for something: others have to be there for calls.
    fn will_wait(self: &Arc<Fake>, driver: &mut Driver) {
        let _ = driver.flush();
        if self.waiting.load(Ordering::SeqCst) == 0 {
            // Without one more thread, calls wait a little longer.
            let _ = self.spawn(driver);
        }
    }

    /// Takes what the driver tells.
    pub fn event(self: &Arc<Fake>, driver: &mut Driver, event: Event) {
        let (request, context) = match event {
            Event::Transaction(request, context) => (request, context),
            Event::Died(handle) => {
                let is_it = |known: &Known| u64::from(known.handle) == handle;
                return self.known.forget(driver, is_it);
            }
            _ => return,
        };
        let is_oneway = request.flags & TF_ONE_WAY != 0;
        let outcome = self.transaction(driver, request, context);
        match outcome {
            Err(status) if !is_oneway => driver.reply_status(status),
            _ => {}
        }
        driver.free(&request);
    }

    fn transaction(
        self: &Arc<Fake>,
        driver: &mut Driver,
        request: TransactionData,
        context: Option<u64>,
    ) -> std::result::Result<(), i32> {
        let unknown = i32::from(StatusCode::UnknownTransaction);
        let parts = driver.contents(&request);
        let (data, offsets) = parts.ok_or_else(|| i32::from(StatusCode::BadType))?;
        let files = files_of(&data, &offsets);
        let object = self.bus.object(request.target).ok_or(unknown)?;
        let interface = &object.behaviour.interface;
        let mut parcel = Parcel::default();
        match request.code {
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                let parts = (&data[..], &offsets[..], files);
                return self.method(driver, (object, request), context, parts);
            }
            // A dump is empty.
            rsbinder::PING_TRANSACTION | rsbinder::DUMP_TRANSACTION => {}
            rsbinder::INTERFACE_TRANSACTION => drop(parcel.string16(&interface.descriptor)),
            rsbinder::DEBUG_PID_TRANSACTION => drop(parcel.i32(std::process::id().cast_signed())),
            rsbinder::EXTENSION_TRANSACTION => {
                parcel.binder(None, Level::default().stability_form());
            }
            _ => return Err(unknown),
        }
        driver.reply(parcel);
        Ok(())
    }

    /// A call of a method.
    fn method(
        self: &Arc<Fake>,
        driver: &mut Driver,
        (object, request): (Arc<Object>, TransactionData),
        context: Option<u64>,
        (data, offsets, files): (&[u8], &[u64], Vec<OwnedFd>),
    ) -> std::result::Result<(), i32> {
        let interface = object.behaviour.interface.clone();
        let place = header::place(data, &interface.descriptor);
        let Some((at, start)) = place else {
            let name = header::find(data).map_or("no".to_string(), |(name, _)| name);
            let text = format!("{} was called as {name} interface", object.name);
            self.journal
                .line(text, json!({ "misfit": name, "service": object.name }));
            return Err(StatusCode::BadType.into());
        };
        let speaker = speaker(data, at);
        let called = interface.by_code(request.code);
        let answer = called.and_then(|one| object.behaviour.next(one, &data[start..]));
        let asks = answer
            .as_ref()
            .is_some_and(|one| matches!(one.reply, Reply::Ask));
        let mut record = Record {
            object: object.clone(),
            code: request.code,
            data: data[start..].to_vec(),
            format: Format::Driver(speaker.level),
            pid: request.sender_pid,
            uid: request.sender_euid,
            context: context.and_then(|address| driver.text(address)),
            is_oneway: request.flags & TF_ONE_WAY != 0,
            arguments: None,
            answer: match &answer {
                _ if asks => None,
                Some(answer) => Some(answer.text.clone()),
                None if called.is_none() => Some("UNKNOWN_TRANSACTION: no such method".to_string()),
                None => Some("UNKNOWN_TRANSACTION: no answer is given".to_string()),
            },
        };
        if !offsets.is_empty() {
            self.take_objects(driver, (data, offsets), speaker, &mut record);
        }
        let (sender, told) = sync_channel(1);
        self.journal.called(record, |number| {
            if asks {
                lock(&self.asked).insert(number, sender);
            }
        });
        let Some(mut answer) = answer else {
            return Err(StatusCode::UnknownTransaction.into());
        };
        let call = Call {
            object,
            request,
            speaker,
            _files: files,
        };
        if asks {
            self.will_wait(driver);
            let step = told.recv().ok().flatten();
            answer = self.prepare_told(driver, &call, step.unwrap_or_default());
        }
        self.answer(driver, &call, &answer);
        Ok(())
    }

    /// Keeps the objects of a call, by the arguments that they are.
    fn take_objects(
        &self,
        driver: &mut Driver,
        (data, offsets): (&[u8], &[u64]),
        speaker: Speaker,
        record: &mut Record,
    ) {
        objects_of(data, offsets, TYPE_HANDLE).for_each(|handle| driver.acquire(handle));
        let mut read = arguments(&lock(&self.library), record);
        for (name, value) in read.iter_mut().flatten() {
            name_file(value);
            let handle = value.get("handle").and_then(Value::as_u64);
            if let Some(handle) = handle.and_then(|handle| u32::try_from(handle).ok()) {
                lock(&self.given).insert(name.clone(), Given { handle, speaker });
            }
        }
        record.arguments = Some(read);
    }

    /// What `new INTERFACE` and names of services are in this process.
    pub fn find(
        self: &Arc<Fake>,
        library: &Library,
        driver: &mut Driver,
        name: &str,
    ) -> std::result::Result<String, String> {
        if name.starts_with("object ") || name.starts_with("handle ") {
            return Ok(name.to_string());
        }
        if let Some(interface) = name.strip_prefix("new ") {
            let behaviour = self.behaviour(library, interface)?;
            return Ok(format!("object {}", self.bus.add_object(None, &behaviour)));
        }
        if let Some(number) = self.bus.own(name) {
            return Ok(format!("object {number}"));
        }
        let found = self
            .bus
            .find(driver, name, &mut |driver, event| self.event(driver, event));
        match found {
            Ok(Some(handle)) => Ok(format!("handle {handle}")),
            Ok(None) => Err(format!("no service is registered as {name}")),
            Err(err) => Err(err.to_string()),
        }
    }

    /// What objects of an interface answer that are made for answers.
    pub fn behaviour(
        &self,
        library: &Library,
        name: &str,
    ) -> std::result::Result<Arc<Behaviour>, String> {
        let interface = Interface::find(library, name)
            .ok_or_else(|| format!("no .aidl file declares the interface {name}"))?;
        let mut nested = lock(&self.nested);
        let made = nested.entry(interface.entry.name.clone());
        Ok(made
            .or_insert_with(|| Arc::new(Behaviour::new(interface, false)))
            .clone())
    }

    /// The answer that the controlling program has given to a call. One that does not fit is said,
    /// and the caller gets an exception.
    fn prepare_told(
        self: &Arc<Fake>,
        driver: &mut Driver,
        call: &Call,
        step: Step,
    ) -> Arc<Prepared> {
        let interface = &call.object.behaviour.interface;
        let called = interface
            .by_code(call.request.code)
            .expect("a method that was found");
        let prepared = {
            let library = lock(&self.library);
            let driver = std::cell::RefCell::new(driver);
            let writer = Writer {
                library: &library,
                interface,
                called,
                find: &|name| self.find(&library, &mut driver.borrow_mut(), name),
            };
            match step.ask {
                true => Err("it is asked for already".into()),
                false => writer.prepare(&step),
            }
        };
        Arc::new(prepared.unwrap_or_else(|misfit| {
            let name = &called.method.name;
            let text = format!(
                "{}.{name}{}: {}",
                call.object.name, misfit.path, misfit.what
            );
            self.journal.line(text.clone(), json!({ "error": text }));
            Prepared::with(exception("IllegalState", &text), String::new())
        }))
    }

    fn answer(self: &Arc<Fake>, driver: &mut Driver, call: &Call, answer: &Prepared) {
        if !answer.after.is_zero() {
            self.will_wait(driver);
            std::thread::sleep(answer.after);
        }
        if !answer.calls.is_empty() {
            self.will_wait(driver);
        }
        for one in &answer.calls {
            let outcome = self.call_back(driver, one);
            let failure = outcome.err().map(|failure| failure.text());
            let text = match &failure {
                None => format!("called {}", one.text),
                Some(why) => format!("called {}: {why}", one.text),
            };
            self.journal
                .line(text, json!({ "called": one.text, "failure": failure }));
        }
        match &answer.reply {
            _ if call.is_oneway() && !matches!(answer.reply, Reply::Dead) => {}
            Reply::Parcel(plan) => self.reply(driver, call, plan),
            Reply::Status(status) => driver.reply_status(*status),
            Reply::Dead | Reply::Ask => self.end("It ends without a reply, as told.", 0),
        }
        if answer.dies {
            let _ = driver.flush();
            self.end("It ends behind its reply, as told.", 0);
        }
    }

    fn reply(&self, driver: &mut Driver, call: &Call, plan: &Plan) {
        let mut parcel = Parcel::default();
        if plan.objects.is_empty() {
            parcel.data.clone_from(&plan.data);
            return driver.reply(parcel);
        }
        match self.bus.fill(&mut parcel, plan, call.speaker.level) {
            Ok(files) => {
                driver.reply(parcel);
                let _ = driver.flush();
                drop(files);
            }
            Err(err) => {
                let text = format!("{} cannot reply: {err}", call.object.name);
                self.journal.line(text.clone(), json!({ "error": text }));
                if let Reply::Parcel(plan) = exception("IllegalState", &text) {
                    parcel = Parcel::default();
                    parcel.data.clone_from(&plan.data);
                }
                driver.reply(parcel);
            }
        }
    }

    /// Calls an object that a client has given.
    pub fn call_back(
        self: &Arc<Fake>,
        driver: &mut Driver,
        one: &CallBack,
    ) -> std::result::Result<(), Failure> {
        let given = lock(&self.given).get(&one.object).copied();
        let none = || Failure::Request(format!("no client has given a {}", one.object));
        let Given { handle, speaker } = given.ok_or_else(none)?;
        let mut parcel = speaker.call(STRICT_MODE, &one.interface.descriptor);
        let filled = self.bus.fill(&mut parcel, &one.plan, speaker.level);
        let _files = filled.map_err(Failure::Request)?;
        let mut serve = |driver: &mut Driver, event| self.event(driver, event);
        let target = (handle, one.code, one.is_oneway);
        let reply = Bus::call(driver, target, parcel, &mut serve)?;
        driver.give_back(&reply);
        match word(&reply.data, 0).map(u32::cast_signed) {
            Some(0) | None => Ok(()),
            Some(code) => Err(Failure::Request(format!("exception {code}"))),
        }
    }
}

/// Adds to a file in an argument what it is.
pub fn name_file(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(name_file),
        Value::Object(members) => {
            let fd = members.get("fd").and_then(Value::as_u64);
            match fd.map(|fd| std::fs::read_link(format!("/proc/self/fd/{fd}"))) {
                Some(Ok(path)) => {
                    members.insert("path".to_string(), Value::from(path.to_string_lossy()));
                }
                _ => members.values_mut().for_each(name_file),
            }
        }
        _ => {}
    }
}

/// A reply with an exception.
fn exception(name: &str, text: &str) -> Reply {
    let mut plan = Plan::default();
    if let Ok(mut exception) = Exception::named(name) {
        exception.message = Some(text.to_string());
        exception.write(&mut plan);
    }
    Reply::Parcel(plan)
}
