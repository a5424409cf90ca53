// SPDX-License-Identifier: Apache-2.0
//! A recording made of another one: the events of the calls that are wanted, or without what tells
//! of the machine and its users. The first reading says which calls those are; an event belongs to
//! a call by the number of its transaction, an error by its time and the thread that gets it.
use super::filter::Filter;
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::note;
use anybinder_events::calls::Call;
use anybinder_events::event::{Event, What};
use anybinder_events::recording::{Recorder, Recording};
use anybinder_events::thread_names::{Names, Service, Thread};
use std::collections::{HashMap, HashSet};
use std::path::Path;

pub struct Cut<'a> {
    from: &'a Path,
    to: &'a Path,
    filter: &'a Filter,
    is_anonymous: bool,
    /// The transactions of wanted calls.
    ids: HashSet<u32>,
    /// When the threads of wanted calls got an error.
    errors: HashSet<(u64, i32)>,
    calls: u64,
}

/// What stands for names and numbers: the same for the same, in the order in which they come.
#[derive(Default)]
struct Masks {
    numbers: HashMap<i32, i32>,
    names: HashMap<(&'static str, String), String>,
}

impl Masks {
    /// 0 is no number of a thread.
    fn number(&mut self, number: &mut i32) {
        let next = self.numbers.len() as i32 + 1;
        if *number != 0 {
            *number = *self.numbers.entry(*number).or_insert(next);
        }
    }

    /// A name that is not known stays so.
    fn name(&mut self, kind: &'static str, name: &mut String) {
        let next = self.names.len() + 1;
        if !name.is_empty() {
            let key = (kind, std::mem::take(name));
            let mask = self.names.entry(key);
            name.clone_from(mask.or_insert_with(|| format!("{kind}-{next}")));
        }
    }

    fn thread(&mut self, thread: &mut Thread) {
        self.number(&mut thread.pid);
        self.number(&mut thread.tid);
        self.name("process", &mut thread.process);
        self.name("thread", &mut thread.thread);
    }

    fn event(&mut self, event: &mut Event) {
        self.number(&mut event.tid);
        if let Some(sent) = event.what.transaction_mut() {
            for number in [&mut sent.from_pid, &mut sent.to_pid, &mut sent.to_tid] {
                self.number(number);
            }
        }
        // Perhaps an address in a process.
        if let What::Object { value, .. } = &mut event.what {
            *value = None;
        }
    }
}

/// The threads and processes that an event names.
fn threads(event: &Event) -> Vec<i32> {
    match event.what.transaction() {
        Some(sent) => vec![event.tid, sent.from_pid, sent.to_pid, sent.to_tid],
        None => vec![event.tid],
    }
}

/// The new recording, with the names that it has.
struct Copy {
    recorder: Recorder,
    masks: Option<Masks>,
    threads: HashMap<i32, Thread>,
    services: HashMap<u32, Service>,
}

impl Copy {
    /// Writes an event, behind the names in it that are new.
    fn event(&mut self, mut event: Event, names: &Names) -> Result<()> {
        for tid in threads(&event) {
            let known = names.known(tid);
            if let Some(thread) = known.filter(|known| self.threads.get(&tid) != Some(*known)) {
                self.threads.insert(tid, thread.clone());
                let mut thread = thread.clone();
                if let Some(masks) = &mut self.masks {
                    masks.thread(&mut thread);
                }
                self.recorder.thread(thread)?;
            }
        }
        let node = match &event.what {
            What::Target { node, .. } | What::Object { node, .. } => *node,
            other => other.transaction().map_or(0, |sent| sent.node),
        };
        let known = names.service(node);
        if let Some(service) = known.filter(|known| self.services.get(&node) != Some(*known)) {
            self.services.insert(node, service.clone());
            self.recorder.service(node, service)?;
        }
        if let Some(masks) = &mut self.masks {
            masks.event(&mut event);
        }
        self.recorder.event(&event)
    }
}

impl<'a> Cut<'a> {
    /// Fails, with advice, if the recording cannot be read twice.
    pub fn new(
        from: &'a Path,
        to: &'a Path,
        filter: &'a Filter,
        is_anonymous: bool,
    ) -> Result<Self> {
        if !from.is_file() {
            return Err(Error::usage(format!(
                "{} is no plain file: to make another recording of one, it is read twice.",
                from.display()
            )));
        }
        Ok(Cut {
            from,
            to,
            filter,
            is_anonymous,
            ids: HashSet::new(),
            errors: HashSet::new(),
            calls: 0,
        })
    }

    /// A call is wanted.
    pub fn keep(&mut self, call: &Call) {
        self.calls += 1;
        self.ids.extend([call.id].iter().chain(&call.reply_id));
        if let (Some(_), Some(done_ns)) = (&call.error, call.done_ns) {
            self.errors.insert((done_ns, call.from.tid));
        }
    }

    fn wants(&self, event: &Event, start_ns: u64) -> bool {
        match (&event.what, event.what.id()) {
            (What::Data { .. }, _) if self.is_anonymous => false,
            _ if self.filter.is_empty() => true,
            (_, Some(id)) => self.ids.contains(&id),
            (What::Lost { .. }, _) => self.filter.is_at(event.time_ns, start_ns),
            _ => self.errors.contains(&(event.time_ns, event.tid)),
        }
    }

    /// Writes the new recording.
    ///
    /// * `start_ns`: when the first call of all was sent
    pub fn write(&self, start_ns: u64) -> Result<()> {
        if self.calls == 0 {
            return Err(Error::with_advice(
                format!(
                    "The recording {} has no such call; {} is not written.",
                    self.from.display(),
                    self.to.display()
                ),
                "See what it has: `anybinder trace --from FILE`.",
            ));
        }
        let mut names = Names::recorded();
        let mut recording = Recording::open(self.from, &mut names)?;
        let mut next = recording.next(&mut names);
        let mut copy = Copy {
            recorder: Recorder::copy_of(&recording, self.to)?,
            masks: self.is_anonymous.then(Masks::default),
            threads: HashMap::new(),
            services: HashMap::new(),
        };
        while let Some(event) = next {
            if self.wants(&event, start_ns) {
                copy.event(event, &names)?;
            }
            next = recording.next(&mut names);
        }
        for (number, (path, text)) in recording.aidl.iter().enumerate() {
            let name = Path::new(path).file_name().unwrap_or_default();
            let path = match self.is_anonymous {
                true => format!("{number}/{}", name.to_string_lossy()),
                false => path.clone(),
            };
            copy.recorder.aidl(path, text.clone())?;
        }
        copy.recorder.finish_copy(recording.flaw)?;
        note(format_args!(
            "anybinder: {} has {} calls.",
            self.to.display(),
            self.calls
        ));
        Ok(())
    }
}
