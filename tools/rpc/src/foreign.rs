// SPDX-License-Identifier: Apache-2.0
//! A service manager of another Android level, as that of a container or an emulator, or of a
//! libbinder whose calls have another header word: rsbinder speaks the newest level and Android's
//! word only.
use crate::dialect::{self, header_word, Dialect};
use crate::status_text::{explain, explain_answer};
use anybinder_cli::error::{Error, Kind};
use anybinder_driver::abi::TYPE_HANDLE;
use anybinder_driver::level::{Level, LEVELS};
use anybinder_driver::parcel::{HEADER_WORDS, SYSTEM_HEADER};
use anybinder_servicemanager::numbering::{self, Method, PART};
use rsbinder::hub::ServiceManager;
use rsbinder::{ExceptionCode, Parcel, ProcessState, SIBinder, StatusCode};
use std::sync::Arc;

const PRIORITY_ALL: i32 = 0x0f;
const PRIORITY_DEFAULT: i32 = 0x08;

/// A name that no service has.
const NO_NAME: &str = "anybinder.probe";

/// A service manager that is not of the newest level, or whose word is another.
pub struct Foreign {
    context: SIBinder,
    pub level: Level,
}

/// A service as such a service manager lists it.
pub struct Listed {
    pub name: String,
    /// None before Android 12, which does not say it.
    pub pid: Option<i32>,
}

type Result<T> = std::result::Result<T, StatusCode>;

/// Calls a method with the header of Android 11 and newer. Returns the exception, and the reply
/// behind it.
fn ask(
    context: &SIBinder,
    word: i32,
    code: u32,
    fill: impl FnOnce(&mut Parcel) -> Result<()>,
) -> Result<(i32, Parcel)> {
    let proxy = context.as_proxy().ok_or(StatusCode::BadType)?;
    let mut request = dialect::request_with(proxy, word)?;
    fill(&mut request)?;
    let reply = proxy.submit_transact(code, &request, 0)?;
    let mut reply = reply.ok_or(StatusCode::UnexpectedNull)?;
    Ok((reply.read_i32()?, reply))
}

/// Calls a method with the word that was found. Returns the reply behind an exception that is none.
fn call(
    context: &SIBinder,
    code: u32,
    fill: impl FnOnce(&mut Parcel) -> Result<()>,
) -> Result<Parcel> {
    match ask(context, header_word(), code, fill)? {
        (0, reply) => Ok(reply),
        _ => Err(StatusCode::PermissionDenied),
    }
}

