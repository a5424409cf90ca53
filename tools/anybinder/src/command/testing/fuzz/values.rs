// SPDX-License-Identifier: Apache-2.0
//! Values of types by chance: at their bounds, without contents, with very many, and others.
use anybinder_cli::error::{Error, Result};
use anybinder_parcel::aidl::library::Entry;
use anybinder_parcel::aidl::syntax::Body;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::empty;
use anybinder_parcel::types::{Kind, Type};
use fastrand::Rng;
use serde_json::{Map, Value};

/// From this depth on values have no contents.
const DEPTH_MAX: usize = 4;
const FILE: &str = "/dev/null";
const TEXTS: [&str; 7] = ["", "a", "%s%n", "../../x", "\u{0}x", "\u{1f600}", "null"];
const FLOATS: [&str; 6] = ["0", "-0", "1.5", "NaN", "inf", "1e38"];
const LENGTHS: [usize; 5] = [0, 1, 2, 9, 1000];

pub struct Values<'a> {
    pub library: &'a Library,
    pub random: &'a mut Rng,
    /// The service that stands for every binder.
    pub name: &'a str,
}

fn unusable(err: String) -> Error {
    Error::new(format!("The .aidl files cannot be used: {err}."))
}

impl Values<'_> {
    fn integer(&mut self, low: i64, high: i64) -> Value {
        let number = self.random.i64(..);
        let all = [0, 1, -1, low, high, low + 1, number];
        let chosen = *self.choose(&all);
        let fits = (low..=high).contains(&chosen);
        Value::from(if fits { chosen } else { high })
    }

    fn choose<'c, T>(&mut self, from: &'c [T]) -> &'c T {
        &from[self.random.usize(..from.len())]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.random.usize(..count) == 0
    }

    fn text(&mut self) -> String {
        let repeat = match self.one_in(8) {
            true => 5000,
            false => 1,
        };
        self.choose(&TEXTS).repeat(repeat)
    }

    /// A value of a type.
    pub fn value(&mut self, kind: &Type, depth: usize) -> Result<Value> {
        if kind.is_nullable && self.one_in(3) {
            return Ok(Value::Null);
        }
        if let Some(size) = kind.dimensions.first() {
            return self.array(kind, *size, depth);
        }
        Ok(match &kind.kind {
            Kind::Bool => Value::from(self.one_in(2)),
            Kind::Byte => self.integer(-128, 127),
            Kind::Short => self.integer(-32768, 32767),
            Kind::UnsignedShort => self.integer(0, 65535),
            Kind::Char => Value::from(*self.choose(&["a", "\u{ffff}", "\u{20ac}"])),
            Kind::Int => self.integer(i32::MIN.into(), i32::MAX.into()),
            Kind::UnsignedInt => self.integer(0, u32::MAX.into()),
            Kind::Long => self.integer(i64::MIN, i64::MAX),
            Kind::UnsignedLong => self.integer(0, i64::MAX),
            Kind::Float | Kind::Double => Value::from(*self.choose(&FLOATS)),
            Kind::String16 | Kind::String8 => Value::from(self.text()),
            Kind::Binder if self.one_in(2) => Value::Null,
            Kind::Binder => Value::from(self.name),
            Kind::File | Kind::RawFile => Value::from(FILE),
            Kind::Declared(entry) => return self.declared(entry, depth),
            Kind::Void | Kind::Holder | Kind::Loose(_) => empty(kind),
        })
    }

    fn array(&mut self, kind: &Type, size: Option<usize>, depth: usize) -> Result<Value> {
        let size = match size {
            Some(size) => size,
            None if depth >= DEPTH_MAX => 0,
            None if depth > 0 => self.random.usize(..3),
            None => *self.choose(&LENGTHS),
        };
        let element = kind.element();
        let is_object = matches!(element.kind, Kind::Binder | Kind::File | Kind::RawFile);
        // More files than one process may have open are another test.
        let most = match is_object && kind.dimensions[0].is_none() {
            true => 9,
            false => size,
        };
        let size = size.min(most);
        let values = (0..size).map(|_| self.value(&element, depth + 1));
        Ok(Value::Array(values.collect::<Result<_>>()?))
    }

    fn declared(&mut self, entry: &Entry, depth: usize) -> Result<Value> {
        match &entry.declaration.body {
            Body::Enum { .. } => {
                let items = self.library.enumerators(entry).map_err(unusable)?;
                match items.names.is_empty() || self.one_in(4) {
                    true => Ok(self.integer(-128, 127)),
                    false => Ok(Value::from(self.choose(&items.names).as_str())),
                }
            }
            Body::Parcelable { fields } | Body::Union { fields } => {
                let is_union = matches!(entry.declaration.body, Body::Union { .. });
                let only = is_union.then(|| self.random.usize(..fields.len().max(1)));
                let mut made = Map::new();
                for (index, field) in fields.iter().enumerate() {
                    if only.is_some_and(|only| only != index) || depth >= DEPTH_MAX {
                        continue;
                    }
                    let kind = self.library.kind_of(entry, &field.kind).map_err(unusable)?;
                    made.insert(field.name.clone(), self.value(&kind, depth + 1)?);
                }
                Ok(Value::Object(made))
            }
            _ => Ok(Value::Null),
        }
    }
}

/// A value as a word of the command line.
pub fn word(kind: &Type, value: &Value) -> String {
    let is_text = matches!(kind.kind, Kind::String16) && kind.dimensions.is_empty();
    match value {
        Value::String(text) if !is_text => text.clone(),
        other => other.to_string(),
    }
}
