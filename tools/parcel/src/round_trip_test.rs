// SPDX-License-Identifier: Apache-2.0
//! What is encoded is decoded again, and bytes that do not fit end with an error.
use crate::aidl::Library;
use crate::decode::Decoder;
use crate::encode::{Encoder, Format, Object, Parcel};
use crate::scratch::Scratch;
use crate::status;
use crate::types::{Kind, Loose, Type};
use crate::words;
use anybinder_driver::abi::OBJECT_SIZE;
use anybinder_driver::level::Level;
use serde_json::{json, Value};

const SOURCE: &str = "package t;
interface I {
    const int SIZE = 1 << 1;
    @Backing(type=\"int\") enum Mode { OFF, ON = SIZE + 3, AUTO }
    enum Tiny { A, B }
    union Either { int number = 7; @nullable String text; }
    parcelable All {
        boolean flag; byte small; char letter; int number = -3; long big = 0x1L; float single;
        double wide; String text = \"x\"; @nullable String none; byte[] blob; int[SIZE][] grid;
        Mode mode = Mode.AUTO; Tiny[] tiny; Either either; @nullable All inner; List<String> words;
        ParcelableHolder holder; @nullable IBinder binder;
    }
    void f(in All all);
}";

fn library() -> (Scratch, Library) {
    let scratch = Scratch::new(&[("I.aidl", SOURCE)]);
    let library = scratch.library();
    (scratch, library)
}

fn encode(library: &Library, value: &Value) -> Result<Parcel, String> {
    let entry = library.find("t.I").unwrap();
    let method = &library.methods(&entry).unwrap()[0].method;
    let kind = library.kind_of(&entry, &method.arguments[0].kind)?;
    let mut encoder = Encoder {
        parcel: Parcel::default(),
        library: Some(library),
    };
    encoder.value(&kind, value, 0)?;
    Ok(encoder.parcel)
}

fn decode(library: &Library, data: &[u8]) -> Result<Value, String> {
    let entry = library.find("t.I").unwrap();
    let method = &library.methods(&entry).unwrap()[0].method;
    let kind = library.kind_of(&entry, &method.arguments[0].kind)?;
    let mut decoder = Decoder::new(data, Some(library));
    let value = decoder.value(&kind, 0)?;
    assert_eq!(decoder.left(), 0);
    Ok(value)
}

#[test]
fn every_kind_goes_and_comes() {
    let (_scratch, library) = library();
    let full = json!({
        "flag": true, "small": -5, "letter": "ä", "number": 9, "big": -1, "single": 0.5,
        "wide": "NaN", "text": "\u{1f600}", "none": null, "blob": "hex:0102ff",
        "grid": [[1, 2, 3], []], "mode": "ON", "tiny": ["B", "A"], "either": {"text": "t"},
        "inner": null, "words": ["a"], "holder": null, "binder": null,
    });
    let parcel = encode(&library, &full).unwrap();
    assert_eq!(decode(&library, &parcel.data).unwrap(), full);
    let nested = decode(
        &library,
        &encode(&library, &json!({"inner": full})).unwrap().data,
    );
    assert_eq!(nested.unwrap()["inner"], full);
}

#[test]
fn what_is_not_given_has_its_default() {
    let (_scratch, library) = library();
    let value = decode(&library, &encode(&library, &json!({})).unwrap().data).unwrap();
    assert_eq!((&value["number"], &value["big"]), (&json!(-3), &json!(1)));
    assert_eq!(
        (&value["text"], &value["mode"]),
        (&json!("x"), &json!("AUTO"))
    );
    assert_eq!(value["grid"], json!([[], []]));
    assert_eq!(value["either"], json!({"number": 7}));
    assert!(encode(&library, &json!({"grid": [[1]]})).is_err());
    assert!(encode(&library, &json!({"either": {"number": 1, "text": "b"}})).is_err());
}

/// An older sender has fewer fields, a newer one more.
#[test]
fn values_are_written_as_in_the_file() {
    let (_scratch, library) = library();
    let value = json!({ "single": 0.1, "flag": true });
    let parcel = encode(&library, &value).unwrap();
    let text = decode(&library, &parcel.data).unwrap().to_string();
    let start = r#"{"flag":true,"small":0,"letter":"\u0000","number":-3,"big":1,"single":0.1,"#;
    assert!(text.starts_with(start), "{text}");
    let error = encode(&library, &json!({ "mode": "FAST" })).unwrap_err();
    assert_eq!(
        error,
        "mode: FAST is not in t.I.Mode; it has: OFF, ON, AUTO"
    );
    assert!(encode(&library, &json!({ "mode": "0x5" })).is_ok());
}

#[test]
fn what_does_not_fit_is_named_by_its_path_and_the_types_of_the_file() {
    let (_scratch, library) = library();
    let cases = [
        (
            json!({ "inner": { "words": ["a", 5] } }),
            "inner.words[1]: 5 is not a value of type String",
        ),
        (
            json!({ "grid": [[1], ["x"]] }),
            "grid[1][0]: \"x\" is not a value of type int",
        ),
        (
            json!({ "blob": [1, 999] }),
            "blob[1]: 999 is not a value of type byte",
        ),
        (
            json!({ "words": 7 }),
            "words: 7 is not a value of type String[]",
        ),
        (
            json!({ "tiny": ["B", "C"] }),
            "tiny[1]: C is not in t.I.Tiny; it has: A, B",
        ),
        (
            json!({ "inner": { "either": { "z": 1 } } }),
            "inner.either: t.I.Either has no field z; it has: number, text",
        ),
    ];
    for (value, error) in cases {
        assert_eq!(encode(&library, &value).unwrap_err(), error);
    }
}

#[test]
fn parcelables_of_other_versions_are_read() {
    let (_scratch, library) = library();
    let older = [1u32, 8, 1].map(u32::to_le_bytes).concat();
    assert_eq!(decode(&library, &older).unwrap(), json!({"flag": true}));
    let mut newer = encode(&library, &json!({"either": {"number": 1}}))
        .unwrap()
        .data;
    newer.extend_from_slice(&[1; 8]);
    let size = (newer.len() - 4) as u32;
    newer[4..8].copy_from_slice(&size.to_le_bytes());
    assert_eq!(decode(&library, &newer).unwrap()["number"], json!(-3));
}

/// Every cut, and many changed words, end with a value or an error.
#[test]
fn damaged_parcels_are_refused() {
    let (_scratch, library) = library();
    let good = encode(
        &library,
        &json!({"either": {"text": "abc"}, "words": ["a", "b"]}),
    );
    let good = good.unwrap().data;
    for cut in 0..good.len() {
        assert!(decode(&library, &good[..cut]).is_err(), "cut at {cut}");
    }
    let mut random = 1u64;
    for at in (0..good.len()).step_by(4) {
        for _ in 0..50 {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&((random >> 33) as u32).to_le_bytes());
            let entry = library.find("t.I.All").unwrap();
            let kind = crate::types::Type::of(crate::types::Kind::Declared(entry));
            let mut decoder = Decoder::new(&bad, Some(&library));
            if decoder.value(&kind, 0).is_ok() {
                assert!(decoder.position() <= bad.len());
            }
        }
    }
}

