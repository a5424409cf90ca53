// SPDX-License-Identifier: Apache-2.0
//! What each method of `android.os.IServiceManager` does.
use super::device_state::{denied, State, PRIORITY_DEFAULT};
use super::listing::{Listing, Wanted};
use super::work::Answer;
use crate::policy::Wish;
use crate::registry::{Callback, Service};
use crate::wire::caller::Caller;
use crate::wire::level::numbering::{Found, Method};
use crate::wire::level::{Access, Arguments, LevelSet};
use crate::wire::notification::Dialect;
use crate::wire::port::Port;
use crate::wire::reply::{Format, FoundService, Refusal, Reply, LEGACY_FAILURE};
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Binder, Speaker, Target};
use rsbinder::{ExceptionCode, StatusCode};
use rsbinder_tools::config::{is_valid_service_name, Declarations};

/// One call whose meaning is known.
pub struct Call {
    pub caller: Caller,
    pub format: Format,
    pub speaker: Speaker,
    pub found: Found,
    pub levels: LevelSet,
    pub method: Method,
}

type Outcome = Result<Answer, Refusal>;

/// All priorities: what a client lists that names none.
const PRIORITY_ALL: i32 = 0x0f;

fn check_name(name: &str) -> Result<(), Refusal> {
    match is_valid_service_name(name) {
        true => Ok(()),
        false => Err(Refusal::new(
            ExceptionCode::IllegalArgument,
            "a service name has 1 to 127 letters, digits, and characters of \"_-./\"",
        )),
    }
}

/// An object that is stable across updates of the vendor's part (VINTF) is registered as what is
/// declared, as on Android, where the manifests tell. Without declarations every name may be.
fn check_declared(
    declarations: &Declarations,
    name: &str,
    stability: Stability,
) -> Result<(), Refusal> {
    let is_free = stability != Stability::VINTF || declarations.is_empty();
    if is_free || declarations.is_declared(name) {
        return Ok(());
    }
    Err(Refusal::new(
        ExceptionCode::IllegalArgument,
        format!("{name} is of VINTF stability and not declared"),
    ))
}

impl Call {
    pub fn run(&self, state: &mut State, port: &mut dyn Port, arguments: Arguments) -> Outcome {
        if state.settings.is_hidl
            && !matches!(
                self.method,
                Method::ListServices | Method::GetServiceDebugInfo
            )
        {
            return Err(Refusal::new(
                ExceptionCode::UnsupportedOperation,
                "this is the service manager of HIDL: AIDL clients may only list its services",
            ));
        }
        match arguments {
            Arguments::Name(name) => self.about_name(state, port, &name),
            Arguments::Add {
                name,
                service,
                allow_isolated,
                priority,
            } => {
                let (target, stability) = self.service(&service);
                let priority = priority.unwrap_or(PRIORITY_DEFAULT);
                let mut service = Service::new(target, stability, self.caller, priority);
                service.allow_isolated = allow_isolated;
                service.registrant = self.speaker;
                self.add(state, port, &name, service)
            }
            Arguments::Priority { index, priority } => {
                self.list(state, index, priority.unwrap_or(PRIORITY_ALL))
            }
            Arguments::NameBinder(name, binder) => self.about_binder(state, port, &name, &binder),
            Arguments::NameBinderBinder(name, service, callback) => {
                self.watch_clients(state, port, &name, &service, &callback)
            }
            Arguments::Access(access) => self.check_access(state, &access),
            Arguments::After { last, restarts } => self.debug_info(state, last, restarts),
        }
    }

    fn service(&self, binder: &Binder) -> (Target, Stability) {
        let stability = binder.stability.map(|(stability, _)| stability);
        (binder.target, stability.unwrap_or(Stability::UNDECLARED))
    }

    fn callback(&self, binder: &Binder) -> Result<Callback, Refusal> {
        let Target::Handle(handle) = binder.target else {
            let why = "the service manager is no callback";
            return Err(Refusal::new(ExceptionCode::IllegalArgument, why));
        };
        // A callback is read as it was written.
        let form = binder
            .stability
            .map_or(StabilityForm::Absent, |(_, form)| form);
        let header_word = self.speaker.header_word;
        let dialect = Dialect::Aidl { header_word, form };
        Ok(Callback::new(handle, dialect, self.levels, self.caller))
    }

