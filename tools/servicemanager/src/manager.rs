// SPDX-License-Identifier: Apache-2.0
//! The service manager of one device: answers a transaction of any level.
use crate::clients::Clients;
use crate::handles::Port;
use crate::hidl;
use crate::level_set::LevelSet;
use crate::log::Log;
use crate::methods::Call;
use crate::numbering::Method;
use crate::policy::Policy;
use crate::quota::Quota;
use crate::registry::{Caller, Registry, Service};
use crate::reply::{Format, PendingAdd, Refusal, Reply, LEGACY_FAILURE};
use crate::request::{self, Arguments, Header, Meaning, Meanings, DESCRIPTOR};
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::map::Memory;
use anybinder_driver::parcel::{Parcel, Reader, Target};
use rsbinder::{ExceptionCode, StatusCode};
use std::sync::Arc;

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

/// One transaction, as the driver delivers it.
pub struct Transaction<'a> {
    pub code: u32,
    pub caller: Caller,
    pub data: &'a [u8],
    pub offsets: &'a [u64],
    /// Where its buffers are.
    pub memory: &'a dyn Memory,
}

pub struct Manager {
    pub registry: Registry,
    pub policy: Arc<Policy>,
    settings: Settings,
    clients: Clients,
    log: Log,
}

/// Why a request has no meaning here.
struct Unclear {
    status: StatusCode,
    why: String,
}

impl Manager {
    /// The service manager is in its own list, as Android's is.
    pub fn new(device: &str, settings: Settings, policy: Arc<Policy>, port: &mut dyn Port) -> Self {
        let quota = Quota::new(settings.per_user);
        let mut registry = Registry::new(quota, settings.is_hidl, settings.allow_replacing_others);
        let owner = Caller {
            pid: std::process::id() as i32,
            uid: rustix::process::getuid().as_raw(),
            context: 0,
        };
        let own = || Service::new(Target::Own, Stability::SYSTEM, owner, PRIORITY_DEFAULT);
        // An empty registry has room for them.
        let _ = match settings.is_hidl {
            true => {
                let chain = hidl::CHAIN.map(String::from);
                registry.add_chain(port, hidl::OWN_INSTANCE, &chain, own)
            }
            false => registry.add(port, OWN_NAME, own()),
        };
        Manager {
            registry,
            policy,
            settings,
            clients: Clients::default(),
            log: Log::new(device),
        }
    }

    pub fn is_hidl(&self) -> bool {
        self.settings.is_hidl
    }

