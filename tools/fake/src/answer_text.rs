// SPDX-License-Identifier: Apache-2.0
//! An answer as it is written on a command line: values as `anybinder call` takes them, and words
//! behind a `!`. A value that has such a word in it stands in quotes.
use crate::prepared::Answering;
use crate::step::{CallBack, Step};
use anybinder_cli::time_limit::{seconds, span};
use anybinder_parcel::aidl::syntax::TypeName;
use anybinder_parcel::status::Exception;
use anybinder_parcel::words::word_value;
use serde_json::{Map, Value};

pub const HELP: &str = "\
An ANSWER is a value as `anybinder call` takes it, and any of
  !Security(\"text\"), !ServiceSpecific(42, \"text\"), ...  an exception, by its name in AIDL
  !status(DEAD_OBJECT), !status(-32)                     a status of libbinder
  !out(NAME=VALUE, ...)                                  what arguments return
  !after(2s), !after(500ms)                              wait before that
  !call(ARGUMENT.METHOD(VALUE, ...))                     first call the object that a client gave
                                                         as this argument, now or earlier
  !dead, !dies                                           end without a reply, or behind it
  !keep                                                  never release the objects of the call
  !ask                                                   ask the program on standard input
  !times(3)                                              for so many calls
  !then                                                  what follows is for the next calls
The last answer is for all further calls. For an object, `new INTERFACE` is one that answers by
INTERFACE.METHOD=ANSWER. METHOD(VALUE, ...)=ANSWER is for calls with these arguments.
getInterfaceVersion=N and getInterfaceHash=TEXT are answered by every interface.";

type Outcome<T> = Result<T, String>;

/// The characters behind which a text is outside of quotes and brackets, with their places.
fn outside(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let (mut brackets, mut in_quotes, mut is_escaped) = (0usize, false, false);
    text.char_indices().filter(move |(_, c)| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_quotes => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        !in_quotes && brackets == 0
    })
}

/// Where the brackets are closed again that a text begins with.
fn closed(text: &str) -> Option<usize> {
    outside(text).next().map(|(at, c)| at + c.len_utf8())
}

/// The parts of a text between commas.
fn parts(text: &str) -> Vec<&str> {
    let commas = outside(text).filter(|(_, c)| *c == ',').map(|(at, _)| at);
    let (mut found, mut start) = (Vec::new(), 0);
    for end in commas.chain([text.len()]) {
        found.push(text[start..end].trim());
        start = end + 1;
    }
    match text.trim() {
        "" => Vec::new(),
        _ => found,
    }
}

/// KEY=VALUE as its two parts, at the first `=` outside of quotes and brackets.
pub fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let (at, _) = outside(text).find(|(_, c)| *c == '=')?;
    Some((text[..at].trim(), text[at + 1..].trim()))
}

/// NAME(ARGUMENTS) as its two parts.
pub fn with_arguments(text: &str) -> Outcome<(&str, Option<&str>)> {
    let text = text.trim();
    match text.find('(') {
        None => Ok((text, None)),
        Some(open) if closed(&text[open..]) == Some(text.len() - open) => {
            Ok((text[..open].trim(), Some(&text[open + 1..text.len() - 1])))
        }
        Some(_) => Err(format!(
            "the parentheses of {text} are not closed at its end"
        )),
    }
}

/// A value, which may be empty, and the word that follows it, with what its parentheses have.
type Piece<'a> = (&'a str, Option<(&'a str, Option<&'a str>)>);

fn pieces(text: &str) -> Outcome<Vec<Piece<'_>>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, _) in outside(text).filter(|(_, c)| *c == '!') {
        let rest = &text[at + 1..];
        let is_letter = |c: char| c.is_ascii_alphanumeric();
        let letters = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let is_start = at == start || text[..at].ends_with(char::is_whitespace);
        if letters == 0 || !is_start {
            continue;
        }
        let (word, behind) = rest.split_at(letters);
        let (mut arguments, mut end) = (None, at + 1 + letters);
        if behind.starts_with('(') {
            let size = closed(behind)
                .ok_or_else(|| format!("the parenthesis behind !{word} is not closed"))?;
            arguments = Some(&behind[1..size - 1]);
            end += size;
        }
        found.push((text[start..at].trim(), Some((word, arguments))));
        start = end;
    }
    let last = outside(text).last();
    if last.map_or(0, |(at, c)| at + c.len_utf8()) < text.len() {
        return Err("a quote or a bracket is not closed".to_string());
    }
    found.push((text[start..].trim(), None));
    Ok(found)
}

/// Seconds of `2s`, `500ms` or `2`.
fn time(text: &str) -> Outcome<f64> {
    let time = span(text.trim()).or_else(|_| seconds(text.trim()));
    let time = time.map_err(|_| format!("{text} is no time: 2s or 500ms"))?;
    Ok(time.as_secs_f64())
}

/// A text that may stand in quotes.
fn unquoted(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_string())
}

