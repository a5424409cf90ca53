// SPDX-License-Identifier: Apache-2.0
//! What each method of `android.hidl.manager::IServiceManager` does.
use super::device_state::{denied, State, PRIORITY_DEFAULT};
use super::listing::{Listing, Wanted};
use super::work::{Answer, PendingAdd, Work};
use crate::registry::{users, Callback, Removal, Service};
use crate::wire::caller::{Caller, Transaction};
use crate::wire::hidl::interface::{Method, MAX_CHAIN, METHODS};
use crate::wire::hidl::names::{full, is_instance, is_interface, BASE, CHAIN};
use crate::wire::hidl::{base, done, strings};
use crate::wire::level::LevelSet;
use crate::wire::notification::Dialect;
use crate::wire::port::Port;
use crate::wire::reply::{Refusal, Reply};
use anybinder_driver::hidl_parcel::Reader;
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Binder, Parcel, Result, Target};
use rsbinder::{ExceptionCode, StatusCode};

/// `IServiceManager::Transport`. There is no manifest, so that every name counts as declared: a
/// service of libhidl registers only as what is, and a client waits only for what is. Passthrough
/// services, libraries in the process of their client, are none of ours.
const TRANSPORT_EMPTY: u8 = 0;
const TRANSPORT_HWBINDER: u8 = 1;

/// One call.
struct Call<'a> {
    state: &'a mut State,
    port: &'a mut dyn Port,
    caller: Caller,
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(ExceptionCode::IllegalArgument, message)
}

fn check_names(interface: &str, instance: &str) -> std::result::Result<(), Refusal> {
    match is_interface(interface) && is_instance(instance) {
        true => Ok(()),
        false => Err(invalid(
            "an interface has 1 to 127 letters, digits, and characters of \"._@:-\", an instance 1 \
             to 127 characters without spaces",
        )),
    }
}

/// Says why a call was answered with "no", which has no reason in it.
fn log(state: &mut State, caller: Caller, method: Method, refusal: &Refusal) {
    let why = format!("{method:?}: {}", refusal.message);
    state.log_refusal(caller, 0, &why);
}

/// The reply once callbacks were removed: whether there were any.
pub fn removal_done(removal: &Removal) -> Reply {
    done(removal.has_found)
}

/// The binder of a request where null is an answer by itself: no.
fn needed(binder: Option<Binder>) -> std::result::Result<Target, Refusal> {
    binder
        .map(|binder| binder.target)
        .ok_or_else(|| invalid("the interface is null"))
}

/// Answers a request of HIDL.
pub fn answer(state: &mut State, port: &mut dyn Port, transaction: &Transaction) -> Answer {
    let memory = transaction.memory;
    let mut reader = Reader::new(transaction.data, transaction.offsets, memory);
    let outcome = match reader.interface() {
        Ok(BASE) => base(transaction.code).map(Answer::from),
        Ok(interface) if CHAIN.contains(&interface) => {
            let number = (transaction.code as usize).wrapping_sub(1);
            match METHODS.get(number) {
                Some(method) => run(state, port, transaction, *method, &mut reader),
                None => Err(StatusCode::UnknownTransaction),
            }
        }
        Ok(_) => Err(StatusCode::BadType),
        Err(status) => Err(status),
    };
    outcome.unwrap_or_else(Answer::from)
}

