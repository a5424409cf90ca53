// SPDX-License-Identifier: Apache-2.0
//! Processes that stand in for services: each has the name of one, and passes calls on.
use crate::objects::Node;
use crate::raw_manager::{stability_of, RawManager};
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output::note_error;
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::{Speaker, Target, OWN_POINTER};
use anybinder_driver::relay::{Judge, Relay, FLAGS};
use rustix::process::{Pid, Signal, WaitOptions};
use std::ffi::CString;
use std::io;

/// The exit status of a process whose service or service manager is gone.
pub const LOST: i32 = 101;

/// A service, as it is in a service manager.
pub struct Service<'a> {
    pub name: &'a str,
    pub handle: u32,
    pub stability: Stability,
    /// How it reads calls.
    pub speaker: Speaker,
}

impl<'a> Service<'a> {
    /// The service with a name; None if there is none.
    ///
    /// * `untold`: how it reads calls if the service manager does not tell
    pub fn find(
        manager: &mut RawManager,
        name: &'a str,
        untold: Speaker,
    ) -> Result<Option<Service<'a>>> {
        let Some(binder) = manager.look_up(name)? else {
            return Ok(None);
        };
        let Target::Handle(handle) = binder.target else {
            return Ok(None);
        };
        Ok(Some(Service {
            name,
            handle,
            stability: stability_of(&binder),
            speaker: manager.registrant(name).unwrap_or(untold),
        }))
    }

    /// Registers an object of this process in its place, which passes calls on. The process ends
    /// when the service does.
    ///
    /// * `there`: where the service is, if it is in another context
    pub fn stand_in(
        &self,
        here: &mut RawManager,
        there: Option<&RawManager>,
        judge: Judge,
    ) -> Result<()> {
        let managers = [Some(&*here), there].into_iter().flatten();
        let mut sides: Vec<_> = managers
            .map(|manager| manager.driver.for_another_thread())
            .collect();
        let other = sides.last_mut().expect("there is one");
        other.request_death(self.handle, OWN_POINTER);
        other.flush().doing(|| "watching the service".to_string())?;
        let relay = Relay::new(sides, self.handle, judge, || std::process::exit(LOST));
        let node = Node::Own(OWN_POINTER, FLAGS);
        here.add(self.name, (node, self.stability), self.speaker)?;
        relay.start();
        Ok(())
    }
}

/// Starts a process with this name, which is sent a signal when this one ends, and ends with the
/// error of `run`, if it has one. This process has to have one thread only.
pub fn start(
    name: &str,
    (signal, is_json): (Signal, bool),
    run: impl FnOnce() -> Result<()>,
) -> Result<Pid> {
    let parent = rustix::process::getpid();
    // SAFETY: this process has one thread, so that the child may go on like a new one.
    let number = unsafe { libc::fork() };
    if number < 0 {
        return Err(io::Error::last_os_error()).doing(|| "starting a process".to_string());
    }
    if let Some(child) = Pid::from_raw(number) {
        return Ok(child);
    }
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
    if rustix::process::getppid() != Some(parent) {
        std::process::exit(LOST);
    }
    let _ = rustix::thread::set_name(&CString::new(name).unwrap_or_default());
    let status = run().err().map_or(0, |error| {
        note_error("anybinder", is_json, &error);
        error.kind().exit_status().into()
    });
    std::process::exit(status)
}

/// Looks which child has ended, or waits until one has. Its exit status is None if it was killed.
/// There are others than those that were started: a daemon may start one to map memory.
pub fn wait(options: WaitOptions) -> Result<Option<(Pid, Option<i32>)>> {
    let ended = rustix::process::wait(options).map_err(io::Error::from);
    let ended = ended.doing(|| "waiting for a process".to_string())?;
    Ok(ended.map(|(pid, status)| (pid, status.exit_status())))
}
