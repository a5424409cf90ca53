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

/// So many bytes of each parcel, behind the header, are shown unless the user says otherwise.
pub const SHOWN: usize = 256;

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
        self.reader.method(call.interface.as_deref()?, call.code)
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
        document["method"] = json!(read.method);
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

#[cfg(test)]
mod tests {
    use super::super::call_text::Which;
    use super::*;
    use anybinder_events::event::{TF_CLEAR_BUF, TF_STATUS_CODE};
    use anybinder_parcel::aidl::{Library, Roots};
    use anybinder_parcel::encode::Parcel;
    use std::path::PathBuf;

    const SOURCE: &str = "package t; interface I {
        int add(int a, int b);
        oneway void post(String text);
        void fill(in byte[] data, out int[] sizes);
    }";

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn payloads(shown: usize) -> (Scratch, Payloads) {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("anybinder-payload-{}-{number}", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&scratch.0).unwrap();
        std::fs::write(scratch.0.join("I.aidl"), SOURCE).unwrap();
        let library = Library::open(&Roots::from(scratch.0.clone())).unwrap();
        let reader = Reader::new(Some(library), Which::Kept);
        (scratch, Payloads::new(reader, shown))
    }

    fn string16(parcel: &mut Parcel, text: &str) {
        let units = text.encode_utf16().chain([0]);
        parcel.word(text.encode_utf16().count() as u32);
        parcel.bytes(&units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    }

    /// The data of a request to t.I, with these words behind the header.
    fn request(words: &[u32]) -> Payload {
        let mut parcel = Parcel::default();
        for word in [0, u32::MAX, 0x5359_5354] {
            parcel.word(word);
        }
        string16(&mut parcel, "t.I");
        words.iter().for_each(|word| parcel.word(*word));
        whole(parcel)
    }

    fn reply(words: &[u32]) -> Payload {
        let mut parcel = Parcel::default();
        words.iter().for_each(|word| parcel.word(*word));
        whole(parcel)
    }

    fn whole(parcel: Parcel) -> Payload {
        Payload {
            size: parcel.data.len() as u64,
            bytes: parcel.data,
            ..Payload::default()
        }
    }

    fn add() -> Call {
        Call {
            code: 1,
            request_data: request(&[2, 40]),
            reply_data: reply(&[0, 42]),
            ..Call::default()
        }
    }

    fn lines(payloads: &Payloads, call: &Call) -> Vec<String> {
        let lines = payloads.lines(call, &Names::recorded());
        lines.iter().map(|line| line.trim().to_string()).collect()
    }

    #[test]
    fn a_call_is_written_with_the_types_of_its_method() {
        let (_scratch, payloads) = payloads(SHOWN);
        assert_eq!(lines(&payloads, &add()), ["add(a: 2, b: 40) = 42"]);
        let mut exception = Parcel::default();
        exception.word(-3i32 as u32);
        string16(&mut exception, "no");
        exception.word(0);
        let call = Call {
            reply_data: whole(exception),
            ..add()
        };
        let expected = "add(a: 2, b: 40) = exception -3 (illegal argument): no";
        assert_eq!(lines(&payloads, &call), [expected]);
        let call = Call {
            reply_flags: TF_STATUS_CODE,
            reply_data: reply(&[-38i32 as u32]),
            ..add()
        };
        assert_eq!(
            lines(&payloads, &call),
            ["add(a: 2, b: 40) = status -38 (InvalidOperation)"]
        );
        let call = Call {
            error: Some("DEAD_REPLY".to_string()),
            ..add()
        };
        assert_eq!(lines(&payloads, &call), ["add(a: 2, b: 40) = DEAD_REPLY"]);
        let call = Call {
            unfinished: true,
            ..add()
        };
        assert_eq!(lines(&payloads, &call), ["add(a: 2, b: 40) = unfinished"]);
        let post = Call {
            code: 2,
            oneway: true,
            request_data: request(&[2, 0x0069_0068, 0]),
            ..Call::default()
        };
        assert_eq!(lines(&payloads, &post), ["post(text: \"hi\")"]);
        let fill = Call {
            code: 3,
            request_data: request(&[2, 0x0201, 1]),
            reply_data: reply(&[0, 1, 9]),
            ..Call::default()
        };
        assert_eq!(
            lines(&payloads, &fill),
            ["fill(data: \"hex:0102\") = void, sizes = [9]"]
        );
    }

    #[test]
    fn what_is_cut_is_said() {
        let (_scratch, payloads) = payloads(12);
        let mut words = vec![100];
        words.extend([0x0061_0061; 51]);
        let post = Call {
            code: 2,
            oneway: true,
            request_data: request(&words),
            ..Call::default()
        };
        assert_eq!(
            lines(&payloads, &post),
            ["post(text: \"aaaa\" ... 196 B more)"]
        );
        // The driver has told of less than is to be shown.
        let mut short = add();
        short.request_data.bytes.truncate(28);
        assert_eq!(lines(&payloads, &short), ["add(a: 2 ... 4 B more) = 42"]);
    }

    #[test]
    fn what_has_no_types_or_other_types_is_dumped() {
        let (_scratch, payloads) = payloads(SHOWN);
        let digits = "02 00 00 00 28 00 00 00";
        let call = Call { code: 77, ..add() };
        let expected = [
            "request of t.I: 8 B".to_string(),
            format!("0018  {digits:<47}  ....(..."),
            "reply: 8 B".to_string(),
            format!("0000  {:<47}  ....*...", "00 00 00 00 2a 00 00 00"),
        ];
        assert_eq!(lines(&payloads, &call), expected);
        let call = Call {
            request_data: request(&[1, 2, 3]),
            ..add()
        };
        let found = lines(&payloads, &call);
        assert_eq!(found[0], "add(?) = 42");
        let expected = "request of t.I: 12 B, does not fit add of t.I: 4 bytes are left over";
        assert_eq!((found[1].as_str(), found.len()), (expected, 3));
    }

    #[test]
    fn what_the_driver_does_not_tell_is_no_data() {
        let (_scratch, payloads) = payloads(SHOWN);
        let sensitive = Payload {
            size: 8,
            ..Payload::default()
        };
        let call = Call {
            flags: TF_CLEAR_BUF,
            reply_flags: TF_CLEAR_BUF,
            request_data: sensitive.clone(),
            reply_data: sensitive.clone(),
            ..Call::default()
        };
        let expected =
            ["request", "reply"].map(|of| format!("{of}: not shown: to be cleared after use"));
        assert_eq!(lines(&payloads, &call), expected);
        let call = Call {
            request_data: sensitive,
            ..Call::default()
        };
        assert!(lines(&payloads, &call).is_empty());
    }

    #[test]
    fn a_document_has_the_data_and_what_it_means() {
        let (_scratch, payloads) = payloads(1);
        let mut document = json!({});
        payloads.add_json(&mut document, &add(), &Names::recorded());
        assert_eq!(document["method"], "add");
        assert_eq!(document["request"]["arguments"], json!({ "a": 2, "b": 40 }));
        assert_eq!(document["request"]["interface"], "t.I");
        assert_eq!(document["reply"]["result"], 42);
        assert_eq!(document["reply"]["data"], "000000002a000000");
    }
}
