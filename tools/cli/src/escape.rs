// SPDX-License-Identifier: Apache-2.0
//! Text of other programs must neither control the terminal that it is shown on nor forge lines:
//! the names of processes and services, what they pass to each other and what they say of
//! themselves.

/// Does a character do something to a terminal, or change the order of what is shown?
fn has_effect(c: char) -> bool {
    let orders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let isolates = matches!(
        c,
        '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{61c}'
    );
    c.is_control() || orders || isolates
}

/// The text, with `\u` and digits for what would have an effect and is not kept.
pub fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> String {
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

/// A text of several lines, with `\u` and digits for what would have an effect.
pub fn harmless_lines(text: &str) -> String {
    escape(text, |c| c == '\n')
}
