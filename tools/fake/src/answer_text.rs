// SPDX-License-Identifier: Apache-2.0
//! An answer as it is written on a command line: values as `anybinder call` takes them, and words
//! behind a `!`. A value that has such a word in it stands in quotes.
use crate::methods::{taken, Interface};
use crate::step::{CallBack, Step};
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::syntax::TypeName;
use anybinder_parcel::aidl::Library;
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
  !ask                                                   ask the program on standard input
  !times(3)                                              for so many calls
  !then                                                  what follows is for the next calls
The last answer is for all further calls. For an object, `new INTERFACE` is one that answers by
INTERFACE.METHOD=ANSWER. METHOD(VALUE, ...)=ANSWER is for calls with these arguments.
getInterfaceVersion=N and getInterfaceHash=TEXT are answered by every interface.";

/// A part of an answer.
enum Piece {
    Value(String),
    /// A word behind a `!`, and what stands in parentheses behind it.
    Word(String, Option<String>),
}

type Outcome<T> = Result<T, String>;

/// Goes through a text, and knows whether a place is in quotes or brackets.
#[derive(Default)]
struct Depth {
    brackets: usize,
    in_quotes: bool,
    is_escaped: bool,
}

impl Depth {
    /// Whether the place behind this character is outside of all.
    fn pass(&mut self, c: char) -> bool {
        match c {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.in_quotes => self.is_escaped = true,
            '"' => self.in_quotes = !self.in_quotes,
            _ if self.in_quotes => {}
            '(' | '[' | '{' => self.brackets += 1,
            ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        !self.in_quotes && self.brackets == 0
    }
}

/// Where the brackets are closed again that a text begins with.
fn closed(text: &str) -> Option<usize> {
    let mut depth = Depth::default();
    let mut ends = text.char_indices().filter(|(_, c)| depth.pass(*c));
    ends.next().map(|(at, c)| at + c.len_utf8())
}

/// The parts of a text between commas.
pub fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut found, mut start) = (Depth::default(), Vec::new(), 0);
    for (at, c) in text.char_indices() {
        if depth.pass(c) && c == ',' {
            found.push(text[start..at].trim());
            start = at + 1;
        }
    }
    found.push(text[start..].trim());
    match text.trim() {
        "" => Vec::new(),
        _ => found,
    }
}

/// KEY=VALUE as its two parts, at the first `=` outside of quotes and brackets.
pub fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let mut depth = Depth::default();
    let mut places = text
        .char_indices()
        .filter(|(_, c)| depth.pass(*c) && *c == '=');
    let (at, _) = places.next()?;
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

fn pieces(text: &str) -> Outcome<Vec<Piece>> {
    let (mut depth, mut found, mut value) = (Depth::default(), Vec::new(), String::new());
    let (mut at, mut is_start, mut is_outside) = (0, true, true);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        if c == '!' && is_start && is_outside && letters > 0 {
            let (word, mut behind) = (&rest[..letters], letters);
            let mut arguments = None;
            if rest[letters..].starts_with('(') {
                let size = closed(&rest[letters..])
                    .ok_or_else(|| format!("the parenthesis behind !{word} is not closed"))?;
                arguments = Some(rest[letters + 1..letters + size - 1].to_string());
                behind += size;
            }
            found.push(Piece::Value(std::mem::take(&mut value)));
            found.push(Piece::Word(word.to_string(), arguments));
            at += 1 + behind;
            continue;
        }
        is_outside = depth.pass(c);
        is_start = c.is_whitespace();
        value.push(c);
        at += c.len_utf8();
    }
    if !is_outside {
        return Err("a quote or a bracket is not closed".to_string());
    }
    found.push(Piece::Value(value));
    Ok(found)
}

/// Seconds of `2s`, `500ms` or `2`.
fn seconds(text: &str) -> Outcome<f64> {
    let text = text.trim();
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let seconds = number.parse::<f64>().map(|number| number * unit).ok();
    let usable = seconds.filter(|seconds| (0.0..1e9).contains(seconds));
    usable.ok_or_else(|| format!("{text} is no time: 2s or 500ms"))
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

/// Reads answers of one method.
pub struct Reader<'a> {
    pub library: &'a Library,
    pub interface: &'a Interface,
    pub called: &'a Called,
}

