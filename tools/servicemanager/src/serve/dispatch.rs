// SPDX-License-Identifier: Apache-2.0
//! The service manager of one device: answers a transaction of any level.
use super::aidl_methods::Call;
use super::device_state::{Settings, State};
use super::hidl_methods;
use super::work::Answer;
use crate::policy::Policy;
use crate::registry::users;
use crate::wire::caller::{Caller, Transaction};
use crate::wire::hidl;
use crate::wire::level::{Header, Meaning, Speakers, DESCRIPTOR, LEVEL_TRANSACTION};
use crate::wire::port::Port;
use crate::wire::reply::{Format, Reply, LEGACY_FAILURE};
use anybinder_driver::parcel::{Parcel, Reader, Speaker, Target, SYSTEM_HEADER};
use rsbinder::{ExceptionCode, StatusCode};
use std::sync::Arc;

const NO_STRICT_MODE: i32 = 0;
const RESULT_RECEIVER: &str = "com.android.internal.os.IResultReceiver";
/// The only method of that.
const SEND: u32 = 1;

pub struct Manager {
    pub state: State,
    speakers: Speakers,
}

impl Manager {
    pub fn new(device: &str, settings: Settings, policy: Arc<Policy>, port: &mut dyn Port) -> Self {
        Manager {
            speakers: Speakers::new(settings.level),
            state: State::new(device, settings, policy, port),
        }
    }

    /// Answers a transaction. The caller drops the answer if none is expected.
    pub fn answer(&mut self, port: &mut dyn Port, transaction: &Transaction) -> Answer {
        if self.state.settings.is_hidl && hidl::is_hidl(transaction.data) {
            let answer = hidl_methods::answer(&mut self.state, port, transaction);
            if let Answer::Reply(Reply::Status(status)) = answer {
                let why = format!("status {status}: no HIDL call that is known");
                self.state
                    .log_refusal(transaction.caller, transaction.code, &why);
            }
            return answer;
        }
        let mut parcel = Parcel::default();
        match transaction.code {
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                return self.call(port, transaction);
            }
            // Like AOSP's service manager, this one has nothing to say and no commands.
            rsbinder::PING_TRANSACTION | rsbinder::DUMP_TRANSACTION => {}
            rsbinder::INTERFACE_TRANSACTION => drop(parcel.string16(DESCRIPTOR)),
            rsbinder::DEBUG_PID_TRANSACTION => drop(parcel.i32(std::process::id() as i32)),
            rsbinder::EXTENSION_TRANSACTION => {
                parcel.binder(None, self.state.settings.level.stability_form());
            }
            LEVEL_TRANSACTION => match self.registrant(transaction) {
                Some(Speaker { level, header_word }) => {
                    parcel.string16(level.spelling()).i32(header_word);
                }
                None => return StatusCode::NameNotFound.into(),
            },
            rsbinder::SHELL_COMMAND_TRANSACTION => self.refuse_command(port, transaction),
            _ => return StatusCode::UnknownTransaction.into(),
        }
        Reply::Parcel(parcel).into()
    }

    /// Says to the receiver of a shell command's result, the last object of the request, that there
    /// are no commands, as any object of libbinder without them does.
    fn refuse_command(&mut self, port: &mut dyn Port, transaction: &Transaction) {
        let mut reader = Reader::new(transaction.data, transaction.offsets);
        let last = transaction.offsets.last();
        reader.go_to(last.map_or(usize::MAX, |at| usize::try_from(*at).unwrap_or(usize::MAX)));
        if let Ok(Target::Handle(receiver)) = reader.binder(false).map(|binder| binder.target) {
            let speaker = self.speakers.speaker(transaction.caller.pid);
            let mut result = speaker.call(NO_STRICT_MODE, RESULT_RECEIVER);
            result.i32(StatusCode::InvalidOperation.into());
            port.send(receiver, SEND, result);
        }
    }

    /// The process that registered a name; None if the caller may not find it.
    fn registrant(&self, transaction: &Transaction) -> Option<Speaker> {
        let mut reader = Reader::new(transaction.data, transaction.offsets);
        let name = reader.string16().ok()?;
        let (state, caller) = (&self.state, transaction.caller);
        let service = state.registry.service(&name)?;
        let may_find = state.policy.may_find(caller, &name) && state.is_for(caller, service);
        may_find.then_some(service.registrant)
    }

    fn call(&mut self, port: &mut dyn Port, transaction: &Transaction) -> Answer {
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
        let registry = &self.state.registry;
        let watches = |name: &str, handle: u32| registry.watch_levels(name, handle);
        let understood = self
            .speakers
            .understand(caller.pid, &header, (code, &reader), &watches);
        match understood {
            Ok(meaning) => self.execute(port, caller, &header, meaning),
            Err(unclear) => {
                let why = format!("{}; the header is that of {}", unclear.why, header.levels);
                self.state.log_refusal(caller, code, &why);
                match header.word {
                    None => LEGACY_FAILURE.into(),
                    Some(_) => unclear.status.into(),
                }
            }
        }
    }

    fn execute(
        &mut self,
        port: &mut dyn Port,
        caller: Caller,
        header: &Header,
        meaning: Meaning,
    ) -> Answer {
        let level = self.speakers.level(meaning.levels);
        let format = Format {
            is_legacy: header.word.is_none(),
            stability: level.stability_form(),
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
            speaker: Speaker {
                level,
                header_word: header.word.unwrap_or(SYSTEM_HEADER),
            },
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
            format.refusal(&refusal).into()
        })
    }
}