/// Whether a service manager is of a level, or of a newer one with the same numbering: it answers
/// to the two last methods that take a name alone, if only with an exception. At every older level
/// one of the two codes is another method, which refuses the arguments, or none.
fn is_at(context: &SIBinder, word: i32, level: Level) -> Result<bool> {
    let methods = [
        Method::GetConnectionInfo,
        Method::GetUpdatableNames,
        Method::UpdatableViaApex,
        Method::IsDeclared,
    ];
    let codes = methods
        .into_iter()
        .filter_map(|method| numbering::code(level, method));
    for code in codes.take(2) {
        match ask(context, word, code, |request| request.write(NO_NAME)) {
            Ok(_) => {}
            // The status for a wrong word, or for arguments that are missing.
            Err(StatusCode::BadType) => return Err(StatusCode::BadType),
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// The levels from Android 11 on, the newest first.
fn levels() -> impl Iterator<Item = Level> {
    let levels = LEVELS.into_iter().rev();
    levels.filter(|level| !level.is_legacy())
}

/// The header word and the level of a service manager; None if they are none that is known.
fn identify(context: &SIBinder) -> Option<(i32, Level)> {
    let level_of = |word| levels().find(|level| is_at(context, word, *level) == Ok(true));
    let found = HEADER_WORDS
        .into_iter()
        .find_map(|word| Some((word, level_of(word)?)));
    // A service manager that has little more than a list.
    let by_list = || levels().find(|level| list_at(context, *level).is_ok());
    found.or_else(|| Some((SYSTEM_HEADER, by_list()?)))
}

/// The names and processes in a reply of getServiceDebugInfo.
fn read_debug_info(reply: &mut Parcel) -> Result<Vec<Listed>> {
    let mut services = Vec::new();
    for _ in 0..reply.read_i32()? {
        // Not null, and its size.
        if reply.read_i32()? != 1 {
            return Err(StatusCode::BadValue);
        }
        reply.read_i32()?;
        services.push(Listed {
            name: reply.read()?,
            pid: Some(reply.read_i32()?),
        });
    }
    Ok(services)
}

/// All services with their processes: part after part of the list, at a service manager that knows
/// parts. Another one lists all that it lists each time.
fn debug_info(context: &SIBinder, code: u32) -> Result<Vec<Listed>> {
    let mut all: Vec<Listed> = Vec::new();
    loop {
        let last = all.last().map_or(String::new(), |one| one.name.clone());
        let mut reply = call(context, code, |request| request.write(last.as_str()))?;
        let part = read_debug_info(&mut reply)?;
        let is_last = part.len() < PART;
        if part.iter().any(|one| one.name <= last) {
            return Ok(all);
        }
        all.extend(part);
        if is_last {
            return Ok(all);
        }
    }
}

/// The names of the services that were registered with one of these dump priorities.
fn names_at(context: &SIBinder, level: Level, priorities: i32) -> Result<Vec<String>> {
    let code = numbering::code(level, Method::ListServices).ok_or(StatusCode::BadType)?;
    call(context, code, |request| request.write_i32(priorities))?.read()
}

/// The same of the open device.
///
/// * `foreign`: its service manager, if that is one
pub fn names(foreign: Option<&Foreign>, priorities: i32) -> Result<Vec<String>> {
    let own = ProcessState::as_self().context_object()?;
    let context = foreign.map_or(&own, |foreign| &foreign.context);
    names_at(
        context,
        foreign.map_or_else(Level::default, |foreign| foreign.level),
        priorities,
    )
}

/// The services by the numbering of a level; fails at a service manager of another one.
fn list_at(context: &SIBinder, level: Level) -> Result<Vec<Listed>> {
    if let Some(code) = numbering::code(level, Method::GetServiceDebugInfo) {
        return debug_info(context, code);
    }
    let names = names_at(context, level, PRIORITY_ALL)?;
    let listed = |name| Listed { name, pid: None };
    Ok(names.into_iter().map(listed).collect())
}

/// All services of the open device.
///
/// * `foreign`: its service manager, if that is one
pub fn list(foreign: Option<&Foreign>) -> Result<Vec<Listed>> {
    match foreign {
        Some(foreign) => list_at(&foreign.context, foreign.level),
        None => {
            let newest = levels().next().ok_or(StatusCode::BadType)?;
            list_at(&ProcessState::as_self().context_object()?, newest)
        }
    }
}

impl Foreign {
    /// The service manager of the open device; None if rsbinder speaks as it does, or if it knows
    /// no level from Android 11 on and no word. The word is that of all calls from then on.
    pub fn find() -> Option<Foreign> {
        let context = ProcessState::as_self().context_object().ok()?;
        let (word, level) = identify(&context)?;
        if (word, Some(level)) == (SYSTEM_HEADER, levels().next()) {
            return None;
        }
        dialect::use_for_all(word);
        Some(Foreign { context, level })
    }

    /// What it is, in words.
    pub fn describe(&self) -> String {
        match header_word() {
            SYSTEM_HEADER => self.level.to_string(),
            word => {
                let word = word.to_be_bytes();
                format!(
                    "{}, header word {}",
                    self.level,
                    String::from_utf8_lossy(&word)
                )
            }
        }
    }

    /// Registers a service.
    pub fn add(&self, name: &str, binder: &SIBinder) -> Result<()> {
        let code = numbering::code(self.level, Method::AddService).ok_or(StatusCode::BadType)?;
        call(&self.context, code, |request| {
            request.write(name)?;
            request.write(binder)?;
            Dialect::from(self.level).finish_binder(request)?;
            request.write_i32(0)?;
            request.write_i32(PRIORITY_DEFAULT)
        })?;
        Ok(())
    }

    /// Looks up a service. `getService` has the code 1 and returns a binder at every level; what
    /// follows it differs, and is not read.
    pub fn service(&self, name: &str) -> Result<Option<SIBinder>> {
        let code = numbering::code(self.level, Method::GetService).ok_or(StatusCode::BadType)?;
        let mut reply = call(&self.context, code, |request| request.write(name))?;
        let kind = reply.read_u32()?;
        reply.read_u32()?;
        let handle = reply.read_u32()?;
        if kind != TYPE_HANDLE {
            return Ok(None);
        }
        // The reply keeps the handle until the proxy has a reference.
        ProcessState::as_self()
            .strong_proxy_for_handle(handle)
            .map(Some)
    }
}

/// Under this name nothing is registered.
const NO_SERVICE: &str = "anybinder.no.service";

pub struct Manager {
    own: Arc<ServiceManager>,
    /// If rsbinder does not speak as it does.
    foreign: Option<Foreign>,
}

impl Manager {
    pub fn new(own: Arc<ServiceManager>, foreign: Option<Foreign>) -> Manager {
        Manager { own, foreign }
    }

    /// A service that is registered; None if it is not, or dies while it is looked up.
    pub fn find(&self, name: &str) -> Result<Option<SIBinder>> {
        match self.look_up(name) {
            // The service is dead, not the service manager, if that one answers.
            Err(StatusCode::DeadObject) => self.look_up(NO_SERVICE).map(|_| None),
            outcome => outcome,
        }
    }

    fn look_up(&self, name: &str) -> Result<Option<SIBinder>> {
        match &self.foreign {
            Some(foreign) => foreign.service(name),
            None => self.own.try_get_service(name),
        }
    }

    pub fn add(&self, name: &str, binder: SIBinder) -> anybinder_cli::error::Result<()> {
        let refused =
            |why: String, kind| Error::new(format!("{name} cannot be registered: {why}.")).of(kind);
        match &self.foreign {
            Some(foreign) => foreign.add(name, &binder).map_err(|status| match status {
                StatusCode::PermissionDenied => {
                    refused("the service manager refuses it".to_string(), Kind::Denied)
                }
                other => refused(explain(other), Kind::Failed),
            }),
            None => self.own.add_service(name, binder).map_err(|status| {
                let kind = match status.exception_code() {
                    ExceptionCode::Security => Kind::Denied,
                    _ => Kind::Failed,
                };
                refused(explain_answer(&status), kind)
            }),
        }
    }
}
