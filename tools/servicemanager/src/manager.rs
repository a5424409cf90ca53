// SPDX-License-Identifier: Apache-2.0
//! The service manager of one device: answers a transaction of any level.
use crate::caller::{Caller, Transaction};
use crate::clients::Clients;
use crate::handles::Port;
use crate::hidl;
use crate::level_set::LevelSet;
use crate::methods::Call;
use crate::numbering::Method;
use crate::policy::Policy;
use crate::reply::{Format, PendingAdd, Reply, LEGACY_FAILURE};
use crate::request::{self, Arguments, Header, Meaning, Meanings, DESCRIPTOR};
use crate::state::{Settings, State};
use crate::users;
use anybinder_driver::parcel::{Parcel, Reader, Target};
use rsbinder::{ExceptionCode, StatusCode};
use std::sync::Arc;

pub struct Manager {
    pub state: State,
    clients: Clients,
}

/// Why a request has no meaning here.
struct Unclear {
    status: StatusCode,
    why: String,
}

impl Manager {
    pub fn new(device: &str, settings: Settings, policy: Arc<Policy>, port: &mut dyn Port) -> Self {
        Manager {
            state: State::new(device, settings, policy, port),
            clients: Clients::default(),
        }
    }

    /// Answers a transaction. The caller drops the answer if none is expected.
    pub fn answer(&mut self, port: &mut dyn Port, transaction: &Transaction) -> Reply {
        if self.state.settings.is_hidl && hidl::is_hidl(transaction.data) {
            let reply = hidl::answer(&mut self.state, port, transaction);
            if let Reply::Status(status) = reply {
                let why = format!("status {status}: no HIDL call that is known");
                self.state
                    .log_refusal(transaction.caller, transaction.code, &why);
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
                parcel.binder(None, self.state.settings.level.stability_form());
                Reply::Parcel(parcel)
            }
            // As AOSP's: it has nothing to say and no commands.
            rsbinder::DUMP_TRANSACTION => Reply::Parcel(Parcel::default()),
            rsbinder::SHELL_COMMAND_TRANSACTION => StatusCode::InvalidOperation.into(),
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
                self.state.log_refusal(caller, code, why);
                return status.into();
            }
        };
        let meanings = Meanings::read(&header, code, &reader, self.state.settings.level);
        let levels = meanings.levels();
        // A call that every level has says nothing.
        if !levels.is_empty() && levels != header.levels {
            self.clients.learn(caller.pid, levels);
        }
        match self.choose(caller, meanings) {
            Ok(meaning) => self.execute(port, caller, &header, meaning),
            Err(unclear) => {
                let why = format!("{}; the header is that of {}", unclear.why, header.levels);
                self.state.log_refusal(caller, code, &why);
                match header.word {
                    None => LEGACY_FAILURE,
                    Some(_) => unclear.status.into(),
                }
            }
        }
    }

    /// The meaning of a request: the only one that the client can have, else that of the level of
    /// this device.
    fn choose(&mut self, caller: Caller, meanings: Meanings) -> Result<Meaning, Unclear> {
        let possible = meanings.levels();
        if possible.is_empty() {
            return Err(Unclear {
                status: meanings.status,
                why: "its arguments fit no known level".to_string(),
            });
        }
        let narrowed = self.clients.narrow(caller.pid, possible);
        let narrowed = self.narrow_by_watch(narrowed, &meanings);
        let mut left = meanings.all;
        left.retain_mut(|meaning| {
            meaning.levels = meaning.levels.intersection(narrowed);
            !meaning.levels.is_empty()
        });
        self.exclude_by_watches(&mut left);
        let preferred = self.state.settings.level;
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
                Target::Handle(handle) => self.state.registry.watch_levels(name, handle),
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
            stability: request::stability_form(meaning.levels, self.state.settings.level),
        };
        let call = Call {
            caller: match meaning.method.is_question() {
                true => caller,
                false => Caller {
                    charged: users::charged(caller.pid, caller.uid),
                    ..caller
                },
            },
            format,
            header_word: header.word.unwrap_or(0),
            found: meaning.found,
            levels: meaning.levels,
            method: meaning.method,
        };
        let method = meaning.method;
        let outcome = call.run(&mut self.state, port, meaning.arguments);
        outcome.unwrap_or_else(|refusal| {
            let why = format!("{method:?}: {}", refusal.message);
            if refusal.exception == ExceptionCode::Security {
                self.state.log_refusal(caller, 0, &why);
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
        hidl::methods::add_with_chain(&mut self.state, port, pending, chain)
    }

    /// Refuses a HIDL service that cannot be asked for its interfaces.
    pub fn refuse_add(&mut self, pending: &PendingAdd, why: &str) -> Reply {
        hidl::methods::refuse_add(&mut self.state, pending, why)
    }

    /// Forgets what a dead process had registered, as the thread that serves does.
    #[cfg(test)]
    pub fn died(&mut self, port: &mut dyn Port, cookie: u64) {
        let registry = &mut self.state.registry;
        registry.died(cookie);
        while registry.has_dead() {
            registry.forget_dead(port);
        }
    }
}
