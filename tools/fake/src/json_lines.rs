// SPDX-License-Identifier: Apache-2.0
//! A program that controls this one by lines of JSON on standard input. Each is an object with one
//! of these members; what comes of it is a line with the same `id`.
//!
//! * `answer`: the number of a call that asks; the other members are those of a `Step`
//! * `answers`: new answers by methods, each a text, a `Step` or a list of them; `of`: the service
//! * `call`: a call to make (`client::Request`)
//! * `object`: a new object of the `interface`, with `answers`; or one that asks
//! * `call_back`: a call of an object that a client has given (`step::CallBack`); `of`: to which
//! * `flush`: nothing; the calls that came before are printed before the line that answers this one
use crate::answers_file::{Collected, Given};
use crate::client::{Client, Request};
use crate::methods::Interface;
use crate::prepared::{self, Behaviour, Writer};
use crate::serve::{lock, Fake};
use crate::step::{CallBack, Step};
use anybinder_driver::driver::Driver;
use serde::de::DeserializeOwned;
use serde_json::{json, Map, Value};
use std::cell::RefCell;
use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};

/// The most calls that are made at the same time; more wait for their turn.
const MOST_CALLS: usize = 64;

type Outcome<T> = Result<T, String>;
/// A call to make, with the `id` of its line.
type Task = (
    Value,
    Box<dyn FnOnce(&Arc<Fake>, &mut Driver) -> Value + Send>,
);

fn read<T: DeserializeOwned>(value: Value) -> Outcome<T> {
    serde_json::from_value(value).map_err(|err| err.to_string())
}

/// The threads that make calls.
struct Callers {
    tasks: Sender<Task>,
    waiting: Arc<Mutex<Receiver<Task>>>,
    /// Calls that are made or wait, and threads.
    open: Arc<AtomicUsize>,
    threads: usize,
}

impl Callers {
    fn new() -> Callers {
        let (tasks, waiting) = channel();
        Callers {
            tasks,
            waiting: Arc::new(Mutex::new(waiting)),
            open: Arc::default(),
            threads: 0,
        }
    }

    fn call(&mut self, fake: &Arc<Fake>, driver: &Driver, task: Task) {
        let open = self.open.fetch_add(1, Ordering::SeqCst);
        if open >= self.threads && self.threads < MOST_CALLS {
            self.threads += 1;
            let (fake, mut driver) = (fake.clone(), driver.for_another_thread());
            let (waiting, open) = (self.waiting.clone(), self.open.clone());
            std::thread::spawn(move || loop {
                let taken = lock(&waiting).recv();
                let Ok((id, make)) = taken else { return };
                let line = make(&fake, &mut driver);
                // What others may need the space of.
                let _ = driver.flush();
                open.fetch_sub(1, Ordering::SeqCst);
                say(&fake, &id, line);
            });
        }
        // The receiver lives as long as this.
        let _ = self.tasks.send(task);
    }
}

/// Prints the line that answers another.
fn say(fake: &Fake, id: &Value, mut line: Value) {
    line["id"] = id.clone();
    fake.journal.line(String::new(), line);
}

pub struct Controlled<'a> {
    pub fake: &'a Arc<Fake>,
    pub driver: Driver,
    /// The service that is meant where none is said.
    pub first: Option<Arc<Behaviour>>,
    pub client: Arc<Client>,
}

