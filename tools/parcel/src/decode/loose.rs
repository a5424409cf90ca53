// SPDX-License-Identifier: Apache-2.0
//! Reading bundles, maps and lists. What is not understood inside of a length is read as bytes.
use super::{hex, Decoder, Outcome};
use crate::budget::MAX_DEPTH;
use crate::loose_types::{
    self, FILE, FILE_CLASS, JAVA_MAGIC, NATIVE_MAGIC, NULL, PARCELABLE, UNREAD,
};
use crate::types::{Kind, Loose, Type};
use anybinder_driver::parcel::put_string16;
use serde_json::{json, Map, Value};

impl Decoder<'_> {
    /// An argument or a field.
    pub(super) fn loose(&mut self, kind: Loose, depth: usize) -> Outcome {
        match kind {
            Loose::Bundle | Loose::PersistableBundle if self.word()? == 0 => Ok(Value::Null),
            _ => self.loose_body(kind, depth),
        }
    }

    fn loose_body(&mut self, kind: Loose, depth: usize) -> Outcome {
        match kind {
            Loose::Bundle | Loose::PersistableBundle => self.bundle(depth),
            Loose::Map => {
                // A key and a value, of a word each at least.
                let Some(count) = self.count(8)? else {
                    return Ok(Value::Null);
                };
                let read = |one: &mut Self| {
                    let key = one.loose_value(depth + 1)?;
                    Ok(json!([key, one.loose_value(depth + 1)?]))
                };
                Ok(pairs(self.each(count, read)?))
            }
            Loose::List => match self.count(4)? {
                Some(count) => Ok(self.each(count, |one| one.loose_value(depth + 1))?.into()),
                None => Ok(Value::Null),
            },
            Loose::CharSequence => self.char_sequence(),
        }
    }

    /// A text of Java that may have spans, which are not read.
    fn char_sequence(&mut self) -> Outcome {
        let has_spans = self.word()? == 0;
        let text = match self.format.level().is_legacy() {
            true => self.string16()?.map_or(Value::Null, Value::from),
            false => self.string8()?,
        };
        match has_spans && self.word()? != 0 {
            true => Err("a text has spans, which are not read".to_string()),
            false => Ok(text),
        }
    }

    /// So many values, or those before the end of a parcel that is cut.
    fn each(
        &mut self,
        count: usize,
        read: impl Fn(&mut Self) -> Outcome,
    ) -> Result<Vec<Value>, String> {
        let mut made = Vec::new();
        for _ in 0..count.min(self.left() / 4 + 1) {
            let value = read(self);
            match self.unless_stopped(value)? {
                Some(value) => made.push(value),
                None => break,
            }
        }
        Ok(made)
    }

    fn bundle(&mut self, depth: usize) -> Outcome {
        let at = self.position;
        let Some(size) = self.count(1)? else {
            return Ok(Value::Null);
        };
        if size == 0 {
            return Ok(json!({}));
        }
        if !matches!(self.word()?, JAVA_MAGIC | NATIVE_MAGIC) {
            return Err(format!("there is no bundle at byte {at}"));
        }
        let start = self.position;
        let there = size.min(self.left());
        if there < size && !self.may_stop() {
            return Err(format!(
                "the bundle at byte {at} has a size of {size}, which does not fit the parcel"
            ));
        }
        let outer_end = self.end;
        // Where it is cut, both ends are that of the data.
        self.end = start + there;
        let read = self.entries(depth);
        let is_read = self.has_stopped || self.left() == 0;
        self.position = self.end;
        self.end = outer_end;
        // A reader of Android takes what is missing at the end for 0.
        if loose_types::has_flag(self.format) && self.left() > 0 {
            self.word()?;
        }
        match read {
            Ok(entries) if is_read => Ok(entries),
            _ => self.bytes_of(start, there),
        }
    }

    fn bytes_of(&self, start: usize, size: usize) -> Outcome {
        self.budget.output(2 * size)?;
        Ok(hex(&self.data[start..start + size]))
    }

    fn entries(&mut self, depth: usize) -> Outcome {
        let count = self.count(8)?.ok_or("a bundle has no count")?;
        let mut made = Map::new();
        for _ in 0..count.min(self.left() / 4 + 1) {
            let read = self.string16().and_then(|key| {
                let key = key.ok_or("a key of a bundle is null")?;
                Ok(json!([key, self.loose_value(depth + 1)?]))
            });
            match self.unless_stopped(read)? {
                Some(mut pair) => made.insert(
                    pair[0].as_str().unwrap_or_default().to_string(),
                    pair[1].take(),
                ),
                None => break,
            };
        }
        Ok(Value::Object(made))
    }

    /// A value behind the number of its type.
    fn loose_value(&mut self, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err(format!("values are nested deeper than {MAX_DEPTH}"));
        }
        let number = self.word()? as i32;
        if number == NULL {
            return Ok(Value::Null);
        }
        let length = match loose_types::has_length(number, self.format) {
            true => self.count(1)?,
            false => None,
        };
        let start = self.position;
        let mut class = Vec::new();
        put_string16(&mut class, FILE_CLASS);
        if number == PARCELABLE && self.data[start..self.end].starts_with(&class) {
            self.take(class.len())?;
            return Ok(json!({ FILE: self.file_body()? }));
        }
        let Some((name, kind)) = loose_types::of_number(number) else {
            let length = length.or(self.unread_length(number)).ok_or_else(|| {
                format!("the value at byte {start} is of type {number}, whose size is not known")
            })?;
            self.take(length)?;
            let bytes = self.bytes_of(start, length)?;
            return Ok(json!({ format!("{UNREAD}{number}"): bytes }));
        };
        let value = self.loose_typed(&kind, depth)?;
        if length.is_some_and(|length| self.position != start + length) && !self.has_stopped {
            return Err(format!("the value at byte {start} has another length"));
        }
        let stands_for_itself = match number {
            loose_types::STRING => value.is_string(),
            loose_types::INT | loose_types::BOOLEAN => true,
            loose_types::DOUBLE => value.is_number(),
            loose_types::LIST => value.is_array(),
            _ => false,
        };
        Ok(match stands_for_itself {
            true => value,
            false => json!({ name: value }),
        })
    }

    /// The size of a value that is not read and has no length in front: sizes of two numbers, and
    /// sparse arrays of booleans.
    fn unread_length(&self, number: i32) -> Option<usize> {
        let count = self.data.get(self.position..self.position + 4)?;
        let count = u32::from_le_bytes(count.try_into().ok()?);
        match number {
            22 => usize::try_from(count).ok()?.checked_mul(8)?.checked_add(4),
            26 | 27 => Some(8),
            _ => None,
        }
    }

    fn loose_typed(&mut self, kind: &Type, depth: usize) -> Outcome {
        match kind.kind {
            Kind::Loose(loose) if kind.dimensions.is_empty() => self.loose_body(loose, depth),
            _ => self.value(kind, depth),
        }
    }
}

/// Pairs as an object, if all keys are texts that differ.
fn pairs(pairs: Vec<Value>) -> Value {
    let named = pairs
        .iter()
        .map(|pair| pair[0].as_str().map(str::to_string));
    let keys: Option<Vec<String>> = named.collect();
    let made: Option<Map<String, Value>> = keys.map(|keys| {
        let values = pairs.iter().map(|pair| pair[1].clone());
        keys.into_iter().zip(values).collect()
    });
    match made {
        Some(made) if made.len() == pairs.len() => Value::Object(made),
        _ => Value::Array(pairs),
    }
}