fn run(
    state: &mut State,
    port: &mut dyn Port,
    transaction: &Transaction,
    method: Method,
    reader: &mut Reader,
) -> Result<Answer> {
    let mut caller = transaction.caller;
    if !method.is_question() {
        caller.charged = users::charged(caller.pid, caller.uid);
    }
    let outcome = {
        let mut call = Call {
            state,
            port,
            caller,
        };
        match method {
            Method::Get | Method::GetTransport => {
                let (interface, instance) = (reader.string()?, reader.string()?);
                let name = full(&interface, &instance);
                Ok(match method {
                    Method::Get => call.get(&name).into(),
                    _ => call.transport(&interface, &instance).into(),
                })
            }
            Method::Add => call.add(reader.string()?, reader.binder()?),
            Method::AddWithChain => {
                let (instance, service) = (reader.string()?, reader.binder()?);
                let chain = reader.strings(MAX_CHAIN)?;
                needed(service)
                    .and_then(|target| call.add_as(&instance, target, &chain))
                    .map(|()| done(true).into())
            }
            Method::List | Method::DebugDump => Ok(call.list(method)),
            Method::ListByInterface | Method::ListManifestByInterface => {
                Ok(call.instances(&reader.string()?))
            }
            Method::RegisterForNotifications | Method::UnregisterForNotifications => {
                let (interface, instance) = (reader.string()?, reader.string()?);
                let callback = needed(reader.binder()?);
                callback.and_then(|callback| match method {
                    Method::RegisterForNotifications => call.watch(&interface, &instance, callback),
                    _ => Ok(call.unwatch(&interface, &instance, callback)),
                })
            }
            Method::RegisterClientCallback => {
                let (interface, instance) = (reader.string()?, reader.string()?);
                let (service, callback) = (reader.binder()?, reader.binder()?);
                call.watch_clients(&full(&interface, &instance), service, callback)
            }
            Method::UnregisterClientCallback => {
                let (service, callback) = (reader.binder()?, reader.binder()?);
                call.unwatch_clients(service, callback)
            }
            Method::TryUnregister => {
                let (interface, instance) = (reader.string()?, reader.string()?);
                call.try_unregister(&interface, &instance, reader.binder()?)
            }
            // A passthrough client would only be written to the dump, which has no clients here.
            Method::RegisterPassthroughClient => return Err(StatusCode::UnknownTransaction),
        }
    };
    Ok(outcome.unwrap_or_else(|refusal| {
        log(state, caller, method, &refusal);
        done(false).into()
    }))
}

type Outcome = std::result::Result<Answer, Refusal>;

