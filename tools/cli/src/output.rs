// SPDX-License-Identifier: Apache-2.0
//! What a program writes: text or JSON, on a terminal, into a pipe, or onto a full disk.
//!
//! `say` and `note`, which every command prints by, write one line each, whatever is in it.
use crate::error::{Error, Result};
use crate::escape::escape;
pub use crate::escape::{harmless, harmless_lines};
use crate::interrupt;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Writes a line at one go, or loses it: `println!` and `eprintln!` panic where a line cannot be
/// written, on a full disk for example.
fn write_line(mut file: impl Write, text: impl Display) {
    let _ = file.write_all(format!("{text}\n").as_bytes());
    let _ = file.flush();
}

/// What is written of a line: tabs may divide it.
fn line(text: impl Display) -> String {
    escape(&text.to_string(), |c| c == '\t')
}

/// Writes a line to standard output.
pub fn say(text: impl Display) {
    write_line(std::io::stdout().lock(), line(text));
}

/// Writes lines to standard output, none of which begins with text of another program.
pub fn say_lines(text: impl Display) {
    write_line(std::io::stdout().lock(), harmless_lines(&text.to_string()));
}

/// Writes a line to standard error.
pub fn note(text: impl Display) {
    write_line(std::io::stderr().lock(), line(text));
}

/// Writes an error to standard error, as a line and its advice or as a JSON document.
pub fn note_error(program: &str, json: bool, error: &Error) {
    let text = match json {
        true => format!("{:#}", error.to_json()),
        false => format!("{program}: {error}"),
    };
    write_line(std::io::stderr().lock(), harmless_lines(&text));
}

/// Prints `value` as a JSON document, or calls `text` to print it for people.
pub fn show<T: serde::Serialize>(json: bool, value: &T, text: impl FnOnce(&T)) {
    match json {
        true => say_lines(serde_json::to_string_pretty(value).expect("own types become JSON")),
        false => text(value),
    }
}

/// The exit status of a program, whose error, if there is one, is written to standard error.
///
/// * `program`: what begins the line of the error
/// * `json`: whether the error is a JSON document
pub fn exit(program: &str, json: bool, outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        let status = ExitCode::from(error.kind().exit_status());
        // The reader of standard error may be gone.
        if !interrupt::is_quiet() {
            note_error(program, json, &error);
        }
        status
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_lost() {
        let full = std::fs::File::options().write(true).open("/dev/full");
        write_line(full.unwrap(), "text");
        let mut written = Vec::new();
        write_line(&mut written, 7);
        assert_eq!(written, b"7\n");
    }

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
