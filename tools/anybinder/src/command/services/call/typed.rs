// SPDX-License-Identifier: Apache-2.0
//! A call by `.aidl` files: the method's name, its arguments and its reply have their types.
use super::request::{exception_error, name_files, usage, Arguments, Call, ObjectArgument};
use anybinder_client::device;
use anybinder_client::raw::is_rpc;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result};
use anybinder_mount::harmless::say;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::syntax::{Body, Direction};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Encoder, Parcel};
use anybinder_parcel::method;
use anybinder_parcel::status::Exception;
use anybinder_parcel::types::{Kind as ValueKind, Type};
use anybinder_rpc::relay::descriptor_of;
use rsbinder::SIBinder;
use serde::Serialize;
use serde_json::{Map, Value};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Serialize)]
struct Answer {
    result: Value,
    /// The arguments that the service wrote.
    out: Map<String, Value>,
}

/// Opens the `.aidl` files.
pub fn open(roots: &[std::path::PathBuf]) -> Result<Library> {
    Library::open(roots).map_err(|err| {
        Error::with_advice(
            format!("The .aidl files cannot be used: {err}."),
            "Give --aidl a directory with .aidl files.",
        )
    })
}

/// The declaration of an interface.
pub fn interface(library: &Library, name: &str, descriptor: &str) -> Result<Arc<Entry>> {
    let found = library.find(name);
    let broken = library.broken();
    let Some(entry) = found else {
        let advice = match broken.is_empty() {
            true => "Give --aidl the directory where it is declared, or choose with --interface."
                .to_string(),
            false => broken.join("\n  "),
        };
        let what = format!("No .aidl file declares the interface {name} of the service.");
        return Err(Error::with_advice(what, advice));
    };
    if entry.descriptor() != descriptor {
        return Err(Error::with_advice(
            format!(
                "The .aidl file does not fit the service: it declares {}, and the interface of the \
                 service is {descriptor}.",
                entry.descriptor()
            ),
            "Give --aidl the directory where that is declared.",
        ));
    }
    Ok(entry)
}

/// The method with a name, and what there is if there is none.
fn method_named(library: &Library, entry: &Entry, name: &str) -> Result<Called> {
    let methods = library.methods(entry).unwrap_or_default();
    let names: Vec<String> = methods.iter().map(|one| one.method.name.clone()).collect();
    let found = methods.into_iter().find(|one| one.method.name == name);
    found.ok_or_else(|| {
        let what = format!("{} has no method {name}.", entry.name);
        Error::with_advice(what, format!("It has: {}.", names.join(", "))).of(Kind::Usage)
    })
}

/// A word of the command line as JSON: only what has parts is written as JSON.
fn word_value(kind: &Type, word: &str) -> Value {
    let json = || serde_json::from_str(word).unwrap_or_else(|_| Value::from(word));
    let is_binder = matches!(kind.kind, ValueKind::Binder);
    if word == "null" && (kind.is_nullable || is_binder) {
        return Value::Null;
    }
    if !kind.dimensions.is_empty() {
        return match json() {
            Value::String(text) if !matches!(kind.kind, ValueKind::Byte) => {
                text.split(',').map(str::trim).map(Value::from).collect()
            }
            number @ Value::Number(_) => Value::Array(vec![number]),
            value => value,
        };
    }
    match &kind.kind {
        ValueKind::Declared(entry) if !matches!(entry.declaration.body, Body::Enum { .. }) => {
            json()
        }
        ValueKind::String16 if word.starts_with('"') => json(),
        _ => Value::from(word),
    }
}

/// What a method takes, for messages.
pub fn signature(called: &Called) -> String {
    let arguments = called.method.arguments.iter();
    let arguments: Vec<String> = arguments
        .filter(|one| one.direction != Direction::Out)
        .map(|one| {
            let dimensions = "[]".repeat(one.kind.dimensions.len());
            format!("{}{dimensions} {}", one.kind.path, one.name)
        })
        .collect();
    format!("{}({})", called.method.name, arguments.join(", "))
}

