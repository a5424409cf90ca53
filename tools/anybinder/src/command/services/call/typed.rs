// SPDX-License-Identifier: Apache-2.0
//! A call by `.aidl` files: the method's name, its arguments and its reply have their types.
use super::callback::{Calls, Received};
use super::reply_objects::{is_stdout, name_binders, save_files};
use super::request::{called_as, exception_error, Arguments, Call, ObjectArgument};
use super::untyped::code_of;
use crate::command::observing::system::methods;
use crate::command::services::interface_files::{interface, say_doubts, say_version, signature};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device;
use anybinder_client::objects::name_files;
use anybinder_driver::level::Level;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Format, Parcel};
use anybinder_parcel::method;
use anybinder_parcel::status::Exception;
use anybinder_parcel::types::Kind as ValueKind;
use anybinder_parcel::words::argument_value;
use anybinder_rpc::relay::descriptor_of;
use rsbinder::{ProcessState, SIBinder};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};

/// The name under which a service manager registers itself.
const MANAGER: &str = "manager";

#[derive(Serialize)]
struct Answer {
    result: Value,
    /// The arguments that the service wrote.
    out: Map<String, Value>,
    /// The calls of new objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Received>,
}

impl Answer {
    fn nothing() -> Answer {
        Answer {
            result: Value::Null,
            out: Map::new(),
            calls: Vec::new(),
        }
    }

    fn values(&mut self) -> impl Iterator<Item = &mut Value> {
        std::iter::once(&mut self.result).chain(self.out.values_mut())
    }

    /// Copies the contents of the files in it.
    fn save_files(&mut self, path: &Path) -> Result<()> {
        let mut all: Value = self.values().map(|value| value.clone()).collect();
        save_files(&mut all, path)?;
        let saved = all.as_array().into_iter().flatten();
        self.values()
            .zip(saved)
            .for_each(|(one, value)| *one = value.clone());
        Ok(())
    }
}

/// The method with a name, and what there is if there is none.
pub fn method_named(library: &Library, entry: &Entry, name: &str) -> Result<Called> {
    let methods = library.methods(entry).unwrap_or_default();
    let names: Vec<String> = methods.iter().map(|one| one.method.name.clone()).collect();
    let found = methods.into_iter().find(|one| one.method.name == name);
    found.ok_or_else(|| {
        let what = format!("{} has no method {name}.", entry.name);
        Error::with_advice(what, format!("It has: {}.", names.join(", "))).of(Kind::Usage)
    })
}

/// Writes the arguments of a method.
pub fn write(
    library: &Library,
    entry: &Entry,
    called: &Called,
    (words, format): (&[String], Format),
) -> Result<Parcel> {
    let mut rest = words.iter();
    let mut given = Map::new();
    for argument in called.taken() {
        let name = &argument.name;
        let bad = |err: String| Error::usage(format!("{name}: {err}."));
        let kind = library.kind_of(entry, &argument.kind).map_err(bad)?;
        let word = rest.next().ok_or_else(|| {
            Error::usage(format!(
                "The argument {name} is missing: {} is needed.",
                signature(called)
            ))
        })?;
        if word == "new" && library.resolve(entry, &argument.kind.path).is_none() {
            if let ValueKind::Binder = kind.kind {
                return Err(bad("new needs an interface".to_string()));
            }
        }
        given.insert(name.clone(), argument_value(&kind, word).map_err(bad)?);
    }
    if let Some(word) = rest.next() {
        return Err(Error::usage(format!(
            "The argument {word} is too many: {} is needed.",
            signature(called)
        )));
    }
    method::request((library, entry), called, &given, format)
        .map_err(|misfit| Error::usage(format!("{}: {}.", misfit.path, misfit.what)))
}

/// The arguments that are objects, for messages.
fn object_arguments(
    library: &Library,
    entry: &Entry,
    called: &Called,
    words: &[String],
) -> Vec<ObjectArgument> {
    let objects = called.taken().zip(words).filter(|(argument, _)| {
        let kind = library.kind_of(entry, &argument.kind);
        kind.is_ok_and(|kind| {
            kind.dimensions.is_empty()
                && matches!(kind.kind, ValueKind::Binder)
                && !kind.is_nullable
        })
    });
    let made = objects.map(|(argument, word)| ObjectArgument {
        name: argument.name.clone(),
        service: (word != "null").then(|| word.clone()),
        interface: library
            .resolve(entry, &argument.kind.path)
            .map(|found| found.descriptor().to_string()),
    });
    made.collect()
}

