// SPDX-License-Identifier: Apache-2.0
//! From JSON to a parcel. The formats are those of Android 13 and newer: every value takes a
//! multiple of 4 bytes, strings are UTF-16 with their length, arrays have their length, parcelables
//! their size, a null has a marker of its own.
mod loose;

use crate::aidl::library::{Entry, Library};
use crate::aidl::syntax::{Body, Field};
use crate::budget::{MAX_DEPTH, MAX_PARCEL};
use crate::types::{Kind, Loose, Type};
use anybinder_driver::abi::{OBJECT_SIZE, TYPE_BINDER};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{put_padded, put_string16};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

const PREFIX_SERVICE: &str = "handle of ";
const PREFIX_HEX: &str = "hex:";

/// What stands at a place of a parcel that only the caller can fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// The object of a registered service, followed by its stability.
    Service(String),
    File(PathBuf),
}

/// A parcel to send, with 24 bytes left free for each object.
#[derive(Clone, Debug, Default)]
pub struct Parcel {
    pub data: Vec<u8>,
    pub objects: Vec<(usize, Object)>,
    pub format: Format,
}

/// What the format of a parcel depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A parcel of the driver. From Android 11 on the stability follows a binder; bundles have what
    /// `loose_types` says.
    Driver(Level),
    Rpc,
}

impl Default for Format {
    fn default() -> Format {
        Format::Driver(Level::default())
    }
}

impl Format {
    /// Every format of the driver's parcels, that of the newest first.
    pub const ALL: [Format; 4] = [
        Format::Driver(Level::A16),
        Format::Driver(Level::A13),
        Format::Driver(Level::A11),
        Format::Driver(Level::A10),
    ];

    pub fn level(self) -> Level {
        match self {
            Format::Driver(level) => level,
            Format::Rpc => Level::default(),
        }
    }

    pub fn has_stability(self) -> bool {
        matches!(self, Format::Driver(level) if !level.is_legacy())
    }
}

impl Parcel {
    pub fn word(&mut self, value: u32) {
        self.data.extend_from_slice(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        put_padded(&mut self.data, bytes);
    }

    pub fn string16(&mut self, text: &str) {
        put_string16(&mut self.data, text);
    }

    fn string8(&mut self, text: &str) {
        self.word(text.len() as u32);
        self.bytes(&[text.as_bytes(), &[0]].concat());
    }

    /// Leaves 24 bytes for an object.
    pub fn object(&mut self, object: Object) {
        self.objects.push((self.data.len(), object));
        self.data.resize(self.data.len() + OBJECT_SIZE, 0);
    }

    /// A binder that is null, and its stability.
    pub fn null_binder(&mut self) {
        if self.format == Format::Rpc {
            return self.data.extend_from_slice(&[0; 8]);
        }
        self.word(TYPE_BINDER);
        self.data.resize(self.data.len() + OBJECT_SIZE - 4, 0);
        self.stability();
    }

    fn stability(&mut self) {
        if self.format.has_stability() {
            self.word(0);
        }
    }

    fn binder(&mut self, text: &str) {
        let name = text.strip_prefix(PREFIX_SERVICE).unwrap_or(text);
        self.object(Object::Service(name.to_string()));
        self.stability();
    }
}

/// Why a value does not fit its type.
#[derive(Debug)]
pub struct Misfit {
    /// Which part of the value, as `.mounts[1]`; nothing for the value itself.
    pub path: String,
    /// A clause.
    pub what: String,
}

impl Misfit {
    /// The same in the value of which the part is `step`.
    pub fn within(self, step: fmt::Arguments<'_>) -> Misfit {
        Misfit {
            path: format!("{step}{}", self.path),
            ..self
        }
    }
}

impl From<String> for Misfit {
    fn from(what: String) -> Misfit {
        Misfit {
            path: String::new(),
            what,
        }
    }
}

impl From<&str> for Misfit {
    fn from(what: &str) -> Misfit {
        what.to_string().into()
    }
}

impl From<Misfit> for String {
    fn from(misfit: Misfit) -> String {
        match misfit.path.trim_start_matches('.') {
            "" => misfit.what,
            path => format!("{path}: {}", misfit.what),
        }
    }
}

type Outcome = Result<(), Misfit>;

/// Writes values; the library is needed for declared types only.
pub struct Encoder<'a> {
    pub parcel: Parcel,
    pub library: Option<&'a Library>,
}

/// Says which value an error is about.
fn mismatch(kind: &str, value: &Value) -> String {
    format!("{value} is not a value of type {kind}")
}

