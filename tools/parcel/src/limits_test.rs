// SPDX-License-Identifier: Apache-2.0
//! Files and parcels that ask for more than they may end with a sentence; what only looks like it
//! is read.
use crate::aidl::library::Entry;
use crate::aidl::syntax::{parse, Body};
use crate::aidl::Library;
use crate::budget::{MAX_DEPTH, MAX_PARCEL};
use crate::decode::Decoder;
use crate::encode::{Encoder, Parcel};
use crate::scratch::Scratch;
use crate::shape::Interface;
use crate::types::{Kind, Type};
use serde_json::{json, Value as Json};
use std::sync::Arc;

fn with_source<T>(body: &str, test: impl FnOnce(&Library, &Arc<Entry>) -> T) -> T {
    let source = format!("package p;\nparcelable X {{ {body} }}");
    let scratch = Scratch::new(&[("p/X.aidl", &source)]);
    let library = scratch.library();
    let entry = library.find("p.X");
    let entry = entry.unwrap_or_else(|| panic!("{}", library.broken().join("")));
    test(&library, &entry)
}

fn encode(library: &Library, entry: &Arc<Entry>, value: &Json) -> Result<Parcel, String> {
    let mut encoder = Encoder {
        parcel: Parcel::default(),
        library: Some(library),
    };
    let kind = Type::of(Kind::Declared(entry.clone()));
    encoder.value(&kind, value, 0)?;
    Ok(encoder.parcel)
}

/// What a parcelable with these fields is when nothing is given.
fn defaults(body: &str) -> Result<Json, String> {
    with_source(body, |library, entry| {
        let parcel = encode(library, entry, &json!({}))?;
        let kind = Type::of(Kind::Declared(entry.clone()));
        Decoder::new(&parcel.data, Some(library)).value(&kind, 0)
    })
}

/// The error names the file and the line.
fn refused(body: &str) -> String {
    let error = defaults(body).unwrap_err();
    assert!(error.contains("p/X.aidl:"), "{error}");
    error
}

#[test]
fn brackets_count_where_they_are_some() {
    let deep = [
        "List<".repeat(9999),
        "List<@A(x=1) ".repeat(9999),
        "@A({})List<@A(x={1}) ".repeat(9999),
        "int x = ".to_string() + &"(".repeat(9999),
        "int[] x = ".to_string() + &"{".repeat(9999),
        "interface I { ".repeat(9999),
        "/*)*/(\"))))\"')'".repeat(9999),
    ];
    for text in deep {
        let error = parse(&format!("parcelable X {{\n{text}")).unwrap_err();
        assert!(
            error.starts_with("2: brackets are nested deeper"),
            "{error}"
        );
    }
    for text in [
        "// :(\n",
        "/* :< */",
        "int a = 1 < 2;",
        "String[] a = {\":(\", \"\\\"\"};",
    ] {
        let source = format!("parcelable X {{ {} }}", text.repeat(999));
        assert!(parse(&source).is_ok(), "{text}");
    }
    let lists = "List<".repeat(MAX_DEPTH - 2) + "int" + &">".repeat(MAX_DEPTH - 2);
    assert!(parse(&format!("parcelable X {{ {lists} a; int[1 < 2] b; }}")).is_ok());
    assert!(refused(&format!("int{} a;", "[]".repeat(99_999))).contains("nested deeper"));
}

#[test]
fn long_constants_are_computed() {
    let sum = "int a = 1".to_string() + &"+1".repeat(400_000) + ";";
    assert_eq!(defaults(&sum), Ok(json!({"a": 400_001})));
    let signs = "int a = ".to_string() + &"-".repeat(400_000) + "1;";
    assert_eq!(defaults(&signs), Ok(json!({"a": 1})));
    let doubled = |first: &str, count: usize| {
        let each = (1..=count).map(|at| {
            let before = at - 1;
            format!("const {first} A{at} = A{before} + A{before};")
        });
        each.collect::<String>()
    };
    let numbers = doubled("long", 30) + "const long A0 = 1L; long a = A30;";
    assert_eq!(defaults(&numbers), Ok(json!({"a": 1i64 << 30})));
    let texts = doubled("String", 30) + "const String A0 = \"x\"; String a = A30;";
    assert!(refused(&texts).contains("the values have more than"));
    let items = (1..5000).map(|at| format!("A{at} = A{} + 1, ", at - 1));
    let items = items.collect::<String>();
    let enumeration = format!("@Backing(type=\"int\") enum E {{ A0, {items} }} E a = E.A4999;");
    assert_eq!(defaults(&enumeration), Ok(json!({"a": "A4999"})));
    let ahead = (0..5000).map(|at| format!("const int A{at} = A{};", at + 1));
    let ahead = ahead.collect::<String>() + "const int A5000 = 1; int a = A0;";
    assert!(refused(&ahead).contains("constants are nested deeper"));
}

