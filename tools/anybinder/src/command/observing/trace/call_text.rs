// SPDX-License-Identifier: Apache-2.0
//! What a call says: its data read by the types of `.aidl` files, or else as objects and bytes.
use crate::command::observing::system::methods;
use anybinder_cli::output::note;
use anybinder_events::calls::Call;
use anybinder_events::event::{TF_CLEAR_BUF, TF_STATUS_CODE};
use anybinder_events::payload::Payload;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Format;
use anybinder_parcel::header;
use anybinder_parcel::method::{self, Answer};
use anybinder_parcel::status::Exception;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

struct Interface {
    entry: Arc<Entry>,
    methods: HashMap<u32, Called>,
}

/// Which data is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// What its sender does not want to be cleared after use
    Kept,
    /// Data, also of calls that are to be cleared after use
    All,
}

/// Reads the data of calls.
pub struct Reader {
    library: Option<Library>,
    /// What is known without `.aidl` files.
    own: Library,
    which: Which,
    /// Whether it has said how data is shown that is to be cleared.
    has_said: Cell<bool>,
    interfaces: RefCell<HashMap<String, Rc<Interface>>>,
}

/// One direction of a call.
pub enum Side<T> {
    /// The driver told nothing, or there is nothing to tell.
    Nothing,
    /// The sender wants the data to be cleared after use.
    Sensitive,
    /// A status in place of a parcel.
    Status(i32),
    Read {
        value: T,
        has_stopped: bool,
    },
    /// The types are not known, or the data does not fit them: why.
    Bytes(Option<String>),
}

/// What a call says.
pub struct CallText {
    pub interface: Option<String>,
    /// Where the arguments begin.
    pub start: usize,
    pub method: Option<String>,
    pub is_void: bool,
    pub request: Side<Vec<(String, Value)>>,
    pub reply: Side<std::result::Result<Answer, Exception>>,
}

/// The standard call that asks for the descriptor of the interface, a text.
const INTERFACE: u32 = u32::from_be_bytes(*b"_NTF");

fn descriptor(reply: &Payload) -> Side<std::result::Result<Answer, Exception>> {
    let mut decoder = Decoder::new(&reply.bytes, None);
    decoder.is_cut = reply.missing() > 0;
    match decoder.string16() {
        Ok(name) if decoder.left() == 0 => Side::Read {
            value: Ok(Answer {
                result: Some(Value::from(name)),
                ..Answer::default()
            }),
            has_stopped: decoder.has_stopped(),
        },
        _ => Side::Bytes(None),
    }
}

/// What a parcel is read by.
struct Types<'a> {
    library: &'a Library,
    entry: Arc<Entry>,
    called: Called,
}

impl Types<'_> {
    fn misfit(&self, err: &str) -> String {
        let (name, interface) = (&self.called.method.name, &self.entry.name);
        format!("does not fit {name} of {interface}: {err}")
    }

    /// Reads by `read` what `payload` has from `start` on, in the newest format that it fits: a
    /// call does not say of which Android it is.
    fn side<T>(
        &self,
        payload: &Payload,
        start: usize,
        read: impl Fn(&Library, &Entry, &Called, &mut Decoder) -> Result<T, String>,
    ) -> Side<T> {
        let bytes = payload.bytes.get(start..).unwrap_or_default();
        let mut misfit = None;
        for format in Format::ALL {
            let mut decoder = Decoder::new(bytes, Some(self.library));
            decoder.is_cut = payload.missing() > 0;
            decoder.format = format;
            let err = match read(self.library, &self.entry, &self.called, &mut decoder) {
                Ok(_) if decoder.is_cut && !decoder.has_stopped() => {
                    "bytes are left over".to_string()
                }
                Ok(value) => {
                    return Side::Read {
                        value,
                        has_stopped: decoder.has_stopped(),
                    }
                }
                Err(err) => err,
            };
            misfit.get_or_insert(err);
        }
        Side::Bytes(misfit.map(|err| self.misfit(&err)))
    }
}

/// A direction without its types; None if there are bytes to read.
fn without_types<T>(payload: &Payload, flags: u32) -> Option<Side<T>> {
    match payload.bytes.first_chunk::<4>() {
        _ if payload.bytes.is_empty() && payload.size > 0 => Some(Side::Nothing),
        Some(word) if flags & TF_STATUS_CODE != 0 => Some(Side::Status(i32::from_le_bytes(*word))),
        _ => None,
    }
}

impl Reader {
    pub fn new(library: Option<Library>, which: Which) -> Self {
        Reader {
            library,
            own: Library::of_service_manager(),
            which,
            has_said: Cell::new(false),
            interfaces: RefCell::default(),
        }
    }