#[test]
fn words_of_a_command_line() {
    let write = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let mut encoder = Encoder {
            parcel: Parcel::default(),
            library: None,
        };
        words::write(&mut encoder, &words).map(|()| encoder.parcel)
    };
    let parcel = write("i32 -2 bool true u64 0xffffffffffffffff").unwrap();
    let bytes: Vec<u32> = parcel
        .data
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(bytes, [u32::MAX - 1, 1, u32::MAX, u32::MAX]);
    let parcel = write("handle of x file /y").unwrap();
    let objects: Vec<&Object> = parcel.objects.iter().map(|(_, object)| object).collect();
    let wanted = [Object::Service("x".to_string()), Object::File("/y".into())];
    assert_eq!(objects, wanted.iter().collect::<Vec<_>>());
    assert_eq!(parcel.data.len(), 28 + 8 + 24);
    assert_eq!(write("array of i32 1,2").unwrap().data.len(), 12);
    assert_eq!(write("bytes 0102").unwrap().data.len(), 8);
    for bad in [
        "i32",
        "i32 x",
        "u128 5",
        "array of",
        "array of i32 x",
        "bytes 0",
        "handle x",
    ] {
        assert!(write(bad).is_err(), "{bad}");
    }
}

#[test]
fn exceptions_are_read_behind_their_headers() {
    let read = |words: &[u32]| {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        status::read(&mut Decoder::new(&data, None))
    };
    assert_eq!(read(&[0]), Ok(None));
    assert_eq!(read(&[-128i32 as u32, 8, 9]), Ok(None));
    let found = read(&[-8i32 as u32, u32::MAX, 4, 77]).unwrap().unwrap();
    assert_eq!(
        (found.code, found.service_code, found.message),
        (-8, Some(77), None)
    );
    assert!(read(&[-128i32 as u32, 2]).is_err());
    assert!(read(&[-3i32 as u32, 90]).is_err());
}

