// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a file of rules: where, and in words for the one who wrote it.
use rsbinder_tools::config::ConfigError;
use std::path::PathBuf;

/// What the parsers call what a value is, and what people do.
const WORDS: [(&str, &str); 7] = [
    ("a sequence", "an array"),
    ("sequence", "an array"),
    ("map", "a table"),
    ("struct", "a table"),
    ("a nonzero u16", "a number from 1 to 65535"),
    ("u32", "a number from 0"),
    (
        "any variant",
        "\"any\", \"none\" or a table with uid, user or group",
    ),
];

fn plain_word(text: &str) -> String {
    let found = WORDS.iter().find(|(word, _)| text.starts_with(word));
    found.map_or_else(|| text.replace('`', ""), |(_, plain)| (*plain).to_string())
}

/// The words of a parser that are about its own types, in those of the file.
fn plain(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, known) = rest.split_once(", expected ").unwrap_or((rest, ""));
        let known = known.trim_start_matches("one of ").replace('`', "");
        return format!("there is no key {}, but {known}", key.replace('`', ""));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.replace('`', ""));
    }
    if let Some(rest) = message.strip_prefix("data did not match ") {
        return format!("{} is expected", plain_word(rest));
    }
    let of_value = ["invalid type: ", "invalid value: "];
    let rest = of_value
        .iter()
        .find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.split_once(", expected ")) {
        Some((is, wanted)) => {
            format!("{} is expected, not {}", plain_word(wanted), plain_word(is))
        }
        None => message.to_string(),
    }
}

/// The line and the column of a byte, from 1 on.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("line {line}, column {column}")
}

/// An error of the text of a file.
pub fn explain_text(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    format!("{}: {}", place(text, at), plain(error.message()))
}

/// The file that an error is about.
fn file_of(error: &ConfigError) -> Option<&PathBuf> {
    match error {
        ConfigError::Toml { path, .. }
        | ConfigError::Pattern { path, .. }
        | ConfigError::Name { path, .. }
        | ConfigError::BadActivation { path, .. }
        | ConfigError::EmptyExec { path, .. }
        | ConfigError::EmptyUnit { path, .. }
        | ConfigError::RelativeExec { path, .. }
        | ConfigError::UntrustedExec { path, .. }
        | ConfigError::ExecIo { path, .. }
        | ConfigError::BadServiceName { path, .. }
        | ConfigError::UnknownKeyword { path, .. } => Some(path),
        _ => None,
    }
}

/// An error of the rules, with its place where that is known.
pub fn explain(error: &ConfigError) -> String {
    let whole = error.to_string();
    let Some(path) = file_of(error) else {
        return whole;
    };
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let path = path.display();
    if let ConfigError::Toml { source, .. } = error {
        return format!("{path}, {}", explain_text(&text, source));
    }
    let what = whole.strip_prefix(&format!("{path}: ")).unwrap_or(&whole);
    // What it names in quotes stands in the file in quotes.
    let quoted = what.split('"').nth(1).map(|name| format!("\"{name}\""));
    match quoted.and_then(|quoted| text.find(&quoted)) {
        Some(at) => format!("{path}, {}: {what}", place(&text, at)),
        None => format!("{path}: {what}"),
    }
}
