// SPDX-License-Identifier: Apache-2.0
//! A call without `.aidl` files: typed words go out, and words of 32 bits or `--reply` come in.
use super::reply_objects::{is_stdout, name_binders, save_files};
use super::request::{exception_error, Arguments, Call};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device;
use anybinder_client::objects::name_files;
use anybinder_client::raw::Reply;
use anybinder_client::raw_manager::RawManager;
use anybinder_driver::parcel;
use anybinder_mount::context::Context;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Encoder, Format, Parcel};
use anybinder_parcel::status;
use anybinder_parcel::types::{Kind as ValueKind, Type};
use anybinder_parcel::words::{self, Part};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

const WORDS_PER_LINE: usize = 4;

/// Codes outside the range of methods have names of four letters, and take no interface header.
const NAMED_CODES: [(&str, &str); 8] = [
    ("PING", "_PNG"),
    ("DUMP", "_DMP"),
    ("SHELL_COMMAND", "_CMD"),
    ("INTERFACE", "_NTF"),
    ("SYSPROPS", "_SPR"),
    ("EXTENSION", "_EXT"),
    ("DEBUG_PID", "_PID"),
    ("TWEET", "_TWT"),
];

#[derive(Serialize)]
struct RawReply {
    size: usize,
    words: Vec<u32>,
}

#[derive(Serialize)]
struct Decoded {
    values: Vec<(String, Value)>,
    /// Bytes behind the last value.
    left: usize,
}

/// The code that a word stands for.
pub fn code_of(word: &str) -> Result<u32> {
    let named = NAMED_CODES.iter().find(|(name, _)| *name == word);
    let word = named.map_or(word, |(_, letters)| letters);
    let parsed = match (word.strip_prefix("0x"), word.as_bytes()) {
        (Some(hex), _) => u32::from_str_radix(hex, 16).ok(),
        (None, [b'_', a, b, c]) => Some(u32::from_be_bytes([b'_', *a, *b, *c])),
        _ => word.parse().ok(),
    };
    parsed.ok_or_else(|| {
        let names: Vec<&str> = NAMED_CODES.iter().map(|(name, _)| *name).collect();
        let what = format!("{word} is no transaction code.");
        let advice = format!(
            "A code is a number, 0x and hexadecimal digits, or one of {}; methods have names only \
             with --aidl DIR.",
            names.join(", ")
        );
        Error::with_advice(what, advice).of(Kind::Usage)
    })
}

fn word_error(error: words::Error) -> Error {
    let made = match error.advice {
        Some(advice) => Error::with_advice(error.what, advice),
        None => Error::new(error.what),
    };
    made.of(Kind::Usage)
}

fn write_arguments(arguments: &[String], format: Format) -> Result<Parcel> {
    let mut encoder = Encoder {
        parcel: Parcel {
            format,
            ..Parcel::default()
        },
        library: None,
    };
    words::write(&mut encoder, arguments).map_err(word_error)?;
    Ok(encoder.parcel)
}

/// A line of words read as UTF-16, the encoding of most strings in parcels.
fn as_text(words: &[u32]) -> String {
    let units = words
        .iter()
        .flat_map(|word| [*word as u16, (*word >> 16) as u16]);
    units
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_graphic() || byte == b' ' => byte as char,
            _ => '.',
        })
        .collect()
}

fn print_raw(reply: &RawReply) {
    say(format_args!("reply of {} bytes", reply.size));
    for (index, line) in reply.words.chunks(WORDS_PER_LINE).enumerate() {
        let words: Vec<String> = line.iter().map(|word| format!("{word:08x}")).collect();
        let offset = index * WORDS_PER_LINE * 4;
        say(format_args!(
            "  {offset:04x}: {:<35}  {}",
            words.join(" "),
            as_text(line)
        ));
    }
}

/// Reads a reply by its types.
fn decode(name: &str, (data, format): (&[u8], Format), parts: &[Part]) -> Result<Decoded> {
    let mut decoder = Decoder::new(data, None);
    decoder.format = format;
    let mut values = Vec::new();
    let bad = |err: String| {
        Error::with_advice(
            format!("The reply of {name} has other types: {err}."),
            "See its words by leaving --reply out.",
        )
        .of(Kind::CallFailed)
    };
    for part in parts {
        let (label, mut value) = match part {
            Part::Status => match status::read(&mut decoder).map_err(bad)? {
                Some(exception) => return Err(exception_error(name, &exception)),
                None => continue,
            },
            Part::Bytes => {
                let mut bytes = Type::of(ValueKind::Byte);
                bytes.dimensions.push(None);
                ("bytes".to_string(), decoder.value(&bytes, 0).map_err(bad)?)
            }
            Part::Value(label, kind) => (label.clone(), decoder.value(kind, 0).map_err(bad)?),
        };
        name_files(&mut value);
        name_binders(&mut value);
        values.push((label, value));
    }
    let left = decoder.left();
    Ok(Decoded { values, left })
}

