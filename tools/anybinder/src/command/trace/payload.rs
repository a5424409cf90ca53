// SPDX-License-Identifier: Apache-2.0
//! The data of calls: by the types of `.aidl` files, or else as objects and bytes.
use super::dump;
use super::value::{name_objects, text};
use crate::command::observe::text::code_name;
use anybinder_events::call::Call;
use anybinder_events::event::{Bytes, TF_CLEAR_BUF, TF_STATUS_CODE};
use anybinder_events::names::Names;
use anybinder_events::payload::Payload;
use anybinder_mount::harmless::harmless;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::header;
use anybinder_parcel::method::{self, Answer};
use anybinder_parcel::status::Exception;
use rsbinder::StatusCode;
use serde_json::{json, Map, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// So many bytes of each parcel, behind the header, are shown unless the user says otherwise.
pub const SHOWN: usize = 256;

/// In front of a line about the data.
const INDENT: &str = "              ";

struct Interface {
    entry: Arc<Entry>,
    methods: HashMap<u32, Called>,
}

/// How data is shown.
pub struct Payloads {
    library: Option<Library>,
    interfaces: RefCell<HashMap<String, Rc<Interface>>>,
    /// Of each parcel, so many bytes behind the header are shown in lines.
    shown: usize,
}

/// One direction of a call.
enum Side<T> {
    /// The driver told nothing, or there is nothing to tell.
    Nothing,
    /// Its sender wants it to be cleared after use.
    Sensitive,
    /// A status in place of a parcel.
    Status(i32),
    Read {
        value: T,
        has_stopped: bool,
    },
    /// Its types are not known, or the data does not fit them: why.
    Bytes(Option<String>),
}

/// What a call says.
struct Told {
    interface: Option<String>,
    /// Where the arguments begin.
    start: usize,
    method: Option<String>,
    is_void: bool,
    request: Side<Vec<(String, Value)>>,
    reply: Side<std::result::Result<Answer, Exception>>,
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
    interface: Rc<Interface>,
    called: Called,
}

impl Types<'_> {
    fn misfit(&self, err: &str) -> String {
        let (name, interface) = (&self.called.method.name, &self.interface.entry.name);
        format!("does not fit {name} of {interface}: {err}")
    }

    /// Reads by `read` what `payload` has from `start` on.
    fn side<T>(
        &self,
        payload: &Payload,
        start: usize,
        read: impl Fn(&Library, &Entry, &Called, &mut Decoder) -> Result<T, String>,
    ) -> Side<T> {
        let bytes = payload.bytes.get(start..).unwrap_or_default();
        let mut decoder = Decoder::new(bytes, Some(self.library));
        decoder.is_cut = payload.missing() > 0;
        match read(
            self.library,
            &self.interface.entry,
            &self.called,
            &mut decoder,
        ) {
            Ok(_) if decoder.is_cut && !decoder.has_stopped() => {
                Side::Bytes(Some(self.misfit("bytes are left over")))
            }
            Ok(value) => Side::Read {
                value,
                has_stopped: decoder.has_stopped(),
            },
            Err(err) => Side::Bytes(Some(self.misfit(&err))),
        }
    }
}

/// A direction without its types; None if there are bytes to read.
fn without_types<T>(payload: &Payload, flags: u32) -> Option<Side<T>> {
    if flags & TF_CLEAR_BUF != 0 {
        return Some(Side::Sensitive);
    }
    match payload.bytes.first_chunk::<4>() {
        _ if payload.bytes.is_empty() && payload.size > 0 => Some(Side::Nothing),
        Some(word) if flags & TF_STATUS_CODE != 0 => Some(Side::Status(i32::from_le_bytes(*word))),
        _ => None,
    }
}

/// The data with at most so many bytes.
fn cut(payload: &Payload, length: usize) -> Payload {
    let mut part = payload.clone();
    part.bytes.truncate(length);
    part
}

fn more(missing: u64) -> String {
    match missing {
        0 => String::new(),
        missing => format!(" ... {missing} B more"),
    }
}

impl Payloads {
    pub fn new(library: Option<Library>, shown: usize) -> Self {
        Payloads {
            library,
            interfaces: RefCell::default(),
            shown,
        }
    }

