// SPDX-License-Identifier: Apache-2.0
//! Answers that are ready to be sent: written as parcels, in sequences, for calls with certain
//! arguments or with any.
use crate::step::{self, Step};
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::encode::{Format, Misfit, Parcel as Plan};
use anybinder_parcel::interface_methods::{Interface, Method, Request};
use anybinder_parcel::status::Exception;
use anybinder_rpc::status_text::name_of;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// A call of an object that a client has given.
pub struct CallBack {
    pub object: String,
    pub request: Request,
    /// As it is printed.
    pub text: String,
}

pub enum Reply {
    Parcel(Plan),
    Status(i32),
    /// The process ends in its place.
    Dead,
    /// The controlling program says it.
    Ask,
}

/// What is done at a call.
pub struct Prepared {
    pub step: Step,
    /// Those of the step.
    pub calls: Vec<CallBack>,
    pub reply: Reply,
    /// As it is printed.
    pub text: String,
}

/// A sequence, the last of which is for all calls that follow.
pub struct Sequence {
    /// The arguments that a call has to have, as a parcel.
    when: Option<Vec<u8>>,
    steps: Vec<Arc<Prepared>>,
    /// Which one is next, and for how many calls it was taken.
    next: Mutex<(usize, u32)>,
}

impl Sequence {
    pub fn new(when: Option<Vec<u8>>, steps: Vec<Arc<Prepared>>) -> Sequence {
        Sequence {
            when,
            steps,
            next: Mutex::default(),
        }
    }

    fn take(&self) -> Option<Arc<Prepared>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let step = self.steps.get(next.0)?;
        next.1 += 1;
        if next.1 >= step.step.times.unwrap_or(1) && next.0 + 1 < self.steps.len() {
            *next = (next.0 + 1, 0);
        }
        Some(step.clone())
    }
}

/// What an object answers; several objects may have one.
pub struct Behaviour {
    pub interface: Arc<Interface>,
    /// By the codes of the methods; those with arguments stand before those for any.
    answers: RwLock<HashMap<u32, Arc<Vec<Sequence>>>>,
    /// A method without an answer is one that the controlling program answers.
    asks: bool,
}

impl Behaviour {
    pub fn new(interface: Arc<Interface>, asks: bool) -> Arc<Behaviour> {
        Arc::new(Behaviour {
            interface,
            answers: RwLock::default(),
            asks,
        })
    }

    /// Sets the answers of a method in place of those that it had.
    pub fn set(&self, code: u32, mut sequences: Vec<Sequence>) {
        sequences.sort_by_key(|one| one.when.is_none());
        let mut own = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        own.insert(code, Arc::new(sequences));
    }

    /// The answer to a call; None if there is none.
    pub fn next(&self, called: &Called, arguments: &[u8]) -> Option<Arc<Prepared>> {
        let own = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        let sequences = own.get(&called.code).cloned();
        drop(own);
        let fits = |one: &&Sequence| one.when.as_ref().is_none_or(|when| when == arguments);
        if let Some(sequences) = sequences {
            return sequences.iter().find(fits)?.take();
        }
        let returns = called.method.result.path != "void" || called.returned().next().is_some();
        let reply = match (self.asks && !called.method.is_oneway, returns) {
            (true, _) => Reply::Ask,
            (false, true) => return None,
            // There is nothing to say.
            (false, false) => Reply::Parcel(Plan {
                data: vec![0; 4],
                ..Plan::default()
            }),
        };
        Some(Arc::new(Prepared::with(reply, String::new())))
    }
}

impl Prepared {
    pub fn with(reply: Reply, text: String) -> Prepared {
        Prepared {
            step: Step::default(),
            calls: Vec::new(),
            reply,
            text,
        }
    }

    pub fn exception(exception: &Exception) -> Prepared {
        let mut plan = Plan::default();
        exception.write(&mut plan);
        Prepared::with(Reply::Parcel(plan), exception.to_string())
    }

    /// The parcels that it has.
    pub fn plans(&mut self) -> impl Iterator<Item = &mut Plan> {
        let own = match &mut self.reply {
            Reply::Parcel(plan) => Some(plan),
            _ => None,
        };
        let calls = self.calls.iter_mut();
        calls.map(|one| &mut one.request.plan).chain(own)
    }
}

