// SPDX-License-Identifier: Apache-2.0
//! Constants as the compiler computes them: the answers are those of Debian's aidl
//! 1:14.0.0+r75-1, whose back ends for C++, the NDK and Java agree. It prints floating-point
//! numbers with six decimals, so these have fewer here.
use crate::scratch::Scratch;
use serde_json::Value as Json;

/// The type of a field, its default, and the value: `-` if the compiler refuses it.
const TABLE: [(&str, &str, &str); 191] = [
    ("int", "1", "1"),
    ("int", "010", "10"),
    ("int", "08", "8"),
    ("int", "00000000000128", "128"),
    ("byte", "127", "127"),
    ("byte", "128", "-"),
    ("byte", "0128", "-"),
    ("byte", "-128", "-128"),
    ("byte", "- -128", "-"),
    ("byte", "0x7F", "127"),
    ("byte", "0x80", "-"),
    ("byte", "255u8", "-1"),
    ("byte", "0xC1u8", "-63"),
    ("byte", "0xFFFu8", "-"),
    ("byte", "256u8", "-"),
    ("int", "255u8", "-1"),
    ("int", "0xFFu8", "-1"),
    ("long", "255u8", "-1"),
    ("int", "4294967295u32", "-1"),
    ("long", "4294967295u32", "-1"),
    ("int", "4294967296u32", "-"),
    ("long", "4294967295u64", "4294967295"),
    ("long", "18446744073709551615u64", "-1"),
    ("long", "18446744073709551616u64", "-"),
    ("int", "4294967295", "-"),
    ("long", "9223372036854775807", "9223372036854775807"),
    ("long", "9223372036854775808", "-"),
    ("long", "-9223372036854775808", "-"),
    ("int", "0x80000000", "-2147483648"),
    ("int", "0xFFFFFFFF", "-1"),
    ("long", "0xFFFFFFFF", "-1"),
    ("long", "0xFFFFFFFFL", "4294967295"),
    ("long", "0xFFFFFFFFl", "4294967295"),
    ("long", "0xFFFFFFFFu64", "-1"),
    ("long", "0xFFFFFFFFu32", "-1"),
    ("long", "0x0000000FFFFFFFF", "-1"),
    ("long", "0x1FFFFFFFF", "8589934591"),
    ("int", "0x1FFFFFFFF", "-"),
    ("long", "0x1FFFFFFFFu32", "8589934591"),
    ("long", "0xFFFFFFFFFFFFFFFF", "-1"),
    ("int", "5L", "5"),
    ("int", "10l", "10"),
    ("byte", "1L", "1"),
    ("byte", "1u64", "1"),
    ("int", "1_000", "1000"),
    ("int", "0x1_0", "16"),
    ("int", "0x_1", "1"),
    ("int", "1_0u8", "10"),
    ("int", "1_", "-"),
    ("int", "1__0", "-"),
    ("int", "0x1__0", "-"),
    ("int", "10__u8", "-"),
    ("int", "1 << 31", "-2147483648"),
    ("long", "1 << 31", "-2147483648"),
    ("long", "1L << 31", "2147483648"),
    ("long", "1 << 31L", "2147483648"),
    ("int", "1 << 32", "-"),
    ("int", "10 << 28", "-1610612736"),
    ("long", "10 << 28", "-1610612736"),
    ("int", "0x8000 << 16", "-2147483648"),
    ("int", "3 << 31", "-"),
    ("int", "2147483647 << 1", "-2"),
    ("long", "1L << 63", "-9223372036854775808"),
    ("long", "1L << 64", "-"),
    ("long", "1u64 << 40", "1099511627776"),
    ("long", "1u32 << 40", "-"),
    ("int", "128u8 << 1", "-"),
    ("int", "true << 3", "8"),
    ("int", "0 << 32", "-"),
    ("int", "-1 << 1", "-"),
    ("int", "-1 << 0", "-"),
    ("int", "-1 >> 1", "-"),
    ("int", "(1 << 31) >> 31", "-"),
    ("int", "8 >> 1", "4"),
    ("int", "8 >> 31", "0"),
    ("int", "8 >> 32", "-"),
    ("int", "8 >> -1", "16"),
    ("int", "-8 >> -1", "-"),
    ("int", "8 << -1", "4"),
    ("int", "1 << -32", "-"),
    ("int", "1 << (1 - 2)", "0"),
    ("int", "128u8 + 128u8", "-256"),
    ("int", "200u8 * 2", "-112"),
    ("int", "-128 / -1u8", "128"),
    ("int", "2147483647 + 1", "-"),
    ("long", "2147483647 + 1", "-"),
    ("long", "2147483648 + 1", "2147483649"),
    ("int", "2147483648 - 1", "2147483647"),
    ("int", "-2147483648", "-2147483648"),
    ("int", "-2147483648 - 1", "-"),
    ("int", "-2147483647 - 1", "-2147483648"),
    ("int", "-2147483647 - 2", "-"),
    ("int", "65536 * 65536", "-"),
    ("long", "65536 * 65536", "-"),
    ("int", "0xFFFFFFFF + 1", "0"),
    ("long", "0xFFFFFFFF + 1L", "0"),
    ("long", "0xFFFFFFFF & 0xFFL", "255"),
    ("long", "-9223372036854775807 - 1", "-9223372036854775808"),
    ("long", "9223372036854775807 + 1", "-"),
    ("int", "7 / -2", "-3"),
    ("int", "-7 % 2", "-1"),
    ("int", "5 / 0", "-"),
    ("int", "5 % 0", "-"),
    ("int", "(1 << 31) / -1", "-"),
    ("int", "(1 << 31) % -1", "-"),
    ("int", "-128u8", "-"),
    ("int", "-255u8", "1"),
    ("int", "~128u8", "127"),
    ("byte", "~0x7Fu8", "-128"),
    ("int", "-(1 << 31)", "-"),
    ("int", "~(1 << 31)", "2147483647"),
    ("int", "!5", "0"),
    ("int", "-!0", "-1"),
    ("int", "~!0", "-2"),
    ("int", "-true", "1"),
    ("int", "+true", "1"),
    ("int", "~true", "-"),
    ("int", "~(1 < 2)", "-"),
    ("int", "-(1 < 2)", "1"),
    ("int", "~-!5", "-1"),
    ("int", "1 < 2", "1"),
    ("int", "1 < 2 < 3", "1"),
    ("int", "3 == 3 == 1", "1"),
    ("int", "1 == 1L", "1"),
    ("int", "200u8 > 5", "0"),
    ("int", "1 && 2", "1"),
    ("int", "2147483648 && 1", "1"),
    ("int", "0 && (1 / 0)", "-"),
    ("int", "1 || 0 && 0", "1"),
    ("int", "true + true", "2"),
    ("int", "true < 2", "1"),
    ("int", "5 & true", "1"),
    ("int", "1 + 2 * 3", "7"),
    ("int", "1 + 2 << 3", "24"),
    ("int", "1 | 2 ^ 3 & 4", "3"),
    ("int", "10 - 3 - 2", "5"),
    ("int", "100 / 10 / 5", "2"),
    ("int", "4 >> 1 << 2", "8"),
    ("int", "((1 + 2)) * 3", "9"),
    ("boolean", "1", "true"),
    ("boolean", "2", "true"),
    ("boolean", "0", "false"),
    ("boolean", "1 < 2", "true"),
    ("boolean", "5 - 5", "false"),
    ("boolean", "!true", "false"),
    ("boolean", "\"a\"", "-"),
    ("int", "true", "1"),
    ("byte", "true", "1"),
    ("char", "'a'", "97"),
    ("char", "'\"'", "34"),
    ("char", "'''", "39"),
    ("char", "'\\'", "-"),
    ("char", "97", "-"),
    ("char", "'a' + 1", "-"),
    ("int", "'a'", "-"),
    ("int", "1 << 'a'", "-"),
    ("int", "!'a'", "-"),
    ("float", "1", "-"),
    ("float", "1.5", "-"),
    ("float", "1.5f", "1.5"),
    ("float", "-.5f", "-0.5"),
    ("float", "1.5e3f", "1500.0"),
    ("float", "1e39f", "-"),
    ("double", "1", "-"),
    ("double", "1.5", "1.5"),
    ("double", "5f", "5.0"),
    ("double", "+1.5", "1.5"),
    ("double", "- -1.5", "-"),
    ("double", "~1.5", "-"),
    ("double", "1.5 + 1", "-"),
    ("double", "1e400", "-"),
    ("int", "1.0", "-"),
    ("String", "\"a\"", "\"a\""),
    ("String", "\"a\" + \"b\" + \"c\"", "\"abc\""),
    ("String", "(\"a\")", "\"a\""),
    ("String", "\"a\" + 1", "-"),
    ("String", "\"ä\"", "-"),
    ("String", "\"a\\nb\"", "-"),
    ("String", "'a'", "-"),
    ("int", "\"a\" == \"b\"", "-"),
    ("int[]", "{1, 2, 1 << 31}", "[1, 2, -2147483648]"),
    ("int[]", "{}", "[]"),
    ("int[2]", "{1, 2}", "[1, 2]"),
    ("int[3]", "{1, 2}", "-"),
    ("int[]", "1", "-"),
    ("int", "{1}", "-"),
    ("byte[]", "{1, 255u8}", "[1, -1]"),
    ("byte[]", "{1, 255}", "-"),
    ("boolean[]", "{true, 1, 0}", "[true, true, false]"),
    ("int[2][2]", "{{1, 2}, {3, 4}}", "[[1, 2], [3, 4]]"),
    ("String[]", "{\"a\", \"b\" + \"c\"}", "[\"a\", \"bc\"]"),
];

