// SPDX-License-Identifier: Apache-2.0
//! `anybinder watch [NAME]...`: a line whenever a service appears, dies or is replaced. The service
//! manager notifies of registrations by name, and the driver of deaths; new names
//! are found by listing.
use crate::command::services::list;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{harmless, note_error};
use anybinder_cli::time_limit::waits_because;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_rpc::accessor;
use anybinder_rpc::foreign::Listed;
use rsbinder::hub::{BnServiceCallback, IServiceCallback, ServiceManager};
use rsbinder::{
    BinderResult, DeathRecipient, ExceptionCode, Interface, ProcessState, SIBinder, Strong,
    WIBinder,
};
use serde::Serialize;
use std::collections::BTreeMap;
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
    Registered(String, SIBinder),
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
            let _ = events.send(Event::Registered(name.to_string(), service.clone()));
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
    manager: Arc<ServiceManager>,
    callback: Strong<dyn IServiceCallback>,
    sender: SyncSender<Event>,
    /// The names that the service manager notifies of, and what is registered.
    known: BTreeMap<String, Option<Known>>,
    next_number: u64,
    start: Instant,
    lines: u64,
    /// Whether what is found was there before.
    is_start: bool,
    /// The processes of what was listed last.
    pids: BTreeMap<String, i32>,
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

    fn pid_of(&self, name: &str) -> i32 {
        if let (true, Some(pid)) = (self.is_start, self.pids.get(name)) {
            return *pid;
        }
        let listed = list::listed(None).unwrap_or_default();
        let found = listed.into_iter().find(|one| one.name == name);
        found.and_then(|one| one.pid).unwrap_or(0)
    }

    /// Asks to be notified of a name. The service manager answers at once if it is registered.
    fn add(&mut self, name: &str) -> Result<()> {
        self.known.insert(name.to_string(), None);
        let asked = self
            .manager
            .register_for_notifications(name, &self.callback);
        asked.map_err(|err| match self.manager.try_is_declared(name) {
            Err(status) if status.exception_code() == ExceptionCode::Security => {
                device::policy_error(&format!(
                    "The policy of the service manager does not let you find {name}"
                ))
            }
            _ => device::call_error(&format!("The service manager does not watch {name}"), err),
        })
    }

    fn registered(&mut self, name: &str, service: SIBinder) {
        let before = self.known.get(name).and_then(Option::as_ref);
        let event = match before {
            Some(known) if known.service == service => return,
            Some(_) => "replaced",
            None if self.is_start => "present",
            None => "appeared",
        };
        self.next_number += 1;
        let death = Arc::new(Death {
            name: name.to_string(),
            number: self.next_number,
            events: Mutex::new(self.sender.clone()),
        });
        let pid = self.pid_of(name);
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
        self.add(name)?;
        let accessor = format!("{}{name}", accessor::PREFIX);
        if self.add(&accessor).is_err() {
            self.known.remove(&accessor);
        }
        Ok(())
    }

    /// Names that come and go are not kept for ever.
    fn forget(&mut self, listed: &[Listed]) {
        let is_gone = |name: &str, known: &Option<Known>| {
            known.is_none()
                && !self.pids.contains_key(name)
                && !listed.iter().any(|one| one.name == name)
        };
        let gone = self
            .known
            .iter()
            .filter(|(name, known)| is_gone(name, known));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            let _ = self
                .manager
                .unregister_for_notifications(&name, &self.callback);
            self.known.remove(&name);
        }
    }

    /// Adds names that are registered and not watched yet.
    fn list(&mut self) -> Result<()> {
        let listed = list::listed(None)?;
        self.forget(&listed);
        self.pids = listed
            .iter()
            .map(|one| (one.name.clone(), one.pid.unwrap_or(0)))
            .collect();
        for one in listed {
            if self.known.contains_key(&one.name) {
                continue;
            }
            if let Err(error) = self.add(&one.name) {
                self.known.remove(&one.name);
                // There are more than this user may watch.
                if !std::mem::replace(&mut self.has_warned, true) {
                    note_error("anybinder", false, &error);
                }
            }
        }
        Ok(())
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
        while count.is_none_or(|count| self.lines < count) {
            waits_because(&self.reason(names));
            match events.recv_timeout(LIST) {
                Ok(Event::Registered(name, service)) => self.registered(&name, service),
                Ok(Event::Died(name, number)) => self.died(&name, number),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    self.is_start = false;
                    if names.is_empty() {
                        self.list()?;
                    } else if !is_there() {
                        return Err(Error::new("The service manager is gone.").of(Kind::NoManager));
                    }
                }
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
    let manager = device::service_manager(&context.mount, device)?;
    if let Some(foreign) = device::foreign() {
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
        manager,
        callback,
        sender,
        known: BTreeMap::new(),
        next_number: 0,
        start: Instant::now(),
        lines: 0,
        is_start: true,
        pids: BTreeMap::new(),
        has_warned: false,
    };
    match arguments.names.as_slice() {
        [] => watch.list()?,
        names => names
            .iter()
            .try_for_each(|name| watch.add_with_accessor(name))?,
    }
    watch.follow(&events, &arguments.names, arguments.count)?;
    Ok(ExitCode::SUCCESS)
}
