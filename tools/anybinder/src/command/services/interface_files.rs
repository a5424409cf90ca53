// SPDX-License-Identifier: Apache-2.0
//! Interfaces as `.aidl` files declare them: what `call --aidl` and `interface --aidl` look up.
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::note;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::syntax::{Body, Direction};
use anybinder_parcel::aidl::{Library, Roots};
use std::sync::Arc;

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
pub fn declared(library: &Library, name: &str) -> Result<Arc<Entry>> {
    let found = library.find(name);
    let is_interface = |one: &Arc<Entry>| matches!(one.declaration.body, Body::Interface { .. });
    found
        .filter(is_interface)
        .ok_or_else(|| Error::usage(format!("No .aidl file declares the interface {name}.")))
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
