// SPDX-License-Identifier: Apache-2.0
//! The two processes of `anybinder disturb`: one stands before the service, the other, which was
//! started, waits. Whichever is killed, the other one gives the name back.
use super::rule::{Counts, Rule, DIED};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device::{self, no_service};
use anybinder_client::objects::Node;
use anybinder_client::place::DISTURB;
use anybinder_client::raw_manager::RawManager;
use anybinder_client::stand_in::{self, Service, LOST};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{Speaker, Target};
use anybinder_mount::context::Context;
use anybinder_rpc::dialect::header_word;
use rustix::process::{getppid, kill_process, Pid, Signal, WaitOptions};
use serde_json::json;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Ask for the end.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// To the guardian: the other process stands before the service. To that: the guardian is gone.
const CHANGED: i32 = libc::SIGUSR1;

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: plain calls with a live set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Waits for one of these signals, which are blocked.
fn wait_for(signals: &[i32]) -> i32 {
    let mut came = 0;
    // SAFETY: writes the number of a signal.
    unsafe { libc::sigwait(&set_of(signals), &raw mut came) };
    came
}

/// Why a guardian goes on.
enum Event {
    Signal,
    /// The other process has ended, with this exit status if it was not killed.
    Ended(Option<i32>),
}

/// Waits for one of these signals, or for the end of a process.
fn wait(pid: Pid, signals: &[i32]) -> Result<Event> {
    loop {
        match wait_for(&[signals, &[libc::SIGCHLD]].concat()) {
            libc::SIGCHLD => {}
            _ => return Ok(Event::Signal),
        }
        while let Some((ended, status)) = stand_in::wait(WaitOptions::NOHANG)? {
            if ended == pid {
                return Ok(Event::Ended(status));
            }
        }
    }
}

/// Memory that the processes share.
fn shared_counts() -> Result<&'static Counts> {
    use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: a new mapping, which stays; zeros are counts.
    let memory = unsafe {
        let mapped = mmap_anonymous(std::ptr::null_mut(), size_of::<Counts>(), access, flags);
        mapped.map(|memory| &*memory.cast::<Counts>())
    };
    memory
        .map_err(std::io::Error::from)
        .doing(|| "mapping memory".to_string())
}

/// What both processes know.
struct Guardian<'a> {
    context: &'a Context,
    name: &'a str,
    /// How the service reads calls, if that is not told.
    untold: Speaker,
    rule: &'a Rule,
    counts: &'static Counts,
}

impl<'a> Guardian<'a> {
    fn find(&self) -> Result<(RawManager, Service<'a>)> {
        let mut manager =
            RawManager::open(&self.context.mount, &self.rule.arguments.device.device)?;
        let service = Service::find(&mut manager, self.name, self.untold)?;
        Ok((manager, service.ok_or_else(|| no_service(self.name))?))
    }

    /// Registers the service again. Fails if another one has taken the name.
    ///
    /// * `before`: the object that stands before the service
    fn give_back(&self, manager: &mut RawManager, service: &Service, before: Target) -> Result<()> {
        let real = Target::Handle(service.handle);
        let found = manager.look_up(self.name)?.map(|binder| binder.target);
        match found.filter(|target| *target != before) {
            Some(other) if other == real => Ok(()),
            Some(_) => Err(Error::with_advice(
                format!("{} was registered by another service meanwhile.", self.name),
                "That one has the name now.",
            )),
            None => {
                let real = (Node::Handle(service.handle), service.stability);
                manager.add(self.name, real, service.speaker)
            }
        }
    }

    /// Stands before the service until the guardian is gone.
    fn stand(&self) -> Result<()> {
        let (mut manager, service) = self.find()?;
        let (rule, counts) = (self.rule.clone(), self.counts);
        let judge = Box::new(move |call: &_| rule.judge(counts, call));
        service.stand_in(&mut manager, None, judge)?;
        if let Some(guardian) = getppid() {
            let _ = kill_process(guardian, Signal::USR1);
        }
        wait_for(&[CHANGED]);
        // Another one may have the name.
        let _ = self.give_back(&mut manager, &service, Target::Own);
        Ok(())
    }

    fn say_end(&self) {
        let calls = self.counts.calls.load(Ordering::Relaxed);
        let disturbed = self.counts.disturbed.load(Ordering::Relaxed);
        let all = json!({ "name": self.name, "calls": calls, "disturbed": disturbed });
        self.context.show(&all, |_| {
            say(format_args!(
                "{} is itself again: {disturbed} of {calls} calls were disturbed",
                self.name
            ));
        });
    }

    fn guard(&self) -> Result<ExitCode> {
        // SAFETY: plain call with a live set.
        unsafe {
            let set = set_of(&[&ENDING[..], &[CHANGED, libc::SIGCHLD]].concat());
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
        let (mut manager, service) = self.find()?;
        let mut is_first = true;
        loop {
            let how = (Signal::USR1, self.context.json);
            let pid = stand_in::start(DISTURB, how, || self.stand())?;
            if let Event::Ended(status) = wait(pid, &[CHANGED])? {
                // The process has said why.
                let status = status.and_then(|status| u8::try_from(status).ok());
                return Ok(ExitCode::from(status.unwrap_or(1)));
            }
            let found = manager.look_up(self.name)?.map(|binder| binder.target);
            let before = found.unwrap_or(Target::Handle(0));
            let (name, number) = (self.name, pid.as_raw_nonzero());
            if std::mem::take(&mut is_first) && !self.context.json {
                say(format_args!("{name} is disturbed by process {number}"));
            }
            let event = wait(pid, &ENDING)?;
            if let Event::Ended(Some(LOST)) = event {
                let what = format!("The service {name} has died; its clients were told.");
                return Err(Error::new(what).of(Kind::CallFailed));
            }
            self.give_back(&mut manager, &service, before)?;
            match event {
                Event::Signal => {
                    let _ = kill_process(pid, Signal::KILL);
                    self.say_end();
                    return Ok(ExitCode::SUCCESS);
                }
                Event::Ended(Some(DIED)) => {}
                Event::Ended(_) => {
                    let what = format!("The process {number} before {name} was killed.");
                    return Err(Error::with_advice(what, "The name is given back."));
                }
            }
        }
    }
}

/// Disturbs a service until that is to end.
pub fn run(context: &Context, rule: &Rule) -> Result<ExitCode> {
    let guardian = Guardian {
        context,
        name: &rule.arguments.name,
        untold: Speaker {
            level: device::foreign().map_or(Level::default(), |foreign| foreign.level),
            header_word: header_word(),
        },
        rule,
        counts: shared_counts()?,
    };
    guardian.guard()
}