/// Whatever is cut off, what is left is a beginning of the value.
#[test]
fn a_parcel_cut_at_any_word_is_read_as_far_as_it_goes() {
    let (_scratch, library) = library();
    let value = json!({
        "flag": true, "text": "some text", "blob": [1, 2, 3, 4, 5], "grid": [[1, 2], [3, 4]],
        "either": { "text": "chosen" }, "words": ["one", "two"],
        "inner": { "text": "inside", "words": ["three"] },
    });
    let whole = encode(&library, &value).unwrap().data;
    let entry = library.find("t.I").unwrap();
    let method = &library.methods(&entry).unwrap()[0].method;
    let kind = library.kind_of(&entry, &method.arguments[0].kind).unwrap();
    let read = |size: usize| {
        let mut decoder = Decoder::new(&whole[..size], Some(&library));
        decoder.is_cut = size < whole.len();
        let value = decoder.value(&kind, 0);
        let value = decoder.unless_stopped(value).unwrap();
        (value.unwrap_or_default(), decoder.has_stopped())
    };
    let (all, stopped) = read(whole.len());
    assert!(!stopped && all["inner"]["words"] == json!(["three"]));
    for size in (0..whole.len()).step_by(4) {
        let (part, stopped) = read(size);
        assert!(stopped, "{size}");
        for (name, value) in part.as_object().into_iter().flatten() {
            let is_same = *value == all[name];
            let is_last = part.as_object().unwrap().keys().all(|key| {
                let known = |name: &str| part[name] == all[name];
                key == name || known(key)
            });
            assert!(is_same || is_last, "{size}: {name} is {value}");
        }
    }
    let text_at = whole.windows(4).position(|four| four == b"s\0o\0").unwrap();
    assert_eq!(read(text_at + 8).0["text"], "some");
}

const LOOSE: &str = "package t;
interface J {
    parcelable All {
        Bundle bundle; @nullable PersistableBundle other; Map map; List list; @nullable Map none;
        @nullable List absent; FileDescriptor file;
    }
    parcelable Bundle2 { int own; }
}";

fn loose(value: &Value) -> Result<(Vec<u8>, Value), String> {
    let scratch = Scratch::new(&[("J.aidl", LOOSE)]);
    let library = scratch.library();
    let kind = Type::of(Kind::Declared(library.find("t.J.All").unwrap()));
    let mut encoder = Encoder {
        parcel: Parcel::default(),
        library: Some(&library),
    };
    encoder.value(&kind, value, 0)?;
    // A file's place is filled by who sends the parcel.
    let data = encoder.parcel.data;
    let mut decoder = Decoder::new(&data[..data.len() - OBJECT_SIZE], Some(&library));
    decoder.is_cut = true;
    let value = decoder.value(&kind, 0)?;
    Ok((data, value))
}

