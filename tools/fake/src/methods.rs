// SPDX-License-Identifier: Apache-2.0
//! An interface of `.aidl` files: its methods by their names and by their codes.
use anybinder_cli::error::{Error, Result};
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::syntax::{self, Argument, Body, Direction, TypeName};
use anybinder_parcel::aidl::Library;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// What every interface of stable AIDL has, with the codes from this one on. They answer if answers
/// are given.
const META: &str = "interface Meta { String getInterfaceHash(); int getInterfaceVersion(); }";
const META_CODE: u32 = 16_777_214;

/// The arguments that callers of a method give.
pub fn taken(called: &Called) -> impl Iterator<Item = &Argument> {
    let arguments = called.method.arguments.iter();
    arguments.filter(|one| one.direction != Direction::Out)
}

/// The arguments by their names: a list has the order of declaration.
pub fn arguments_by_name(
    called: &Called,
    given: Value,
) -> std::result::Result<Map<String, Value>, String> {
    let names: Vec<&String> = taken(called).map(|one| &one.name).collect();
    let wrong = |what: String| {
        let all: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        format!("{}({}) {what}", called.method.name, all.join(", "))
    };
    match given {
        Value::Null if names.is_empty() => Ok(Map::new()),
        Value::Array(values) if values.len() == names.len() => Ok(names
            .iter()
            .map(|name| (*name).clone())
            .zip(values)
            .collect()),
        Value::Object(values) => match values.keys().find(|key| !names.contains(key)) {
            Some(other) => Err(wrong(format!("takes no {other}"))),
            None => Ok(values),
        },
        Value::Array(values) => Err(wrong(format!("was given {} arguments", values.len()))),
        _ => Err(wrong("was given no list of arguments".to_string())),
    }
}

pub struct Interface {
    pub entry: Arc<Entry>,
    pub descriptor: String,
    methods: Vec<Called>,
    by_code: HashMap<u32, usize>,
    pub is_vintf: bool,
}

impl Interface {
    /// The interface with a name; None if it is not declared.
    pub fn find(library: &Library, name: &str) -> Option<Arc<Interface>> {
        library
            .find(name)
            .and_then(|entry| Interface::of(library, entry))
    }

    /// The interface that a type names; None if it is another type.
    pub fn of_type(library: &Library, within: &Entry, kind: &TypeName) -> Option<Arc<Interface>> {
        let entry = library.resolve(within, &kind.path)?;
        Interface::of(library, entry)
    }

    fn of(library: &Library, entry: Arc<Entry>) -> Option<Arc<Interface>> {
        let mut methods = library.methods(&entry)?;
        let meta = syntax::parse(META).expect("this is AIDL");
        for declaration in meta.declarations {
            if let Body::Interface { methods: more } = declaration.body {
                let codes = META_CODE..;
                methods.extend(
                    codes
                        .zip(more)
                        .map(|(code, method)| Called { code, method }),
                );
            }
        }
        let by_code = methods.iter().enumerate().map(|(at, one)| (one.code, at));
        let annotations = &entry.declaration.annotations;
        Some(Arc::new(Interface {
            descriptor: entry.descriptor(),
            by_code: by_code.collect(),
            is_vintf: annotations.iter().any(|one| one.name == "VintfStability"),
            methods,
            entry,
        }))
    }

    /// The interface of a service: that which is said, or that with which its name begins, or the
    /// only one that there is.
    pub fn of_service(library: &Library, name: &str, said: Option<&str>) -> Result<Arc<Interface>> {
        let by_name = name.split_once('/').map(|(interface, _)| interface);
        let found = match (said.or(by_name), library.only_interface()) {
            (Some(wanted), _) => Interface::find(library, wanted),
            (None, Some(entry)) => Interface::of(library, entry),
            (None, None) => {
                return Err(Error::usage(format!(
                    "There are several interfaces, and {name} does not say which it has: give \
                     --interface, or in a file [{name} INTERFACE]."
                )));
            }
        };
        found.ok_or_else(|| {
            let wanted = said.or(by_name).unwrap_or_default();
            let what = format!("No .aidl file declares the interface {wanted}.");
            match library.broken().is_empty() {
                true => Error::usage(what),
                false => Error::with_advice(what, library.broken().join("\n  ")),
            }
        })
    }

    /// Any method.
    pub fn first(&self) -> &Called {
        &self.methods[0]
    }

    pub fn by_code(&self, code: u32) -> Option<&Called> {
        self.by_code.get(&code).map(|at| &self.methods[*at])
    }

    pub fn by_name(&self, name: &str) -> std::result::Result<&Called, String> {
        let found = self.methods.iter().find(|one| one.method.name == name);
        found.ok_or_else(|| {
            let own = &self.methods[..self.methods.len() - 2];
            let names: Vec<&str> = own.iter().map(|one| one.method.name.as_str()).collect();
            format!(
                "{} has no method {name}; it has: {}",
                self.descriptor,
                names.join(", ")
            )
        })
    }
}

impl Interface {
    /// The interface of an object that clients give as an argument: of one method, or else of any.
    pub fn of_argument(
        &self,
        library: &Library,
        called: &Called,
        name: &str,
    ) -> Option<Arc<Interface>> {
        let all = std::iter::once(called).chain(&self.methods);
        let mut named = all
            .flat_map(|one| &one.method.arguments)
            .filter(|one| one.name == name);
        named.find_map(|one| Interface::of_type(library, &self.entry, &one.kind))
    }
}
