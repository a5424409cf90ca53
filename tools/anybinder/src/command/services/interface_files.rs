// SPDX-License-Identifier: Apache-2.0
//! Interfaces as `.aidl` files declare them: what `call --aidl` and `interface --aidl` look up.
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::note;
use anybinder_client::raw;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::interface_methods::Interface;
use anybinder_parcel::status;
use anybinder_rpc::dialect::Dialect;
use rsbinder::SIBinder;
use std::sync::Arc;

/// Meta methods of stable AIDL, the last codes of the range.
const GET_VERSION: u32 = rsbinder::FIRST_CALL_TRANSACTION + 16_777_214;
const GET_HASH: u32 = rsbinder::FIRST_CALL_TRANSACTION + 16_777_213;

/// Opens the `.aidl` files.
pub fn open(roots: &Roots) -> Result<Library> {
    Library::open(roots).map_err(|err| {
        Error::with_advice(
            format!("The .aidl files cannot be used: {err}."),
            "Give --aidl a directory with .aidl files.",
        )
    })
}

/// Says which declarations that were used another file has in another form.
pub fn say_doubts(library: &Library) {
    for doubt in library.take_doubts() {
        note(format_args!("anybinder: {doubt}."));
    }
}

/// The interface with a name, for an object of it.
pub fn declared(library: &Library, name: &str) -> Result<Arc<Interface>> {
    let found = Interface::find(library, name);
    found.ok_or_else(|| Error::usage(format!("No .aidl file declares the interface {name}.")))
}

/// The declaration of the interface of a service.
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
    say_doubts(library);
    Ok(entry)
}

/// The reply to a meta method, behind its exception.
fn meta<T>(
    (service, dialect): (&SIBinder, Dialect),
    code: u32,
    read: impl FnOnce(&mut Decoder) -> std::result::Result<T, String>,
) -> Option<T> {
    let reply = raw::ask(service, dialect, code)?;
    let mut decoder = Decoder::new(&reply.data, None);
    match status::read(&mut decoder) {
        Ok(None) => read(&mut decoder).ok(),
        _ => None,
    }
}

/// The version of stable AIDL that a service has.
pub fn version(service: &SIBinder, dialect: Dialect) -> Option<i32> {
    meta((service, dialect), GET_VERSION, |reply| {
        reply.word().map(|word| word as i32)
    })
}

/// The hash of stable AIDL that a service has.
pub fn hash(service: &SIBinder, dialect: Dialect) -> Option<String> {
    meta((service, dialect), GET_HASH, |reply| reply.string16()).flatten()
}

/// Says that a service has another version, or a frozen version of other contents, than the file.
/// A file that is not frozen says neither, and nothing is asked.
pub fn say_version(entry: &Entry, service: &SIBinder, dialect: Dialect) {
    let Some((number, sum)) = entry.frozen() else {
        return;
    };
    let doubt = match version(service, dialect) {
        Some(other) if i64::from(other) != i64::from(number) => Some(format!(
            "of version {other}, and the .aidl file of version {number}"
        )),
        Some(_) => {
            let other = hash(service, dialect).filter(|other| sum.is_some_and(|sum| sum != *other));
            other.map(|other| {
                format!("of version {number} with the hash {other}, which the .aidl file is not")
            })
        }
        None => None,
    };
    if let Some(doubt) = doubt {
        note(format_args!(
            "anybinder: The service is {doubt}: methods and types may be others (--version)."
        ));
    }
}

/// What a method takes, for messages.
pub fn signature(called: &Called) -> String {
    let arguments: Vec<String> = called
        .taken()
        .map(|one| {
            let dimensions = "[]".repeat(one.kind.dimensions.len());
            format!("{}{dimensions} {}", one.kind.path, one.name)
        })
        .collect();
    format!("{}({})", called.method.name, arguments.join(", "))
}