/// Writes the arguments of a method.
fn write(
    library: &Library,
    entry: &Entry,
    called: &Called,
    (words, is_rpc): (&[String], bool),
) -> Result<Parcel> {
    let mut encoder = Encoder {
        parcel: Parcel {
            is_rpc,
            ..Parcel::default()
        },
        library: Some(library),
    };
    let mut rest = words.iter();
    for argument in &called.method.arguments {
        let bad = |err: String| usage(format!("{}: {err}.", argument.name));
        let kind = library.kind_of(entry, &argument.kind).map_err(bad)?;
        if argument.direction == Direction::Out {
            // The service makes an array of this length.
            if let Some(None) = kind.dimensions.first() {
                encoder.parcel.word(0);
            }
            continue;
        }
        let word = rest.next().ok_or_else(|| {
            usage(format!(
                "The argument {} is missing: {} is needed.",
                argument.name,
                signature(called)
            ))
        })?;
        let value = word_value(&kind, word);
        encoder.value(&kind, &value, 0).map_err(bad)?;
    }
    match rest.next() {
        None => Ok(encoder.parcel),
        Some(word) => Err(usage(format!(
            "The argument {word} is too many: {} is needed.",
            signature(called)
        ))),
    }
}

/// The arguments that are objects, for messages.
fn object_arguments(
    library: &Library,
    entry: &Entry,
    called: &Called,
    words: &[String],
) -> Vec<ObjectArgument> {
    let taken = called.method.arguments.iter();
    let taken = taken.filter(|one| one.direction != Direction::Out);
    let objects = taken.zip(words).filter(|(argument, _)| {
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
    (data, is_rpc): (&[u8], bool),
) -> std::result::Result<std::result::Result<Answer, Exception>, String> {
    let mut decoder = Decoder::new(data, Some(library));
    decoder.is_rpc = is_rpc;
    let read = method::answer(library, entry, called, &mut decoder)?;
    Ok(read.map(|read| {
        let mut answer = Answer {
            result: read.result.unwrap_or_default(),
            out: read.out,
        };
        name_files(&mut answer.result);
        answer.out.values_mut().for_each(name_files);
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
    interface(library, name, &descriptor)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let library = open(&arguments.aidl)?;
    let name = &arguments.name;
    let service = device::find(&context.mount, &arguments.device.device, name)?;
    let entry = declaration(&library, arguments, &service)?;
    let called = method_named(&library, &entry, &arguments.method)?;
    let is_rpc = is_rpc(&service);
    let parcel = write(&library, &entry, &called, (&arguments.arguments, is_rpc))?;
    let is_oneway = arguments.oneway || called.method.is_oneway;
    let call = Call {
        service,
        code: called.code,
        flags: if is_oneway { rsbinder::FLAG_ONEWAY } else { 0 },
        parcel,
        has_header: true,
        objects: object_arguments(&library, &entry, &called, &arguments.arguments),
    };
    let reply = call.send(context, arguments)?;
    let answer = match is_oneway {
        true => Answer {
            result: Value::Null,
            out: Map::new(),
        },
        false => match read(&library, &entry, &called, (&reply.data, is_rpc)) {
            Ok(Ok(answer)) => answer,
            Ok(Err(exception)) => return Err(exception_error(name, &exception)),
            Err(err) => {
                return Err(Error::with_advice(
                    format!(
                        "The reply does not fit {} of {}: {err}.",
                        called.method.name, entry.name
                    ),
                    "The .aidl files may be of another version than the service.",
                )
                .of(Kind::CallFailed));
            }
        },
    };
    let is_void = is_oneway || called.method.result.path == "void";
    context.show(&answer, |answer| print(answer, is_void));
    Ok(ExitCode::SUCCESS)
}
