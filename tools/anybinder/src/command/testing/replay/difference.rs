// SPDX-License-Identifier: Apache-2.0
//! Replies as values, and what differs between two.
use anybinder_driver::parcel::words;
use anybinder_parcel::aidl::library::{Called, Entry};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::method;
use rsbinder::StatusCode;
use serde::Serialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands for each object and file, whose numbers differ from run to run.
const OBJECT: &str = "an object";
const NUMBERED: [&str; 5] = ["handle", "binder", "fd", "file", "address"];

/// The bytes of an object that are its number.
const NUMBER: std::ops::Range<usize> = 8..24;

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// By its types, or as words.
    Values(Value),
    Error(String),
}

impl Answer {
    pub fn of_status(status: i32) -> Answer {
        Answer::Error(format!("status {:?} ({status})", StatusCode::from(status)))
    }
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Difference {
    pub path: String,
    pub recorded: Value,
    pub now: Value,
}

fn declared(library: &Library, descriptor: &str, code: u32) -> Option<(Arc<Entry>, Called)> {
    let entry = library.find(descriptor)?;
    let mut methods = library.methods(&entry)?.into_iter();
    let called = methods.find(|one| one.code == code)?;
    Some((entry, called))
}

/// The name of a method, or its code.
pub fn method(library: Option<&Library>, descriptor: &str, code: u32) -> String {
    let found = library.and_then(|library| declared(library, descriptor, code));
    found.map_or_else(|| format!("code {code}"), |(_, called)| called.method.name)
}

/// What a reply says: by the types of its method, if they are declared and fit it.
pub fn answer(
    (library, descriptor, code): (Option<&Library>, &str, u32),
    data: &[u8],
    offsets: &[u64],
) -> Answer {
    let by_type = library.and_then(|library| {
        let (entry, called) = declared(library, descriptor, code)?;
        let mut decoder = Decoder::new(data, Some(library));
        method::answer(library, &entry, &called, &mut decoder).ok()
    });
    match by_type {
        Some(Ok(read)) => {
            let mut values = json!({ "result": read.result });
            for (name, value) in read.out {
                values[name] = value;
            }
            Answer::Values(values)
        }
        Some(Err(exception)) => Answer::Error(exception.to_string()),
        None => {
            let mut data = data.to_vec();
            for offset in offsets {
                let number = usize::try_from(*offset).unwrap_or(usize::MAX);
                let object = data.get_mut(number..).unwrap_or_default();
                if let Some(bytes) = object.get_mut(NUMBER) {
                    bytes.fill(0);
                }
            }
            Answer::Values(json!({ "words": words(&data) }))
        }
    }
}

/// Every value that has no parts, by its path.
fn flatten(value: &Value, path: &str, ignore: &[String], into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(parts) if NUMBERED.iter().any(|word| parts.contains_key(*word)) => {
            into.insert(path.to_string(), Value::from(OBJECT));
        }
        Value::Object(parts) if !parts.is_empty() => {
            for (name, part) in parts.iter().filter(|(name, _)| !ignore.contains(name)) {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(part, &format!("{path}{dot}{name}"), ignore, into);
            }
        }
        Value::Array(parts) if !parts.is_empty() => {
            for (index, part) in parts.iter().enumerate() {
                flatten(part, &format!("{path}[{index}]"), ignore, into);
            }
        }
        value => {
            into.insert(path.to_string(), value.clone());
        }
    }
}

/// What differs.
///
/// * `ignore`: names that are left out, at any depth
pub fn compare(recorded: &Answer, now: &Answer, ignore: &[String]) -> Vec<Difference> {
    let flat = |answer: &Answer| {
        let mut values = BTreeMap::new();
        match answer {
            Answer::Values(value) => flatten(value, "", ignore, &mut values),
            Answer::Error(text) => drop(values.insert("error".into(), Value::from(text.as_str()))),
        }
        values
    };
    let (recorded, now) = (flat(recorded), flat(now));
    let paths: std::collections::BTreeSet<&String> = recorded.keys().chain(now.keys()).collect();
    let value = |of: &BTreeMap<String, Value>, path: &String| {
        of.get(path)
            .cloned()
            .unwrap_or_else(|| Value::from("nothing"))
    };
    let both = paths.into_iter().map(|path| Difference {
        path: path.clone(),
        recorded: value(&recorded, path),
        now: value(&now, path),
    });
    both.filter(|one| one.recorded != one.now).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_paths_and_objects_have_no_numbers() {
        let recorded =
            json!({ "result": { "a": 1, "time": 5, "list": [1, 2] }, "o": { "handle": 3 } });
        let now = json!({ "result": { "a": 2, "time": 6, "list": [1] }, "o": { "handle": 7 } });
        let (recorded, now) = (Answer::Values(recorded), Answer::Values(now));
        let found = compare(&recorded, &now, &["time".to_string()]);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["result.a", "result.list[1]"]);
        let failed = compare(&now, &Answer::of_status(-32), &["result".to_string()]);
        let paths: Vec<&str> = failed.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["error", "o"]);
    }
}