/// The default of the only field of a parcelable.
fn default_of(source: &str) -> Result<Json, String> {
    let scratch = Scratch::new(&[("p/X.aidl", source)]);
    let library = scratch.library();
    let entry = library
        .find("p.X")
        .ok_or_else(|| library.broken().join(""))?;
    let crate::aidl::syntax::Body::Parcelable { fields } = &entry.declaration.body else {
        panic!("no parcelable: {source}");
    };
    let field = fields.last().expect("there is a field");
    let kind = library.kind_of(&entry, &field.kind)?;
    library.default_of(&entry, field, &kind).map(Option::unwrap)
}

#[test]
fn constants_have_the_values_of_the_compiler() {
    let mut wrong = Vec::new();
    for (kind, text, expected) in TABLE {
        let found = default_of(&format!("package p; parcelable X {{ {kind} x = {text}; }}"));
        let is_right = match (&found, expected) {
            (found, "-") => found.is_err(),
            (Ok(value), expected) => *value == serde_json::from_str::<Json>(expected).unwrap(),
            (Err(_), _) => false,
        };
        if !is_right {
            wrong.push(format!("{kind} x = {text}: {found:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The declarations of a parcelable whose last field has the default.
const DECLARED: [(&str, &str); 21] = [
    ("const int A = 255u8; int b = A + 1;", "0"),
    ("const long A = 1; long b = A << 40;", "-"),
    ("const long A = 1L; long b = A << 40;", "1099511627776"),
    ("const int A = 1L; long b = A << 40;", "1099511627776"),
    ("const int A = 4294967296; int b = A - A;", "-"),
    ("const boolean A = 1; boolean b = A;", "-"),
    ("const int[] A = {1}; int[] b = A;", "-"),
    ("const int A = B; const int B = A; int c = A;", "-"),
    ("const String A = \"x\"; String b = A + \"y\";", "\"xy\""),
    ("enum E { A, B = 5, C } E e = E.C;", "6"),
    ("enum E { A, B = 5, C } int e = E.C + 1;", "7"),
    ("enum E { A, B = 5, C } E e = E.C + 1;", "-"),
    ("enum E { A, B = 5, C } E[] e = {E.A, 5};", "-"),
    ("enum E { A = B, B = 1 } E e = E.A;", "1"),
    ("enum E { A, B = A + 1, C = E.B + 1 } E e = X.E.C;", "2"),
    ("enum E { A = 127, B } E e = E.B;", "-"),
    ("enum E { A = 200 } E e = E.A;", "-"),
    (
        "enum E { A = 0xC1u8, B = 255u8, C } int e = E.A * 1000 + E.C;",
        "-63000",
    ),
    (
        "@Backing(type=\"int\") enum E { A = 1 << 31, B } E e = E.B;",
        "-2147483647",
    ),
    (
        "@Backing(type=\"int\") enum E { A = 2147483647, B } E e = E.B;",
        "-",
    ),
    (
        "@Backing(type=\"long\") enum E { A = 4294967295, B } E e = E.B;",
        "4294967296",
    ),
];

#[test]
fn references_have_the_values_of_the_compiler() {
    for (text, expected) in DECLARED {
        let found = default_of(&format!("package p;\nparcelable X {{ {text} }}"));
        match expected {
            "-" => assert!(found.unwrap_err().contains("p/X.aidl:2: "), "{text}"),
            _ => assert_eq!(found.unwrap().to_string(), expected, "{text}"),
        }
    }
}

#[test]
fn sizes_of_arrays_are_ints_from_0_on() {
    let sizes = [
        ("0", Some(0)),
        ("1 < 2", Some(1)),
        ("3u8", Some(3)),
        ("true", Some(1)),
    ];
    let refused = ["3L", "-1", "255u8", "2147483648", "1.0"].map(|size| (size, None));
    for (size, expected) in sizes.into_iter().chain(refused) {
        let list = vec!["1"; expected.unwrap_or(0)].join(",");
        let source = format!("package p; parcelable X {{ int[{size}] x = {{{list}}}; }}");
        let found = default_of(&source).map(|value| value.as_array().map_or(0, Vec::len));
        assert_eq!(found.ok(), expected, "{size}");
    }
}