/// A method that is answered.
#[derive(Clone, Copy)]
pub struct Answering<'a>(pub Method<'a>);

impl<'a> Deref for Answering<'a> {
    type Target = Method<'a>;

    fn deref(&self) -> &Method<'a> {
        &self.0
    }
}

impl Answering<'_> {
    /// A call of an object that clients give.
    pub fn call_back(self, one: &step::CallBack) -> Result<CallBack, Misfit> {
        let object = &one.object;
        let interface = self.interface_of(object);
        let interface = interface
            .ok_or_else(|| format!("no argument {object} of a method is an object with methods"))?;
        let called = interface.by_name(self.library, &one.method)?;
        let name = format!("{object}.{}", one.method);
        let given = called.named(one.arguments.clone())?;
        let request = called
            .written(&given)
            .map_err(|misfit| misfit.within(format_args!(" calls {name}: ")))?;
        let read = called.read_request(&request.plan.data, Format::default());
        Ok(CallBack {
            object: object.clone(),
            text: format!("{name}({})", named(&read.unwrap_or_default())),
            request,
        })
    }

    /// The reply of a step, and how it is printed.
    fn answer(self, step: &Step) -> Result<(Reply, String), Misfit> {
        let kinds = [
            step.result.is_some() || !step.out.is_empty(),
            step.exception.is_some(),
            step.status.is_some(),
            step.dead,
            step.ask,
        ];
        let called = &self.called.method;
        match kinds.into_iter().filter(|is| *is).count() {
            2.. => return Err("it is two answers, between which !then has to stand".into()),
            1 if called.is_oneway && !step.dead => {
                return Err("a one-way method has no answer".into());
            }
            _ => {}
        }
        if step.dead {
            return Ok((Reply::Dead, "dead".to_string()));
        }
        if step.ask {
            return Ok((Reply::Ask, String::new()));
        }
        if let Some(number) = step.status()? {
            let name = name_of(number).map_or(String::new(), |name| format!(" ({name})"));
            return Ok((Reply::Status(number), format!("status {number}{name}")));
        }
        if let Some(exception) = step.exception()? {
            let Prepared { reply, text, .. } = Prepared::exception(&exception);
            return Ok((reply, text));
        }
        if step.result.is_none() && called.result.path != "void" {
            return Err(format!("a value is missing, of type {}", called.result.path).into());
        }
        let is_out = |name: &String| self.called.returned().any(|one| one.name == *name);
        if let Some(other) = step.out.keys().find(|name| !is_out(name)) {
            return Err(format!("it returns no argument {other}").into());
        }
        let plan = self.reply(step.result.as_ref(), &step.out)?;
        let text = self.text(step, &plan);
        Ok((Reply::Parcel(plan), text))
    }

    /// A result as it is printed: as it would be read, or else as it was given.
    fn text(self, step: &Step, plan: &Plan) -> String {
        let (result, out) = match self.read_reply(&plan.data, Format::default()) {
            Ok(Ok(answer)) if plan.objects.is_empty() => (answer.result, answer.out),
            _ => (step.result.clone(), step.out.clone()),
        };
        let result = result.filter(|_| self.called.method.result.path != "void");
        let result = result.iter().map(Value::to_string);
        let out = out.iter().map(|(name, value)| format!("{name} = {value}"));
        result.chain(out).collect::<Vec<_>>().join(", ")
    }

    pub fn prepare(self, step: &Step) -> Result<Prepared, Misfit> {
        let calls = step.calls.iter().map(|one| self.call_back(one));
        let after = Duration::try_from_secs_f64(step.after_s);
        after.map_err(|_| format!("{} is no time in seconds", step.after_s))?;
        let (reply, text) = self.answer(step)?;
        Ok(Prepared {
            step: step.clone(),
            calls: calls.collect::<Result<_, _>>()?,
            reply,
            text,
        })
    }

    /// The arguments that calls have to have, as a parcel.
    pub fn condition(self, given: &Map<String, Value>) -> Result<Vec<u8>, Misfit> {
        let plan = self.request(given)?;
        match plan.objects.is_empty() {
            true => Ok(plan.data),
            false => Err("objects and files are no arguments to choose an answer by".into()),
        }
    }
}

/// Arguments as they are printed.
pub fn named(arguments: &Map<String, Value>) -> String {
    let each = arguments
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    each.collect::<Vec<_>>().join(", ")
}
