// SPDX-License-Identifier: Apache-2.0
//! A program that controls this one by lines of JSON on standard input. Each is an object with one
//! of these members; what comes of it is a line with the same `id`.
//!
//! * `answer`: the number of a call that asks; the other members are those of a `Step`
//! * `answers`: new answers by methods, as on a command line; `of`: the service
//! * `call`: a call to make (`client::Request`)
//! * `object`: a new object of the `interface`, which asks what to answer
//! * `call_back`: a call of an object that a client has given (`step::CallBack`); `of`: to which
//! * `flush`: nothing; the calls that came before are printed before the line that answers this one
//! * `forget`: the services that calls have found are looked up anew; no line answers this one
use crate::answers_file::Collected;
use crate::bus::Failure;
use crate::client::{self, Request};
use crate::lock;
use crate::prepared::{self, Answering, Behaviour};
use crate::serve::{declared, Fake};
use crate::step::{CallBack, Step};
use anybinder_driver::driver::Driver;
use serde::de::DeserializeOwned;
use serde_json::{json, Map, Value};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Stdin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};

/// The most threads that read lines and make calls; more calls wait for their turn.
const MOST_THREADS: usize = 64;

type Outcome<T> = Result<T, String>;
/// What takes longer than to read its line: a call to make.
type Task = Box<dyn FnOnce(&Arc<Fake>, &mut Driver) -> Value + Send>;

fn read<T: DeserializeOwned>(value: Value) -> Outcome<T> {
    serde_json::from_value(value).map_err(|err| err.to_string())
}

/// Prints the line that answers another.
fn say(fake: &Fake, id: &Value, mut line: Value) {
    line["id"] = id.clone();
    fake.journal.at_once(&line);
}

/// The threads take turns: one reads lines until one of them is a call, and makes it itself, so
/// that no call is handed from thread to thread. Another one reads on meanwhile. The last one that
/// reads makes no call: what it reads may be the answer that all others wait for.
pub struct Controlled {
    fake: Arc<Fake>,
    /// The service that is meant where none is said.
    first: Option<Arc<Behaviour>>,
    input: Mutex<BufReader<Stdin>>,
    /// Threads that read lines or wait for their turn to, and all of them.
    readers: AtomicUsize,
    threads: AtomicUsize,
    /// Calls for which there was no thread.
    waiting: Mutex<VecDeque<(Value, Task)>>,
    ended: Sender<Option<String>>,
}

impl Controlled {
    /// What `of` names: a service, or the number of an object.
    fn behaviour(&self, of: Option<Value>) -> Outcome<Arc<Behaviour>> {
        let bus = &self.fake.bus;
        let number = match &of {
            None => return self.first.clone().ok_or("`of` is missing".to_string()),
            Some(Value::String(name)) => bus.own(name).map(|number| number as u64),
            Some(other) => other.as_u64(),
        };
        let object = number.and_then(|number| bus.object(number));
        let shown = || format!("{} is no object here", of.unwrap_or_default());
        object
            .map(|object| object.behaviour.clone())
            .ok_or_else(shown)
    }

    /// Sets answers by methods.
    fn set(&self, driver: &mut Driver, behaviour: &Arc<Behaviour>, answers: Value) -> Outcome<()> {
        let answers: HashMap<String, String> = read(answers)?;
        let library = lock(&self.fake.library);
        let mut collected = Collected::default();
        for (key, text) in &answers {
            collected.add((&self.fake, &library, driver), behaviour, (key, text))?;
        }
        collected.set();
        Ok(())
    }

    fn object(&self, asked: Value) -> Outcome<Value> {
        let name = asked["interface"]
            .as_str()
            .ok_or("`interface` is missing")?;
        let interface = declared(&lock(&self.fake.library), name)?;
        let behaviour = Behaviour::new(interface, true);
        Ok(json!({ "object": self.fake.bus.add_object(None, &behaviour) }))
    }

    /// A call of an object that a client has given, ready to be made.
    fn call_back(
        &self,
        driver: &mut Driver,
        asked: Value,
        of: Option<Value>,
    ) -> Outcome<prepared::CallBack> {
        let behaviour = self.behaviour(of)?;
        let library = lock(&self.fake.library);
        let interface = &behaviour.interface;
        // Whose answer it is does not matter here.
        let method = Answering(interface.method(&library, &interface.methods[0]));
        let mut call = method
            .call_back(&read::<CallBack>(asked)?)
            .map_err(|misfit| format!("{}{}", misfit.path, misfit.what))?;
        let of = (&*library, driver);
        self.fake.find_all(of, interface, &mut call.request.plan)?;
        Ok(call)
    }

