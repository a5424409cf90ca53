// SPDX-License-Identifier: Apache-2.0
//! Answers that are ready to be sent: written as parcels, in sequences, for calls with certain
//! arguments or with any.
use crate::methods::{self, Interface};
use crate::step::{self, Step};
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::syntax::Direction;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Format, Misfit, Object, Parcel as Plan};
use anybinder_parcel::method;
use anybinder_rpc::status_text::name_of;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// A call of an object that a client has given.
pub struct CallBack {
    pub object: String,
    pub interface: Arc<Interface>,
    pub code: u32,
    pub is_oneway: bool,
    pub plan: Plan,
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
    pub after: Duration,
    pub calls: Vec<CallBack>,
    pub reply: Reply,
    /// The process ends behind it.
    pub dies: bool,
    pub times: u32,
    /// As it is printed.
    pub text: String,
}

/// A sequence, the last of which is for all calls that follow.
pub struct Sequence {
    /// The arguments that a call has to have, as a parcel.
    pub when: Option<Vec<u8>>,
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
        if next.1 >= step.times && next.0 + 1 < self.steps.len() {
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
    pub fn new(interface: Arc<Interface>, asks: bool) -> Behaviour {
        Behaviour {
            interface,
            answers: RwLock::default(),
            asks,
        }
    }

    /// Sets the answers of methods in place of those that they had.
    pub fn set(&self, answers: Answers) {
        let mut own = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        for (code, mut sequences) in answers.0 {
            sequences.sort_by_key(|one| one.when.is_none());
            own.insert(code, Arc::new(sequences));
        }
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
        let returns = called.method.result.path != "void"
            || called
                .method
                .arguments
                .iter()
                .any(|one| one.direction != Direction::In);
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

/// Sequences that are to be set, by the codes of their methods.
#[derive(Default)]
pub struct Answers(HashMap<u32, Vec<Sequence>>);

impl Answers {
    pub fn add(&mut self, code: u32, sequence: Sequence) {
        self.0.entry(code).or_default().push(sequence);
    }
}

impl Prepared {
    pub fn with(reply: Reply, text: String) -> Prepared {
        Prepared {
            after: Duration::ZERO,
            calls: Vec::new(),
            reply,
            dies: false,
            times: 1,
            text,
        }
    }
}

/// Writes answers of one method.
pub struct Writer<'a> {
    pub library: &'a Library,
    pub interface: &'a Interface,
    pub called: &'a Called,
    /// Makes `new INTERFACE` or the name of a service an object or a handle of this process, with
    /// its number.
    pub find: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Writer<'_> {
    /// Finds the objects of a parcel.
    fn found(&self, mut plan: Plan) -> Result<Plan, Misfit> {
        for (_, object) in &mut plan.objects {
            match object {
                Object::Service(name) => {
                    let interface = name.strip_prefix("new ");
                    let within = &self.interface.entry;
                    let entry = interface.and_then(|one| self.library.resolve(within, one));
                    let full = entry.map(|entry| format!("new {}", entry.name));
                    *name = (self.find)(full.as_ref().unwrap_or(name))?;
                }
                Object::File(path) => {
                    let found = std::fs::metadata(&path);
                    found.map_err(|err| format!("{}: {err}", path.display()))?;
                }
            }
        }
        Ok(plan)
    }

    /// A call of an object that clients give.
    pub fn call_back(&self, one: &step::CallBack) -> Result<CallBack, Misfit> {
        let (library, object) = (self.library, &one.object);
        let interface = self.interface.of_argument(library, self.called, object);
        let interface = interface
            .ok_or_else(|| format!("no argument {object} of a method is an object with methods"))?;
        let called = interface.by_name(&one.method)?;
        let given = methods::arguments_by_name(called, one.arguments.clone())?;
        let entry = (library, &*interface.entry);
        let plan = method::request(entry, called, &given, Format::default())
            .and_then(|plan| self.found(plan))
            .map_err(|misfit| misfit.within(format_args!(" calls {object}.{}: ", one.method)))?;
        let mut decoder = Decoder::new(&plan.data, Some(library));
        let read = method::arguments(library, &interface.entry, called, &mut decoder);
        let shown = read.unwrap_or_default().into_iter().collect();
        let text = format!("{object}.{}({})", one.method, named(&shown));
        Ok(CallBack {
            object: object.clone(),
            code: called.code,
            is_oneway: called.method.is_oneway,
            plan,
            interface: interface.clone(),
            text,
        })
    }

    fn reply(&self, step: &Step) -> Result<(Reply, String), Misfit> {
        let method = &self.called.method;
        let kinds = [
            step.result.is_some() || !step.out.is_empty(),
            step.exception.is_some(),
            step.status.is_some(),
            step.dead,
            step.ask,
        ];
        match kinds.into_iter().filter(|is| *is).count() {
            2.. => return Err("it is two answers, between which !then has to stand".into()),
            1 if method.is_oneway && !step.dead => {
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
            let mut plan = Plan::default();
            exception.write(&mut plan);
            return Ok((Reply::Parcel(plan), exception.to_string()));
        }
        if step.result.is_none() && method.result.path != "void" {
            let kind = &method.result;
            return Err(format!("a value is missing, of type {}", kind.path).into());
        }
        let is_out = |name: &String| {
            let mut arguments = method.arguments.iter();
            arguments.any(|one| one.name == *name && one.direction != Direction::In)
        };
        if let Some(other) = step.out.keys().find(|name| !is_out(name)) {
            return Err(format!("it returns no argument {other}").into());
        }
        let entry = (self.library, &*self.interface.entry);
        let given = (step.result.as_ref(), &step.out);
        let plan = method::reply(entry, self.called, given, Format::default())?;
        let text = self.text(step, &plan);
        Ok((Reply::Parcel(self.found(plan)?), text))
    }

    /// A result as it is printed: as it would be read, or else as it was given.
    fn text(&self, step: &Step, plan: &Plan) -> String {
        let mut decoder = Decoder::new(&plan.data, Some(self.library));
        let read = method::answer(
            self.library,
            &self.interface.entry,
            self.called,
            &mut decoder,
        );
        let (result, out) = match read {
            Ok(Ok(answer)) if plan.objects.is_empty() => (answer.result, answer.out),
            _ => (step.result.clone(), step.out.clone()),
        };
        let result = result.filter(|_| self.called.method.result.path != "void");
        let result = result.iter().map(Value::to_string);
        let out = out.iter().map(|(name, value)| format!("{name} = {value}"));
        result.chain(out).collect::<Vec<_>>().join(", ")
    }

    pub fn prepare(&self, step: &Step) -> Result<Prepared, Misfit> {
        let (reply, text) = self.reply(step)?;
        let calls = step.calls.iter().map(|one| self.call_back(one));
        let after = Duration::try_from_secs_f64(step.after_s);
        Ok(Prepared {
            after: after.map_err(|_| format!("{} is no time in seconds", step.after_s))?,
            calls: calls.collect::<Result<_, _>>()?,
            reply,
            dies: step.dies,
            times: step.times.unwrap_or(1),
            text,
        })
    }

    /// * `when`: the arguments that the calls have to have
    pub fn sequence(
        &self,
        when: Option<&Map<String, Value>>,
        steps: &[Step],
    ) -> Result<Sequence, Misfit> {
        let entry = (self.library, &*self.interface.entry);
        let when = when.map(|given| method::request(entry, self.called, given, Format::default()));
        let when = when.transpose()?;
        if when.as_ref().is_some_and(|plan| !plan.objects.is_empty()) {
            return Err("objects and files are no arguments to choose an answer by".into());
        }
        let steps = steps.iter().map(|step| self.prepare(step).map(Arc::new));
        Ok(Sequence::new(
            when.map(|plan| plan.data),
            steps.collect::<Result<_, _>>()?,
        ))
    }
}

/// Arguments as they are printed.
pub fn named(arguments: &Map<String, Value>) -> String {
    let each = arguments
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    each.collect::<Vec<_>>().join(", ")
}
