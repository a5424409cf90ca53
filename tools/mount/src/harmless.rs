// SPDX-License-Identifier: Apache-2.0
//! Text of other programs, which must not control the terminal that it is shown on: the names of
//! processes and services, what they pass to each other and what they say of themselves.
use crate::note::tell;

/// Does a character do something to a terminal, or change the order of what is shown?
fn has_effect(c: char) -> bool {
    let orders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let isolates = matches!(
        c,
        '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{61c}'
    );
    c.is_control() || orders || isolates
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match has_effect(c) && !is_kept(c) {
            true => escaped += &format!("\\u{:04x}", u32::from(c)),
            false => escaped.push(c),
        }
    }
    escaped
}

/// The text in one line, with `\u` and digits for what would have an effect; also within JSON,
/// where it means the same.
pub fn harmless(text: &str) -> String {
    escape(text, |_| false)
}

/// The same for a text of several lines.
pub fn harmless_lines(text: &str) -> String {
    escape(text, |c| c == '\n')
}

/// Prints lines that contain text of other programs.
pub fn say(text: impl std::fmt::Display) {
    tell(harmless_lines(&text.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_an_effect_is_escaped() {
        let evil = "a\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\n\u{202e}\u{e4}\t";
        let line = harmless(evil);
        assert_eq!(
            line,
            "a\\u001b]0;x\\u0007\\u009b2J\\u007f\\u000a\\u202e\u{e4}\\u0009"
        );
        assert_eq!(harmless(&line), line);
        assert_eq!(harmless_lines("a\nb\r"), "a\nb\\u000d");
    }

    #[test]
    fn json_stays_the_same_document() {
        let document = serde_json::json!({ "a\u{9b}": "b\u{7f}\u{1b}\u{2028}" });
        for text in [document.to_string(), format!("{document:#}")] {
            let read: serde_json::Value = serde_json::from_str(&harmless_lines(&text)).unwrap();
            assert_eq!(read, document);
        }
    }
}
