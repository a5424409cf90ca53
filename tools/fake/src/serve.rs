// SPDX-License-Identifier: Apache-2.0
//! The threads that take calls: the driver says when it wants another one.
use crate::bus::{handle_of, Bus, Failure, Object};
use crate::journal::{Journal, Record};
use crate::known::Objects;
use crate::lock;
use crate::prepared::{Answering, Behaviour, CallBack, Prepared, Reply};
use crate::step::Step;
use anybinder_cli::error::{Doing, Result};
use anybinder_client::objects::{name_files, number, visit};
use anybinder_client::raw_manager::STRICT_MODE;
use anybinder_driver::abi::{TransactionData, TF_ACCEPT_FDS, TF_ONE_WAY, TYPE_FD};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{objects_of, word, Parcel, Speaker, Target, SYSTEM_HEADER};
use anybinder_driver::raw_call::{self, Serve};
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::{self, Format, Misfit, Parcel as Plan};
use anybinder_parcel::header;
use anybinder_parcel::interface_methods::{Interface, Request};
use anybinder_parcel::status::Exception;
use rsbinder::StatusCode;
use serde_json::json;
use std::collections::HashMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The threads that wait for calls in the first place, if there may be so many.
const THREADS: u32 = 4;

/// What a client has given as an argument.
struct Given {
    /// Its objects, with a reference to each.
    handles: Vec<u32>,
    speaker: Speaker,
}

/// What all threads share.
pub struct Fake {
    pub bus: Bus,
    pub library: Arc<Mutex<Library>>,
    pub journal: Journal,
    pub known: Objects,
    /// The behaviour of `new INTERFACE`, by the name of the interface.
    nested: Mutex<HashMap<String, Arc<Behaviour>>>,
    /// Objects of clients, by the arguments that they came as.
    given: Mutex<HashMap<String, Given>>,
    /// The calls that wait for the controlling program.
    pub asked: Mutex<HashMap<u64, SyncSender<Option<Step>>>>,
}

/// A call that is served.
struct Call<'a> {
    object: &'a Object,
    called: &'a Called,
    speaker: Speaker,
    is_oneway: bool,
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

/// The interface with a name.
pub fn declared(library: &Library, name: &str) -> std::result::Result<Arc<Interface>, String> {
    let found = Interface::find(library, name);
    found.ok_or_else(|| format!("no .aidl file declares the interface {name}"))
}