    /// Says what is wrong with the `.aidl` files that were looked into.
    pub fn finish(&self) {
        for broken in self.library.iter().flat_map(Library::broken) {
            eprintln!("anybinder: {broken}");
        }
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

    fn types(&self, descriptor: Option<&str>, code: u32) -> Option<Types<'_>> {
        let interface = self.interface(descriptor?)?;
        Some(Types {
            library: self.library.as_ref()?,
            called: interface.methods.get(&code)?.clone(),
            interface,
        })
    }

    /// Reads both directions of a call, from as much of its data as `request` and `reply` have.
    fn read(&self, call: &Call, request: &Payload, reply: &Payload) -> Told {
        let (named, start) = match header::find(&request.bytes) {
            Some((name, start)) => (Some(name), start),
            None => (None, 0),
        };
        let interface = named.or_else(|| call.interface.clone().filter(|name| !name.is_empty()));
        let types = self.types(interface.as_deref(), call.code);
        let of_type = |reply: &Payload| match &types {
            Some(types) => types.side(reply, 0, method::answer),
            None if call.code == INTERFACE => descriptor(reply),
            None => Side::Bytes(None),
        };
        let has_reply = call.error.is_none() && !call.unfinished && !call.oneway;
        Told {
            start,
            request: without_types(request, call.flags).unwrap_or_else(|| match &types {
                Some(types) if start > 0 => types.side(request, start, method::arguments),
                None if call.code == INTERFACE && request.size == 0 => Side::Read {
                    value: Vec::new(),
                    has_stopped: false,
                },
                _ => Side::Bytes(None),
            }),
            reply: match has_reply {
                false => Side::Nothing,
                true => without_types(reply, call.reply_flags).unwrap_or_else(|| of_type(reply)),
            },
            interface,
            is_void: types
                .as_ref()
                .is_some_and(|types| types.called.method.result.path == "void"),
            method: match types {
                Some(types) => Some(types.called.method.name),
                None => (call.code == INTERFACE).then(|| code_name(INTERFACE)),
            },
        }
    }

    /// The lines that say what a call says.
    pub fn lines(&self, call: &Call, names: &Names) -> Vec<String> {
        let start = header::find(&call.request_data.bytes).map_or(0, |(_, start)| start);
        let request = cut(&call.request_data, start.saturating_add(self.shown));
        let reply = cut(&call.reply_data, self.shown);
        let told = self.read(call, &request, &reply);
        let mut lines = Vec::new();
        if let Some(method) = &told.method {
            let arguments = arguments_text(&told.request, &request, names);
            let outcome = outcome_text(&told, call, &reply, names);
            lines.push(format!("{method}({arguments}){outcome}"));
        }
        let has_method = told.method.is_some();
        let of = match &told.interface {
            Some(name) => format!("request of {name}"),
            None => "request".to_string(),
        };
        let shown = (has_method, told.start);
        lines.extend(side_lines(&of, &told.request, (&request, shown), names));
        lines.extend(side_lines(
            "reply",
            &told.reply,
            (&reply, (has_method, 0)),
            names,
        ));
        lines.iter().map(|line| format!("{INDENT}{line}")).collect()
    }

    /// Adds to the document of a call what it says.
    pub fn add_json(&self, document: &mut Value, call: &Call, names: &Names) {
        let told = self.read(call, &call.request_data, &call.reply_data);
        let mut request = side_json(&told.request, &call.request_data, names);
        request.insert("interface".to_string(), json!(told.interface));
        if let Side::Read { value, .. } = told.request {
            let named = |(name, mut value): (String, Value)| {
                name_objects(&mut value, &call.request_data, names);
                (name, value)
            };
            let arguments: Map<String, Value> = value.into_iter().map(named).collect();
            request.insert("arguments".to_string(), Value::from(arguments));
        }
        let mut reply = side_json(&told.reply, &call.reply_data, names);
        match told.reply {
            Side::Read {
                value: Ok(answer), ..
            } => {
                let mut value = json!({ "result": answer.result, "out": answer.out });
                name_objects(&mut value, &call.reply_data, names);
                reply.extend(value.as_object().cloned().unwrap_or_default());
            }
            Side::Read {
                value: Err(exception),
                ..
            } => {
                let value = json!({
                    "code": exception.code, "name": exception.name(),
                    "service_code": exception.service_code, "message": exception.message,
                });
                reply.insert("exception".to_string(), value);
            }
            Side::Status(status) => {
                reply.insert("status".to_string(), json!(status));
            }
            _ => {}
        }
        document["method"] = json!(told.method);
        document["request"] = Value::from(request);
        document["reply"] = Value::from(reply);
    }
}

