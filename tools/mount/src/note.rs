// SPDX-License-Identifier: Apache-2.0
//! Lines of programs that go on without a reader: `println!` and `eprintln!` panic where a line
//! cannot be written, on a full disk for example.
use std::fmt::Display;
use std::io::Write;

/// Writes a line at one go, or loses it.
fn write_line(mut file: impl Write, text: impl Display) {
    let _ = file.write_all(format!("{text}\n").as_bytes());
    let _ = file.flush();
}

/// A line on standard error.
pub fn note(text: impl Display) {
    write_line(std::io::stderr().lock(), text);
}

/// A line on standard output.
pub fn tell(text: impl Display) {
    write_line(std::io::stdout().lock(), text);
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
}
