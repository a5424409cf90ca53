// SPDX-License-Identifier: Apache-2.0
//! From a parcel to JSON. Whatever the bytes are, reading ends with a value or an error that says
//! where it stopped to fit.
mod loose;

use crate::aidl::library::{Entry, Library};
use crate::aidl::syntax::Body;
use crate::budget::{Budget, MAX_DEPTH};
use crate::encode::{is_byte_enum, Format};
use crate::types::{Kind, Type};
use anybinder_driver::abi::{OBJECT_SIZE, TYPE_BINDER, TYPE_FD, TYPE_HANDLE};
use serde_json::{json, Map, Value};
use std::rc::Rc;
use std::sync::Arc;

type Outcome = Result<Value, String>;

/// Reads values one after the other; the library is needed for declared types only.
pub struct Decoder<'a> {
    data: &'a [u8],
    position: usize,
    /// Where the parcelable ends that is being read.
    end: usize,
    library: Option<&'a Library>,
    pub format: Format,
    /// The bytes are the first ones of a longer parcel. Where they end, texts and arrays end early
    /// and what follows is left out.
    pub is_cut: bool,
    has_stopped: bool,
    /// Of the whole parcel, with what its holders hold.
    budget: Rc<Budget>,
}

/// What a value takes of the output, its contents aside.
const VALUE_SIZE: usize = 32;

/// An array of bytes as text.
fn hex(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Value::from(format!("hex:{digits}"))
}

/// The shortest number that reads back as the same.
fn float_of_32(number: f32) -> Value {
    float(number.to_string().parse().unwrap_or(f64::from(number)))
}

/// JSON has no NaN and no infinity.
fn float(number: f64) -> Value {
    match number.is_finite() {
        true => Value::from(number),
        false => Value::from(number.to_string()),
    }
}

impl<'a> Decoder<'a> {
    pub fn new(data: &'a [u8], library: Option<&'a Library>) -> Self {
        Decoder {
            data,
            position: 0,
            end: data.len(),
            library,
            format: Format::default(),
            is_cut: false,
            has_stopped: false,
            budget: Rc::default(),
        }
    }

    /// Whether a parcel that is cut has come to its end inside a value.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Whether what is beyond the end may be what was cut off.
    fn may_stop(&self) -> bool {
        self.is_cut && self.end == self.data.len()
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.end - self.position
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn take(&mut self, size: usize) -> Result<&'a [u8], String> {
        if size > self.left() {
            self.has_stopped |= self.may_stop();
            return Err(format!(
                "the parcel ends too early: at byte {}, {size} more are needed, and {} are left",
                self.position,
                self.left()
            ));
        }
        let taken = &self.data[self.position..self.position + size];
        self.position += size;
        Ok(taken)
    }

