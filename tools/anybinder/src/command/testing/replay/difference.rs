// SPDX-License-Identifier: Apache-2.0
//! Replies as values, and what differs between two.
use anybinder_driver::parcel::words;
use anybinder_parcel::encode::Format;
use anybinder_parcel::interface_methods::Method;
use serde::Serialize;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What stands for each object and file, whose numbers differ from run to run.
const OBJECT: &str = "an object";
const NUMBERED: [&str; 5] = ["handle", "binder", "fd", "file", "address"];

/// The bytes of an object that are its number.
const NUMBER: std::ops::Range<usize> = 8..24;

#[derive(Debug, PartialEq, Serialize)]
pub struct Difference {
    pub path: String,
    pub recorded: Value,
    pub now: Value,
}

/// What an error is in place of a reply.
pub fn error(what: impl Into<String>) -> Value {
    json!({ "error": what.into() })
}

/// What a reply says: by the types of its method, if they are declared and fit it; else its words.
pub fn answer(method: Option<Method>, data: &[u8], offsets: &[u64]) -> Value {
    let read = method.and_then(|method| method.read_reply(data, Format::default()).ok());
    match read {
        Some(Ok(read)) => {
            let mut values = json!({ "result": read.result });
            for (name, value) in read.out {
                values[name] = value;
            }
            values
        }
        Some(Err(exception)) => error(exception.to_string()),
        None => {
            let mut data = data.to_vec();
            for offset in offsets {
                let number = usize::try_from(*offset).unwrap_or(usize::MAX);
                let object = data.get_mut(number..).unwrap_or_default();
                if let Some(bytes) = object.get_mut(NUMBER) {
                    bytes.fill(0);
                }
            }
            json!({ "words": words(&data) })
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
pub fn compare(recorded: &Value, now: &Value, ignore: &[String]) -> Vec<Difference> {
    let [recorded, now] = [recorded, now].map(|answer| {
        let mut values = BTreeMap::new();
        flatten(answer, "", ignore, &mut values);
        values
    });
    let paths: BTreeSet<&String> = recorded.keys().chain(now.keys()).collect();
    let value = |of: &BTreeMap<String, Value>, path| of.get(path).cloned();
    let nothing = || Value::from("nothing");
    let both = paths.into_iter().map(|path| Difference {
        path: path.clone(),
        recorded: value(&recorded, path).unwrap_or_else(nothing),
        now: value(&now, path).unwrap_or_else(nothing),
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
        let found = compare(&recorded, &now, &["time".to_string()]);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["result.a", "result.list[1]"]);
        let failed = compare(&now, &error("status"), &["result".to_string()]);
        let paths: Vec<&str> = failed.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["error", "o"]);
    }
}