fn integer(
    kind: &str,
    value: &Value,
    range: std::ops::RangeInclusive<i128>,
) -> Result<i64, String> {
    let text = value
        .as_str()
        .map(str::to_string)
        .unwrap_or_else(|| value.to_string());
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.as_str()),
    };
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse::<i128>(),
    };
    let number = number.map(|number| if negative { -number } else { number });
    match number {
        // Wraps to the bits of unsigned values.
        Ok(number) if range.contains(&number) => Ok(number as i64),
        _ => Err(mismatch(kind, value)),
    }
}

fn float(kind: &str, value: &Value) -> Result<f64, String> {
    let parsed = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    parsed.ok_or_else(|| mismatch(kind, value))
}

fn text<'v>(kind: &str, value: &'v Value) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| mismatch(kind, value))
}

/// What a decoder makes of an object: the word for it that is in the value, and its number.
fn numbered<'w>(value: &Value, words: &[&'w str]) -> Option<(&'w str, u64)> {
    let found = words
        .iter()
        .find_map(|word| Some((*word, value.get(word)?)));
    found.and_then(|(word, number)| Some((word, number.as_u64()?)))
}

/// The path of a file, or of an open one.
fn path(kind: &str, value: &Value) -> Result<PathBuf, String> {
    Ok(match numbered(value, &["fd"]) {
        Some((_, number)) => format!("/proc/self/fd/{number}").into(),
        None => text(kind, value)?.into(),
    })
}

/// Adds to an error which element of an array it is about.
fn element<T, E: Into<Misfit>>(index: usize, outcome: Result<T, E>) -> Result<T, Misfit> {
    outcome.map_err(|err| {
        let misfit: Misfit = err.into();
        misfit.within(format_args!("[{index}]"))
    })
}

/// The bytes of a byte array: `hex:00ff`, or an array of numbers.
///
/// * `array`, `byte`: the names of its type and of that of its elements
fn packed((array, byte): (&str, &str), value: &Value) -> Result<Vec<u8>, Misfit> {
    if let Some(hex) = value
        .as_str()
        .map(|text| text.strip_prefix(PREFIX_HEX).unwrap_or(text))
    {
        return hex_bytes(hex).ok_or_else(|| mismatch(array, value).into());
    }
    let values = value.as_array().ok_or_else(|| mismatch(array, value))?;
    let bytes = values.iter().enumerate().map(|(index, one)| {
        element(index, integer(byte, one, -128..=255)).map(|number| number as u8)
    });
    bytes.collect()
}

/// The bytes that hexadecimal digits stand for.
pub fn hex_bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

impl<'a> Encoder<'a> {
    /// Writes a parcel by the types of a library.
    pub fn new(library: &'a Library, format: Format) -> Self {
        let parcel = Parcel {
            format,
            ..Parcel::default()
        };
        Encoder {
            parcel,
            library: Some(library),
        }
    }

