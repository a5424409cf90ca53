// SPDX-License-Identifier: Apache-2.0
//! The data of calls as lines of text or JSON.
use super::call_text::{CallText, Reader, Side};
use super::dump;
use super::value::{name_objects, text};
use anybinder_cli::output::harmless;
use anybinder_events::calls::Call;
use anybinder_events::event::Bytes;
use anybinder_events::payload::Payload;
use anybinder_events::thread_names::Names;
use anybinder_parcel::header;
use anybinder_parcel::method::Answer;
use rsbinder::StatusCode;
use serde_json::{json, Map, Value};

/// Bytes of each parcel, behind the header, that are shown unless the user says otherwise.
pub const SHOWN: usize = 1024;

/// In front of a line about the data.
const INDENT: &str = "              ";

/// How data is shown.
pub struct Payloads {
    reader: Reader,
    /// How many bytes behind the header of each parcel are shown in lines.
    shown: usize,
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

/// The interface of an object that is no service: the one that the call itself names.
pub fn give_interface(call: &mut Call) {
    if call.interface.as_ref().is_none_or(String::is_empty) {
        call.interface = header::find(&call.request_data.bytes).map(|(name, _)| name);
    }
}

impl Payloads {
    pub fn new(reader: Reader, shown: usize) -> Self {
        Payloads { reader, shown }
    }

    /// The name of the method that a call calls, if its interface and types are known.
    pub fn method(&self, call: &Call) -> Option<String> {
        self.reader.method(call)
    }

    /// The `.aidl` files that were used, and those of some interfaces.
    pub fn aidl<'a>(&self, interfaces: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        self.reader.aidl(interfaces)
    }

    /// Says what is wrong with the `.aidl` files that were looked into.
    pub fn finish(&self) {
        self.reader.finish();
    }

    /// The lines that say what a call says.
    pub fn lines(&self, call: &Call, names: &Names) -> Vec<String> {
        let start = header::find(&call.request_data.bytes).map_or(0, |(_, start)| start);
        let request = cut(&call.request_data, start.saturating_add(self.shown));
        let reply = cut(&call.reply_data, self.shown);
        let read = self.reader.read(call, &request, &reply);
        let mut lines = Vec::new();
        if let Some(method) = &read.method {
            let arguments = arguments_text(&read.request, &request, names);
            let outcome = outcome_text(&read, call, &reply, names);
            lines.push(format!("{method}({arguments}){outcome}"));
        }
        let has_method = read.method.is_some();
        let of = match &read.interface {
            Some(name) => format!("request of {name}"),
            None => "request".to_string(),
        };
        let shown = (has_method, read.start);
        lines.extend(side_lines(&of, &read.request, (&request, shown), names));
        lines.extend(side_lines(
            "reply",
            &read.reply,
            (&reply, (has_method, 0)),
            names,
        ));
        lines.iter().map(|line| format!("{INDENT}{line}")).collect()
    }

    /// Adds to the document of a call what it says.
    pub fn add_json(&self, document: &mut Value, call: &Call, names: &Names) {
        let read = self.reader.read(call, &call.request_data, &call.reply_data);
        let mut request = side_json(&read.request, &call.request_data, names);
        request.insert("interface".to_string(), json!(read.interface));
        if let Side::Read { value, .. } = read.request {
            let named = |(name, mut value): (String, Value)| {
                name_objects(&mut value, &call.request_data, names);
                (name, value)
            };
            let arguments: Map<String, Value> = value.into_iter().map(named).collect();
            request.insert("arguments".to_string(), Value::from(arguments));
        }
        let mut reply = side_json(&read.reply, &call.reply_data, names);
        match read.reply {
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
        document["method"] = json!(read.method.or_else(|| self.method(call)));
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
fn outcome_text(read: &CallText, call: &Call, payload: &Payload, names: &Names) -> String {
    let outcome = match (&read.reply, &call.error) {
        (_, Some(error)) => error.clone(),
        _ if call.unfinished => "unfinished".to_string(),
        _ if call.oneway => return String::new(),
        (Side::Read { value, has_stopped }, _) => {
            let missing = if *has_stopped { payload.missing() } else { 0 };
            let text = match value {
                Ok(answer) => answer_text(answer, read.is_void, payload, names),
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
    // A recording may have what is not to be shown; a driver does not tell it.
    let untold = matches!(side, Side::Sensitive).then(|| cut(payload, 0));
    let payload = untold.as_ref().unwrap_or(payload);
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
