// SPDX-License-Identifier: Apache-2.0
//! Writing bundles, maps and lists.
use super::{element, hex_bytes, mismatch, Encoder, Misfit, Outcome, PREFIX_HEX};
use crate::budget::MAX_DEPTH;
use crate::loose_types::{self, JAVA_MAGIC, NATIVE_MAGIC, NULL, UNREAD};
use crate::types::{Kind, Loose, Type};
use serde_json::{Number, Value};

/// The bytes of `hex:...`.
fn given_bytes(value: &Value) -> Option<Vec<u8>> {
    value.as_str()?.strip_prefix(PREFIX_HEX).and_then(hex_bytes)
}

/// The type that a number has unless it is named.
fn of_number(number: &Number) -> i32 {
    match number.as_i64() {
        Some(number) if i32::try_from(number).is_ok() => loose_types::INT,
        _ if number.is_f64() => loose_types::DOUBLE,
        _ => loose_types::LONG,
    }
}

impl Encoder<'_> {
    /// An argument or a field that is not null.
    pub(super) fn loose(&mut self, kind: Loose, value: &Value, depth: usize) -> Outcome {
        if matches!(kind, Loose::Bundle | Loose::PersistableBundle) {
            self.parcel.word(1);
        }
        self.loose_body(kind, value, depth)
    }

    fn loose_body(&mut self, kind: Loose, value: &Value, depth: usize) -> Outcome {
        let misfit = || mismatch(Kind::Loose(kind).aidl_name(), value);
        match (kind, value) {
            (_, Value::Null) => self.parcel.word(NULL as u32),
            (Loose::Bundle, _) => self.bundle(JAVA_MAGIC, value, depth)?,
            (Loose::PersistableBundle, _) => self.bundle(NATIVE_MAGIC, value, depth)?,
            (Loose::List, Value::Array(values)) => {
                self.parcel.word(values.len() as u32);
                for (index, one) in values.iter().enumerate() {
                    element(index, self.loose_value(one, depth + 1))?;
                }
            }
            (Loose::Map, Value::Object(given)) => {
                self.parcel.word(given.len() as u32);
                for (key, one) in given {
                    self.loose_value(&Value::from(key.as_str()), depth + 1)?;
                    self.entry(key, one, depth)?;
                }
            }
            (Loose::Map, Value::Array(pairs)) => {
                self.parcel.word(pairs.len() as u32);
                for (index, pair) in pairs.iter().enumerate() {
                    let Some([key, one]) = pair.as_array().map(Vec::as_slice) else {
                        return element(index, Err(misfit()));
                    };
                    element(index, self.loose_value(key, depth + 1))?;
                    element(index, self.loose_value(one, depth + 1))?;
                }
            }
            _ => return Err(misfit().into()),
        }
        Ok(())
    }

    /// * `magic`: what stands in front of the values
    fn bundle(&mut self, magic: u32, value: &Value, depth: usize) -> Outcome {
        let bytes = given_bytes(value);
        let given = match (&bytes, value.as_object()) {
            (None, Some(given)) if given.is_empty() => {
                self.parcel.word(0);
                return Ok(());
            }
            (None, None) => return Err(mismatch("Bundle", value).into()),
            (_, given) => given,
        };
        let at = self.begin_length();
        self.parcel.word(magic);
        let start = self.parcel.data.len();
        self.parcel.data.extend(bytes.unwrap_or_default());
        if let Some(given) = given {
            self.parcel.word(given.len() as u32);
            for (key, one) in given {
                self.parcel.string16(key);
                self.entry(key, one, depth)?;
            }
        }
        self.end_length(at, start);
        Ok(())
    }

    fn entry(&mut self, key: &str, value: &Value, depth: usize) -> Outcome {
        self.loose_value(value, depth + 1)
            .map_err(|misfit| misfit.within(format_args!(".{key}")))
    }

    /// Leaves room for a length; returns where.
    fn begin_length(&mut self) -> usize {
        self.parcel.word(0);
        self.parcel.data.len() - 4
    }

    /// Fills in the length at a place: that of what begins at `start`.
    fn end_length(&mut self, at: usize, start: usize) {
        let length = (self.parcel.data.len() - start) as u32;
        self.parcel.data[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// A value with the number of its type.
    fn loose_value(&mut self, value: &Value, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err(format!("values are nested deeper than {MAX_DEPTH}").into());
        }
        let number = match value {
            Value::Null => {
                self.parcel.word(NULL as u32);
                return Ok(());
            }
            Value::Bool(_) => loose_types::BOOLEAN,
            Value::String(_) => loose_types::STRING,
            Value::Array(_) => loose_types::LIST,
            Value::Number(number) => of_number(number),
            Value::Object(given) => {
                let mut given = given.iter();
                return match (given.next(), given.next()) {
                    (Some((name, one)), None) => self.named_value(name, one, depth),
                    _ => Err(no_type(value)),
                };
            }
        };
        let (_, kind) = loose_types::of_number(number).ok_or("a type has no number")?;
        self.numbered_value((number, &kind), value, depth)
    }

    fn named_value(&mut self, name: &str, value: &Value, depth: usize) -> Outcome {
        if let Some((number, kind)) = loose_types::of_name(name) {
            let written = self.numbered_value((number, &kind), value, depth);
            return written.map_err(|misfit| misfit.within(format_args!(".{name}")));
        }
        let unread = name.strip_prefix(UNREAD);
        let number = unread.and_then(|number| number.parse().ok());
        match (
            number.filter(|one| loose_types::has_length(*one)),
            given_bytes(value),
        ) {
            (Some(number), Some(bytes)) => {
                self.parcel.word(number as u32);
                self.parcel.word(bytes.len() as u32);
                self.parcel.data.extend(bytes);
                Ok(())
            }
            _ => Err(no_type(&Value::from(name))),
        }
    }

    fn numbered_value(
        &mut self,
        (number, kind): (i32, &Type),
        value: &Value,
        depth: usize,
    ) -> Outcome {
        self.parcel.word(number as u32);
        let at = loose_types::has_length(number).then(|| self.begin_length());
        let start = self.parcel.data.len();
        match kind.kind {
            Kind::Loose(kind) => self.loose_body(kind, value, depth)?,
            _ => self.value(kind, value, depth)?,
        }
        if let Some(at) = at {
            self.end_length(at, start);
        }
        Ok(())
    }
}

fn no_type(value: &Value) -> Misfit {
    let what = "is no value with its type, as {\"long\": 7} or {\"int[]\": [1]}";
    format!("{value} {what}").into()
}