fn print_decoded(decoded: &Decoded) {
    for (label, value) in &decoded.values {
        say(format_args!("{label}: {value}"));
    }
    if decoded.left > 0 {
        say(format_args!("({} more bytes)", decoded.left));
    }
}

/// Sends a one-way call without asking the service for its interface, which may be stopped.
fn send_unasked(
    context: &Context,
    arguments: &Arguments,
    code: u32,
    interface: &str,
) -> Result<ExitCode> {
    let mut manager = RawManager::open(&context.mount, &arguments.device.device)?;
    let name = &arguments.name;
    let target = manager.find(name)?;
    let speaker = arguments.speaker(manager.speaker_of(name));
    let parcel = write_arguments(&arguments.arguments, Format::Driver(speaker.level))?;
    manager.send_unasked((name, target, code), (interface, speaker), &parcel)?;
    let nothing = RawReply {
        size: 0,
        words: Vec::new(),
    };
    context.show(&nothing, print_raw);
    Ok(ExitCode::SUCCESS)
}

/// Saves the files of a reply, if that is asked for, and prints it.
fn show_decoded(
    context: &Context,
    arguments: &Arguments,
    mut decoded: Decoded,
) -> Result<ExitCode> {
    if let Some(path) = &arguments.save {
        let mut values: Value = decoded.values.iter().map(|one| one.1.clone()).collect();
        save_files(&mut values, path)?;
        let saved = values.as_array().into_iter().flatten().cloned();
        let all = decoded.values.iter_mut().zip(saved);
        all.for_each(|(one, value)| one.1 = value);
    }
    if !is_stdout(arguments.save.as_deref()) {
        context.show(&decoded, print_decoded);
    }
    Ok(ExitCode::SUCCESS)
}

fn has_header(arguments: &Arguments, code: u32) -> bool {
    !arguments.no_header && code <= rsbinder::LAST_CALL_TRANSACTION
}

/// Makes the call. The reply's values are read by the format.
pub fn transact(context: &Context, arguments: &Arguments, code: u32) -> Result<(Reply, Format)> {
    let service = device::find(&context.mount, &arguments.device.device, &arguments.name)?;
    let (speaker, format) = arguments.format(&service)?;
    let parcel = write_arguments(&arguments.arguments, format)?;
    let call = Call {
        service,
        speaker,
        code,
        flags: match arguments.oneway {
            true => rsbinder::FLAG_ONEWAY,
            false => 0,
        },
        parcel,
        has_header: has_header(arguments, code),
        objects: Vec::new(),
        calls: None,
    };
    Ok((call.send(context, arguments)?, format))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let code = code_of(&arguments.method)?;
    if arguments.save.is_some() && arguments.reply.is_none() {
        return Err(Error::usage("--save needs --aidl or --reply."));
    }
    // Bad arguments are said before the service is looked for.
    write_arguments(&arguments.arguments, Format::default())?;
    let parts = match &arguments.reply {
        Some(_) if arguments.oneway => {
            return Err(Error::usage(
                "A one-way call has no reply: leave --reply or --oneway out.",
            ));
        }
        Some(types) => Some(words::parts(types).map_err(word_error)?),
        None => None,
    };
    let name = &arguments.name;
    match &arguments.interface {
        Some(interface) if arguments.oneway && has_header(arguments, code) => {
            return send_unasked(context, arguments, code, interface);
        }
        Some(_) => {
            return Err(Error::usage(
                "--interface is for --aidl, or for a one-way call that has an interface header.",
            ));
        }
        None => {}
    }
    let (reply, format) = transact(context, arguments, code)?;
    if let Some(parts) = parts {
        let decoded = decode(name, (&reply.data, format), &parts)?;
        return show_decoded(context, arguments, decoded);
    }
    let raw = RawReply {
        size: reply.data.len(),
        words: parcel::words(&reply.data),
    };
    context.show(&raw, print_raw);
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_in_utf16() {
        assert_eq!(as_text(&[0x0069_0048, 0x0000_0021]), "Hi!.");
    }
}