    /// What the user calls a type: as in the `.aidl` files, or as on the command line.
    fn name<'k>(&self, kind: &'k Kind) -> &'k str {
        match self.library {
            Some(_) => kind.aidl_name(),
            None => kind.word_name(),
        }
    }

    fn array_name(&self, kind: &Type) -> String {
        let sizes = kind.dimensions.iter().map(|size| match size {
            Some(size) => format!("[{size}]"),
            None => "[]".to_string(),
        });
        format!("{}{}", self.name(&kind.kind), sizes.collect::<String>())
    }

    /// Writes a value of a type.
    pub fn value(&mut self, kind: &Type, value: &Value, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return Err(format!("values are nested deeper than {MAX_DEPTH}").into());
        }
        if !kind.dimensions.is_empty() {
            return self.array(kind, value, depth);
        }
        if value.is_null() {
            return self.null(kind);
        }
        let name = self.name(&kind.kind);
        let parcel = &mut self.parcel;
        match &kind.kind {
            Kind::Void => return Err("void has no value".into()),
            Kind::Bool => {
                let truth = match value {
                    Value::String(text) => text.parse().ok(),
                    other => other.as_bool(),
                };
                parcel.word(truth.ok_or_else(|| mismatch(name, value))?.into());
            }
            Kind::Char => match value
                .as_str()
                .map(|text| text.encode_utf16().collect::<Vec<_>>())
            {
                Some(units) if units.len() == 1 => parcel.word(units[0].into()),
                _ => parcel.word(integer(name, value, 0..=0xffff)? as u32),
            },
            Kind::Float => parcel.word((float(name, value)? as f32).to_bits()),
            Kind::Double => {
                let bits = float(name, value)?.to_bits();
                parcel.data.extend_from_slice(&bits.to_le_bytes());
            }
            Kind::String16 => parcel.string16(text(name, value)?),
            Kind::String8 => parcel.string8(text(name, value)?),
            Kind::Binder => match numbered(value, &["handle", "object"]) {
                Some((what, number)) => parcel.binder(&format!("{what} {number}")),
                None => parcel.binder(text(name, value)?),
            },
            Kind::File => {
                parcel.word(1);
                return self.file_body(value);
            }
            Kind::RawFile => parcel.object(Object::File(path(name, value)?)),
            Kind::Holder => return Err("a ParcelableHolder can only be null here".into()),
            Kind::Loose(kind) => return self.loose(*kind, value, depth),
            Kind::Declared(entry) => return self.declared(entry, value, depth),
            number => return self.number(number, name, value),
        }
        Ok(())
    }

    /// A file that is not null, without a second descriptor for errors.
    fn file_body(&mut self, value: &Value) -> Outcome {
        let path = path(self.name(&Kind::File), value)?;
        self.parcel.word(0);
        self.parcel.object(Object::File(path));
        Ok(())
    }

    /// * `name`: of the type, which may be an enum with numbers of this kind
    fn number(&mut self, kind: &Kind, name: &str, value: &Value) -> Outcome {
        let (low, high) = match kind {
            Kind::Byte => (-128, 255),
            Kind::Short => (-32768, 32767),
            Kind::UnsignedShort => (0, 0xffff),
            Kind::Int => (i128::from(i32::MIN), i128::from(i32::MAX)),
            Kind::UnsignedInt => (0, i128::from(u32::MAX)),
            Kind::UnsignedLong => (0, i128::from(u64::MAX)),
            _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let number = integer(name, value, low..=high)?;
        match kind {
            Kind::Long | Kind::UnsignedLong => {
                self.parcel.data.extend_from_slice(&number.to_le_bytes());
            }
            // Sign-extended, as libbinder does.
            Kind::Byte => self.parcel.word(number as i8 as u32),
            _ => self.parcel.word(number as u32),
        }
        Ok(())
    }

    fn null(&mut self, kind: &Type) -> Outcome {
        let parcel = &mut self.parcel;
        match &kind.kind {
            Kind::Binder => parcel.null_binder(),
            Kind::Holder => parcel
                .data
                .extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            Kind::String16 | Kind::String8 | Kind::Loose(Loose::Map | Loose::List)
                if kind.is_nullable =>
            {
                parcel.word(u32::MAX);
            }
            Kind::File | Kind::Loose(_) | Kind::Declared(_) if kind.is_nullable => parcel.word(0),
            _ => return Err("null stands where the type is not nullable".into()),
        }
        Ok(())
    }

    fn array(&mut self, kind: &Type, value: &Value, depth: usize) -> Outcome {
        if value.is_null() {
            if !kind.is_nullable {
                return Err("null stands where the array is not nullable".into());
            }
            self.parcel.word(u32::MAX);
            return Ok(());
        }
        let wanted = kind.dimensions[0];
        let is_right = |size: usize| match wanted {
            Some(wanted) if wanted != size => Err(format!(
                "an array of {wanted} elements is needed, not one of {size}"
            )),
            _ => Ok(()),
        };
        let of = kind.element();
        let holds_bytes = match &of.kind {
            Kind::Byte => true,
            Kind::Declared(entry) => is_byte_enum(entry) && !value.is_array(),
            _ => false,
        };
        if of.dimensions.is_empty() && holds_bytes {
            let array = self.array_name(kind);
            let bytes = packed((&array, self.name(&kind.kind)), value)?;
            is_right(bytes.len())?;
            self.parcel.word(bytes.len() as u32);
            self.parcel.bytes(&bytes);
            return Ok(());
        }
        let values = value
            .as_array()
            .ok_or_else(|| mismatch(&self.array_name(kind), value))?;
        is_right(values.len())?;
        self.parcel.word(values.len() as u32);
        let mut values = values.iter().enumerate();
        if let (Kind::Declared(entry), true) = (&of.kind, of.dimensions.is_empty()) {
            if is_byte_enum(entry) {
                let numbers: Result<Vec<u8>, Misfit> = values
                    .map(|(index, one)| element(index, self.enumerator(entry, one)))
                    .map(|number| number.map(|number| number as u8))
                    .collect();
                self.parcel.bytes(&numbers?);
                return Ok(());
            }
        }
        values.try_for_each(|(index, one)| element(index, self.value(&of, one, depth + 1)))
    }

    fn enumerator(&self, entry: &Entry, value: &Value) -> Result<i64, String> {
        if let Some(name) = value.as_str() {
            let items = match self.library {
                Some(library) => library.enumerators(entry)?,
                None => Arc::default(),
            };
            let last = name.rsplit('.').next().unwrap_or(name);
            if let Some(number) = items.by_name.get(last) {
                return Ok(*number);
            }
            if name.parse::<i64>().is_err() && !name.starts_with("0x") {
                let names = items.names.join(", ");
                return Err(format!("{name} is not in {}; it has: {names}", entry.name));
            }
        }
        let range = i128::from(i64::MIN)..=i128::from(i64::MAX);
        integer(&entry.name, value, range)
    }

    fn declared(&mut self, entry: &Entry, value: &Value, depth: usize) -> Outcome {
        match &entry.declaration.body {
            Body::Enum { .. } => {
                let number = self.enumerator(entry, value)?;
                self.number(&Kind::of_enum(entry), &entry.name, &Value::from(number))
            }
            Body::Parcelable { fields } => {
                let given = value
                    .as_object()
                    .ok_or_else(|| mismatch(&entry.name, value))?;
                check_names(entry, fields, given)?;
                self.parcel.word(1);
                let start = self.parcel.data.len();
                self.parcel.word(0);
                for field in fields {
                    self.field(entry, field, given.get(&field.name), depth)?;
                }
                let size = (self.parcel.data.len() - start) as u32;
                self.parcel.data[start..start + 4].copy_from_slice(&size.to_le_bytes());
                Ok(())
            }
            Body::Union { fields } => {
                let given = value
                    .as_object()
                    .ok_or_else(|| mismatch(&entry.name, value))?;
                check_names(entry, fields, given)?;
                // Without a member it is the first one, with its default.
                let tag = match given.keys().next() {
                    None => Some(0),
                    Some(key) => fields.iter().position(|field| field.name == *key),
                };
                match tag.filter(|tag| *tag < fields.len()) {
                    Some(tag) if given.len() <= 1 => {
                        self.parcel.word(1);
                        self.parcel.word(tag as u32);
                        let field = &fields[tag];
                        self.field(entry, field, given.get(&field.name), depth)
                    }
                    _ => Err(format!("the union {} has one member at a time", entry.name).into()),
                }
            }
            _ => Err(format!("{} has no values", entry.name).into()),
        }
    }

    fn field(
        &mut self,
        entry: &Entry,
        field: &Field,
        value: Option<&Value>,
        depth: usize,
    ) -> Outcome {
        let library = self.library.ok_or("there are no .aidl files")?;
        if self.parcel.data.len() > MAX_PARCEL {
            let place = entry.place(field.kind.at);
            return Err(format!("{place}: the parcel has more than {MAX_PARCEL} bytes").into());
        }
        let kind = library.kind_of(entry, &field.kind)?;
        let value = match value {
            Some(value) => value.clone(),
            None => match library.default_of(entry, field, &kind)? {
                Some(value) => value,
                None => empty(&kind),
            },
        };
        self.value(&kind, &value, depth + 1)
            .map_err(|misfit| misfit.within(format_args!(".{}", field.name)))
    }
}

