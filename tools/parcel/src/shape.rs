// SPDX-License-Identifier: Apache-2.0
//! What a value is on the wire, without its names: for those who copy parcels and have to know
//! where objects and sizes are, but not what the values mean. A shape is worked out once for an
//! interface, refers to no file, and may be used by several threads.
use crate::aidl::library::{Called, Entry};
use crate::aidl::syntax::{Body, Direction, Field, TypeName};
use crate::aidl::Library;
use crate::encode::is_byte_enum;
use crate::types::{Kind, Type};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This number of bytes.
    Plain(usize),
    String16,
    String8,
    /// An array of bytes, which is padded at its end.
    Packed,
    /// A count, and elements.
    Array(Box<Shape>),
    Binder,
    /// A `ParcelFileDescriptor`.
    File,
    /// A descriptor without the words around it.
    RawFile,
    /// A `ParcelableHolder`.
    Holder,
    /// A parcelable or union: its number among the bodies of the interface.
    Declared(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// All of them, behind a size.
    All(Vec<Shape>),
    /// A member of a union, behind its number.
    One(Vec<Shape>),
}

#[derive(Clone, Debug)]
pub struct Method {
    pub name: String,
    pub request: Vec<Shape>,
    /// What follows the exception.
    pub reply: Vec<Shape>,
}

#[derive(Clone, Debug, Default)]
pub struct Interface {
    pub name: String,
    /// By their codes.
    pub methods: HashMap<u32, Method>,
    pub bodies: Vec<Members>,
    /// Why methods are left out.
    pub unknown: Vec<String>,
}

/// Works out shapes; what is declared has its number first, and its fields are worked out after
/// those of what names it: they may have its type, and types may be chained however long.
struct Maker<'a> {
    library: &'a Library,
    numbers: HashMap<String, usize>,
    bodies: Vec<Members>,
    /// Has a number, but no fields yet.
    waiting: Vec<Arc<Entry>>,
}

fn plain(kind: &Kind) -> Shape {
    match kind {
        Kind::Void => Shape::Plain(0),
        Kind::Long | Kind::UnsignedLong | Kind::Double => Shape::Plain(8),
        Kind::String16 => Shape::String16,
        Kind::String8 => Shape::String8,
        Kind::Binder => Shape::Binder,
        Kind::File => Shape::File,
        Kind::RawFile => Shape::RawFile,
        Kind::Holder => Shape::Holder,
        _ => Shape::Plain(4),
    }
}

/// Where objects are in bundles, maps and lists, their values alone say.
fn check_shaped(kind: &Type) -> Result<(), String> {
    match &kind.kind {
        Kind::Loose(_) => Err(format!("a {} has no shape", kind.kind.aidl_name())),
        _ => Ok(()),
    }
}

impl Maker<'_> {
    fn new(library: &Library) -> Maker<'_> {
        Maker {
            library,
            numbers: HashMap::new(),
            bodies: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn shape(&mut self, kind: &Type) -> Shape {
        if !kind.dimensions.is_empty() {
            let element = kind.element();
            let holds_bytes = match &element.kind {
                Kind::Byte => true,
                Kind::Declared(entry) => is_byte_enum(entry),
                _ => false,
            };
            return match element.dimensions.is_empty() && holds_bytes {
                true => Shape::Packed,
                false => Shape::Array(Box::new(self.shape(&element))),
            };
        }
        match &kind.kind {
            Kind::Declared(entry) => self.declared(entry),
            other => plain(other),
        }
    }

    fn fields(&mut self, entry: &Entry, fields: &[Field]) -> Result<Vec<Shape>, String> {
        let library = self.library;
        let shapes = fields.iter().map(|field| {
            let kind = library.kind_of(entry, &field.kind)?;
            check_shaped(&kind)?;
            Ok(self.shape(&kind))
        });
        shapes.collect()
    }

    fn declared(&mut self, entry: &Arc<Entry>) -> Shape {
        if let Body::Enum { .. } = &entry.declaration.body {
            return plain(&Kind::of_enum(entry));
        }
        let number = *self.numbers.entry(entry.name.clone()).or_insert_with(|| {
            self.bodies.push(Members::All(Vec::new()));
            self.waiting.push(entry.clone());
            self.bodies.len() - 1
        });
        Shape::Declared(number)
    }

    /// Works out what is waiting. If it fails, all that came since a beginning is forgotten.
    fn complete(&mut self, beginning: usize) -> Result<(), String> {
        let outcome = self.try_complete();
        if outcome.is_err() {
            self.waiting.clear();
            self.bodies.truncate(beginning);
            self.numbers.retain(|_, number| *number < beginning);
        }
        outcome
    }

    fn try_complete(&mut self) -> Result<(), String> {
        while let Some(entry) = self.waiting.pop() {
            let number = self.numbers[&entry.name];
            self.bodies[number] = match &entry.declaration.body {
                Body::Parcelable { fields } => Members::All(self.fields(&entry, fields)?),
                Body::Union { fields } => Members::One(self.fields(&entry, fields)?),
                _ => return Err(format!("{} has no definition in AIDL", entry.name)),
            };
        }
        Ok(())
    }

    fn method(&mut self, entry: &Entry, called: &Called) -> Result<Method, String> {
        let library = self.library;
        let mut shape_of = |written: &TypeName| -> Result<(Type, Shape), String> {
            let kind = library.kind_of(entry, written)?;
            check_shaped(&kind)?;
            let shape = self.shape(&kind);
            Ok((kind, shape))
        };
        let method = &called.method;
        let mut request = Vec::new();
        let mut reply = vec![shape_of(&method.result)?.1];
        for argument in &method.arguments {
            let (kind, shape) = shape_of(&argument.kind)?;
            if argument.direction != Direction::In {
                reply.push(shape.clone());
            }
            match argument.direction {
                // The length of the array that the service makes.
                Direction::Out if kind.dimensions.first() == Some(&None) => {
                    request.push(Shape::Plain(4));
                }
                Direction::Out => {}
                _ => request.push(shape),
            }
        }
        Ok(Method {
            name: method.name.clone(),
            request,
            reply,
        })
    }
}

