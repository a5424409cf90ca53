// SPDX-License-Identifier: Apache-2.0
//! `constants DIR <FILES`: prints each constant, enumerator and default of the `.aidl` files whose
//! paths come on standard input, a line `NAME<tab>VALUE` each, for the comparison with the compiler
//! (tests/tools/test_aidl_compiler.py). DIR has the types that the files use. A value that is
//! refused is `ERR` and the reason.
use anybinder_parcel::aidl::library::{Entry, Library};
use anybinder_parcel::aidl::syntax::{self, Body, Declaration, Field};
use anybinder_parcel::aidl::Roots;
use std::path::PathBuf;

fn names(scope: &str, one: &Declaration, all: &mut Vec<String>) {
    let name = format!("{scope}.{}", one.name);
    for nested in &one.nested {
        names(&name, nested, all);
    }
    all.push(name);
}

fn print_field(library: &Library, entry: &Entry, field: &Field) {
    let value = library
        .kind_of(entry, &field.kind)
        .and_then(|kind| library.default_of(entry, field, &kind));
    match value {
        Ok(Some(value)) => println!("{}.{}\t{value}", entry.name, field.name),
        Ok(None) => {}
        Err(why) => println!("{}.{}\tERR {why}", entry.name, field.name),
    }
}

fn print_type(library: &Library, name: &str) {
    let Some(entry) = library.find(name) else {
        return println!("{name}\tERR it is not found");
    };
    for (name, constant) in &entry.declaration.constants {
        let field = Field {
            kind: constant.kind.clone(),
            name: name.clone(),
            default: Some(constant.value.clone()),
        };
        print_field(library, &entry, &field);
    }
    match &entry.declaration.body {
        Body::Parcelable { fields } | Body::Union { fields } => {
            for field in fields {
                print_field(library, &entry, field);
            }
        }
        Body::Enum { .. } => match library.enumerators(&entry) {
            Ok(items) => {
                for one in &items.names {
                    println!("{name}.{one}\t{}", items.by_name[one]);
                }
            }
            Err(why) => println!("{name}\tERR {why}"),
        },
        _ => {}
    }
}

fn main() {
    let root = PathBuf::from(std::env::args().nth(1).expect("constants DIR <FILES"));
    let library = Library::open(&Roots::from(root)).expect("DIR can be read");
    let paths = std::io::read_to_string(std::io::stdin()).expect("paths are text");
    for path in paths.lines() {
        let text = std::fs::read_to_string(path).expect("a file can be read");
        match syntax::parse(&text) {
            Ok(file) => {
                let mut all = Vec::new();
                for one in &file.declarations {
                    names(&file.package, one, &mut all);
                }
                all.iter().for_each(|name| print_type(&library, name));
            }
            Err(why) => println!("{path}\tERR {why}"),
        }
    }
}
