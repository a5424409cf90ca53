// SPDX-License-Identifier: Apache-2.0
//! Writing bundles, maps and lists.
use super::{element, hex_bytes, mismatch, text, Encoder, Misfit, Outcome, PREFIX_HEX};
use crate::budget::MAX_DEPTH;
use crate::loose_types::{self, FILE, FILE_CLASS, JAVA_MAGIC, NULL, PARCELABLE, UNREAD};
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

/// What Java's `String.hashCode` gives.
fn hash(key: &str) -> i32 {
    let units = key.encode_utf16().map(i32::from);
    units.fold(0, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit))
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
            (Loose::Bundle | Loose::PersistableBundle, _) => self.bundle(value, depth)?,
            (Loose::CharSequence, _) => {
                let given = text(Kind::Loose(kind).aidl_name(), value)?;
                // It has no spans.
                self.parcel.word(1);
                match self.parcel.format.level().is_legacy() {
                    true => self.parcel.string16(given),
                    false => self.parcel.string8(given),
                }
            }
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

    fn bundle(&mut self, value: &Value, depth: usize) -> Outcome {
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
        self.parcel.word(JAVA_MAGIC);
        let start = self.parcel.data.len();
        self.parcel.data.extend(bytes.unwrap_or_default());
        if let Some(given) = given {
            self.parcel.word(given.len() as u32);
            let mut given: Vec<_> = given.iter().collect();
            given.sort_by_key(|(key, _)| hash(key));
            for (key, one) in given {
                self.parcel.string16(key);
                self.entry(key, one, depth)?;
            }
        }
        self.end_length(at, start);
        if loose_types::has_flag(self.parcel.format) {
            self.parcel.word(0);
        }
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
        let number = unread.and_then(|number| number.parse::<i32>().ok());
        match (number, given_bytes(value)) {
            (Some(number), Some(bytes)) => self.body(number, |encoder| {
                encoder.parcel.data.extend(bytes);
                Ok(())
            }),
            (None, _) if name == FILE => self.body(PARCELABLE, |encoder| {
                encoder.parcel.string16(FILE_CLASS);
                encoder.file_body(value)
            }),
            _ => Err(no_type(&Value::from(name))),
        }
    }

    /// The number of a type, and what `write` writes, with its length where it has one.
    fn body(&mut self, number: i32, write: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        self.parcel.word(number as u32);
        let has_length = loose_types::has_length(number, self.parcel.format);
        let at = has_length.then(|| self.begin_length());
        let start = self.parcel.data.len();
        write(self)?;
        if let Some(at) = at {
            self.end_length(at, start);
        }
        Ok(())
    }

    fn numbered_value(
        &mut self,
        (number, kind): (i32, &Type),
        value: &Value,
        depth: usize,
    ) -> Outcome {
        self.body(number, |encoder| match kind.kind {
            Kind::Loose(loose) if kind.dimensions.is_empty() => {
                encoder.loose_body(loose, value, depth)
            }
            _ => encoder.value(kind, value, depth),
        })
    }
}

fn no_type(value: &Value) -> Misfit {
    let what = "is no value with its type, as {\"long\": 7} or {\"int[]\": [1]}";
    format!("{value} {what}").into()
}