impl Interface {
    /// The interface with a descriptor; None if no file declares it.
    pub fn find(library: &Library, descriptor: &str) -> Option<Interface> {
        let entry = library.find(descriptor)?;
        let methods = library.methods(&entry)?;
        if entry.descriptor() != descriptor {
            return None;
        }
        let mut made = Interface {
            name: descriptor.to_string(),
            ..Interface::default()
        };
        let mut maker = Maker::new(library);
        for called in methods {
            let beginning = maker.bodies.len();
            let method = maker.method(&entry, &called);
            // A type that is not known leaves no trace in other methods.
            let completed = maker.complete(beginning);
            match method.and_then(|method| completed.map(|()| method)) {
                Ok(method) => {
                    made.methods.insert(called.code, method);
                }
                Err(why) => {
                    let name = &called.method.name;
                    made.unknown.push(format!("{name} of {descriptor}: {why}"));
                }
            }
        }
        made.bodies = maker.bodies;
        Some(made)
    }

    /// A parcelable or union, as the first of the bodies; None if no file declares it, or declares
    /// it with types that none declares.
    pub fn of_parcelable(library: &Library, name: &str) -> Option<Interface> {
        let entry = library.find(name)?;
        let mut maker = Maker::new(library);
        let shape = maker.declared(&entry);
        let is_known = shape == Shape::Declared(0) && maker.complete(0).is_ok();
        (is_known && entry.name == name).then(|| Interface {
            name: name.to_string(),
            bodies: maker.bodies,
            ..Interface::default()
        })
    }

    /// Whether values of these shapes have no objects.
    pub fn is_plain(&self, shapes: &[Shape]) -> bool {
        let mut seen = vec![false; self.bodies.len()];
        let mut left: Vec<&Shape> = shapes.iter().collect();
        while let Some(shape) = left.pop() {
            match shape {
                Shape::Binder | Shape::File | Shape::RawFile | Shape::Holder => return false,
                Shape::Array(element) => left.push(element),
                Shape::Declared(number) if !std::mem::replace(&mut seen[*number], true) => {
                    let (Members::All(shapes) | Members::One(shapes)) = &self.bodies[*number];
                    left.extend(shapes);
                }
                _ => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const SOURCE: &str = "package t;
interface I {
    enum Tiny { A, B }
    @Backing(type=\"long\") enum Wide { A, B }
    parcelable Tree { int value; @nullable List<Tree> branches; @nullable IBinder object; }
    parcelable Plain { long big; String text; Tiny[] tiny; Wide wide; }
    union Either { Plain plain; ParcelFileDescriptor file; }
    void plain(in Plain one, out int[] numbers, out Plain two);
    Tree tree(in byte[] bytes, inout Either either);
    void foreign(in other.Type type);
    oneway void last(I self);
}";

    #[test]
    fn a_parcelable_is_found_by_its_name() {
        let scratch = Scratch::new(&[("I.aidl", SOURCE)]);
        let library = &scratch.library();
        let tree = Interface::of_parcelable(library, "t.I.Tree").unwrap();
        let Members::All(fields) = &tree.bodies[0] else {
            panic!("a tree has a size");
        };
        assert_eq!(fields[1], Shape::Array(Box::new(Shape::Declared(0))));
        for none in ["t.I", "t.I.Tiny", "t.I.None", "Tree", "", "."] {
            assert!(Interface::of_parcelable(library, none).is_none(), "{none}");
        }
    }

    #[test]
    fn methods_have_the_shapes_of_their_types() {
        let scratch = Scratch::new(&[("I.aidl", SOURCE)]);
        let library = scratch.library();
        assert!(Interface::find(&library, "t.J").is_none());
        let made = Interface::find(&library, "t.I").unwrap();
        assert_eq!(made.methods.len(), 3);
        assert!(made.unknown[0].contains("I.aidl:10: other.Type is not declared"));
        let plain = &made.methods[&1];
        assert!(matches!(
            plain.request.as_slice(),
            [Shape::Declared(_), Shape::Plain(4)]
        ));
        assert_eq!(plain.reply[0], Shape::Plain(0));
        assert_eq!(plain.reply[1], Shape::Array(Box::new(Shape::Plain(4))));
        assert!(made.is_plain(&plain.request) && made.is_plain(&plain.reply));
        let tree = &made.methods[&2];
        assert_eq!(tree.request[0], Shape::Packed);
        assert!(!made.is_plain(&tree.request) && !made.is_plain(&tree.reply));
        let Shape::Declared(number) = tree.reply[0] else {
            panic!("a tree is a parcelable");
        };
        // The type refers to itself.
        let Members::All(fields) = &made.bodies[number] else {
            panic!("a tree has a size");
        };
        assert_eq!(fields[1], Shape::Array(Box::new(Shape::Declared(number))));
        assert_eq!(made.methods[&4].request, [Shape::Binder]);
    }
}