impl Fake {
    pub fn new(bus: Bus, library: Arc<Mutex<Library>>, journal: Journal) -> Fake {
        Fake {
            bus,
            library,
            journal,
            known: Objects::default(),
            nested: Mutex::default(),
            given: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Starts to take calls, with so many threads at most.
    pub fn start(self: &Arc<Fake>, driver: &Driver, most_threads: u32) -> Result<()> {
        let first = THREADS.min(most_threads);
        let starting = || "starting a thread".to_string();
        driver
            .set_max_threads(most_threads - first)
            .doing(starting)?;
        let mut drivers = (0..first).map(|_| driver.for_another_thread());
        drivers
            .try_for_each(|driver| self.spawn(driver))
            .doing(starting)
    }

    fn spawn(self: &Arc<Fake>, mut driver: Driver) -> io::Result<()> {
        let fake = self.clone();
        let thread = std::thread::Builder::new().spawn(move || loop {
            match driver.receive() {
                Ok(events) => events
                    .into_iter()
                    .for_each(|event| fake.event(&mut driver, event)),
                Err(err) => fake.end(&format!("The driver has ended: {err}."), 1),
            }
        });
        thread.map(drop)
    }

    /// Ends this process when all is written that is to be said.
    pub fn end(&self, why: &str, status: i32) -> ! {
        self.journal.line(why, json!({ "ends": why }));
        self.journal.flush();
        std::process::exit(status);
    }

    /// Takes what the driver tells.
    pub fn event(self: &Arc<Fake>, driver: &mut Driver, event: Event) {
        let (request, context) = match event {
            Event::Transaction(request, context) => (request, context),
            Event::Died(cookie) => {
                let is_it = |handle: u32| u64::from(handle) == cookie;
                return self.known.forget(driver, is_it);
            }
            Event::Wanted => {
                // Without one more thread, calls wait a little longer.
                return drop(self.spawn(driver.for_wanted_thread()));
            }
            _ => return,
        };
        let outcome = self.transaction(driver, &request, context);
        match outcome {
            Err(status) if request.flags & TF_ONE_WAY == 0 => driver.reply_status(status.into()),
            _ => {}
        }
        driver.free(&request);
    }

    fn transaction(
        self: &Arc<Fake>,
        driver: &mut Driver,
        request: &TransactionData,
        context: Option<u64>,
    ) -> std::result::Result<(), StatusCode> {
        let unknown = StatusCode::UnknownTransaction;
        let (data, offsets) = driver.contents(request).ok_or(StatusCode::BadType)?;
        let _files = files_of(&data, &offsets);
        let object = self.bus.object(request.target).ok_or(unknown)?;
        let interface = &object.behaviour.interface;
        let mut parcel = Parcel::default();
        match request.code {
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                return self.method(driver, (&object, request), context, (&data, &offsets));
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
        (object, request): (&Object, &TransactionData),
        context: Option<u64>,
        (data, offsets): (&[u8], &[u64]),
    ) -> std::result::Result<(), StatusCode> {
        let interface = &object.behaviour.interface;
        let Some((at, start)) = header::place(data, &interface.descriptor) else {
            let name = header::find(data).map_or("no".to_string(), |(name, _)| name);
            let text = format!("{} was called as {name} interface", object.name);
            self.journal
                .line(text, json!({ "misfit": name, "service": object.name }));
            return Err(StatusCode::BadType);
        };
        let speaker = speaker(data, at);
        let is_oneway = request.flags & TF_ONE_WAY != 0;
        let called = interface.by_code(request.code);
        let answer = called.and_then(|one| object.behaviour.next(one, &data[start..]));
        let asks = |one: &Arc<Prepared>| matches!(one.reply, Reply::Ask);
        let asks = answer.as_ref().is_some_and(asks);
        let text = match &answer {
            Some(answer) => &answer.text,
            None if called.is_none() => "UNKNOWN_TRANSACTION: no such method",
            None => "UNKNOWN_TRANSACTION: no answer is given",
        };
        let mut record = Record {
            call: 0,
            service: object.name.clone(),
            interface: interface.clone(),
            method: called.map(|one| one.method.name.clone()),
            code: request.code,
            arguments: None,
            pid: request.sender_pid,
            uid: request.sender_euid,
            context: context.and_then(|address| driver.text(address)),
            oneway: is_oneway,
            answer: (!asks).then(|| text.to_string()),
            asks,
            misfit: None,
            data: data[start..].to_vec(),
            format: Format::Driver(speaker.level),
        };
        if !offsets.is_empty() {
            let keeps = answer.as_ref().is_some_and(|answer| answer.step.keep);
            self.take_objects(driver, speaker, &mut record, keeps);
        }
        let (sender, told) = sync_channel(1);
        self.journal.called(record, |number| {
            if asks {
                lock(&self.asked).insert(number, sender);
            }
        });
        let (Some(answer), Some(called)) = (answer, called) else {
            return Err(StatusCode::UnknownTransaction);
        };
        let call = Call {
            object,
            called,
            speaker,
            is_oneway,
        };
        match asks {
            false => self.answer(driver, &call, &answer),
            true => self.answer_told(driver, &call, &told),
        }
        Ok(())
    }

    /// Answers a call as the controlling program says, which is asked already.
    fn answer_told(
        self: &Arc<Fake>,
        driver: &mut Driver,
        call: &Call,
        told: &Receiver<Option<Step>>,
    ) {
        let _ = driver.flush();
        let step = told.recv().ok().flatten();
        let mut answer = self.prepare_told(driver, call, &step.unwrap_or_default());
        self.answer(driver, call, &answer);
        for (_, object) in answer.plans().flat_map(|plan| &plan.objects) {
            if let encode::Object::Service(name) = object {
                handle_of(name)
                    .into_iter()
                    .for_each(|one| driver.release(one));
            }
        }
    }

    /// Keeps the objects of a call, in place of those that came as the same arguments.
    ///
    /// * `keeps`: for good, whatever comes
    fn take_objects(
        &self,
        driver: &mut Driver,
        speaker: Speaker,
        record: &mut Record,
        keeps: bool,
    ) {
        record.read(&lock(&self.library));
        for (name, value) in record.arguments.iter_mut().flatten() {
            name_files(value);
            let mut handles = Vec::new();
            visit(value, "handle", &mut |one| {
                handles.extend(number(one, "handle"))
            });
            if handles.is_empty() {
                continue;
            }
            handles.iter().for_each(|handle| driver.acquire(*handle));
            if keeps {
                // Nothing releases this reference.
                handles.iter().for_each(|handle| driver.acquire(*handle));
            }
            let given = Given { handles, speaker };
            let old = lock(&self.given).insert(name.clone(), given);
            for handle in old.iter().flat_map(|old| &old.handles) {
                driver.release(*handle);
            }
        }
    }

    /// The handle of a service, with a reference to it; None if there is none.
    pub fn look_up(self: &Arc<Fake>, driver: &mut Driver, name: &str) -> Result<Option<u32>> {
        let mut serve = |driver: &mut Driver, event| self.event(driver, event);
        let found = self.bus.manager.look_up(driver, name, &mut serve)?;
        Ok(match found.map(|binder| binder.target) {
            Some(Target::Handle(handle)) => Some(handle),
            Some(Target::Own) | None => None,
        })
    }

    /// Registers an object by its name.
    pub fn register(self: &Arc<Fake>, driver: &mut Driver, number: usize) -> Result<()> {
        let object = self.bus.object(number as u64).expect("there is one");
        let node = self.bus.node(number).expect("as above");
        let mut serve = |driver: &mut Driver, event| self.event(driver, event);
        let (bus, thread) = (&self.bus, (driver, &mut serve as Serve));
        bus.manager.add(thread, &object.name, node, bus.speaker)
    }

    /// What `new INTERFACE` and the name of a service are in this process.
    fn find(
        self: &Arc<Fake>,
        (library, driver): (&Library, &mut Driver),
        within: &Interface,
        name: &str,
    ) -> std::result::Result<String, String> {
        if let Some(number) = name.strip_prefix("handle ") {
            // The answer refers to it, whatever becomes of what it was given as.
            number
                .parse()
                .into_iter()
                .for_each(|handle| driver.acquire(handle));
            return Ok(name.to_string());
        }
        if name.starts_with("object ") {
            return Ok(name.to_string());
        }
        if let Some(interface) = name.strip_prefix("new ") {
            let entry = library.resolve(&within.entry, interface);
            let full = entry.map_or(interface.to_string(), |entry| entry.name.clone());
            let behaviour = self.behaviour(library, &full)?;
            return Ok(format!("object {}", self.bus.add_object(None, &behaviour)));
        }
        if let Some(number) = self.bus.own(name) {
            return Ok(format!("object {number}"));
        }
        match self.look_up(driver, name) {
            Ok(Some(handle)) => Ok(format!("handle {handle}")),
            Ok(None) => Err(format!("no service is registered as {name}")),
            Err(err) => Err(err.to_string()),
        }
    }

    /// Makes the objects in a parcel some of this process. Fails for files that are not there, too.
    pub fn find_all(
        self: &Arc<Fake>,
        (library, driver): (&Library, &mut Driver),
        within: &Interface,
        plan: &mut Plan,
    ) -> std::result::Result<(), String> {
        for (_, object) in &mut plan.objects {
            match object {
                encode::Object::Service(name) => {
                    *name = self.find((library, driver), within, name)?;
                }
                encode::Object::File(path) => {
                    let found = std::fs::metadata(&path);
                    found.map_err(|err| format!("{}: {err}", path.display()))?;
                }
            }
        }
        Ok(())
    }

    /// An answer with its objects, and a reference to each handle.
    pub fn prepare(
        self: &Arc<Fake>,
        driver: &mut Driver,
        method: Answering,
        step: &Step,
    ) -> std::result::Result<Prepared, Misfit> {
        let mut prepared = method.prepare(step)?;
        for plan in prepared.plans() {
            self.find_all((method.library, driver), method.interface, plan)?;
        }
        Ok(prepared)
    }

    /// What objects of an interface answer that are made for answers.
    pub fn behaviour(
        &self,
        library: &Library,
        name: &str,
    ) -> std::result::Result<Arc<Behaviour>, String> {
        let interface = declared(library, name)?;
        let mut nested = lock(&self.nested);
        let made = nested.entry(interface.entry.name.clone());
        Ok(made
            .or_insert_with(|| Behaviour::new(interface, false))
            .clone())
    }

    /// The answer that the controlling program has given to a call. One that does not fit is said,
    /// and the caller gets an exception.
    fn prepare_told(self: &Arc<Fake>, driver: &mut Driver, call: &Call, step: &Step) -> Prepared {
        let prepared = {
            let library = lock(&self.library);
            let interface = &call.object.behaviour.interface;
            let method = interface.method(&library, call.called);
            match step.ask {
                true => Err("it is asked for already".into()),
                false => self.prepare(driver, Answering(method), step),
            }
        };
        prepared.unwrap_or_else(|misfit| {
            let (service, name) = (&call.object.name, &call.called.method.name);
            let text = format!("{service}.{name}{}: {}", misfit.path, misfit.what);
            self.misfit(&text)
        })
    }

    /// The answer in place of one that is not possible, which is said.
    fn misfit(&self, text: &str) -> Prepared {
        self.journal.line(text, json!({ "error": text }));
        let mut exception = Exception::named("IllegalState").expect("a name of AIDL");
        exception.message = Some(text.to_string());
        Prepared::exception(&exception)
    }

    fn answer(self: &Arc<Fake>, driver: &mut Driver, call: &Call, answer: &Prepared) {
        let step = &answer.step;
        if step.after_s > 0.0 || !answer.calls.is_empty() {
            let _ = driver.flush();
            std::thread::sleep(Duration::from_secs_f64(step.after_s));
        }
        for one in &answer.calls {
            let failure = self.call_back(driver, one).err();
            let failure = failure.map(|failure| failure.text());
            let because = failure
                .as_ref()
                .map_or(String::new(), |why| format!(": {why}"));
            self.journal.line(
                format!("called {}{because}", one.text),
                json!({ "called": one.text, "failure": failure }),
            );
        }
        match &answer.reply {
            _ if call.is_oneway && !matches!(answer.reply, Reply::Dead) => {}
            Reply::Parcel(plan) => self.reply(driver, call, plan),
            Reply::Status(status) => driver.reply_status(*status),
            Reply::Dead | Reply::Ask => self.end("It ends without a reply, as told.", 0),
        }
        if step.dies {
            let _ = driver.flush();
            self.end("It ends behind its reply, as told.", 0);
        }
    }

    fn reply(&self, driver: &mut Driver, call: &Call, plan: &Plan) {
        let mut parcel = Parcel::default();
        match self.bus.fill(&mut parcel, plan, call.speaker.level) {
            Ok(files) => {
                driver.reply(parcel);
                if !files.is_empty() {
                    let _ = driver.flush();
                }
            }
            Err(err) => {
                let text = format!("{} cannot reply: {err}", call.object.name);
                for plan in self.misfit(&text).plans() {
                    self.reply(driver, call, plan);
                }
            }
        }
    }

    /// Calls an object, and serves what is called meanwhile. The reply is to be given back.
    pub fn call(
        self: &Arc<Fake>,
        driver: &mut Driver,
        (handle, code, is_oneway): (u32, u32, bool),
        parcel: Parcel,
    ) -> std::result::Result<raw_call::Reply, Failure> {
        let flags = if is_oneway { TF_ONE_WAY } else { TF_ACCEPT_FDS };
        let mut serve = |driver: &mut Driver, event| self.event(driver, event);
        let outcome = driver.call((handle, code, flags), parcel, None, &mut serve);
        let outcome = outcome.map_err(|err| Failure::Request(err.to_string()))?;
        outcome.reply().map_err(Failure::Status)
    }

    /// Makes a call that is written, of an object that reads it as `speaker`.
    pub fn send(
        self: &Arc<Fake>,
        driver: &mut Driver,
        (handle, speaker): (u32, Speaker),
        request: &Request,
    ) -> std::result::Result<raw_call::Reply, Failure> {
        let mut parcel = speaker.call(STRICT_MODE, &request.interface.descriptor);
        let filled = self.bus.fill(&mut parcel, &request.plan, speaker.level);
        let _files = filled.map_err(Failure::Request)?;
        self.call(driver, (handle, request.code, request.is_oneway), parcel)
    }

    /// Calls an object that a client has given.
    pub fn call_back(
        self: &Arc<Fake>,
        driver: &mut Driver,
        one: &CallBack,
    ) -> std::result::Result<(), Failure> {
        let (handle, speaker) = {
            let given = lock(&self.given);
            let none = || Failure::Request(format!("no client has given a {}", one.object));
            let one = given.get(&one.object).ok_or_else(none)?;
            // Meanwhile another one may take its place.
            driver.acquire(one.handles[0]);
            let _ = driver.flush();
            (one.handles[0], one.speaker)
        };
        let reply = self.send(driver, (handle, speaker), &one.request);
        driver.release(handle);
        let reply = reply?;
        driver.give_back(&reply);
        match word(&reply.data, 0).map(u32::cast_signed) {
            Some(0) | None => Ok(()),
            Some(code) => Err(Failure::Request(format!("exception {code}"))),
        }
    }
}
