// SPDX-License-Identifier: Apache-2.0
//! Types whose values say in the parcel what they are: bundles, and the maps and lists of Java
//! without type arguments. In front of each value stands the number of its type; from Android 13
//! on, in front of those that a reader may not know also their length; from Android 16 on, behind
//! each bundle that is not empty whether it holds an Intent. The numbers and formats are those of
//! `android.os.Parcel`, which `Aosp.java` in the tests runs.
//!
//! In JSON texts, ints, doubles, booleans, lists and null stand for themselves; all others are
//! objects with the name of their type, as `{"long": 7}`.
use crate::encode::Format;
use crate::types::{Kind, Loose, Type};
use anybinder_driver::level::Level;

/// What stands in front of a bundle's values: as Java writes it, in the order of its keys' hashes,
/// and as libbinder does.
pub const JAVA_MAGIC: u32 = u32::from_le_bytes(*b"BNDL");
pub const NATIVE_MAGIC: u32 = u32::from_le_bytes(*b"DNDL");

pub const NULL: i32 = -1;
pub const STRING: i32 = 0;
pub const INT: i32 = 1;
pub const PARCELABLE: i32 = 4;
pub const LONG: i32 = 6;
pub const DOUBLE: i32 = 8;
pub const BOOLEAN: i32 = 9;
pub const LIST: i32 = 11;

/// A value's type: its number, its name in JSON, and what it is; whether it is an array of that.
const TYPES: [(i32, &str, Kind, bool); 25] = [
    (STRING, "String", Kind::String16, false),
    (INT, "int", Kind::Int, false),
    (2, "Map", Kind::Loose(Loose::Map), false),
    (3, "Bundle", Kind::Loose(Loose::Bundle), false),
    (5, "short", Kind::Short, false),
    (LONG, "long", Kind::Long, false),
    (7, "float", Kind::Float, false),
    (DOUBLE, "double", Kind::Double, false),
    (BOOLEAN, "boolean", Kind::Bool, false),
    (10, "CharSequence", Kind::Loose(Loose::CharSequence), false),
    (LIST, "List", Kind::Loose(Loose::List), false),
    (13, "byte[]", Kind::Byte, true),
    (14, "String[]", Kind::String16, true),
    (15, "IBinder", Kind::Binder, false),
    (18, "int[]", Kind::Int, true),
    (19, "long[]", Kind::Long, true),
    (20, "byte", Kind::Byte, false),
    (23, "boolean[]", Kind::Bool, true),
    (24, "CharSequence[]", Kind::Loose(Loose::CharSequence), true),
    (
        25,
        "PersistableBundle",
        Kind::Loose(Loose::PersistableBundle),
        false,
    ),
    (28, "double[]", Kind::Double, true),
    (29, "char", Kind::Char, false),
    (30, "short[]", Kind::Short, true),
    (31, "char[]", Kind::Char, true),
    (32, "float[]", Kind::Float, true),
];

/// The types whose values have their length in front: maps, parcelables, lists, sparse arrays,
/// arrays of parcelables and of objects, and what Java serializes.
const WITH_LENGTH: [i32; 7] = [2, PARCELABLE, LIST, 12, 16, 17, 21];

/// The class of a parcelable that is read: it holds a file.
pub const FILE_CLASS: &str = "android.os.ParcelFileDescriptor";
/// Its name in JSON.
pub const FILE: &str = "ParcelFileDescriptor";

pub fn has_length(number: i32, format: Format) -> bool {
    WITH_LENGTH.contains(&number) && format.level() >= Level::A13
}

/// Whether a word follows a bundle that is not empty.
pub fn has_flag(format: Format) -> bool {
    format.level() >= Level::A16
}

/// The type of a value whose nullability its own format has.
fn typed(kind: &Kind, is_array: bool) -> Type {
    let mut made = Type::of(kind.clone());
    made.is_nullable = true;
    made.dimensions.extend(is_array.then_some(None));
    made
}

/// The name and the type with a number.
pub fn of_number(number: i32) -> Option<(&'static str, Type)> {
    let found = TYPES.iter().find(|one| one.0 == number);
    found.map(|(_, name, kind, is_array)| (*name, typed(kind, *is_array)))
}

/// The number and the type with a name.
pub fn of_name(name: &str) -> Option<(i32, Type)> {
    let found = TYPES.iter().find(|one| one.1 == name);
    found.map(|(number, _, kind, is_array)| (*number, typed(kind, *is_array)))
}

/// What stands for a value of a type that is not read, behind the number of the type.
pub const UNREAD: &str = "type ";
