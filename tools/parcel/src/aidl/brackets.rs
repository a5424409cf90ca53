// SPDX-License-Identifier: Apache-2.0
//! How deep the brackets of a file are nested, which is found without recursion: the parser has
//! some.
use crate::budget::MAX_DEPTH;

/// What is inside a bracket.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The type arguments that are open.
    angles: usize,
    /// The present text is a constant: `<` compares or shifts.
    is_value: bool,
    /// All of the level is a constant, and not only what is behind a `=`.
    is_all_value: bool,
}

/// The length of the comment, text or character that begins here, 0 if none does.
pub(super) fn skipped(rest: &str) -> usize {
    let behind = |at: Option<usize>, size: usize| at.map_or(rest.len(), |at| at + size);
    match rest.as_bytes() {
        [b'/', b'/', ..] => behind(rest.find('\n'), 0),
        [b'/', b'*', ..] => behind(rest[2..].find("*/"), 4),
        [b'"', inner @ ..] => {
            let mut is_escaped = false;
            let end = inner.iter().position(|byte| {
                let is_end = *byte == b'"' && !is_escaped;
                is_escaped = *byte == b'\\' && !is_escaped;
                is_end
            });
            behind(end, 2)
        }
        [b'\'', ..] => {
            let size = rest[1..].chars().next().map_or(0, char::len_utf8);
            rest[1 + size..]
                .starts_with('\'')
                .then_some(size + 2)
                .unwrap_or(0)
        }
        _ => 0,
    }
}

/// The line of a place.
pub(super) fn line(source: &str, at: usize) -> usize {
    source[..at].matches('\n').count() + 1
}

/// Fails, with the line, where brackets are nested too deep.
pub(super) fn check_depth(source: &str) -> Result<(), String> {
    let bytes = source.as_bytes();
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let (mut at, mut angles) = (0, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        if matches!(byte, b'/' | b'"' | b'\'') {
            at += skipped(&source[at..]).max(1);
            continue;
        }
        match byte {
            b'(' | b'{' | b'[' => {
                let is_value = level.is_value || byte == b'[';
                outer.push(level);
                level = Level {
                    angles: 0,
                    is_value,
                    is_all_value: is_value,
                };
            }
            b')' | b'}' | b']' => {
                angles -= level.angles;
                level = outer.pop().unwrap_or_default();
            }
            b'=' | b';' => {
                angles -= level.angles;
                level.angles = 0;
                level.is_value = level.is_all_value || byte == b'=';
            }
            b',' => level.is_value = level.is_all_value,
            b'<' if !level.is_value => (level.angles, angles) = (level.angles + 1, angles + 1),
            b'>' if level.angles > 0 => (level.angles, angles) = (level.angles - 1, angles - 1),
            _ => {}
        }
        if outer.len() + angles > MAX_DEPTH {
            let line = line(source, at);
            return Err(format!(
                "{line}: brackets are nested deeper than {MAX_DEPTH}"
            ));
        }
        at += 1;
    }
    Ok(())
}