    /// The bytes of a text or an array: fewer where the parcel is cut.
    fn padded(&mut self, size: usize) -> Result<&'a [u8], String> {
        let with_padding = size.checked_next_multiple_of(4).unwrap_or(usize::MAX);
        if self.may_stop() && with_padding > self.left() {
            self.has_stopped = true;
            let rest = self.take(self.left())?;
            return Ok(&rest[..size.min(rest.len())]);
        }
        Ok(&self.take(with_padding)?[..size])
    }

    pub fn word(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn long(&mut self) -> Result<u64, String> {
        let low = u64::from(self.word()?);
        Ok(u64::from(self.word()?) << 32 | low)
    }

    /// A count of things of at least `size` bytes; None for null.
    fn count(&mut self, size: usize) -> Result<Option<usize>, String> {
        let at = self.position;
        match self.word()? as i32 {
            -1 => Ok(None),
            count => match usize::try_from(count) {
                Ok(count) if count.saturating_mul(size) <= self.left() || self.may_stop() => {
                    Ok(Some(count))
                }
                _ => Err(format!(
                    "the length {count} at byte {at} does not fit the parcel"
                )),
            },
        }
    }

    pub fn string16(&mut self) -> Result<Option<String>, String> {
        let at = self.position;
        let Some(length) = self.count(2)? else {
            return Ok(None);
        };
        let bytes = self.padded((length + 1) * 2)?;
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        match units.last() {
            _ if self.has_stopped => {
                let there = length.min(units.len());
                Ok(Some(String::from_utf16_lossy(&units[..there])))
            }
            Some(0) => Ok(Some(String::from_utf16_lossy(&units[..length]))),
            _ => Err(format!("there is no string at byte {at}")),
        }
    }

    fn string8(&mut self) -> Outcome {
        let Some(length) = self.count(1)? else {
            return Ok(Value::Null);
        };
        let bytes = self.padded(length + 1)?;
        let there = length.min(bytes.len());
        Ok(Value::from(String::from_utf8_lossy(&bytes[..there])))
    }

    /// An object; `with_stability` if its stability follows.
    fn object(&mut self, with_stability: bool) -> Outcome {
        let at = self.position;
        let kind = self.word()?;
        if self.format == Format::Rpc {
            return self.rpc_object(kind, with_stability);
        }
        self.take(4)?;
        let number = self.long()?;
        self.take(OBJECT_SIZE - 16)?;
        if with_stability && self.format.has_stability() {
            self.word()?;
        }
        match kind {
            TYPE_BINDER if number == 0 => Ok(Value::Null),
            TYPE_HANDLE => Ok(json!({ "handle": number as u32 })),
            TYPE_BINDER => Ok(json!({ "binder": format!("{number:#x}") })),
            TYPE_FD => Ok(json!({ "fd": number as u32 })),
            _ => Err(format!("there is no object at byte {at}")),
        }
    }

    /// An object behind its first word, which says whether a binder is not null.
    fn rpc_object(&mut self, kind: u32, is_binder: bool) -> Outcome {
        let number = match (is_binder, kind) {
            (true, 0) => 0,
            (true, _) => self.long()?,
            (false, _) => return Ok(json!({ "file": self.word()? })),
        };
        self.word()?;
        Ok(match number {
            0 => Value::Null,
            _ => json!({ "address": format!("{number:#x}") }),
        })
    }

    fn file(&mut self) -> Outcome {
        match self.word()? {
            0 => Ok(Value::Null),
            _ => self.file_body(),
        }
    }

    /// A file that is not null.
    fn file_body(&mut self) -> Outcome {
        let has_second = self.word()? != 0;
        let file = self.object(false)?;
        if has_second {
            self.object(false)?;
        }
        Ok(file)
    }

    /// None for what lies behind the end of a parcel that is cut.
    pub fn unless_stopped(&self, read: Outcome) -> Result<Option<Value>, String> {
        match read {
            Err(_) if self.has_stopped => Ok(None),
            read => read.map(Some),
        }
    }

    /// Reads a value of a type.
    pub fn value(&mut self, kind: &Type, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err(format!("values are nested deeper than {MAX_DEPTH}"));
        }
        self.budget.output(VALUE_SIZE)?;
        if !kind.dimensions.is_empty() {
            return self.array(kind, depth);
        }
        Ok(match &kind.kind {
            Kind::Void => Value::Null,
            Kind::Bool => Value::from(self.word()? != 0),
            Kind::Byte => Value::from(self.word()? as i8),
            Kind::Short => Value::from(self.word()? as i16),
            Kind::UnsignedShort => Value::from(self.word()? as u16),
            Kind::Char => {
                let unit = self.word()? as u16;
                match char::from_u32(unit.into()) {
                    Some(one) => Value::from(one.to_string()),
                    None => Value::from(unit),
                }
            }
            Kind::Int => Value::from(self.word()? as i32),
            Kind::UnsignedInt => Value::from(self.word()?),
            Kind::Long => Value::from(self.long()? as i64),
            Kind::UnsignedLong => Value::from(self.long()?),
            Kind::Float => float_of_32(f32::from_bits(self.word()?)),
            Kind::Double => float(f64::from_bits(self.long()?)),
            Kind::String16 => self.string16()?.map_or(Value::Null, Value::from),
            Kind::String8 => self.string8()?,
            Kind::Binder => self.object(true)?,
            Kind::RawFile => self.object(false)?,
            Kind::File => self.file()?,
            Kind::Holder => self.holder(depth)?,
            Kind::Loose(kind) => return self.loose(*kind, depth),
            Kind::Declared(entry) => return self.declared(entry, depth),
        })
    }

    fn array(&mut self, kind: &Type, depth: usize) -> Outcome {
        let element = kind.element();
        let is_flat = element.dimensions.is_empty();
        match &element.kind {
            Kind::Byte if is_flat => {
                let Some(count) = self.count(1)? else {
                    return Ok(Value::Null);
                };
                Ok(hex(self.padded(count)?))
            }
            Kind::Declared(entry) if is_flat && is_byte_enum(entry) => {
                let Some(count) = self.count(1)? else {
                    return Ok(Value::Null);
                };
                let bytes = self.padded(count)?;
                bytes
                    .iter()
                    .map(|byte| self.enumerator(entry, i64::from(*byte as i8)))
                    .collect()
            }
            _ => {
                let Some(count) = self.count(4)? else {
                    return Ok(Value::Null);
                };
                let mut made = Vec::new();
                // Where it is cut, at most one more than there is room for is begun.
                for _ in 0..count.min(self.left() / 4 + 1) {
                    let value = self.value(&element, depth + 1);
                    match self.unless_stopped(value)? {
                        Some(value) => made.push(value),
                        None => break,
                    }
                }
                Ok(Value::Array(made))
            }
        }
    }

    /// The name of an enum's value, or the number if it has none.
    fn enumerator(&self, entry: &Entry, number: i64) -> Outcome {
        let items = match self.library {
            Some(library) => library.enumerators(entry)?,
            None => Arc::default(),
        };
        let Some(name) = items.by_value.get(&number) else {
            return Ok(Value::from(number));
        };
        self.budget.output(name.len())?;
        Ok(Value::from(name.as_str()))
    }

    fn holder(&mut self, depth: usize) -> Outcome {
        if self.word()? == 0 {
            return Ok(Value::Null);
        }
        self.word()?;
        let Some(size) = self.count(1)? else {
            return Err("the size of a ParcelableHolder is negative".to_string());
        };
        if size == 0 {
            return Ok(Value::Null);
        }
        let mut end = self.position + size;
        let is_cut = end > self.end;
        if is_cut {
            end = self.end;
        }
        let name = self.string16()?.unwrap_or_default();
        let rest = end
            .checked_sub(self.position)
            .ok_or("a ParcelableHolder is too short")?;
        let bytes = self.take(rest)?;
        let found = self.library.and_then(|library| library.find(&name));
        let value = match (found, self.library) {
            (Some(entry), Some(library)) => {
                let mut inner = Decoder::new(bytes, Some(library));
                inner.format = self.format;
                inner.is_cut = is_cut;
                inner.budget = self.budget.clone();
                let value = inner.parcelable(&entry, depth + 1);
                self.has_stopped |= inner.has_stopped;
                value?
            }
            _ => hex(bytes),
        };
        Ok(json!({ name: value }))
    }

    fn declared(&mut self, entry: &Entry, depth: usize) -> Outcome {
        match &entry.declaration.body {
            Body::Enum { .. } => {
                let backing = Type::of(Kind::of_enum(entry));
                let number = self.value(&backing, depth + 1)?;
                self.enumerator(entry, number.as_i64().unwrap_or(0))
            }
            _ if self.word()? == 0 => Ok(Value::Null),
            _ => self.parcelable(entry, depth),
        }
    }

    /// A parcelable or union behind the word that says that it is not null.
    fn parcelable(&mut self, entry: &Entry, depth: usize) -> Outcome {
        let library = self.library.ok_or("there are no .aidl files")?;
        if depth > MAX_DEPTH {
            let place = entry.place(entry.declaration.at);
            return Err(format!(
                "{place}: values are nested deeper than {MAX_DEPTH}"
            ));
        }
        let mut made = Map::new();
        match &entry.declaration.body {
            Body::Parcelable { fields } => {
                let start = self.position;
                let size = self.word()? as usize;
                let there = match self.may_stop() {
                    true => size.min(self.end - start),
                    false => size,
                };
                if size < 4 || there > self.end - start {
                    return Err(format!(
                        "{} at byte {start} has a size of {size}, which does not fit the parcel",
                        entry.name
                    ));
                }
                let outer_end = std::mem::replace(&mut self.end, start + there);
                for field in fields {
                    // An older version of the sender has fewer fields.
                    if self.left() == 0 {
                        self.has_stopped |= there < size;
                        break;
                    }
                    let kind = library.kind_of(entry, &field.kind)?;
                    self.budget.output(field.name.len())?;
                    let value = self.value(&kind, depth + 1);
                    let value = self.unless_stopped(value);
                    match value.map_err(|err| format!("{}: {err}", field.name))? {
                        Some(value) => made.insert(field.name.clone(), value),
                        None => break,
                    };
                }
                // A newer one has more.
                self.position = self.end;
                self.end = outer_end;
            }
            Body::Union { fields } => {
                let tag = self.word()?;
                let field = fields
                    .get(tag as usize)
                    .ok_or_else(|| format!("the union {} has no member {tag}", entry.name))?;
                let kind = library.kind_of(entry, &field.kind)?;
                self.budget.output(field.name.len())?;
                made.insert(field.name.clone(), self.value(&kind, depth + 1)?);
            }
            _ => return Err(format!("{} has no values", entry.name)),
        }
        Ok(Value::Object(made))
    }
}