/// Sets an exception: what is behind its name is the code of a service-specific one, and a text.
fn set_exception(step: &mut Step, name: &str, given: Option<&str>) -> Outcome<()> {
    let exception = Exception::named(name).map_err(|err| format!("{name}: {err}"))?;
    step.exception = Some(name.to_string());
    let mut text = given.unwrap_or_default().trim();
    if exception.service_code.is_some() {
        let (code, rest) = text.split_once(',').unwrap_or((text, ""));
        let code = code.trim().parse();
        step.code = Some(code.map_err(|_| format!("{name} needs a number first"))?);
        text = rest.trim();
    }
    step.message = Some(unquoted(text)).filter(|_| !text.is_empty());
    Ok(())
}

/// An exception alone: `Security("text")`, with or without a `!` before it.
pub fn exception(text: &str) -> Outcome<Exception> {
    let (name, given) = with_arguments(text.trim_start_matches('!'))?;
    let mut step = Step::default();
    set_exception(&mut step, name, given)?;
    step.exception()?
        .ok_or_else(|| format!("{name} is no exception"))
}

/// Reads answers of a method.
impl Answering<'_> {
    fn value(self, kind: &TypeName, text: &str) -> Outcome<Value> {
        word_value(&self.library.kind_of(&self.interface.entry, kind)?, text)
    }

    /// Values as arguments, by their names.
    pub fn arguments(self, text: &str) -> Outcome<Map<String, Value>> {
        let given = parts(text);
        let wanted = self.called.taken().count();
        if given.len() != wanted {
            let (name, count) = (&self.called.method.name, given.len());
            return Err(format!("{name} takes {wanted} arguments, not {count}"));
        }
        let named = self.called.taken().zip(given).map(|(argument, text)| {
            let value = self.value(&argument.kind, text);
            let value = value.map_err(|err| format!("{}: {err}", argument.name))?;
            Ok((argument.name.clone(), value))
        });
        named.collect()
    }

    fn out(self, text: &str) -> Outcome<Map<String, Value>> {
        let each = parts(text).into_iter().map(|part| {
            let (name, text) = part
                .split_once('=')
                .ok_or_else(|| format!("!out takes NAME=VALUE, not {part}"))?;
            let name = name.trim();
            let mut arguments = self.called.method.arguments.iter();
            // Another name is refused with the answer.
            let argument = arguments.find(|one| one.name == name);
            let value = argument.map(|one| self.value(&one.kind, text.trim()));
            let value = value.transpose().map_err(|err| format!("{name}: {err}"))?;
            Ok((name.to_string(), value.unwrap_or_default()))
        });
        each.collect()
    }

    fn call_back_text(self, text: &str) -> Outcome<CallBack> {
        let (path, given) = with_arguments(text)?;
        let (object, method) = path
            .rsplit_once('.')
            .ok_or_else(|| format!("!call takes ARGUMENT.METHOD(VALUE, ...), not {text}"))?;
        let mut arguments = Map::new();
        if let Some(of) = self.interface_of(object) {
            let called = of.by_name(self.library, method)?;
            arguments = Answering(called).arguments(given.unwrap_or_default())?;
        }
        Ok(CallBack {
            object: object.to_string(),
            method: method.to_string(),
            arguments: Value::Object(arguments),
        })
    }

    fn word(self, step: &mut Step, word: &str, given: Option<&str>) -> Outcome<()> {
        let needed = || given.ok_or_else(|| format!("!{word} needs something in parentheses"));
        match word {
            "dead" => step.dead = true,
            "dies" => step.dies = true,
            "keep" => step.keep = true,
            "ask" => step.ask = true,
            "after" => step.after_s = time(needed()?)?,
            "times" => {
                let times = needed()?.trim().parse().ok().filter(|times| *times > 0);
                step.times = Some(times.ok_or("!times takes a number from 1 on")?);
            }
            "out" => step.out = self.out(needed()?)?,
            "call" => step.calls.push(self.call_back_text(needed()?)?),
            "status" => step.status = Some(Value::from(needed()?.trim())),
            name => set_exception(step, name, given).map_err(|err| format!("!{err}"))?,
        }
        Ok(())
    }

    /// The steps of an answer.
    pub fn steps(self, text: &str) -> Outcome<Vec<Step>> {
        let kind = &self.called.method.result;
        let (mut steps, mut step) = (Vec::new(), Step::default());
        for (value, word) in pieces(text)? {
            match value {
                "" => {}
                _ if step.result.is_some() => return Err(format!("{value} is a second value")),
                _ => step.result = Some(self.value(kind, value)?),
            }
            match word {
                Some(("then", None)) => steps.push(std::mem::take(&mut step)),
                Some((word, given)) => self.word(&mut step, word, given)?,
                None => {}
            }
        }
        if text.trim().is_empty() && kind.path != "void" {
            step.result = Some(self.value(kind, "")?);
        }
        steps.push(step);
        Ok(steps)
    }
}
