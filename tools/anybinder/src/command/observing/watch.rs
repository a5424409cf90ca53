// SPDX-License-Identifier: Apache-2.0
//! `anybinder watch [NAME]...`: a line whenever a service appears, dies or is replaced. The service
//! manager notifies of registrations by name, and the driver of deaths; new names are found by
//! listing. A list also tells the process that has a name, which may be another one by then: it is
//! that of a notice only if the notice came before, and the name is still that of its object.
use crate::command::observing::system::nodes::Lookup;
use crate::command::services::list;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{harmless, note_error};
use anybinder_cli::time_limit::waits_because;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_rpc::accessor;
use anybinder_rpc::foreign::Listed;
use rsbinder::hub::{BnServiceCallback, IServiceCallback};
use rsbinder::{
    BinderResult, DeathRecipient, ExceptionCode, Interface, ProcessState, SIBinder, Strong,
    WIBinder,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How many events wait to be printed. The driver keeps more of them, in a buffer whose size is
/// bounded, and the service manager leaves out what does not fit.
const MOST_EVENTS: usize = 1024;

/// How often the names are listed when all services are watched.
const LIST: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The services' names; all services without any
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// End after this many lines
    #[arg(long, value_name = "COUNT")]
    count: Option<u64>,

    #[command(flatten)]
    device: DeviceOption,
}

enum Event {
    /// The name, its service, and when that was noticed.
    Registered(String, SIBinder, Instant),
    /// The name and which of its services.
    Died(String, u64),
}

#[derive(Serialize)]
struct Line<'a> {
    /// Seconds since the start.
    at_s: f64,
    event: &'a str,
    name: &'a str,
    /// The process of the service; 0 if it is not known.
    pid: i32,
}

struct Callback {
    events: Mutex<SyncSender<Event>>,
}

impl Interface for Callback {}

impl IServiceCallback for Callback {
    fn onRegistration(&self, name: &str, service: &SIBinder) -> BinderResult<()> {
        if let Ok(events) = self.events.lock() {
            let (name, service) = (name.to_string(), service.clone());
            let _ = events.send(Event::Registered(name, service, Instant::now()));
        }
        Ok(())
    }
}

struct Death {
    name: String,
    number: u64,
    events: Mutex<SyncSender<Event>>,
}

impl DeathRecipient for Death {
    fn binder_died(&self, _who: &WIBinder) {
        if let Ok(events) = self.events.lock() {
            let _ = events.send(Event::Died(self.name.clone(), self.number));
        }
    }
}

/// A service that lives; its recipient is notified as long as it is kept.
struct Known {
    service: SIBinder,
    number: u64,
    pid: i32,
    _death: Arc<Death>,
}

/// Whether the service manager answers.
fn is_there() -> bool {
    let context = ProcessState::as_self().context_object();
    context.is_ok_and(|context| context.ping_binder().is_ok())
}

struct Watch<'a> {
    context: &'a Context,
    lookup: Lookup,
    callback: Strong<dyn IServiceCallback>,
    sender: SyncSender<Event>,
    /// The names that the service manager notifies of, and what is registered.
    known: BTreeMap<String, Option<Known>>,
    next_number: u64,
    start: Instant,
    lines: u64,
    /// What was registered at the start, and is not shown yet.
    present: BTreeSet<String>,
    /// The processes of what was listed last, and when that was asked for.
    pids: BTreeMap<String, i32>,
    listed_at: Instant,
    /// The names that there were when new ones were looked for last.
    names: BTreeSet<String>,
    /// The user was told that a name cannot be watched.
    has_warned: bool,
}