    /// The `.aidl` files that were used, and those of some interfaces.
    pub fn aidl<'a>(&self, interfaces: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        let library = self.library.as_ref();
        library.map_or_else(Vec::new, |library| methods::texts(library, interfaces))
    }

    /// Says what is wrong with the `.aidl` files that were looked into.
    pub fn finish(&self) {
        if let Some(library) = &self.library {
            for what in library.broken().iter().chain(&library.take_doubts()) {
                note(format_args!("anybinder: {what}"));
            }
        }
    }

    /// Says once how data is shown that is to be cleared.
    fn say_how(&self) {
        if self.which == Which::Kept && !self.has_said.replace(true) {
            note(
                "anybinder: Data that is to be cleared after use (TF_CLEAR_BUF, which rsbinder \
                 sets in every call) is not shown. Root sees it with --payload=all.",
            );
        }
    }

    /// A direction that is not read by types; None if there are bytes to read.
    fn without_types<T>(&self, payload: &Payload, flags: u32) -> Option<Side<T>> {
        let is_shown = self.which == Which::All && !payload.bytes.is_empty();
        if flags & TF_CLEAR_BUF != 0 && payload.size > 0 && !is_shown {
            self.say_how();
            return Some(Side::Sensitive);
        }
        without_types(payload, flags)
    }

    /// Interfaces that are found are kept; the names of others may be invented.
    fn interface(&self, descriptor: &str) -> Option<Rc<Interface>> {
        if let Some(known) = self.interfaces.borrow().get(descriptor) {
            return Some(known.clone());
        }
        let library = self.library.as_ref()?;
        let entry = library.find(descriptor)?;
        if entry.descriptor() != descriptor {
            return None;
        }
        let methods = library.methods(&entry)?.into_iter();
        let made = Rc::new(Interface {
            methods: methods.map(|called| (called.code, called)).collect(),
            entry,
        });
        let mut interfaces = self.interfaces.borrow_mut();
        interfaces.insert(descriptor.to_string(), made.clone());
        Some(made)
    }

    /// The name of the method that a call calls.
    pub fn method(&self, call: &Call) -> Option<String> {
        let descriptor = call.interface.as_deref().unwrap_or_default();
        let start = header::find(&call.request_data.bytes).map_or(0, |(_, start)| start);
        let types = self.types(descriptor, call.code, (&call.request_data, start));
        let declared = types.map(|types| types.called.method.name);
        declared.or_else(|| methods::known(descriptor, call.code))
    }

    /// The types of a call whose data is `request`, and its arguments begin at `start`.
    fn types(&self, descriptor: &str, code: u32, request: (&Payload, usize)) -> Option<Types<'_>> {
        if let (Some(library), Some(interface)) = (&self.library, self.interface(descriptor)) {
            return Some(Types {
                library,
                called: interface.methods.get(&code)?.clone(),
                entry: interface.entry.clone(),
            });
        }
        let entry = self.own.find(descriptor)?;
        let of_levels = methods::of_manager(&self.own, code).into_iter();
        let mut types = of_levels.map(|called| Types {
            library: &self.own,
            called,
            entry: entry.clone(),
        });
        // Which of them it is, the arguments tell.
        let fits = |types: &Types| {
            let (payload, start) = request;
            let read = types.side(payload, start, method::arguments);
            start > 0 && matches!(read, Side::Read { .. })
        };
        types.find(fits)
    }

    /// Reads both directions of a call, from as much of its data as `request` and `reply` have.
    pub fn read(&self, call: &Call, request: &Payload, reply: &Payload) -> CallText {
        let (named, start) = match header::find(&request.bytes) {
            Some((name, start)) => (Some(name), start),
            None => (None, 0),
        };
        let interface = named.or_else(|| call.interface.clone().filter(|name| !name.is_empty()));
        let name = interface.as_deref().unwrap_or_default();
        let types = self.types(name, call.code, (request, start));
        let of_type = |reply: &Payload| match &types {
            Some(types) => types.side(reply, 0, method::answer),
            None if call.code == INTERFACE => descriptor(reply),
            None => Side::Bytes(None),
        };
        let has_reply = call.error.is_none() && !call.unfinished && !call.oneway;
        CallText {
            start,
            request: self
                .without_types(request, call.flags)
                .unwrap_or_else(|| match &types {
                    Some(types) if start > 0 => types.side(request, start, method::arguments),
                    None if call.code == INTERFACE && request.size == 0 => Side::Read {
                        value: Vec::new(),
                        has_stopped: false,
                    },
                    _ => Side::Bytes(None),
                }),
            reply: match self.without_types(reply, call.reply_flags) {
                // The reply of a call that failed is as sensitive.
                Some(Side::Sensitive) => Side::Sensitive,
                _ if !has_reply => Side::Nothing,
                side => side.unwrap_or_else(|| of_type(reply)),
            },
            interface,
            is_void: types
                .as_ref()
                .is_some_and(|types| types.called.method.result.path == "void"),
            method: match types {
                Some(types) => Some(types.called.method.name),
                None => methods::of_all(call.code)
                    .filter(|_| call.code == INTERFACE)
                    .map(str::to_string),
            },
        }
    }
}