    /// Answers a transaction. The caller drops the answer if none is expected.
    pub fn answer(&mut self, port: &mut dyn Port, transaction: &Transaction) -> Reply {
        if self.settings.is_hidl && hidl::is_hidl(transaction.data) {
            let reply = hidl::answer(self, port, transaction);
            if let Reply::Status(status) = reply {
                let why = format!("status {status}: no HIDL call that is known");
                self.log_refusal(transaction.caller, transaction.code, &why);
            }
            return reply;
        }
        match transaction.code {
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                self.call(port, transaction)
            }
            rsbinder::PING_TRANSACTION => Reply::Parcel(Parcel::default()),
            rsbinder::INTERFACE_TRANSACTION => {
                let mut parcel = Parcel::default();
                parcel.string16(DESCRIPTOR);
                Reply::Parcel(parcel)
            }
            rsbinder::DEBUG_PID_TRANSACTION => {
                let mut parcel = Parcel::default();
                parcel.i32(std::process::id() as i32);
                Reply::Parcel(parcel)
            }
            rsbinder::EXTENSION_TRANSACTION => {
                let mut parcel = Parcel::default();
                parcel.binder(None, self.settings.level.stability_form());
                Reply::Parcel(parcel)
            }
            _ => StatusCode::UnknownTransaction.into(),
        }
    }

    fn call(&mut self, port: &mut dyn Port, transaction: &Transaction) -> Reply {
        let mut reader = Reader::new(transaction.data, transaction.offsets);
        let caller = transaction.caller;
        let code = transaction.code;
        let header = match Header::read(&mut reader) {
            Ok(header) => header,
            Err(status) => {
                let why = match hidl::is_hidl(transaction.data) {
                    true => "it looks like HIDL, which this device is not set to (--level)",
                    false => "it does not name this interface",
                };
                self.log_refusal(caller, code, why);
                return status.into();
            }
        };
        let meanings = Meanings::read(&header, code, &reader, self.settings.level);
        let levels = meanings.levels();
        // A call that every level has says nothing.
        if !levels.is_empty() && levels != header.levels {
            self.clients.learn(caller.pid, levels);
        }
        match self.choose(caller, &meanings) {
            Ok(meaning) => self.execute(port, caller, &header, meaning),
            Err(unclear) => {
                let why = format!("{}; the header is that of {}", unclear.why, header.levels);
                self.log_refusal(caller, code, &why);
                match header.word {
                    None => LEGACY_FAILURE,
                    Some(_) => unclear.status.into(),
                }
            }
        }
    }

    /// The meaning of a request: the only one that the client can have, else that of the level of
    /// this device.
    fn choose(&self, caller: Caller, meanings: &Meanings) -> Result<Meaning, Unclear> {
        let possible = meanings.levels();
        if possible.is_empty() {
            return Err(Unclear {
                status: meanings.status,
                why: "its arguments fit no known level".to_string(),
            });
        }
        let narrowed = self.clients.narrow(caller.pid, possible);
        let narrowed = self.narrow_by_watch(narrowed, meanings);
        let mut left: Vec<Meaning> = meanings
            .all
            .iter()
            .map(|meaning| Meaning {
                levels: meaning.levels.intersection(narrowed),
                ..meaning.clone()
            })
            .filter(|meaning| !meaning.levels.is_empty())
            .collect();
        self.exclude_by_watches(&mut left);
        let preferred = self.settings.level;
        let index = match left.len() {
            1 => Some(0),
            _ => left
                .iter()
                .position(|meaning| meaning.levels.contains(preferred)),
        };
        match index {
            Some(index) => Ok(left.swap_remove(index)),
            None => Err(Unclear {
                status: StatusCode::UnknownTransaction,
                why: format!(
                    "it looks like {narrowed}, where its meaning differs, and this device is set \
                     to {preferred} (--level)"
                ),
            }),
        }
    }

    /// A callback that is registered is of a client of the levels that registered it.
    fn narrow_by_watch(&self, levels: LevelSet, meanings: &Meanings) -> LevelSet {
        let watch = meanings
            .all
            .iter()
            .find_map(|meaning| self.watch_of(meaning));
        let both = watch.map_or(levels, |known| levels.intersection(known));
        if both.is_empty() {
            levels
        } else {
            both
        }
    }

    /// The levels of the client that registered the callback of a request.
    fn watch_of(&self, meaning: &Meaning) -> Option<LevelSet> {
        match &meaning.arguments {
            Arguments::NameBinder(name, callback) => match callback.target {
                Target::Handle(handle) => self.registry.watch_levels(name, handle),
                Target::Own => None,
            },
            _ => None,
        }
    }

    /// A callback that is not registered is not unregistered.
    fn exclude_by_watches(&self, meanings: &mut Vec<Meaning>) {
        let has = |method| meanings.iter().any(|meaning| meaning.method == method);
        let could_register = has(Method::RegisterForNotifications);
        let is_registered = meanings.iter().any(|one| self.watch_of(one).is_some());
        if could_register && !is_registered {
            meanings.retain(|one| one.method != Method::UnregisterForNotifications);
        }
    }

    fn execute(
        &mut self,
        port: &mut dyn Port,
        caller: Caller,
        header: &Header,
        meaning: Meaning,
    ) -> Reply {
        let format = Format {
            is_legacy: header.word.is_none(),
            stability: request::stability_form(meaning.levels, self.settings.level),
        };
        let call = Call {
            caller,
            format,
            header_word: header.word.unwrap_or(0),
            found: meaning.found,
            levels: meaning.levels,
            method: meaning.method,
        };
        let method = meaning.method;
        let outcome = call.run(self, port, meaning.arguments);
        outcome.unwrap_or_else(|refusal| {
            let why = format!("{method:?}: {}", refusal.message);
            if refusal.exception == ExceptionCode::Security {
                self.log_refusal(caller, 0, &why);
            }
            format.refusal(&refusal)
        })
    }

    /// Adds a HIDL service that has told its interfaces, or was asked and has not (None).
    pub fn add_with_chain(
        &mut self,
        port: &mut dyn Port,
        pending: &PendingAdd,
        chain: Option<&[String]>,
    ) -> Reply {
        hidl::methods::add_with_chain(self, port, pending, chain)
    }

    /// Refuses a HIDL service that cannot be asked for its interfaces.
    pub fn refuse_add(&mut self, pending: &PendingAdd, why: &str) -> Reply {
        let refusal = Refusal::new(ExceptionCode::IllegalState, why);
        self.log_hidl(pending.caller, hidl::Method::Add, &refusal);
        hidl::methods::done(false)
    }

    /// Says why a call of HIDL was answered with "no", which has no reason in it.
    pub fn log_hidl(&mut self, caller: Caller, method: hidl::Method, refusal: &Refusal) {
        let why = format!("{method:?}: {}", refusal.message);
        self.log_refusal(caller, 0, &why);
    }

    /// Forgets what a dead process had registered.
    pub fn died(&mut self, port: &mut dyn Port, cookie: u64) {
        self.registry.died(port, cookie);
    }

    fn log_refusal(&mut self, caller: Caller, code: u32, why: &str) {
        let Caller { pid, uid, .. } = caller;
        let what = match code {
            0 => String::new(),
            code => format!(" code {code}"),
        };
        let context = self.policy.context_in_words(caller);
        let message = format!("refused{what} of process {pid} of user {uid}{context}: {why}");
        self.log.write(&message);
    }
}

/// The refusal of a policy.
pub fn denied(what: &str, name: &str) -> Refusal {
    let message = format!("the rules of the service manager do not let this user {what} {name}");
    Refusal::new(ExceptionCode::Security, message.trim_end())
}
