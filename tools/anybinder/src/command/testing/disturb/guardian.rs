// SPDX-License-Identifier: Apache-2.0
//! The two processes of `anybinder disturb`: one stands before the service, the other, which was
//! started, waits. Whichever is killed, the other one gives the name back.
use super::rule::{Counts, Rule, RuleJudge, DIED, LOST};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::output::{note_error, say};
use anybinder_client::device::{self, no_service};
use anybinder_client::objects::Node;
use anybinder_client::place::DISTURB;
use anybinder_client::raw_manager::{stability_of, RawManager};
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::{Speaker, Target, OWN_POINTER};
use anybinder_driver::relay::{Relay, FLAGS};
use anybinder_mount::context::Context;
use anybinder_rpc::dialect::header_word;
use rustix::event::{PollFd, PollFlags};
use serde_json::json;
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// A service, as it is in the service manager.
struct Service<'a> {
    name: &'a str,
    handle: u32,
    stability: Stability,
    /// How it reads calls.
    speaker: Speaker,
}

impl<'a> Service<'a> {
    fn find(manager: &mut RawManager, name: &'a str, level: Level) -> Result<Service<'a>> {
        let binder = manager.look_up(name)?.ok_or_else(|| no_service(name))?;
        let Target::Handle(handle) = binder.target else {
            return Err(Error::new(format!("{name} is a service of this process.")));
        };
        let untold = Speaker {
            level,
            header_word: header_word(),
        };
        Ok(Service {
            name,
            handle,
            stability: stability_of(&binder),
            speaker: manager.registrant(name).unwrap_or(untold),
        })
    }

    /// Registers the service again, unless another one has taken the name. Returns whether it did.
    ///
    /// * `before`: the object that stands before the service
    fn give_back(&self, manager: &mut RawManager, before: Target) -> Result<bool> {
        let found = manager.look_up(self.name)?.map(|binder| binder.target);
        if found.is_some_and(|target| target != before) {
            return Ok(found == Some(Target::Handle(self.handle)));
        }
        let real = (Node::Handle(self.handle), self.stability);
        manager.add(self.name, real, self.speaker)?;
        Ok(true)
    }
}

/// Memory that the processes share.
fn shared_counts() -> Result<&'static Counts> {
    // SAFETY: a new mapping, which stays; zeros are counts.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Counts>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error()).doing(|| "mapping memory".to_string());
    }
    // SAFETY: as above.
    Ok(unsafe { &*memory.cast::<Counts>() })
}

/// From now on, signals that end this process and its children are read here.
fn signals() -> Result<OwnedFd> {
    // SAFETY: plain calls with a live set; the descriptor is new.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            -1 => Err(std::io::Error::last_os_error()).doing(|| "waiting for signals".to_string()),
            number => Ok(OwnedFd::from_raw_fd(number)),
        }
    }
}

/// What a guardian knows.
struct Guardian<'a> {
    context: &'a Context,
    device: &'a str,
    name: &'a str,
    level: Level,
    rule: &'a Rule,
    counts: &'static Counts,
}

/// How the process that stood before the service has ended.
enum End {
    Asked,
    Status(i32),
    Killed,
}

impl Guardian<'_> {
    /// Stands before the service until the other process is gone.
    fn stand(&self, mut guardian: UnixStream) -> Result<()> {
        let mut manager = RawManager::open(&self.context.mount, self.device)?;
        let service = Service::find(&mut manager, self.name, self.level)?;
        manager.driver.request_death(service.handle, OWN_POINTER);
        let judge = RuleJudge {
            rule: self.rule.clone(),
            counts: self.counts,
        };
        let sides = vec![manager.driver.for_another_thread()];
        let relay = Relay::new(sides, service.handle, Box::new(judge));
        let node = Node::Own(OWN_POINTER, FLAGS);
        manager.add(self.name, (node, service.stability), service.speaker)?;
        relay.start(|_| std::process::exit(LOST));
        let doing = || "telling that it began".to_string();
        guardian.write_all(b"1").doing(doing)?;
        // The end of the other process, killed or not.
        while guardian.read(&mut [0; 8]).is_ok_and(|size| size > 0) {}
        service.give_back(&mut manager, Target::Own)?;
        Ok(())
    }

    /// Starts the process that stands before the service; the other end says when it does.
    fn start(&self) -> Result<(i32, UnixStream)> {
        let (ours, theirs) = UnixStream::pair().doing(|| "making a socket".to_string())?;
        // SAFETY: this process has one thread, so that the child may go on like a new one.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()).doing(|| "starting a process".to_string()),
            0 => {
                drop(ours);
                let _ = rustix::thread::set_name(&CString::new(DISTURB).unwrap_or_default());
                let status = self.stand(theirs).err().map_or(0, |error| {
                    note_error("anybinder", self.context.json, &error);
                    error.kind().exit_status().into()
                });
                std::process::exit(status)
            }
            pid => Ok((pid, ours)),
        }
    }

    /// Waits until the other process ends, or this one is to.
    fn wait(pid: i32, other: &UnixStream, signals: &OwnedFd) -> End {
        let mut fds =
            [other.as_fd(), signals.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        while rustix::event::poll(&mut fds, None).is_err() {}
        if !fds[1].revents().is_empty() {
            return End::Asked;
        }
        let mut status = 0;
        // SAFETY: writes the status of a child of this process.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        match libc::WIFEXITED(status) {
            true => End::Status(libc::WEXITSTATUS(status)),
            false => End::Killed,
        }
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
        let signals = signals()?;
        let mut manager = RawManager::open(&self.context.mount, self.device)?;
        let service = Service::find(&mut manager, self.name, self.level)?;
        let mut is_first = true;
        loop {
            let (pid, mut other) = self.start()?;
            if !other.read(&mut [0; 1]).is_ok_and(|size| size == 1) {
                // The process has said why.
                let status = match Self::wait(pid, &other, &signals) {
                    End::Status(status) => u8::try_from(status).unwrap_or(1),
                    End::Asked | End::Killed => 1,
                };
                return Ok(ExitCode::from(status));
            }
            let found = manager.look_up(self.name)?.map(|binder| binder.target);
            let before = found.unwrap_or(Target::Handle(0));
            if std::mem::take(&mut is_first) && !self.context.json {
                say(format_args!("{} is disturbed by process {pid}", self.name));
            }
            let end = Self::wait(pid, &other, &signals);
            let died = || {
                Error::new(format!(
                    "The service {} has died; its clients were told.",
                    self.name
                ))
            };
            if let End::Status(LOST) = end {
                return Err(died().of(Kind::CallFailed));
            }
            if !service.give_back(&mut manager, before)? {
                let what = format!("{} was registered by another service meanwhile.", self.name);
                return Err(Error::with_advice(what, "That one has the name now."));
            }
            match end {
                End::Asked => {
                    // SAFETY: a child that was not waited for.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                    self.say_end();
                    return Ok(ExitCode::SUCCESS);
                }
                End::Status(DIED) => {}
                End::Status(_) | End::Killed => {
                    let what = format!("The process {pid} before {} was killed.", self.name);
                    return Err(Error::with_advice(what, "The name is given back."));
                }
            }
        }
    }
}

/// Disturbs a service until that is to end.
pub fn run(context: &Context, device: &str, name: &str, rule: &Rule) -> Result<ExitCode> {
    let level = device::foreign().map_or(Level::default(), |foreign| foreign.level);
    let counts = shared_counts()?;
    let guardian = Guardian {
        context,
        device,
        name,
        level,
        rule,
        counts,
    };
    guardian.guard()
}