#[test]
fn values_that_say_their_types_go_and_come() {
    let values = json!({
        "text": "t", "int": -7, "long": {"long": 5_000_000_000_i64}, "wide": 2.0, "yes": true,
        "nothing": null, "float": {"float": 0.1}, "nan": {"double": "NaN"}, "byte": {"byte": -1},
        "short": {"short": 3}, "char": {"char": "x"}, "bytes": {"byte[]": "hex:0102"},
        "texts": {"String[]": ["a", null]}, "ints": {"int[]": [1, 2]},
        "longs": {"long[]": [1, -1]}, "flags": {"boolean[]": [true, false]},
        "doubles": {"double[]": [0.5]}, "binder": {"IBinder": null},
        "inner": {"PersistableBundle": {"a": {"Bundle": {}}}},
        "list": [1, "b", [null]], "map": {"Map": [[1, "one"], [true, {"long": 2}]]},
        "parcelable": {"type 4": "hex:01020304"}, "no text": {"String": null},
    });
    let all = json!({
        "bundle": values, "other": {"key": 1}, "map": values, "list": [values["list"], 7],
        "none": null, "absent": null,
    });
    let given = json!({"file": {"fd": 0}});
    let given = [all.clone(), given].iter().fold(json!({}), |mut sum, one| {
        let sum_map = sum.as_object_mut().unwrap();
        sum_map.extend(one.as_object().unwrap().clone());
        sum
    });
    let (_, found) = loose(&given).unwrap();
    assert_eq!(found, all);
    // Empty ones, and null where it may stand.
    let empty = json!({
        "bundle": {}, "other": null, "map": {}, "list": [], "none": null, "absent": null,
    });
    let file = json!({"file": {"fd": 0}});
    assert_eq!(loose(&file).unwrap().1, empty);
}

#[test]
fn loose_values_that_do_not_fit_are_named() {
    for (value, error) in [
        (
            json!({"bundle": {"a": {"wrong": 1}}}),
            "bundle.a: \"wrong\" is no value with its type",
        ),
        (
            json!({"bundle": {"a": {"int[]": ["x"]}}}),
            "bundle.a.int[][0]: \"x\" is not a value",
        ),
        (
            json!({"map": [[1]]}),
            "map[0]: [[1]] is not a value of type Map",
        ),
        (json!({"list": {}}), "list: {} is not a value of type List"),
        (
            json!({"list": null}),
            "list: null stands where the type is not nullable",
        ),
    ] {
        let found = loose(&value).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
}

/// The bytes are those that AOSP's own classes write (android-all of Android 10, 13 and 16, run by
/// `Aosp.java` of the tests): in the order of the hashes of the keys, from 13 on with the length of
/// the list, and from 16 on with a word behind all.
#[test]
fn bundles_are_written_as_by_android() {
    let value = json!({"ab": 7, "\u{ffff}zzzz": true, "b": ["x"]});
    let list = "0300000001000000620000000b000000";
    let rest = "\
                010000000000000001000000780000000200000061006200000000000100000007000000\
                05000000ffff7a007a007a007a0000000900000001000000";
    for (level, size, length, flag) in [
        (Level::A10, "4c000000", "", ""),
        (Level::A13, "50000000", "10000000", ""),
        (Level::A16, "50000000", "10000000", "00000000"),
    ] {
        let wanted = format!("01000000{size}424e444c{list}{length}{rest}{flag}");
        let kind = Type::of(Kind::Loose(Loose::Bundle));
        let library = Library::default();
        let mut encoder = Encoder::new(&library, Format::Driver(level));
        encoder.value(&kind, &value, 0).unwrap();
        let bytes = encoder.parcel.data;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, wanted, "{level}");
        let read = |bytes: &[u8]| {
            let mut decoder = Decoder::new(bytes, Some(&library));
            decoder.format = Format::Driver(level);
            decoder.value(&kind, 0)
        };
        assert_eq!(read(&bytes).unwrap(), value);
        let mut native = bytes.clone();
        native[8] = b'D';
        assert_eq!(read(&native).unwrap(), value);
        // A body that is not understood is read as bytes.
        let mut wrong = bytes.clone();
        wrong[24] = 77;
        assert!(read(&wrong).unwrap().is_string());
        for size in 0..bytes.len() - 4 {
            assert!(read(&bytes[..size]).is_err(), "{level} {size}");
        }
    }
}
