// SPDX-License-Identifier: Apache-2.0
//! What the service manager of one device works on: the services, the rules, the log.
use super::positions::Positions;
use crate::policy::Policy;
use crate::registry::{Quota, Registry, Service};
use crate::wire::caller::Caller;
use crate::wire::hidl::names::{CHAIN, OWN_INSTANCE};
use crate::wire::port::Port;
use crate::wire::reply::Refusal;
use anybinder_cli::output::note;
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::Target;
use rsbinder::ExceptionCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name under which a service manager registers itself.
const OWN_NAME: &str = "manager";

/// The service is dumped with those of the default priority.
pub const PRIORITY_DEFAULT: i32 = 1 << 3;

/// Limits and rules of one device.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The level of a call that could be of several.
    pub level: Level,
    /// Whether the device is HIDL's. Then AIDL clients may only list.
    pub is_hidl: bool,
    pub per_user: usize,
    pub allow_replacing_others: bool,
}

pub struct State {
    pub registry: Registry,
    pub policy: Arc<Policy>,
    pub settings: Settings,
    pub positions: Positions,
    log: Log,
}

impl State {
    /// The service manager is in its own list, as Android's is.
    pub fn new(device: &str, settings: Settings, policy: Arc<Policy>, port: &mut dyn Port) -> Self {
        let quota = Quota::new(settings.per_user);
        let mut registry = Registry::new(quota, settings.is_hidl, settings.allow_replacing_others);
        let owner = Caller {
            pid: std::process::id() as i32,
            uid: rustix::process::getuid().as_raw(),
            charged: rustix::process::getuid().as_raw(),
            context: 0,
        };
        let own = || Service::new(Target::Own, Stability::SYSTEM, owner, PRIORITY_DEFAULT);
        // An empty registry has room for them.
        let _ = match settings.is_hidl {
            true => {
                let chain = CHAIN.map(String::from);
                registry.add_chain(port, OWN_INSTANCE, &chain, own)
            }
            false => registry.add(port, OWN_NAME, own()),
        };
        State {
            registry,
            policy,
            settings,
            positions: Positions::default(),
            log: Log::new(device),
        }
    }

    /// Whether a service is for a user, who may be isolated.
    pub fn is_for(&self, caller: Caller, service: &Service) -> bool {
        service.allow_isolated || !self.policy.is_isolated(caller)
    }

    /// * `code`: 0 if the method is named in the reason
    pub fn log_refusal(&mut self, caller: Caller, code: u32, why: &str) {
        let Caller { pid, uid, .. } = caller;
        let what = match code {
            0 => String::new(),
            code => format!(" code {code}"),
        };
        let context = self.policy.context_in_words(caller);
        let message = format!("refused{what} of process {pid} of user {uid}{context}: {why}");
        self.log.write(&message);
    }

    /// Says why a list is not complete.
    pub fn log_cut(&mut self, caller: Caller, left_out: usize) {
        let Caller { pid, uid, .. } = caller;
        self.log.write(&format!(
            "a list for process {pid} of user {uid} lacks {left_out} services: all of them would \
             not fit its receive buffer"
        ));
    }
}

/// The refusal of a policy.
pub fn denied(what: &str, name: &str) -> Refusal {
    let message = format!("the rules of the service manager do not let this user {what} {name}");
    Refusal::new(ExceptionCode::Security, message.trim_end())
}

const MAX_A_SECOND: u32 = 10;

pub struct Log {
    device: String,
    since: Instant,
    written: u32,
    dropped: u64,
}

impl Log {
    pub fn new(device: &str) -> Log {
        Log {
            device: device.to_string(),
            since: Instant::now(),
            written: 0,
            dropped: 0,
        }
    }

    pub fn write(&mut self, message: &str) {
        if self.since.elapsed() >= Duration::from_secs(1) {
            if self.dropped > 0 {
                let dropped = self.dropped;
                note(format_args!(
                    "{}: {dropped} more messages were dropped",
                    self.device
                ));
            }
            self.since = Instant::now();
            self.written = 0;
            self.dropped = 0;
        }
        if self.written == MAX_A_SECOND {
            self.dropped += 1;
            return;
        }
        self.written += 1;
        // Names come from clients; a terminal must not obey them.
        let printable: String = message
            .chars()
            .map(|letter| if letter.is_control() { '?' } else { letter })
            .take(500)
            .collect();
        note(format_args!("{}: {printable}", self.device));
    }
}
