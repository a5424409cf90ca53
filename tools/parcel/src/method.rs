// SPDX-License-Identifier: Apache-2.0
//! The parcels of the calls of a method: what the caller passes, and what the service answers.
use crate::aidl::library::{Called, Entry};
use crate::aidl::syntax::Direction;
use crate::aidl::Library;
use crate::decode::Decoder;
use crate::encode::{empty, Encoder, Format, Misfit, Parcel};
use crate::status::{self, Exception};
use crate::types::Kind;
use serde_json::{Map, Value};

/// What a service answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// None if the parcel was cut before it.
    pub result: Option<Value>,
    /// The arguments that the service wrote.
    pub out: Map<String, Value>,
}

fn check_end(decoder: &Decoder) -> Result<(), String> {
    match decoder.left() {
        0 => Ok(()),
        _ if decoder.has_stopped() => Ok(()),
        left => Err(format!("{left} bytes are left over")),
    }
}

/// Reads the arguments that the caller passes, behind the header; of a parcel that is cut, those
/// that it has.
pub fn arguments(
    library: &Library,
    entry: &Entry,
    called: &Called,
    decoder: &mut Decoder,
) -> Result<Vec<(String, Value)>, String> {
    let mut read = Vec::new();
    for argument in &called.method.arguments {
        let kind = library.kind_of(entry, &argument.kind)?;
        if argument.direction == Direction::Out {
            // The length of the array that the service makes.
            let has_length = kind.dimensions.first() == Some(&None);
            match has_length.then(|| decoder.word()) {
                Some(Err(_)) if decoder.has_stopped() => break,
                Some(Err(err)) => return Err(err),
                _ => continue,
            }
        }
        let value = decoder.value(&kind, 0);
        let value = decoder.unless_stopped(value);
        match value.map_err(|err| format!("{}: {err}", argument.name))? {
            Some(value) => read.push((argument.name.clone(), value)),
            None => break,
        }
    }
    check_end(decoder)?;
    Ok(read)
}

/// Reads a reply: its exception, or its values.
pub fn answer(
    library: &Library,
    entry: &Entry,
    called: &Called,
    decoder: &mut Decoder,
) -> Result<Result<Answer, Exception>, String> {
    if let Some(exception) = status::read(decoder)? {
        return Ok(Err(exception));
    }
    let result = library.kind_of(entry, &called.method.result)?;
    let value = decoder.value(&result, 0);
    let mut answer = Answer {
        result: decoder.unless_stopped(value)?,
        out: Map::new(),
    };
    for argument in &called.method.arguments {
        if argument.direction == Direction::In || decoder.has_stopped() {
            continue;
        }
        let kind = library.kind_of(entry, &argument.kind)?;
        let value = decoder.value(&kind, 0);
        if let Some(value) = decoder.unless_stopped(value)? {
            answer.out.insert(argument.name.clone(), value);
        }
    }
    check_end(decoder)?;
    Ok(Ok(answer))
}

/// What stands for the interface of an argument that is to be a new object of it.
const NEW: &str = "new";

/// Writes the arguments that the caller passes, without the header. An object of which only `new`
/// is said becomes `new INTERFACE`.
///
/// * `given`: by their names; a missing one is an error
pub fn request(
    (library, entry): (&Library, &Entry),
    called: &Called,
    given: &Map<String, Value>,
    format: Format,
) -> Result<Parcel, Misfit> {
    let mut encoder = Encoder::new(library, format);
    for argument in &called.method.arguments {
        let kind = library.kind_of(entry, &argument.kind)?;
        if argument.direction == Direction::Out {
            // The service makes an array of this length.
            if let Some(None) = kind.dimensions.first() {
                encoder.parcel.word(0);
            }
            continue;
        }
        let name = &argument.name;
        let value = given.get(name).ok_or_else(|| Misfit {
            path: name.clone(),
            what: "it is missing".to_string(),
        })?;
        let new = match (&kind.kind, value.as_str()) {
            (Kind::Binder, Some(NEW)) => library.resolve(entry, &argument.kind.path),
            _ => None,
        };
        let new = new.map(|found| Value::from(format!("{NEW} {}", found.name)));
        let written = encoder.value(&kind, new.as_ref().unwrap_or(value), 0);
        written.map_err(|misfit| misfit.within(format_args!("{name}")))?;
    }
    Ok(encoder.parcel)
}

/// Writes a reply without an exception.
///
/// * `result`, `out`: what is not given is zero or has no contents
pub fn reply(
    (library, entry): (&Library, &Entry),
    called: &Called,
    (result, out): (Option<&Value>, &Map<String, Value>),
    format: Format,
) -> Result<Parcel, Misfit> {
    let mut encoder = Encoder::new(library, format);
    encoder.parcel.word(0);
    let kind = library.kind_of(entry, &called.method.result)?;
    match (kind.is_void(), result) {
        (true, None | Some(Value::Null)) => {}
        (true, Some(_)) => return Err("the method returns nothing".into()),
        (false, value) => {
            encoder.value(&kind, value.unwrap_or(&empty(&kind)), 0)?;
        }
    }
    for argument in called.returned() {
        let kind = library.kind_of(entry, &argument.kind)?;
        let name = &argument.name;
        let value = out.get(name).cloned().unwrap_or_else(|| empty(&kind));
        let written = encoder.value(&kind, &value, 0);
        written.map_err(|misfit| misfit.within(format_args!(".{name}")))?;
    }
    Ok(encoder.parcel)
}
