// SPDX-License-Identifier: Apache-2.0
//! Types and values of a command line: `i32 5`, `array of s16 a,b`, `handle of NAME`, `bytes 00ff`,
//! `file PATH`, `null`.
use crate::aidl::syntax::Body;
use crate::encode::{hex_bytes, Encoder};
use crate::types::{Kind, Type, WORDS};
use serde_json::Value;
use std::io::Read;
use std::sync::OnceLock;

/// Why words were not understood, and what would be.
#[derive(Debug)]
pub struct Error {
    pub what: String,
    pub advice: Option<String>,
}

fn error(what: String) -> Error {
    Error { what, advice: None }
}

/// Every type in one line.
pub fn type_names() -> String {
    let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
    format!(
        "{}, bytes, null, handle of SERVICE, array of TYPE",
        names.join(", ")
    )
}

fn unknown(name: &str) -> Error {
    Error {
        what: format!("There is no argument type {name}."),
        advice: Some(format!("The types are {}.", type_names())),
    }
}

/// What a word `@FILE` stands for, or `@-`: the bytes of the file, or of standard input. None of
/// other words.
fn file_bytes(word: &str) -> Option<std::io::Result<Vec<u8>>> {
    match word.strip_prefix('@')? {
        "-" => Some(standard_input()),
        path => Some(std::fs::read(path)),
    }
}

/// Standard input is read once: words may be written twice, for another format of parcels.
fn standard_input() -> std::io::Result<Vec<u8>> {
    static INPUT: OnceLock<Vec<u8>> = OnceLock::new();
    if INPUT.get().is_none() {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        let _ = INPUT.set(bytes);
    }
    Ok(INPUT.get().cloned().unwrap_or_default())
}

/// Bytes as the value of a byte array.
fn hex_value(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Value::from(format!("hex:{digits}"))
}

fn unread(word: &str, err: &std::io::Error) -> Error {
    error(format!("Error while reading {}: {err}.", &word[1..]))
}

/// The values of an array: JSON, or values with commas between them.
fn elements(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ Value::Array(_)) => value,
        _ if text.is_empty() => Value::Array(Vec::new()),
        _ => text.split(',').map(|one| Value::from(one.trim())).collect(),
    }
}

/// Writes words of types and values.
pub fn write(encoder: &mut Encoder, words: &[String]) -> Result<(), Error> {
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let mut value = |of: &str| {
            rest.next()
                .ok_or_else(|| error(format!("The argument type {of} has no value.")))
        };
        let bad = |of: &str, value: &str| error(format!("{value} is not a value of type {of}."));
        match word {
            "null" => encoder.parcel.null_binder(),
            "null-s16" => encoder.parcel.word(u32::MAX),
            "bytes" => {
                let text = value(word)?;
                let bytes = match file_bytes(text) {
                    Some(read) => read.map_err(|err| unread(text, &err))?,
                    None => hex_bytes(text).ok_or_else(|| bad(word, text))?,
                };
                encoder.parcel.word(bytes.len() as u32);
                encoder.parcel.bytes(&bytes);
            }
            "handle" | "array" => {
                if value(word)? != "of" {
                    return Err(error(format!("After {word}, `of` is missing.")));
                }
                let of = value(word)?;
                if word == "handle" {
                    let service = Value::from(of);
                    let _ = encoder.value(&Type::of(Kind::Binder), &service, 0);
                    continue;
                }
                let word = value(of)?;
                let text = match file_bytes(word) {
                    Some(read) => read.and_then(|bytes| std::io::read_to_string(&bytes[..])),
                    None => Ok(word.to_string()),
                };
                let text = text.map_err(|err| unread(word, &err))?;
                let mut kind = Type::of(Kind::word(of).ok_or_else(|| unknown(of))?);
                kind.dimensions.push(None);
                let written = encoder.value(&kind, &elements(&text), 0);
                written.map_err(|err| error(format!("array of {of}: {}.", err.what)))?;
            }
            _ => {
                let kind = Type::of(Kind::word(word).ok_or_else(|| unknown(word))?);
                let text = value(word)?;
                let written = encoder.value(&kind, &Value::from(text), 0);
                written.map_err(|_| bad(word, text))?;
            }
        }
    }
    Ok(())
}

/// What is wrong with JSON, and where.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = match text.split_once(" at line ") {
        _ if error.is_eof() => "it ends too early",
        Some((what, _)) => what,
        None => &text,
    };
    let (line, column) = (error.line(), error.column());
    format!("its JSON is wrong in line {line}, column {column}: {what}")
}

/// A word of the command line, of a type of `.aidl` files, as JSON: only what has parts is written
/// so.
pub fn word_value(kind: &Type, word: &str) -> Result<Value, String> {
    let json = || match serde_json::from_str(word) {
        Err(error) if word.starts_with(['{', '[']) => Err(json_error(&error)),
        read => Ok(read.unwrap_or_else(|_| Value::from(word))),
    };
    let is_binder = matches!(kind.kind, Kind::Binder);
    if word == "null" && (kind.is_nullable || is_binder) {
        return Ok(Value::Null);
    }
    if !kind.dimensions.is_empty() {
        return Ok(match json()? {
            Value::String(text) if !matches!(kind.kind, Kind::Byte) => {
                text.split(',').map(str::trim).map(Value::from).collect()
            }
            number @ Value::Number(_) => Value::Array(vec![number]),
            value => value,
        });
    }
    match &kind.kind {
        Kind::Declared(_) | Kind::Loose(_) if has_parts(kind) => json(),
        _ if word.starts_with('"') => json(),
        _ => Ok(Value::from(word)),
    }
}

/// Whether values of a type have parts: arrays, parcelables and unions.
fn has_parts(kind: &Type) -> bool {
    let is_whole = match &kind.kind {
        Kind::Declared(entry) => matches!(entry.declaration.body, Body::Enum { .. }),
        Kind::Loose(_) => false,
        _ => true,
    };
    !kind.dimensions.is_empty() || !is_whole
}

/// `word_value`, also of what a file or standard input has, where the word says so; a text may
/// begin with `@`.
pub fn argument_value(kind: &Type, word: &str) -> Result<Value, String> {
    let read = has_parts(kind).then(|| file_bytes(word)).flatten();
    let Some(read) = read else {
        return word_value(kind, word);
    };
    let unread = |err: std::io::Error| format!("error while reading {}: {err}", &word[1..]);
    let bytes = read.map_err(unread)?;
    if matches!(kind.kind, Kind::Byte) && kind.dimensions.len() == 1 {
        return Ok(hex_value(&bytes));
    }
    let text = std::io::read_to_string(&bytes[..]).map_err(unread)?;
    word_value(kind, text.trim())
}

/// One part of a reply.
#[derive(Clone, Debug)]
pub enum Part {
    /// The exception of an AIDL interface.
    Status,
    Bytes,
    Value(String, Type),
}

/// The types of a reply: `status,i32,array of s16`.
pub fn parts(text: &str) -> Result<Vec<Part>, Error> {
    let parts = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    parts
        .map(|one| {
            let (name, is_array) = match one.strip_prefix("array of ") {
                Some(name) => (name.trim(), true),
                None => (one, false),
            };
            let kind = match name {
                "status" => return Ok(Part::Status),
                "bytes" => return Ok(Part::Bytes),
                "handle" | "null" => Kind::Binder,
                _ => Kind::word(name).ok_or_else(|| unknown(name))?,
            };
            let mut kind = Type::of(kind);
            if is_array {
                kind.dimensions.push(None);
            }
            Ok(Part::Value(one.to_string(), kind))
        })
        .collect()
}
