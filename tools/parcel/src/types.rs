// SPDX-License-Identifier: Apache-2.0
//! What a value is on the wire. The first names are those of the command line and of `.aidl`.
use crate::aidl::entry::Entry;
use std::mem::discriminant;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Kind {
    Void,
    Bool,
    /// 8 bits; an array of them is packed.
    Byte,
    /// 16 bits.
    Char,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    Float,
    Double,
    /// UTF-16, the strings of AIDL.
    String16,
    /// UTF-8, of old native interfaces.
    String8,
    /// An object, with its stability.
    Binder,
    /// `ParcelFileDescriptor`.
    File,
    /// A descriptor without the words around it.
    RawFile,
    Holder,
    /// A bundle, or a map or a list of which only the values say what they are.
    Loose(Loose),
    /// A parcelable, union or enum.
    Declared(Arc<Entry>),
}

/// A type whose values say in the parcel what they are (`loose_types`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loose {
    Bundle,
    PersistableBundle,
    Map,
    List,
    /// Of values of the others only.
    CharSequence,
}

/// A kind, and the arrays around it.
#[derive(Clone, Debug)]
pub struct Type {
    pub kind: Kind,
    /// Outermost first; None for an array of any size.
    pub dimensions: Vec<Option<usize>>,
    pub is_nullable: bool,
}

/// The types that `.aidl` files need not declare, by their names there.
const BUILT_IN: [(&str, Kind); 23] = [
    ("void", Kind::Void),
    ("boolean", Kind::Bool),
    ("byte", Kind::Byte),
    ("char", Kind::Char),
    ("int", Kind::Int),
    ("long", Kind::Long),
    ("float", Kind::Float),
    ("double", Kind::Double),
    ("String", Kind::String16),
    ("IBinder", Kind::Binder),
    ("android.os.IBinder", Kind::Binder),
    ("ParcelFileDescriptor", Kind::File),
    ("android.os.ParcelFileDescriptor", Kind::File),
    ("FileDescriptor", Kind::RawFile),
    ("ParcelableHolder", Kind::Holder),
    ("Bundle", Kind::Loose(Loose::Bundle)),
    ("android.os.Bundle", Kind::Loose(Loose::Bundle)),
    ("PersistableBundle", Kind::Loose(Loose::PersistableBundle)),
    (
        "android.os.PersistableBundle",
        Kind::Loose(Loose::PersistableBundle),
    ),
    ("Map", Kind::Loose(Loose::Map)),
    ("java.util.Map", Kind::Loose(Loose::Map)),
    ("List", Kind::Loose(Loose::List)),
    ("java.util.List", Kind::Loose(Loose::List)),
];

/// The types of the command line, their names first.
pub const WORDS: [(&str, Kind); 18] = [
    ("i8", Kind::Byte),
    ("u8", Kind::Byte),
    ("i16", Kind::Short),
    ("u16", Kind::UnsignedShort),
    ("i32", Kind::Int),
    ("u32", Kind::UnsignedInt),
    ("i64", Kind::Long),
    ("u64", Kind::UnsignedLong),
    ("f32", Kind::Float),
    ("f", Kind::Float),
    ("f64", Kind::Double),
    ("d", Kind::Double),
    ("bool", Kind::Bool),
    ("s8", Kind::String8),
    ("s16", Kind::String16),
    ("file", Kind::File),
    ("fd", Kind::File),
    ("raw-file", Kind::RawFile),
];

impl Kind {
    /// A type that `.aidl` files need not declare.
    pub fn built_in(name: &str) -> Option<Kind> {
        named(&BUILT_IN, name)
    }

    /// The type of an enum's values.
    pub fn of_enum(entry: &Entry) -> Kind {
        match entry.annotation("Backing", "type").as_deref() {
            Some("int") => Kind::Int,
            Some("long") => Kind::Long,
            _ => Kind::Byte,
        }
    }

    /// A type of the command line.
    pub fn word(name: &str) -> Option<Kind> {
        named(&WORDS, name)
    }

    /// What `.aidl` files call it.
    pub fn aidl_name(&self) -> &str {
        match self {
            Kind::Declared(entry) => &entry.name,
            Kind::Loose(Loose::PersistableBundle) => "PersistableBundle",
            Kind::Loose(Loose::Map) => "Map",
            Kind::Loose(Loose::List) => "List",
            Kind::Loose(Loose::CharSequence) => "CharSequence",
            _ => first_name(self, BUILT_IN.iter().chain(&WORDS)),
        }
    }

    /// What the command line calls it.
    pub fn word_name(&self) -> &str {
        first_name(self, WORDS.iter().chain(&BUILT_IN))
    }
}

fn named(table: &[(&str, Kind)], name: &str) -> Option<Kind> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| kind.clone())
}

fn first_name<'a>(
    wanted: &Kind,
    mut table: impl Iterator<Item = &'a (&'static str, Kind)>,
) -> &'static str {
    let found = table.find(|(_, kind)| discriminant(kind) == discriminant(wanted));
    found.map_or("declared", |(name, _)| *name)
}

impl Type {
    pub fn of(kind: Kind) -> Type {
        Type {
            kind,
            dimensions: Vec::new(),
            is_nullable: false,
        }
    }

    /// The elements of an array.
    pub fn element(&self) -> Type {
        Type {
            kind: self.kind.clone(),
            dimensions: self.dimensions[1..].to_vec(),
            is_nullable: self.is_nullable,
        }
    }

    pub fn is_void(&self) -> bool {
        matches!(self.kind, Kind::Void)
    }
}
