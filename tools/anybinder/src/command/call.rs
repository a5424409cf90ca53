// SPDX-License-Identifier: Apache-2.0
//! `anybinder call NAME CODE [TYPE VALUE]...`: sends one transaction, with arguments written as for
//! Android's `service call`, and prints the reply as words of 32 bits.
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Kind, Result};
use rsbinder::{Parcel, ParcelFileDescriptor, TransactionCode};
use serde::Serialize;
use std::process::ExitCode;

const WORDS_PER_LINE: usize = 4;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Arguments: i32 N, i64 N, f32 N, f64 N, bool true|false, s16 TEXT, fd FILE, null"
)]
pub struct Arguments {
    /// The service's name
    name: String,

    /// Transaction code; 1 is the first method of an AIDL interface
    code: TransactionCode,

    /// Do not wait for a reply
    #[arg(long)]
    oneway: bool,

    #[command(flatten)]
    device: DeviceOption,

    /// Typed arguments; after `--` if a text begins with a hyphen
    #[arg(allow_negative_numbers = true, value_name = "TYPE VALUE")]
    arguments: Vec<String>,
}

#[derive(Serialize)]
struct Reply {
    size: usize,
    words: Vec<u32>,
}

fn number<T: std::str::FromStr>(kind: &str, value: &str) -> Result<T> {
    value
        .parse()
        .map_err(|_| Error::new(format!("{value} is not a value of type {kind}.")).of(Kind::Usage))
}

/// Appends one argument to the parcel.
fn write_argument(data: &mut Parcel, kind: &str, value: &str) -> Result<()> {
    let written = match kind {
        "i32" => data.write_i32(number(kind, value)?),
        "i64" => data.write_i64(number(kind, value)?),
        "f32" | "f" => data.write_f32(number(kind, value)?),
        "f64" | "d" => data.write_f64(number(kind, value)?),
        "bool" => data.write_bool(number(kind, value)?),
        "s16" => data.write(value),
        "fd" => {
            let file = std::fs::File::open(value).doing(|| format!("opening {value}"))?;
            data.write(&ParcelFileDescriptor::new(file))
        }
        other => {
            return Err(Error::with_advice(
                format!("There is no argument type {other}."),
                "The types are i32, i64, f32, f64, bool, s16, fd and null.",
            )
            .of(Kind::Usage));
        }
    };
    written.doing(|| format!("writing {kind} {value}"))
}

fn write_arguments(data: &mut Parcel, arguments: &[String]) -> Result<()> {
    let mut rest = arguments.iter();
    while let Some(kind) = rest.next() {
        if kind == "null" {
            data.write(&Option::<rsbinder::SIBinder>::None)
                .doing(|| "writing null".to_string())?;
            continue;
        }
        let value = rest.next().ok_or_else(|| {
            Error::new(format!("The argument type {kind} has no value.")).of(Kind::Usage)
        })?;
        write_argument(data, kind, value)?;
    }
    Ok(())
}

fn read_words(reply: &mut Parcel) -> Result<Reply> {
    let size = reply.data_size();
    reply.set_data_position(0);
    let mut words = Vec::with_capacity(size / 4);
    while reply.data_avail() >= 4 {
        words.push(reply.read_u32().doing(|| "reading the reply".to_string())?);
    }
    Ok(Reply { size, words })
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

fn print(reply: &Reply) {
    println!("reply of {} bytes", reply.size);
    for (index, line) in reply.words.chunks(WORDS_PER_LINE).enumerate() {
        let words: Vec<String> = line.iter().map(|word| format!("{word:08x}")).collect();
        let offset = index * WORDS_PER_LINE * 4;
        println!("  {offset:04x}: {:<35}  {}", words.join(" "), as_text(line));
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let service = device::find(&context.mount, &arguments.device.device, name)?;
    let proxy = service
        .as_proxy()
        .ok_or_else(|| Error::new(format!("{name} is not a remote service.")))?;
    let mut data = proxy
        .prepare_transact(true)
        .doing(|| "making a parcel".to_string())?;
    write_arguments(&mut data, &arguments.arguments)?;
    let flags = if arguments.oneway {
        rsbinder::FLAG_ONEWAY
    } else {
        0
    };
    let reply = proxy
        .submit_transact(arguments.code, &data, flags)
        .map_err(|err| device::call_error(&format!("{name} failed"), err))?;
    let reply = match reply {
        Some(mut reply) => read_words(&mut reply)?,
        None => Reply {
            size: 0,
            words: Vec::new(),
        },
    };
    context.show(&reply, print);
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_words() {
        let mut data = Parcel::new();
        let arguments = ["i32", "-2", "bool", "true"].map(String::from);
        write_arguments(&mut data, &arguments).unwrap();
        let reply = read_words(&mut data).unwrap();
        assert_eq!(reply.words, [0xffff_fffe, 1]);
    }

    #[test]
    fn a_type_without_value_is_refused() {
        let mut data = Parcel::new();
        assert!(write_arguments(&mut data, &["i32".to_string()]).is_err());
        assert!(write_argument(&mut data, "i32", "x").is_err());
    }

    #[test]
    fn text_shows_in_utf16() {
        assert_eq!(as_text(&[0x0069_0048, 0x0000_0021]), "Hi!.");
    }
}