    fn done(&self) -> Outcome {
        Ok(Reply::Parcel(self.format.done()).into())
    }

    fn about_name(&self, state: &mut State, port: &mut dyn Port, name: &str) -> Outcome {
        match self.method {
            Method::GetService | Method::GetService2 => {
                let reply = self.find(state, port, name);
                // Only these two start what is declared, as on Android.
                let may_start = state.policy.may_find(self.caller, name);
                if may_start && state.registry.service(name).is_none() {
                    state.policy.start_service(name);
                }
                reply
            }
            Method::CheckService | Method::CheckService2 => self.find(state, port, name),
            _ => self.about_declared(state, name),
        }
    }

    /// A lookup that is denied finds nothing, as on Android.
    fn find(&self, state: &mut State, port: &mut dyn Port, name: &str) -> Outcome {
        let may_find = state.policy.may_find(self.caller, name)
            && state
                .registry
                .service(name)
                .is_some_and(|service| state.is_for(self.caller, service));
        let found = match may_find {
            true => state.registry.find(port, name),
            false => self.find_accessor(state, name),
        };
        Ok(self.format.found(self.found, found.as_ref()).into())
    }

    /// A name that is not registered itself, but has an accessor. Its owner must be one who may add
    /// the name.
    fn find_accessor(&self, state: &State, name: &str) -> Option<FoundService> {
        let (registry, policy) = (&state.registry, &state.policy);
        if registry.service(name).is_some() || !policy.may_find(self.caller, name) {
            return None;
        }
        let accessor = registry.accessor(name)?;
        let may_stand = state.is_for(self.caller, accessor) && policy.may_add(accessor.owner, name);
        may_stand.then_some(FoundService {
            binder: None,
            is_lazy: false,
            accessor: Some((accessor.target, accessor.stability)),
        })
    }

    fn about_declared(&self, state: &State, name: &str) -> Outcome {
        let config = state.policy.declarations();
        let declarations = &config.declarations;
        let mut reply = self.format.done();
        if self.method == Method::GetDeclaredInstances {
            // `list --declared` asks for those of all interfaces, which the empty name stands for.
            let (all, start) = match name {
                "" => (state.policy.declared(), String::new()),
                name => (declarations.instances_of(name), format!("{name}/")),
            };
            let may_find = |instance: &&String| {
                let full = format!("{start}{instance}");
                state.policy.may_find(self.caller, &full)
            };
            let found: Vec<&str> = all.iter().filter(may_find).map(String::as_str).collect();
            if found.is_empty() && !all.is_empty() {
                return Err(denied("find", name));
            }
            reply.strings16(found.into_iter());
            return Ok(Reply::Parcel(reply).into());
        }
        // The argument of getUpdatableNames is no service.
        let is_service = self.method != Method::GetUpdatableNames;
        if is_service && !state.policy.may_find(self.caller, name) {
            return Err(denied("find", name));
        }
        match self.method {
            Method::IsDeclared => reply.i32(declarations.is_declared(name).into()),
            // There are no APEX packages outside of Android.
            Method::UpdatableViaApex => reply.nullable_string16(None),
            Method::GetUpdatableNames => reply.strings16(std::iter::empty()),
            Method::GetConnectionInfo => match declarations.connection_info(name) {
                Some(info) => reply.sized(|parcel| {
                    parcel.string16(&info.ip).i32(info.port);
                }),
                None => reply.i32(0),
            },
            _ => return Ok(StatusCode::UnknownTransaction.into()),
        };
        Ok(Reply::Parcel(reply).into())
    }

    fn add(&self, state: &mut State, port: &mut dyn Port, name: &str, service: Service) -> Outcome {
        if !state.policy.may_add(self.caller, name) {
            return Err(denied("add", name));
        }
        check_name(name)?;
        let config = state.policy.declarations();
        check_declared(&config.declarations, name, service.stability)?;
        state.registry.add(port, name, service)?;
        self.done()
    }

