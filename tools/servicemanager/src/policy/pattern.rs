// SPDX-License-Identifier: Apache-2.0
//! Patterns of names in rules: a last `*` stands for any end.

pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_last_star_stands_for_something() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a"),
            ("a.*", "a."),
            ("a.*", "a.b"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("a", "a.b"),
            ("a.*", "a"),
            ("*b", "ab"),
            ("a*b", "acb"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
