// SPDX-License-Identifier: Apache-2.0
//! An interface of `.aidl` files: its methods by their names and by their codes, and their calls as
//! parcels.
use crate::aidl::library::{Called, Entry};
use crate::aidl::syntax::{self, Body};
use crate::aidl::Library;
use crate::decode::Decoder;
use crate::encode::{Format, Misfit, Parcel as Plan};
use crate::method::{self, Answer};
use crate::status::Exception;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What every interface of stable AIDL has, with the codes from this one on. They answer if answers
/// are given.
const META: &str = "interface Meta { String getInterfaceHash(); int getInterfaceVersion(); }";
const META_CODE: u32 = 16_777_214;

type Outcome<T> = Result<T, String>;

pub struct Interface {
    pub entry: Arc<Entry>,
    pub descriptor: String,
    pub methods: Vec<Called>,
    pub is_vintf: bool,
}

impl Interface {
    /// The interface with a name; None if it is not declared.
    pub fn find(library: &Library, name: &str) -> Option<Arc<Interface>> {
        let entry = library.find(name)?;
        Interface::of(library, entry)
    }

    /// None for a declaration that is no interface.
    pub fn of(library: &Library, entry: Arc<Entry>) -> Option<Arc<Interface>> {
        let mut methods = library.methods(&entry)?;
        let meta = syntax::parse(META).expect("this is AIDL");
        for declaration in meta.declarations {
            if let Body::Interface { methods: more } = declaration.body {
                let coded = (META_CODE..).zip(more);
                methods.extend(coded.map(|(code, method)| Called { code, method }));
            }
        }
        let annotations = &entry.declaration.annotations;
        Some(Arc::new(Interface {
            descriptor: entry.descriptor(),
            is_vintf: annotations.iter().any(|one| one.name == "VintfStability"),
            methods,
            entry,
        }))
    }

    /// Those that the file declares.
    pub fn own(&self) -> &[Called] {
        &self.methods[..self.methods.len() - 2]
    }

    pub fn by_code(&self, code: u32) -> Option<&Called> {
        self.methods.iter().find(|one| one.code == code)
    }

    pub fn method<'a>(self: &'a Arc<Self>, library: &'a Library, called: &'a Called) -> Method<'a> {
        Method {
            library,
            interface: self,
            called,
        }
    }

    pub fn by_name<'a>(
        self: &'a Arc<Self>,
        library: &'a Library,
        name: &str,
    ) -> Outcome<Method<'a>> {
        let found = self.methods.iter().find(|one| one.method.name == name);
        let found = found.map(|called| self.method(library, called));
        found.ok_or_else(|| {
            let own = self.own().iter();
            let names: Vec<&str> = own.map(|one| one.method.name.as_str()).collect();
            let (interface, names) = (&self.descriptor, names.join(", "));
            format!("{interface} has no method {name}; it has: {names}")
        })
    }
}

/// A call that is written.
pub struct Request {
    pub interface: Arc<Interface>,
    pub code: u32,
    pub is_oneway: bool,
    pub plan: Plan,
}

/// A method, and what its calls are read and written by.
#[derive(Clone, Copy)]
pub struct Method<'a> {
    pub library: &'a Library,
    pub interface: &'a Arc<Interface>,
    pub called: &'a Called,
}

impl<'a> Method<'a> {
    /// The interface of an object that clients give as an argument: of this method, or else of any.
    pub fn interface_of(self, argument: &str) -> Option<Arc<Interface>> {
        let all = std::iter::once(self.called).chain(&self.interface.methods);
        let arguments = all.flat_map(|one| &one.method.arguments);
        let mut named = arguments.filter(|one| one.name == argument);
        named.find_map(|one| {
            let found = self.library.resolve(&self.interface.entry, &one.kind.path);
            Interface::of(self.library, found?)
        })
    }

    /// The arguments by their names: a list has the order of declaration.
    pub fn named(self, given: Value) -> Outcome<Map<String, Value>> {
        let names: Vec<&str> = self.called.taken().map(|one| one.name.as_str()).collect();
        let wrong = |what: String| {
            let (method, all) = (&self.called.method.name, names.join(", "));
            Err(format!("{method}({all}) {what}"))
        };
        match given {
            Value::Null if names.is_empty() => Ok(Map::new()),
            Value::Array(values) if values.len() == names.len() => {
                let named = names.iter().map(|name| (*name).to_string());
                Ok(named.zip(values).collect())
            }
            Value::Object(values) => match values.keys().find(|key| !names.contains(&key.as_str()))
            {
                Some(other) => wrong(format!("takes no {other}")),
                None => Ok(values),
            },
            Value::Array(values) => wrong(format!("was given {} arguments", values.len())),
            _ => wrong("was given no list of arguments".to_string()),
        }
    }

    /// Writes the arguments, without a header.
    pub fn request(self, given: &Map<String, Value>) -> Result<Plan, Misfit> {
        let entry = (self.library, &*self.interface.entry);
        method::request(entry, self.called, given, Format::default())
    }

    /// Writes a result, and what arguments return; what is not given has no contents.
    pub fn reply(self, result: Option<&Value>, out: &Map<String, Value>) -> Result<Plan, Misfit> {
        let entry = (self.library, &*self.interface.entry);
        method::reply(entry, self.called, (result, out), Format::default())
    }

    fn decoder(self, data: &'a [u8], format: Format) -> Decoder<'a> {
        let mut decoder = Decoder::new(data, Some(self.library));
        decoder.format = format;
        decoder
    }

    /// Reads the arguments, behind the header.
    pub fn read_request(self, data: &[u8], format: Format) -> Outcome<Map<String, Value>> {
        let mut decoder = self.decoder(data, format);
        let entry = &self.interface.entry;
        let read = method::arguments(self.library, entry, self.called, &mut decoder)?;
        Ok(read.into_iter().collect())
    }

    pub fn read_reply(self, data: &[u8], format: Format) -> Outcome<Result<Answer, Exception>> {
        let mut decoder = self.decoder(data, format);
        method::answer(
            self.library,
            &self.interface.entry,
            self.called,
            &mut decoder,
        )
    }

    /// A call, with its arguments by their names.
    pub fn written(self, given: &Map<String, Value>) -> Result<Request, Misfit> {
        Ok(Request {
            plan: self.request(given)?,
            interface: self.interface.clone(),
            code: self.called.code,
            is_oneway: self.called.method.is_oneway,
        })
    }
}