    fn list(&self, state: &mut State, index: Option<i32>, priority: i32) -> Outcome {
        if !state.policy.may_list(self.caller) {
            return Err(denied("list", "the services"));
        }
        let Some(index) = index else {
            let format = self.format;
            let wanted = Wanted::Names { format, priority };
            return Ok(Listing::new(self.caller, wanted).begin(state).into());
        };
        // Before Android 11 each call returns one name, and fails behind the last.
        let Ok(index) = usize::try_from(index) else {
            return Ok(LEGACY_FAILURE.into());
        };
        let listing = Listing::name_at(state, self.caller, index, priority);
        Ok(listing.begin(state).into())
    }

    fn about_binder(
        &self,
        state: &mut State,
        port: &mut dyn Port,
        name: &str,
        binder: &Binder,
    ) -> Outcome {
        if self.method == Method::TryUnregisterService {
            if !state.policy.may_add(self.caller, name) {
                return Err(denied("add", name));
            }
            state
                .registry
                .try_unregister(port, self.caller, name, binder.target)?;
            return self.done();
        }
        if !state.policy.may_find(self.caller, name) {
            return Err(denied("find", name));
        }
        check_name(name)?;
        let callback = self.callback(binder)?;
        match self.method {
            Method::RegisterForNotifications => state.registry.watch(port, name, callback)?,
            _ => state.registry.unwatch(port, name, callback.handle)?,
        }
        self.done()
    }

    fn watch_clients(
        &self,
        state: &mut State,
        port: &mut dyn Port,
        name: &str,
        service: &Binder,
        callback: &Binder,
    ) -> Outcome {
        if !state.policy.may_add(self.caller, name) {
            return Err(denied("add", name));
        }
        let callback = self.callback(callback)?;
        state
            .registry
            .watch_clients(port, name, service.target, callback)?;
        self.done()
    }

    /// Whether another user, or one in another context, has a right that the caller has itself.
    /// As on Android the answer is never no: what is not allowed is refused.
    fn check_access(&self, state: &State, access: &Access) -> Outcome {
        let Access {
            sid,
            uid,
            name,
            permission,
        } = access;
        if [sid, name, permission].iter().any(|text| text.is_empty()) {
            let why = "the security context, the name or the permission is empty";
            return Err(Refusal::new(ExceptionCode::Security, why));
        }
        let wish = match permission.as_str() {
            "find" => Wish::Find(name),
            "add" => Wish::Add(name),
            "list" => Wish::List,
            _ => {
                let why = "a permission is find, add or list";
                return Err(Refusal::new(ExceptionCode::IllegalArgument, why));
            }
        };
        if !state.policy.allows(self.caller, wish) {
            return Err(denied(permission, name));
        }
        if !state.policy.allows_other(*uid, sid, wish) {
            let why =
                format!("the rules do not let user {uid} in the context {sid} {permission} {name}");
            return Err(Refusal::new(ExceptionCode::Security, why));
        }
        let mut reply = self.format.done();
        reply.i32(1);
        Ok(Reply::Parcel(reply).into())
    }

    fn debug_info(&self, state: &mut State, last: Option<String>, restarts: bool) -> Outcome {
        if !state.policy.may_list(self.caller) {
            return Err(denied("list", "the services"));
        }
        let format = self.format;
        let mut listing = Listing::new(self.caller, Wanted::DebugInfo { format, restarts });
        if let Some(last) = last {
            listing = listing.part_after(last);
        }
        Ok(listing.begin(state).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsbinder_tools::config::{Declaration, InstanceName};

    #[test]
    fn an_object_of_vintf_stability_is_added_as_what_is_declared() {
        let name = "a.IDeclared/default";
        let mut declarations = Declarations::default();
        assert_eq!(
            check_declared(&declarations, name, Stability::VINTF),
            Ok(())
        );
        let declaration = Declaration {
            name: InstanceName::parse(name).unwrap(),
            activation: None,
            connection: None,
        };
        declarations.insert(name.to_string(), declaration);
        assert_eq!(
            check_declared(&declarations, name, Stability::VINTF),
            Ok(())
        );
        let other = "a.IOther/default";
        assert!(check_declared(&declarations, other, Stability::VINTF).is_err());
        assert_eq!(
            check_declared(&declarations, other, Stability::SYSTEM),
            Ok(())
        );
    }
}