    /// Does what a line says, but for a call, which is returned. Prints what comes of it.
    fn line(&self, driver: &mut Driver, text: &str, id: &mut Value) -> Outcome<Option<Task>> {
        let value = serde_json::from_str(text).map_err(|err| format!("it is no JSON: {err}"))?;
        let mut line: Map<String, Value> = read(value)?;
        *id = line.remove("id").unwrap_or_default();
        if let Some(number) = line.remove("answer") {
            let asked = number
                .as_u64()
                .and_then(|number| lock(&self.fake.asked).remove(&number));
            let asked = asked.ok_or_else(|| format!("no call {number} waits for an answer"))?;
            let step = read(Value::Object(line));
            // The call goes on with an answer that does not fit, too.
            let _ = asked.send(step.as_ref().ok().cloned());
            return step.map(|_: Step| None);
        }
        let of = line.remove("of");
        let (what, value) = line.into_iter().next().unwrap_or_default();
        let outcome = match what.as_str() {
            "call" => {
                let request = read::<Request>(value)?;
                return Ok(Some(Box::new(|fake: &Arc<Fake>, driver: &mut Driver| {
                    client::call(fake, driver, request)
                })));
            }
            "call_back" => {
                let call = self.call_back(driver, value, of)?;
                let make = move |fake: &Arc<Fake>, driver: &mut Driver| {
                    let outcome = fake.call_back(driver, &call);
                    let error = |failure: Failure| json!({ "error": failure.text() });
                    outcome.map_or_else(error, |()| json!({ "result": null }))
                };
                return Ok(Some(Box::new(make)));
            }
            "answers" => {
                let behaviour = self.behaviour(of)?;
                self.set(driver, &behaviour, value)?;
                json!({ "result": null })
            }
            "object" => self.object(value)?,
            "forget" => {
                self.fake.known.forget(driver, |_| true);
                return Ok(None);
            }
            "flush" => {
                self.fake.journal.flush();
                json!({ "result": null })
            }
            other => return Err(format!("there is no {other:?} to do")),
        };
        say(&self.fake, id, outcome);
        Ok(None)
    }

    /// Reads lines up to a call, which has the `id`. Err at the end: why that is an error, if so.
    fn next_call(&self, driver: &mut Driver) -> Result<(Value, Task), Option<String>> {
        let (mut input, mut text) = (lock(&self.input), String::new());
        loop {
            text.clear();
            match input.read_line(&mut text) {
                Err(err) => return Err(Some(format!("standard input cannot be read: {err}"))),
                Ok(0) => break,
                Ok(_) if !text.ends_with('\n') => {
                    let why = "the last line on standard input has no end";
                    return Err(Some(why.to_string()));
                }
                Ok(_) if text.trim().is_empty() => continue,
                Ok(_) => {}
            }
            let mut id = Value::Null;
            match self.line(driver, &text, &mut id) {
                Ok(None) => {}
                Ok(Some(task)) => return Ok((id, task)),
                Err(why) => say(&self.fake, &id, json!({ "error": why })),
            }
        }
        Err(match lock(&self.fake.asked).len() {
            0 => None,
            count => Some(format!(
                "the controlling program ended, and {count} calls wait for it"
            )),
        })
    }

    /// Makes a call, and those that wait for a thread. None is made by the last thread that reads.
    fn make(self: &Arc<Self>, driver: &mut Driver, call: (Value, Task)) {
        let mut next = Some(call);
        while let Some((id, make)) = next {
            if self.readers.fetch_sub(1, Ordering::SeqCst) == 1 && !self.start_reader(driver) {
                self.readers.fetch_add(1, Ordering::SeqCst);
                lock(&self.waiting).push_back((id, make));
                // Another one may have looked for it just before, and reads now.
                if self.readers.load(Ordering::SeqCst) == 1 {
                    return;
                }
            } else {
                let line = make(&self.fake, driver);
                self.readers.fetch_add(1, Ordering::SeqCst);
                say(&self.fake, &id, line);
            }
            next = lock(&self.waiting).pop_front();
        }
    }

    /// Starts a thread that reads lines. Returns whether there may be one more.
    fn start_reader(self: &Arc<Self>, driver: &Driver) -> bool {
        if self.threads.fetch_add(1, Ordering::SeqCst) >= MOST_THREADS {
            self.threads.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        self.readers.fetch_add(1, Ordering::SeqCst);
        let (controlled, mut driver) = (Arc::clone(self), driver.for_another_thread());
        std::thread::spawn(move || loop {
            match controlled.next_call(&mut driver) {
                Ok(call) => controlled.make(&mut driver, call),
                Err(why) => return drop(controlled.ended.send(why)),
            }
        });
        true
    }

    /// Reads lines until there are no more. Returns why that is an error, if it is one.
    pub fn run(fake: &Arc<Fake>, driver: &Driver, first: Option<Arc<Behaviour>>) -> Option<String> {
        let (ended, end) = channel();
        let controlled = Arc::new(Controlled {
            fake: fake.clone(),
            first,
            input: Mutex::new(BufReader::new(std::io::stdin())),
            readers: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            waiting: Mutex::default(),
            ended,
        });
        controlled.start_reader(driver);
        end.recv().ok().flatten()
    }
}
