// SPDX-License-Identifier: Apache-2.0
//! What is shown of the data of calls.
use super::payload::*;
use anybinder_events::call::Call;
use anybinder_events::event::{TF_CLEAR_BUF, TF_STATUS_CODE};
use anybinder_events::names::Names;
use anybinder_events::payload::Payload;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::Parcel;
use serde_json::json;
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
    let library = Library::open(std::slice::from_ref(&scratch.0)).unwrap();
    (scratch, Payloads::new(Some(library), shown))
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