impl Reader<'_> {
    fn value(&self, interface: &Interface, kind: &TypeName, text: &str) -> Outcome<Value> {
        word_value(&self.library.kind_of(&interface.entry, kind)?, text)
    }

    /// Values as the arguments of a method, by their names.
    fn arguments(
        &self,
        of: &Interface,
        called: &Called,
        text: &str,
    ) -> Outcome<Map<String, Value>> {
        let taken: Vec<_> = taken(called).collect();
        let given = parts(text);
        if given.len() != taken.len() {
            let (name, wanted) = (&called.method.name, taken.len());
            return Err(format!(
                "{name} takes {wanted} arguments, not {}",
                given.len()
            ));
        }
        let named = taken.iter().zip(given).map(|(argument, text)| {
            let value = self.value(of, &argument.kind, text);
            let value = value.map_err(|err| format!("{}: {err}", argument.name))?;
            Ok((argument.name.clone(), value))
        });
        named.collect()
    }

    /// The arguments that a call has to have.
    pub fn condition(&self, text: &str) -> Outcome<Map<String, Value>> {
        self.arguments(self.interface, self.called, text)
    }

    fn out(&self, text: &str) -> Outcome<Map<String, Value>> {
        let each = parts(text).into_iter().map(|part| {
            let (name, text) = part
                .split_once('=')
                .ok_or_else(|| format!("!out takes NAME=VALUE, not {part}"))?;
            let name = name.trim();
            let mut arguments = self.called.method.arguments.iter();
            let argument = arguments.find(|one| one.name == name);
            let value = match argument {
                Some(one) => self.value(self.interface, &one.kind, text.trim()),
                // Refused with the answer.
                None => Ok(Value::Null),
            };
            Ok((
                name.to_string(),
                value.map_err(|err| format!("{name}: {err}"))?,
            ))
        });
        each.collect()
    }

    fn call_back(&self, text: &str) -> Outcome<CallBack> {
        let (path, given) = with_arguments(text)?;
        let (object, method) = path
            .rsplit_once('.')
            .ok_or_else(|| format!("!call takes ARGUMENT.METHOD(VALUE, ...), not {text}"))?;
        let interface = self
            .interface
            .of_argument(self.library, self.called, object);
        let arguments = match interface {
            Some(of) => self.arguments(&of, of.by_name(method)?, given.unwrap_or_default())?,
            None => Map::new(),
        };
        Ok(CallBack {
            object: object.to_string(),
            method: method.to_string(),
            arguments: Value::Object(arguments),
        })
    }

    fn word(&self, step: &mut Step, word: &str, given: Option<&str>) -> Outcome<()> {
        let needed = || given.ok_or_else(|| format!("!{word} needs something in parentheses"));
        match word {
            "dead" => step.dead = true,
            "dies" => step.dies = true,
            "ask" => step.ask = true,
            "after" => step.after_s = seconds(needed()?)?,
            "times" => {
                let times = needed()?.trim().parse().ok().filter(|times| *times > 0);
                step.times = Some(times.ok_or("!times takes a number from 1 on")?);
            }
            "out" => step.out = self.out(needed()?)?,
            "call" => step.calls.push(self.call_back(needed()?)?),
            "status" => step.status = Some(Value::from(needed()?.trim())),
            name => set_exception(step, name, given).map_err(|err| format!("!{err}"))?,
        }
        Ok(())
    }

    /// The steps of an answer.
    pub fn steps(&self, text: &str) -> Outcome<Vec<Step>> {
        let kind = &self.called.method.result;
        let (mut steps, mut step) = (Vec::new(), Step::default());
        for piece in pieces(text)? {
            match piece {
                Piece::Word(word, None) if word == "then" => steps.push(std::mem::take(&mut step)),
                Piece::Word(word, given) => self.word(&mut step, &word, given.as_deref())?,
                Piece::Value(text) if text.trim().is_empty() => {}
                Piece::Value(text) if step.result.is_some() => {
                    return Err(format!("{} is a second value", text.trim()));
                }
                Piece::Value(text) => {
                    step.result = Some(self.value(self.interface, kind, text.trim())?);
                }
            }
        }
        if text.trim().is_empty() && kind.path != "void" {
            step.result = Some(self.value(self.interface, kind, "")?);
        }
        steps.push(step);
        Ok(steps)
    }
}
