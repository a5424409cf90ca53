// SPDX-License-Identifier: Apache-2.0
//! Decoded values: which objects their handles stand for, and what they look like in a line.
use anybinder_cli::output::harmless;
use anybinder_events::payload::Payload;
use anybinder_events::thread_names::Names;
use serde_json::{Map, Value};

/// The names that decoders give objects.
const KINDS: [&str; 7] = [
    "handle",
    "binder",
    "weak handle",
    "weak binder",
    "fd",
    "buffer",
    "array of fds",
];

/// What the service manager is called.
pub const MANAGER: &str = "manager";

/// The kind and the value of an object, if it is one.
fn object(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    let is_ours =
        |key: &String| KINDS.contains(&key.as_str()) || key == "object" || key == "service";
    let kind = KINDS.iter().find(|kind| members.contains_key(**kind))?;
    let value = members.get(*kind)?;
    members.keys().all(is_ours).then_some((kind, value))
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        value => value.as_u64(),
    }
}

/// Adds to each object which one of the driver's it is, and of which service, where that is known.
pub fn name_objects(value: &mut Value, payload: &Payload, names: &Names) {
    match value {
        Value::Array(values) => {
            let each = values.iter_mut();
            each.for_each(|value| name_objects(value, payload, names));
        }
        Value::Object(members) => {
            let is_binder = |kind: &str| kind.ends_with("handle") || kind.ends_with("binder");
            let found = object(members).filter(|(kind, _)| is_binder(kind));
            let found = found.map(|(kind, value)| (kind == "handle", number(value)));
            let node = found.and_then(|(_, number)| payload.node(number?));
            let service = node.and_then(|node| names.service(node));
            // A handle 0 is the service manager's in every process, and libbinder's parcels do not
            // mark it as an object.
            let service = match (service, found) {
                (Some(service), _) => Some(service.name.clone()),
                (None, Some((true, Some(0)))) => Some(MANAGER.to_string()),
                _ => None,
            };
            if let Some(node) = node {
                members.insert("object".to_string(), Value::from(node));
            }
            if let Some(service) = service {
                members.insert("service".to_string(), Value::from(service));
            }
            if found.is_some() {
                return;
            }
            let each = members.values_mut();
            each.for_each(|value| name_objects(value, payload, names));
        }
        _ => {}
    }
}

fn list<T>(items: impl Iterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.map(text).collect::<Vec<_>>().join(", ")
}

fn object_text(members: &Map<String, Value>) -> Option<String> {
    let (kind, value) = object(members)?;
    let value = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let meaning = match (members.get("service"), members.get("object")) {
        (Some(Value::String(name)), _) => format!(" ({name})"),
        (_, Some(node)) => format!(" (object {node})"),
        _ => String::new(),
    };
    let unit = if kind == "buffer" { " B" } else { "" };
    Some(format!("{kind} {value}{unit}{meaning}"))
}

/// A value in a line.
pub fn text(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", list(values.iter(), text)),
        Value::Object(members) => object_text(members).unwrap_or_else(|| {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", harmless(name), text(value));
            format!("{{{}}}", list(members.iter(), member))
        }),
        // JSON escapes ASCII's control characters, and those only.
        value => harmless(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_events::thread_names::Service;
    use serde_json::json;

    #[test]
    fn nothing_controls_the_terminal() {
        assert_eq!(
            text(&json!("a\u{1b}[2J\u{9b}2J\n")),
            r#""a\u001b[2J\u009b2J\n""#
        );
    }

    #[test]
    fn values_are_written_in_a_line_with_their_objects() {
        let mut payload = Payload::default();
        payload.add_node(5, 17);
        payload.add_node(0x7f00, 18);
        let mut names = Names::recorded();
        let service = Service {
            name: "my.service".to_string(),
            interface: String::new(),
        };
        names.add_service(18, service);
        let mut value = json!([
            1, "a\"b", null, { "handle": 5 }, { "binder": "0x7f00" }, { "handle": 9 },
            { "handle": 0 }, { "fd": 5 },
            { "a": 1, "b": [{ "weak handle": 5 }] }, { "buffer": 40 },
        ]);
        name_objects(&mut value, &payload, &names);
        assert_eq!(
            text(&value),
            "[1, \"a\\\"b\", null, handle 5 (object 17), binder 0x7f00 (my.service), handle 9, \
             handle 0 (manager), \
             fd 5, {a: 1, b: [weak handle 5 (object 17)]}, buffer 40 B]"
        );
        // A parcelable may have a member of that name.
        let record = json!({ "handle": 5, "other": 1 });
        assert_eq!(text(&record), "{handle: 5, other: 1}");
    }
}