#[test]
fn types_take_no_more_than_they_may() {
    let chain = (1..1500).map(|at| format!("parcelable P{at} {{ P{} a; }}", at + 1));
    let chain = chain.collect::<String>() + "parcelable P1500 { int a; } @nullable P1 a;";
    with_source(&chain, |library, _| {
        let made = Interface::of_parcelable(library, "p.X").unwrap();
        assert_eq!(made.bodies.len(), 1501);
    });
    assert_eq!(defaults(&chain), Ok(json!({"a": null})));
    let fan = (1..40).map(|at| {
        format!(
            "parcelable P{at} {{ P{next} a; P{next} b; }}",
            next = at + 1
        )
    });
    let fan = fan.collect::<String>() + "parcelable P40 { int a; } P1 a;";
    assert!(refused(&fan).contains(&format!("more than {MAX_PARCEL} bytes")));
    for huge in [
        "int[1048576][1048576] a;",
        "int[1048577] a;",
        "int[65536][3][65536] a;",
    ] {
        assert!(refused(huge).contains("elements"), "{huge}");
    }
}

/// A reply is filled with holders, each inside another one.
#[test]
fn holders_are_nested_no_deeper_than_other_values() {
    let mut nested = Vec::new();
    let name: Vec<u8> = "p.X\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for _ in 0..1000 {
        let inner = std::mem::take(&mut nested);
        let value = match inner.len() {
            0 => [4u32.to_le_bytes()].concat(),
            size => [&(size as u32 + 4).to_le_bytes(), &inner[..]].concat(),
        };
        let held = [&3u32.to_le_bytes(), &name[..], &value[..]].concat();
        nested = [1, 0, held.len() as u32].map(u32::to_le_bytes).concat();
        nested.extend(held);
    }
    with_source("ParcelableHolder h;", |library, _| {
        let kind = Type::of(Kind::Holder);
        let error = Decoder::new(&nested, Some(library))
            .value(&kind, 0)
            .unwrap_err();
        assert!(
            error.contains("p/X.aidl:2: values are nested deeper"),
            "{error}"
        );
    });
}

/// A name is written again for each value that has it.
#[test]
fn what_is_read_of_a_parcel_has_a_bound() {
    let field = "a".repeat(100_000);
    let body = format!("parcelable P {{ int {field}; }} P[] list;");
    with_source(&body, |library, entry| {
        let mut array = vec![1u32, 0, 1000];
        array.extend([1u32, 8, 7].repeat(1000));
        array[1] = 4 * (array.len() as u32 - 1);
        let data = array
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect::<Vec<u8>>();
        let kind = Type::of(Kind::Declared(entry.clone()));
        let error = Decoder::new(&data, Some(library))
            .value(&kind, 0)
            .unwrap_err();
        assert!(
            error.contains("the values have more than"),
            "{}",
            error.len()
        );
    });
}

#[test]
fn methods_say_their_codes_as_the_compiler_wants() {
    let codes = |methods: &str| {
        let source = format!("package p;\ninterface X {{ {methods} }}");
        let file = parse(&source)?;
        let Body::Interface { methods } = &file.declarations[0].body else {
            panic!("not an interface");
        };
        Ok::<_, String>(methods.iter().map(|one| one.code).collect::<Vec<_>>())
    };
    assert_eq!(
        codes("void f() = 5; void g() = 010;"),
        Ok(vec![Some(5), Some(10)])
    );
    assert_eq!(codes("void f() = 16777114;"), Ok(vec![Some(16_777_114)]));
    for refused in [
        "void f() = 0x10;",
        "void f() = 10L;",
        "void f() = 1_0;",
        "void f() = 5u8;",
        "void f() = -1;",
        "void f() = 16777115;",
        "void f() = 4294967296;",
        "void f() = 1; void g() = 1;",
        "void f() = 1; void g();",
        "void f(); void g() = 3;",
    ] {
        let error = codes(refused).unwrap_err();
        assert!(error.starts_with("2: "), "{refused}: {error}");
    }
    assert!(codes("void f() = (1);").is_err());
}