pub fn is_byte_enum(entry: &Entry) -> bool {
    matches!(entry.declaration.body, Body::Enum { .. })
        && matches!(Kind::of_enum(entry), Kind::Byte)
}

fn check_names(entry: &Entry, fields: &[Field], given: &Map<String, Value>) -> Outcome {
    let unknown = given
        .keys()
        .find(|key| fields.iter().all(|field| field.name != **key));
    match unknown {
        None => Ok(()),
        Some(key) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let names = names.join(", ");
            Err(format!("{} has no field {key}; it has: {names}", entry.name).into())
        }
    }
}

/// Zero, or what has no contents: what a field has that is not given.
pub fn empty(kind: &Type) -> Value {
    if kind.is_nullable {
        return Value::Null;
    }
    if let Some(size) = kind.dimensions.first() {
        let element = kind.element();
        return std::iter::repeat_n(empty(&element), size.unwrap_or(0)).collect();
    }
    match &kind.kind {
        Kind::Bool => Value::from(false),
        Kind::String16 | Kind::String8 => Value::from(""),
        Kind::Binder | Kind::Holder => Value::Null,
        Kind::Loose(Loose::List) => Value::Array(Vec::new()),
        Kind::Loose(_) => Value::Object(Map::new()),
        Kind::Declared(entry) if !matches!(entry.declaration.body, Body::Enum { .. }) => {
            Value::Object(Map::new())
        }
        Kind::File | Kind::RawFile => Value::Null,
        _ => Value::from(0),
    }
}