fn named_text(value: &Value, payload: &Payload, names: &Names) -> String {
    let mut value = value.clone();
    name_objects(&mut value, payload, names);
    text(&value)
}

/// A status as Android calls it.
fn status_text(status: i32) -> String {
    format!("status {status} ({:?})", StatusCode::from(status))
}

const SENSITIVE: &str = "not shown: to be cleared after use";

fn arguments_text(side: &Side<Vec<(String, Value)>>, payload: &Payload, names: &Names) -> String {
    match side {
        Side::Read { value, has_stopped } => {
            let each = value.iter();
            let each =
                each.map(|(name, value)| format!("{name}: {}", named_text(value, payload, names)));
            let missing = if *has_stopped { payload.missing() } else { 0 };
            each.collect::<Vec<_>>().join(", ") + &more(missing)
        }
        Side::Sensitive => SENSITIVE.to_string(),
        _ => "?".to_string(),
    }
}

fn answer_text(answer: &Answer, is_void: bool, payload: &Payload, names: &Names) -> String {
    let result = match (&answer.result, is_void) {
        (_, true) => "void".to_string(),
        (Some(value), _) => named_text(value, payload, names),
        (None, _) => String::new(),
    };
    let out = answer.out.iter();
    let out = out.map(|(name, value)| format!(", {name} = {}", named_text(value, payload, names)));
    result + &out.collect::<String>()
}

/// What comes of a call whose method is known.
fn outcome_text(told: &Told, call: &Call, payload: &Payload, names: &Names) -> String {
    let outcome = match (&told.reply, &call.error) {
        (_, Some(error)) => error.clone(),
        _ if call.unfinished => "unfinished".to_string(),
        _ if call.oneway => return String::new(),
        (Side::Read { value, has_stopped }, _) => {
            let missing = if *has_stopped { payload.missing() } else { 0 };
            let text = match value {
                Ok(answer) => answer_text(answer, told.is_void, payload, names),
                Err(exception) => harmless(&exception.to_string()),
            };
            text + &more(missing)
        }
        (Side::Status(status), _) => status_text(*status),
        (Side::Sensitive, _) => format!("({SENSITIVE})"),
        _ => "?".to_string(),
    };
    format!(" = {outcome}")
}

/// The lines of a direction that is not in the line of the method.
fn side_lines<T>(
    of: &str,
    side: &Side<T>,
    (payload, (has_method, start)): (&Payload, (bool, usize)),
    names: &Names,
) -> Vec<String> {
    let size = payload.size.saturating_sub(start as u64);
    let why = match side {
        Side::Status(status) if !has_method => {
            return vec![format!("{of}: {}", status_text(*status))]
        }
        Side::Sensitive if !has_method => return vec![format!("{of}: {SENSITIVE}")],
        // A call without arguments, or an empty reply.
        Side::Bytes(None) if payload.size == 0 => return Vec::new(),
        Side::Bytes(Some(why)) => format!(", {why}"),
        Side::Bytes(None) => String::new(),
        _ => return Vec::new(),
    };
    let describe = |value: &Value| named_text(value, payload, names);
    let mut lines = vec![format!("{of}: {size} B{why}")];
    let dumped = dump::lines(payload, (start, usize::MAX), &describe);
    lines.extend(dumped.iter().map(|line| format!("  {line}")));
    if payload.missing() > 0 {
        lines.push(format!(" {}", more(payload.missing())));
    }
    lines
}

/// What is known of a direction, whatever its types are.
fn side_json<T>(side: &Side<T>, payload: &Payload, names: &Names) -> Map<String, Value> {
    let objects = dump::objects(payload).into_iter().map(|(at, mut value)| {
        name_objects(&mut value, payload, names);
        json!({ "offset": at, "object": value })
    });
    let objects: Vec<Value> = objects.collect();
    let misfit = match side {
        Side::Bytes(Some(why)) => Some(why),
        _ => None,
    };
    let document = json!({
        "data": Bytes(payload.bytes.clone()),
        "missing": payload.missing(),
        "sensitive": matches!(side, Side::Sensitive),
        "objects": objects,
        "misfit": misfit,
    });
    document.as_object().cloned().unwrap_or_default()
}