impl Call<'_> {
    /// The service; null if there is none or a rule denies it, as on Android.
    fn get(&mut self, name: &str) -> Reply {
        let found = match self.state.policy.may_find(self.caller, name) {
            true => self.state.registry.find(self.port, name),
            false => None,
        };
        let target = found.and_then(|found| found.binder);
        let binder = target.map(|(target, _)| (target, Stability::UNDECLARED));
        let mut reply = Parcel::hidl_reply();
        reply.binder(binder, StabilityForm::Absent);
        Reply::Parcel(reply)
    }

    fn transport(&self, interface: &str, instance: &str) -> Reply {
        let policy = &self.state.policy;
        let name = full(interface, instance);
        let is_known = check_names(interface, instance).is_ok()
            && (policy.may_find(self.caller, &name) || policy.may_add(self.caller, &name));
        let mut reply = Parcel::hidl_reply();
        reply.hidl_byte(match is_known {
            true => TRANSPORT_HWBINDER,
            false => TRANSPORT_EMPTY,
        });
        Reply::Parcel(reply)
    }

    /// A service of version 1.0 of the interface does not say what it is.
    fn add(&mut self, instance: String, service: Option<Binder>) -> Outcome {
        match needed(service)? {
            Target::Own => Err(invalid("the service manager is registered already")),
            Target::Handle(handle) => {
                check_names(BASE, &instance)?;
                Ok(Answer::Work(Work::AskChain(PendingAdd {
                    caller: self.caller,
                    instance,
                    handle,
                })))
            }
        }
    }

    fn add_as(
        &mut self,
        instance: &str,
        target: Target,
        chain: &[String],
    ) -> std::result::Result<(), Refusal> {
        if target == Target::Own {
            return Err(invalid("the service manager is registered already"));
        }
        if chain.is_empty() {
            return Err(invalid("the service has no interface"));
        }
        for interface in chain {
            check_names(interface, instance)?;
            let name = full(interface, instance);
            // Every service is a base, so that no rule can have it as its subject.
            let is_subject = interface != BASE || chain.iter().all(|one| one == BASE);
            if is_subject && !self.state.policy.may_add(self.caller, &name) {
                return Err(denied("add", &name));
            }
        }
        let owner = self.caller;
        let service = || Service::new(target, Stability::UNDECLARED, owner, PRIORITY_DEFAULT);
        let registry = &mut self.state.registry;
        registry.add_chain(self.port, instance, chain, service)
    }

    fn list(&mut self, method: Method) -> Answer {
        if !self.state.policy.may_list(self.caller) {
            return strings(&[]).into();
        }
        let wanted = match method {
            Method::List => Wanted::HidlNames,
            _ => Wanted::HidlDebugInfo,
        };
        Listing::new(self.caller, wanted).begin(self.state).into()
    }

    fn instances(&mut self, interface: &str) -> Answer {
        let wanted = Wanted::HidlInstances(full(interface, ""));
        Listing::new(self.caller, wanted).begin(self.state).into()
    }

    fn callback(&self, target: Target) -> std::result::Result<Callback, Refusal> {
        match target {
            Target::Handle(handle) => {
                let levels = LevelSet::default();
                Ok(Callback::new(handle, Dialect::Hidl, levels, self.caller))
            }
            Target::Own => Err(invalid("the service manager is no callback")),
        }
    }

    /// An empty instance stands for all.
    fn watch(&mut self, interface: &str, instance: &str, callback: Target) -> Outcome {
        let is_any = instance.is_empty();
        check_names(interface, if is_any { "any" } else { instance })?;
        let name = full(interface, instance);
        if !self.state.policy.may_find(self.caller, &name) {
            return Err(denied("find", &name));
        }
        let callback = self.callback(callback)?;
        self.state.registry.watch(self.port, &name, callback)?;
        Ok(done(true).into())
    }

    /// An empty interface or instance stands for all.
    fn unwatch(&mut self, interface: &str, instance: &str, callback: Target) -> Answer {
        let Target::Handle(handle) = callback else {
            return done(false).into();
        };
        let registry = &mut self.state.registry;
        if !interface.is_empty() && !instance.is_empty() {
            let name = full(interface, instance);
            return done(registry.remove_watch(self.port, &name, handle)).into();
        }
        let prefix = match interface.is_empty() {
            true => String::new(),
            false => full(interface, ""),
        };
        self.remove(Removal::of_watch(self.caller, handle, prefix))
    }

    /// Removes callbacks, at once if that is short work.
    fn remove(&mut self, mut removal: Removal) -> Answer {
        match self.state.registry.remove_some(&mut removal, self.port) {
            true => Answer::Work(Work::Remove(Box::new(removal))),
            false => removal_done(&removal).into(),
        }
    }

    fn watch_clients(
        &mut self,
        name: &str,
        service: Option<Binder>,
        callback: Option<Binder>,
    ) -> Outcome {
        let (service, callback) = (needed(service)?, needed(callback)?);
        if !self.state.policy.may_add(self.caller, name) {
            return Err(denied("add", name));
        }
        let callback = self.callback(callback)?;
        let registry = &mut self.state.registry;
        registry.watch_clients(self.port, name, service, callback)?;
        Ok(done(true).into())
    }

    /// No service stands for all.
    fn unwatch_clients(&mut self, service: Option<Binder>, callback: Option<Binder>) -> Outcome {
        let Target::Handle(handle) = needed(callback)? else {
            return Ok(done(false).into());
        };
        let target = service.map(|binder| binder.target);
        Ok(self.remove(Removal::of_clients(self.caller, handle, target)))
    }

    fn try_unregister(
        &mut self,
        interface: &str,
        instance: &str,
        service: Option<Binder>,
    ) -> Outcome {
        let target = needed(service)?;
        let name = full(interface, instance);
        if !self.state.policy.may_add(self.caller, &name) {
            return Err(denied("add", &name));
        }
        let registry = &mut self.state.registry;
        registry.try_unregister(self.port, self.caller, &name, target)?;
        registry.remove_client_callbacks(self.port, &name);
        // The interfaces that it extends.
        registry.remove_instance(self.port, self.caller, target, instance);
        Ok(done(true).into())
    }
}

/// Adds a service that has told its interfaces, or was asked and has not (None).
pub fn add_with_chain(
    state: &mut State,
    port: &mut dyn Port,
    pending: &PendingAdd,
    chain: Option<&[String]>,
) -> Reply {
    let caller = pending.caller;
    let mut call = Call {
        state,
        port,
        caller,
    };
    let outcome = match chain {
        Some(chain) => call.add_as(&pending.instance, Target::Handle(pending.handle), chain),
        None => Err(invalid("the service does not tell its interfaces")),
    };
    if let Err(refusal) = &outcome {
        log(state, caller, Method::Add, refusal);
    }
    done(outcome.is_ok())
}

/// Refuses a service that cannot be asked for its interfaces.
pub fn refuse_add(state: &mut State, pending: &PendingAdd, why: &str) -> Reply {
    let refusal = Refusal::new(ExceptionCode::IllegalState, why);
    log(state, pending.caller, Method::Add, &refusal);
    done(false)
}
