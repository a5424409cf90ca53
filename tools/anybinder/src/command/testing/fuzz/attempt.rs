// SPDX-License-Identifier: Apache-2.0
//! One call: of its types, or malformed; as a parcel, as a command line, and shorter ones.
use super::values::{word, Values};
use super::Interface;
use crate::command::services::call::write_typed;
use crate::command::testing::random::Random;
use anybinder_cli::error::{Error, Result};
use anybinder_driver::parcel;
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::syntax::Direction;
use anybinder_parcel::encode::{empty, Format, Parcel};
use anybinder_parcel::types::Type;

/// What lengths, sizes and marks of null may be.
const WORDS: [u32; 6] = [u32::MAX, 0x7fff_ffff, 0x8000_0000, 0, 1, 0x1_0000];

#[derive(Clone, Debug)]
pub struct Attempt {
    pub code: u32,
    arguments: Arguments,
}

#[derive(Clone, Debug)]
enum Arguments {
    /// Words of the command line.
    Typed(Vec<String>),
    Malformed(Vec<u32>),
}

/// The types of the arguments that a caller passes.
fn kinds(interface: &Interface, called: &Called) -> Result<Vec<Type>> {
    let passed = called.method.arguments.iter();
    let passed = passed.filter(|one| one.direction != Direction::Out);
    let kinds = passed.map(|one| interface.library.kind_of(interface.entry, &one.kind));
    let all: std::result::Result<_, String> = kinds.collect();
    all.map_err(|err| Error::new(format!("The .aidl files cannot be used: {err}.")))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    // No word of a command line has the character that cannot be quoted.
    shlex::try_quote(word).unwrap_or_default().into_owned()
}

impl Attempt {
    pub fn random(interface: &Interface, random: &mut Random) -> Result<Attempt> {
        let called = random.choose(interface.methods);
        let mut words = Vec::new();
        for kind in kinds(interface, called)? {
            let mut values = Values {
                library: interface.library,
                random: &mut *random,
                name: interface.name,
            };
            words.push(word(&kind, &values.value(&kind, 0)?));
        }
        let typed = Attempt {
            code: called.code,
            arguments: Arguments::Typed(words),
        };
        if !random.one_in(3) {
            return Ok(typed);
        }
        let plan = typed.parcel(interface, Format::default())?;
        // An object at another place is no object.
        let words = parcel::words(&plan.data);
        Ok(match plan.objects.is_empty() {
            true => typed.malformed(words, random),
            false => typed,
        })
    }

    fn malformed(&self, mut words: Vec<u32>, random: &mut Random) -> Attempt {
        for _ in 0..=random.below(2) {
            let at = random.below(words.len() + 1);
            match random.below(3) {
                0 => words.truncate(at),
                1 if at < words.len() => words[at] = *random.choose(&WORDS),
                _ => words.insert(at, *random.choose(&WORDS)),
            }
        }
        let code = match random.one_in(20) {
            true => random.below(1 << 24) as u32,
            false => self.code,
        };
        Attempt {
            code,
            arguments: Arguments::Malformed(words),
        }
    }

    /// What is sent behind the header.
    pub fn parcel(&self, interface: &Interface, format: Format) -> Result<Parcel> {
        match &self.arguments {
            Arguments::Typed(words) => {
                let called = interface.called(self.code);
                let called = called.ok_or_else(|| Error::new("There is no such method."))?;
                write_typed(
                    interface.library,
                    interface.entry,
                    called,
                    (words.as_slice(), format),
                )
            }
            Arguments::Malformed(words) => {
                let mut parcel = Parcel::default();
                words.iter().for_each(|word| parcel.word(*word));
                Ok(parcel)
            }
        }
    }

    pub fn is_oneway(&self, interface: &Interface) -> bool {
        let called = interface.called(self.code);
        called.is_some_and(|called| called.method.is_oneway)
    }

    /// Shorter calls, the shortest first.
    pub fn shorter(&self, interface: &Interface) -> Result<Vec<Attempt>> {
        let with = |arguments| Attempt {
            code: self.code,
            arguments,
        };
        match &self.arguments {
            Arguments::Malformed(words) => {
                let lengths = [0, words.len() / 2, words.len().saturating_sub(1)];
                let cut = lengths.into_iter().filter(|length| *length < words.len());
                let cut = cut.map(|length| words[..length].to_vec());
                let zeroed = (0..words.len()).filter(|at| words[*at] != 0).map(|at| {
                    let mut zeroed = words.clone();
                    zeroed[at] = 0;
                    zeroed
                });
                Ok(cut
                    .chain(zeroed)
                    .map(|words| with(Arguments::Malformed(words)))
                    .collect())
            }
            Arguments::Typed(words) => {
                let Some(called) = interface.called(self.code) else {
                    return Ok(Vec::new());
                };
                let mut all = Vec::new();
                for (at, kind) in kinds(interface, called)?.iter().enumerate() {
                    let simplest = word(kind, &empty(kind));
                    if words[at].len() > simplest.len() || words[at] > simplest {
                        let mut shorter = words.clone();
                        shorter[at] = simplest;
                        all.push(with(Arguments::Typed(shorter)));
                    }
                }
                // Empty values do not fit every type: a file has to be one.
                all.retain(|one| one.parcel(interface, Format::default()).is_ok());
                Ok(all)
            }
        }
    }

    /// The command that makes the call.
    pub fn line(&self, interface: &Interface, device: &str, aidl: &[String]) -> String {
        let mut words = vec!["anybinder".to_string(), "call".to_string()];
        if device != "binder" {
            words.extend(["--device".to_string(), device.to_string()]);
        }
        match (&self.arguments, interface.called(self.code)) {
            (Arguments::Typed(given), Some(called)) => {
                for path in aidl {
                    words.extend(["--aidl".to_string(), quoted(path)]);
                }
                words.extend([quoted(interface.name), called.method.name.clone()]);
                if !given.is_empty() {
                    words.push("--".to_string());
                }
                words.extend(given.iter().map(|word| quoted(word)));
            }
            (Arguments::Malformed(given), called) => {
                if called.is_some_and(|called| called.method.is_oneway) {
                    words.push("--oneway".to_string());
                }
                words.extend([quoted(interface.name), self.code.to_string()]);
                words.extend(given.iter().map(|word| format!("u32 {word}")));
            }
            (Arguments::Typed(_), None) => {}
        }
        words.join(" ")
    }
}
