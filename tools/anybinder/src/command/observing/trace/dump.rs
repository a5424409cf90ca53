// SPDX-License-Identifier: Apache-2.0
//! Data whose types are not known: the objects in it, and the rest as hexadecimal digits and text.
use anybinder_driver::abi::{
    BUFFER_SIZE, FD_ARRAY_SIZE, OBJECT_SIZE, TYPE_BINDER, TYPE_BUFFER, TYPE_FD, TYPE_FD_ARRAY,
    TYPE_HANDLE, TYPE_WEAK_BINDER, TYPE_WEAK_HANDLE,
};
use anybinder_driver::parcel::word;
use anybinder_events::payload::Payload;
use serde_json::{json, Value};

const PER_LINE: usize = 16;

/// An object: its size, and what it is as JSON.
struct Object {
    size: usize,
    value: Value,
}

/// The object at a place; None if the data ends in it, or it is none.
fn object(bytes: &[u8], at: usize) -> Option<Object> {
    let word = |offset: usize| word(bytes, at + offset);
    let long = |offset: usize| Some(u64::from(word(offset + 4)?) << 32 | u64::from(word(offset)?));
    let number = word(8)?;
    let address = format!("{:#x}", long(8)?);
    let (size, value) = match word(0)? {
        TYPE_BINDER => (OBJECT_SIZE, json!({ "binder": address })),
        TYPE_WEAK_BINDER => (OBJECT_SIZE, json!({ "weak binder": address })),
        TYPE_HANDLE => (OBJECT_SIZE, json!({ "handle": number })),
        TYPE_WEAK_HANDLE => (OBJECT_SIZE, json!({ "weak handle": number })),
        TYPE_FD => (OBJECT_SIZE, json!({ "fd": number })),
        TYPE_BUFFER => (BUFFER_SIZE, json!({ "buffer": long(16)? })),
        TYPE_FD_ARRAY => (FD_ARRAY_SIZE, json!({ "array of fds": long(8)? })),
        _ => return None,
    };
    (at + size <= bytes.len()).then_some(Object { size, value })
}

/// The objects in the data, each with its offset.
pub fn objects(payload: &Payload) -> Vec<(usize, Value)> {
    let found = payload.objects.iter().filter_map(|at| {
        let at = *at as usize;
        Some((at, object(&payload.bytes, at)?.value))
    });
    found.collect()
}

fn hex_line(offset: usize, bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text: String = bytes
        .iter()
        .map(|byte| match byte {
            b' '..=b'~' => *byte as char,
            _ => '.',
        })
        .collect();
    format!("{offset:04x}  {:<47}  {text}", digits.join(" "))
}

/// Bytes from `offset` on. As in other dumps a `*` stands for lines like the one before.
fn hex_lines(offset: usize, bytes: &[u8]) -> Vec<String> {
    let chunks: Vec<&[u8]> = bytes.chunks(PER_LINE).collect();
    let mut lines = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let is_same = |other: usize| chunks.get(other).is_some_and(|other| other == chunk);
        let is_inner = index + 1 < chunks.len();
        match is_inner && index > 0 && is_same(index - 1) {
            true if index > 1 && is_same(index - 2) => {}
            true => lines.push("*".to_string()),
            false => lines.push(hex_line(offset + index * PER_LINE, chunk)),
        }
    }
    lines
}

/// The lines of the data between two places. `describe` makes text of an object.
pub fn lines(
    payload: &Payload,
    (from, to): (usize, usize),
    describe: &dyn Fn(&Value) -> String,
) -> Vec<String> {
    let bytes = &payload.bytes[..to.min(payload.bytes.len())];
    let mut lines = Vec::new();
    let mut at = from.min(bytes.len());
    let plain = |lines: &mut Vec<String>, from: usize, to: usize| {
        lines.extend(hex_lines(from, &bytes[from..to]));
    };
    for begin in payload.objects.iter().map(|begin| *begin as usize) {
        let found = (begin >= at).then(|| object(bytes, begin)).flatten();
        if let Some(object) = found {
            plain(&mut lines, at, begin);
            lines.push(format!("{begin:04x}  {}", describe(&object.value)));
            at = begin + object.size;
        }
    }
    plain(&mut lines, at, bytes.len());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> Payload {
        let mut bytes = b"0123456789abcdefghij".to_vec();
        bytes.extend(TYPE_HANDLE.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(5u64.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(b"end\0");
        Payload {
            size: bytes.len() as u64,
            bytes,
            objects: vec![20],
            ..Payload::default()
        }
    }

    /// Numbers that look like objects are none unless the driver says so; cut ones neither.
    #[test]
    fn what_is_cut_or_no_object_is_shown_as_bytes() {
        let mut payload = payload();
        let show = |payload: &Payload, end| lines(payload, (16, end), &|_| "object".to_string());
        assert!(show(&payload, 40)
            .iter()
            .all(|line| !line.contains("object")));
        payload.objects = vec![22, 1000];
        assert!(show(&payload, 100)
            .iter()
            .all(|line| !line.contains("object")));
        assert!(objects(&payload).is_empty());
    }
}
