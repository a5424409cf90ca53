// SPDX-License-Identifier: Apache-2.0
//! The bytes of a parcel as Android prints them: up to 16 in one line, else lines of 16 with their
//! offsets. Words are little-endian numbers, and what is no letter is a dot.
const BYTES_PER_LINE: usize = 16;
const WORD: usize = 4;

/// A line of at most 16 bytes.
///
/// * `is_filled`: short of 16, it is as wide as a whole one
fn line(bytes: &[u8], is_filled: bool) -> String {
    let mut words = Vec::new();
    for at in (0..BYTES_PER_LINE).step_by(WORD) {
        let part = bytes.get(at..).unwrap_or_default();
        let part = &part[..part.len().min(WORD)];
        let digits: String = part.iter().rev().map(|one| format!("{one:02x}")).collect();
        words.push(match is_filled {
            true => format!("{digits:<width$}", width = 2 * WORD),
            false => digits,
        });
    }
    let letter = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '.',
    };
    let mut letters: String = bytes.iter().map(letter).collect();
    if is_filled {
        letters = format!("{letters:<BYTES_PER_LINE$}");
    }
    format!("{} '{letters}'", words.join(" "))
}

/// What stands in the brackets of `Parcel(...)`.
pub fn text(bytes: &[u8]) -> String {
    match bytes.len() {
        0 => "NULL".to_string(),
        1..=BYTES_PER_LINE => line(bytes, false),
        _ => {
            let lines = bytes.chunks(BYTES_PER_LINE).enumerate();
            let with_offset = |(index, one): (usize, &[u8])| {
                format!("\n  0x{:08x}: {}", index * BYTES_PER_LINE, line(one, true))
            };
            lines.map(with_offset).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_as_on_android() {
        assert_eq!(text(&[]), "NULL");
        let reply = [0, 0, 0, 0, b'*', 0, 0, 0];
        assert_eq!(text(&reply), "00000000 0000002a   '....*...'");
        let name: Vec<u8> = "0429".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let reply = [&[0, 0, 0, 0, 4, 0, 0, 0], name.as_slice(), &[0; 4]].concat();
        assert_eq!(
            text(&reply),
            "\n  0x00000000: 00000000 00000004 00340030 00390032 '........0.4.2.9.'\
             \n  0x00000010: 00000000                            '....            '"
        );
    }
}