impl Controlled<'_> {
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
    fn set(&mut self, behaviour: &Arc<Behaviour>, answers: Value) -> Outcome<()> {
        let answers: Map<String, Value> = read(answers)?;
        let library = lock(&self.fake.library);
        let driver = RefCell::new(&mut self.driver);
        let mut collected = Collected::default();
        for (key, value) in answers {
            let steps: Vec<Step>;
            let given = match &value {
                Value::String(text) => Given::Text(text),
                Value::Array(_) => {
                    steps = read(value).map_err(|err| format!("{key}: {err}"))?;
                    Given::Steps(&steps)
                }
                _ => {
                    steps = vec![read(value).map_err(|err| format!("{key}: {err}"))?];
                    Given::Steps(&steps)
                }
            };
            collected.add((self.fake, &library, &driver), behaviour, (&key, given))?;
        }
        collected.set();
        Ok(())
    }

    fn object(&mut self, asked: Value) -> Outcome<Value> {
        let mut asked: Map<String, Value> = read(asked)?;
        let name: String = read(asked.remove("interface").unwrap_or_default())?;
        let interface = Interface::find(&lock(&self.fake.library), &name)
            .ok_or_else(|| format!("no .aidl file declares the interface {name}"))?;
        let asks = asked.remove("asks") == Some(Value::Bool(true));
        let behaviour = Arc::new(Behaviour::new(interface, asks));
        self.set(
            &behaviour,
            asked.remove("answers").unwrap_or_else(|| json!({})),
        )?;
        Ok(json!({ "object": self.fake.bus.add_object(None, &behaviour) }))
    }

    /// A call of an object that a client has given, ready to be made.
    fn call_back(&mut self, asked: Value, of: Option<Value>) -> Outcome<prepared::CallBack> {
        let behaviour = self.behaviour(of)?;
        let library = lock(&self.fake.library);
        let driver = RefCell::new(&mut self.driver);
        let writer = Writer {
            library: &library,
            interface: &behaviour.interface,
            // Whose answer it is does not matter here.
            called: behaviour.interface.first(),
            find: &|name| self.fake.find(&library, &mut driver.borrow_mut(), name),
        };
        let call = writer.call_back(&read::<CallBack>(asked)?);
        call.map_err(|misfit| format!("{}{}", misfit.path, misfit.what))
    }

    /// Does what a line says. None where its answer comes later, or there is none.
    fn line(
        &mut self,
        callers: &mut Callers,
        text: &str,
        id: &mut Value,
    ) -> Outcome<Option<Value>> {
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
        Ok(Some(match what.as_str() {
            "call" => {
                let (client, request) = (self.client.clone(), read::<Request>(value)?);
                let make =
                    move |fake: &Arc<Fake>, driver: &mut Driver| client.call(fake, driver, request);
                callers.call(self.fake, &self.driver, (id.clone(), Box::new(make)));
                return Ok(None);
            }
            "call_back" => {
                let call = self.call_back(value, of)?;
                let make = move |fake: &Arc<Fake>, driver: &mut Driver| match fake
                    .call_back(driver, &call)
                {
                    Ok(()) => json!({ "result": null }),
                    Err(failure) => json!({ "error": failure.text() }),
                };
                callers.call(self.fake, &self.driver, (id.clone(), Box::new(make)));
                return Ok(None);
            }
            "answers" => {
                let behaviour = self.behaviour(of)?;
                self.set(&behaviour, value)?;
                json!({ "result": null })
            }
            "object" => self.object(value)?,
            "flush" => json!({ "result": null }),
            other => return Err(format!("there is no {other:?} to do")),
        }))
    }

    /// Reads lines until there are no more. Returns why that is an error, if it is one.
    pub fn run(mut self, mut input: impl BufRead) -> Option<String> {
        let (mut callers, mut text) = (Callers::new(), String::new());
        loop {
            text.clear();
            match input.read_line(&mut text) {
                Err(err) => return Some(format!("standard input cannot be read: {err}")),
                Ok(0) => break,
                Ok(_) if !text.ends_with('\n') => {
                    return Some("the last line on standard input has no end".to_string());
                }
                Ok(_) if text.trim().is_empty() => continue,
                Ok(_) => {}
            }
            let mut id = Value::Null;
            match self.line(&mut callers, &text, &mut id) {
                Ok(None) => {}
                Ok(Some(line)) => say(self.fake, &id, line),
                Err(why) => say(self.fake, &id, json!({ "error": why })),
            }
        }
        match lock(&self.fake.asked).len() {
            0 => None,
            count => Some(format!(
                "the controlling program ended, and {count} calls wait for it"
            )),
        }
    }
}