fn read(
    library: &Library,
    entry: &Entry,
    called: &Called,
    (data, format): (&[u8], Format),
) -> std::result::Result<std::result::Result<Answer, Exception>, String> {
    let mut decoder = Decoder::new(data, Some(library));
    decoder.format = format;
    let read = method::answer(library, entry, called, &mut decoder)?;
    Ok(read.map(|read| {
        let mut answer = Answer {
            result: read.result.unwrap_or_default(),
            out: read.out,
            calls: Vec::new(),
        };
        for value in answer.values() {
            name_files(value);
            name_binders(value);
        }
        answer
    }))
}

fn print(answer: &Answer, is_void: bool) {
    if !is_void {
        say(&answer.result);
    }
    for (name, value) in &answer.out {
        say(format_args!("{name} = {value}"));
    }
}

/// The interface of the service, by the name that the service or the command line gives.
fn declaration(library: &Library, arguments: &Arguments, service: &SIBinder) -> Result<Arc<Entry>> {
    let descriptor = descriptor_of(service)
        .map_err(|err| device::call_error(&format!("{} does not answer", arguments.name), err))?;
    let name = arguments.interface.as_deref().unwrap_or(&descriptor);
    let entry = interface(library, name, &descriptor)?;
    say_version(&entry, service, device::speaker_of(&arguments.name).into());
    Ok(entry)
}

/// Whether a call is by types: by `.aidl` files, or one of the service manager by a name. Those of
/// the environment are only for methods that are named.
pub fn is_typed(arguments: &Arguments) -> bool {
    let is_named = code_of(&arguments.method).is_err();
    let is_untyped = arguments.reply.is_some() || arguments.no_header || !is_named;
    let is_known = arguments.name == MANAGER || !arguments.aidl.or_environment().paths.is_empty();
    !arguments.aidl.paths.is_empty() || (is_known && !is_untyped)
}

/// The method with a name or a code; one of the service manager by the numbering of its level.
fn wanted(library: &Library, entry: &Entry, arguments: &Arguments) -> Result<Called> {
    if let Ok(code) = code_of(&arguments.method) {
        let methods = library.methods(entry).unwrap_or_default();
        if let Some(called) = methods.into_iter().find(|one| one.code == code) {
            return Ok(called);
        }
    }
    let called = method_named(library, entry, &arguments.method)?;
    if !arguments.aidl.or_environment().paths.is_empty() {
        return Ok(called);
    }
    let level = device::foreign().map_or_else(Level::default, |foreign| foreign.level);
    let code = methods::manager_code(level, &arguments.method).ok_or_else(|| {
        let what = format!("A service manager of {level} has no {}.", arguments.method);
        Error::new(what).of(Kind::CallFailed)
    })?;
    Ok(Called { code, ..called })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let library = methods::library(&arguments.aidl)?;
    let library = library.unwrap_or_else(Library::of_service_manager);
    let name = &arguments.name;
    let device = &arguments.device.device;
    // A thread for calls of new objects.
    device::open(&context.mount, device, 1)?;
    let service = device::look_up(&context.mount, device, name)?;
    ProcessState::start_thread_pool();
    let entry = declaration(&library, arguments, &service)?;
    let called = wanted(&library, &entry, arguments)?;
    let (speaker, format) = arguments.format(&service)?;
    let parcel = write(&library, &entry, &called, (&arguments.arguments, format))?;
    let is_oneway = arguments.oneway || called.method.is_oneway;
    let call = Call {
        service,
        speaker,
        code: called.code,
        flags: if is_oneway { rsbinder::FLAG_ONEWAY } else { 0 },
        parcel,
        has_header: true,
        objects: object_arguments(&library, &entry, &called, &arguments.arguments),
        calls: context.json.then(Calls::default),
    };
    let reply = call.send(context, arguments)?;
    let mut answer = match is_oneway {
        true => Answer::nothing(),
        false => match read(&library, &entry, &called, (&reply.data, format)) {
            Ok(Ok(answer)) => answer,
            Ok(Err(exception)) => return Err(exception_error(name, &exception)),
            Err(err) => {
                return Err(Error::with_advice(
                    format!(
                        "The reply does not fit {} of {}: {err}.",
                        called.method.name, entry.name
                    ),
                    format!(
                        "The .aidl files may be of another version than the service. {}",
                        called_as(name, speaker.level)
                    ),
                )
                .of(Kind::CallFailed));
            }
        },
    };
    say_doubts(&library);
    let is_void = is_oneway || called.method.result.path == "void";
    if let Some(path) = &arguments.save {
        answer.save_files(path)?;
    }
    let listen = || std::thread::sleep(arguments.listen.unwrap_or_default());
    if let Some(calls) = &call.calls {
        listen();
        let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        answer.calls.append(&mut calls);
    }
    if !is_stdout(arguments.save.as_deref()) {
        context.show(&answer, |answer| print(answer, is_void));
    }
    if call.calls.is_none() {
        listen();
    }
    Ok(ExitCode::SUCCESS)
}