impl Watch<'_> {
    fn print(&mut self, event: &str, name: &str, pid: i32) {
        let at_s = (self.start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        self.lines += 1;
        let line = Line {
            at_s,
            event,
            name,
            pid,
        };
        let text = match self.context.json {
            true => serde_json::to_string(&line).unwrap_or_default(),
            false => harmless(&format!("{at_s:>9.3}  {event:<8} {pid:>7}  {name}")),
        };
        let mut stdout = std::io::stdout();
        if writeln!(stdout, "{text}")
            .and_then(|()| stdout.flush())
            .is_err()
        {
            std::process::exit(0);
        }
    }

    fn read_list(&mut self) -> Result<BTreeSet<String>> {
        self.listed_at = Instant::now();
        self.pids.clear();
        let with_pid = |one: Listed| (one.name, one.pid.unwrap_or(0));
        self.pids = list::listed(None)?.into_iter().map(with_pid).collect();
        Ok(self.pids.keys().cloned().collect())
    }

    /// Whether a name is that of an object, which is not asked for anything.
    fn is_registered(&self, name: &str, service: &SIBinder) -> bool {
        let handle = service.as_proxy().map(|proxy| proxy.handle());
        let held = self.lookup.hold(name);
        held.is_some_and(|held| handle == Some(held.handle))
    }

    /// The process of a service; 0 if it is not known, since the name is already another one's, or
    /// the service manager does not list.
    fn pid_of(&mut self, name: &str, service: &SIBinder, noticed: Instant) -> i32 {
        if noticed >= self.listed_at {
            let _ = self.read_list();
        }
        match self.is_registered(name, service) {
            true => self.pids.get(name).copied().unwrap_or(0),
            false => 0,
        }
    }

    /// Asks to be notified of a name. The service manager answers at once if it is registered.
    fn add(&mut self, name: &str) -> Result<()> {
        self.known.insert(name.to_string(), None);
        let manager = &self.lookup.manager;
        let asked = manager.register_for_notifications(name, &self.callback);
        asked.map_err(|err| match manager.try_is_declared(name) {
            Err(status) if status.exception_code() == ExceptionCode::Security => {
                device::policy_error(&format!(
                    "The policy of the service manager does not let you find {name}"
                ))
            }
            _ => device::call_error(&format!("The service manager does not watch {name}"), err),
        })
    }

    fn registered(&mut self, name: &str, service: SIBinder, noticed: Instant) {
        // Of a name that is forgotten by now, which the next list has again.
        let Some(before) = self.known.get(name) else {
            return;
        };
        let was_present = self.present.remove(name);
        let event = match before {
            Some(known) if known.service == service => return,
            Some(_) => "replaced",
            None if was_present => "present",
            None => "appeared",
        };
        self.next_number += 1;
        let death = Arc::new(Death {
            name: name.to_string(),
            number: self.next_number,
            events: Mutex::new(self.sender.clone()),
        });
        let pid = self.pid_of(name, &service, noticed);
        let is_dead = service.link_to_death_arc(&death).is_err();
        let known = Known {
            service,
            number: self.next_number,
            pid,
            _death: death,
        };
        self.known.insert(name.to_string(), Some(known));
        self.print(event, name, pid);
        if is_dead {
            self.died(name, self.next_number);
        }
    }

    fn died(&mut self, name: &str, number: u64) {
        let Some(slot) = self.known.get_mut(name) else {
            return;
        };
        let Some(known) = slot.take() else { return };
        // The service that was replaced.
        if known.number != number {
            *slot = Some(known);
            return;
        }
        self.print("died", name, known.pid);
    }

    /// Asks to be notified of a name and, where that is allowed, of its accessor, by which a
    /// service may be reached that has nothing else.
    fn add_with_accessor(&mut self, name: &str) -> Result<()> {
        let accessor = format!("{}{name}", accessor::PREFIX);
        for name in [name, accessor.as_str()] {
            if self.lookup.hold(name).is_some() {
                self.present.insert(name.to_string());
            }
        }
        self.add(name)?;
        if self.add(&accessor).is_err() {
            self.known.remove(&accessor);
        }
        Ok(())
    }

    /// Names that come and go are not kept for ever.
    fn forget(&mut self, names: &BTreeSet<String>) {
        let is_gone = |name: &str, known: &Option<Known>| {
            known.is_none() && !self.names.contains(name) && !names.contains(name)
        };
        let gone = self
            .known
            .iter()
            .filter(|(name, known)| is_gone(name, known));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            let manager = &self.lookup.manager;
            let _ = manager.unregister_for_notifications(&name, &self.callback);
            self.known.remove(&name);
        }
    }

    /// Adds names that are registered and not watched yet.
    fn list(&mut self) -> Result<()> {
        let names = self.read_list()?;
        self.present.retain(|name| names.contains(name));
        self.forget(&names);
        for name in &names {
            if self.known.contains_key(name) {
                continue;
            }
            if let Err(error) = self.add(name) {
                self.known.remove(name);
                // There are more than this user may watch.
                if !std::mem::replace(&mut self.has_warned, true) {
                    note_error("anybinder", false, &error);
                }
            }
        }
        self.names = names;
        Ok(())
    }

    /// What is done now and then, however many events come: looks for new names, or whether the
    /// service manager is still there.
    fn look(&mut self, names: &[String]) -> Result<()> {
        match names.is_empty() {
            true => self.list(),
            false if is_there() => Ok(()),
            false => Err(Error::new("The service manager is gone.").of(Kind::NoManager)),
        }
    }

    /// Why it goes on: one of the names has no service, nor an accessor, or all is well.
    fn reason(&self, names: &[String]) -> Error {
        let lives = |name: &str| self.known.get(name).is_some_and(Option::is_some);
        let is_missing =
            |name: &&String| !lives(name) && !lives(&format!("{}{name}", accessor::PREFIX));
        match names.iter().find(is_missing) {
            Some(name) => device::no_service(name),
            None => Error::new("It watches until it is interrupted, or for --count lines."),
        }
    }

    /// * `names`: those to watch; none for all
    fn follow(
        &mut self,
        events: &Receiver<Event>,
        names: &[String],
        count: Option<u64>,
    ) -> Result<()> {
        let mut due = Instant::now() + LIST;
        while count.is_none_or(|count| self.lines < count) {
            waits_because(&self.reason(names));
            let left = due.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(Event::Registered(name, service, noticed)) => {
                    self.registered(&name, service, noticed);
                }
                Ok(Event::Died(name, number)) => self.died(&name, number),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= due {
                self.look(names)?;
                due = Instant::now() + LIST;
            }
        }
        Ok(())
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    let mut names = arguments.names.iter();
    names.try_for_each(|name| device::check_aidl(device, name))?;
    device::open(&context.mount, device, 1)?;
    let lookup = Lookup::open(&context.mount, device)?;
    if let Some(foreign) = &lookup.foreign {
        return Err(Error::with_advice(
            format!("A service manager of {} cannot be watched.", foreign.describe()),
            "Its notifications are numbered or written in another way; `anybinder wait` works with \
             it.",
        ));
    }
    ProcessState::start_thread_pool();
    let (sender, events) = sync_channel(MOST_EVENTS);
    let callback = BnServiceCallback::new_binder(Callback {
        events: Mutex::new(sender.clone()),
    });
    let mut watch = Watch {
        context,
        lookup,
        callback,
        sender,
        known: BTreeMap::new(),
        next_number: 0,
        start: Instant::now(),
        lines: 0,
        present: BTreeSet::new(),
        pids: BTreeMap::new(),
        listed_at: Instant::now(),
        names: BTreeSet::new(),
        has_warned: false,
    };
    match arguments.names.as_slice() {
        [] => {
            watch.present = watch.read_list()?;
            watch.list()?;
        }
        names => names
            .iter()
            .try_for_each(|name| watch.add_with_accessor(name))?,
    }
    watch.follow(&events, &arguments.names, arguments.count)?;
    Ok(ExitCode::SUCCESS)
}
