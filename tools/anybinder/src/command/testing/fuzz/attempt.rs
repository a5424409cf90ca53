// SPDX-License-Identifier: Apache-2.0
//! One call: of its types, or malformed; as a parcel, as a command line, and shorter ones.
use super::values::{word, Values};
use super::Service;
use crate::command::services::call::write_typed;
use anybinder_cli::error::{Error, Result};
use anybinder_driver::parcel;
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::encode::{empty, Format, Parcel};
use anybinder_parcel::types::Type;
use fastrand::Rng;

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
fn kinds(service: &Service, called: &Called) -> Result<Vec<Type>> {
    let kinds = called.taken();
    let kinds = kinds.map(|one| service.library.kind_of(&service.interface.entry, &one.kind));
    let all: std::result::Result<_, String> = kinds.collect();
    all.map_err(|err| Error::new(format!("The .aidl files cannot be used: {err}.")))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    // No word of a command line has the character that cannot be quoted.
    shlex::try_quote(word).unwrap_or_default().into_owned()
}

impl Attempt {
    pub fn random(service: &Service, random: &mut Rng) -> Result<Attempt> {
        let called = random
            .choice(service.interface.own())
            .expect("there are some");
        let mut words = Vec::new();
        for kind in kinds(service, called)? {
            let mut values = Values {
                library: service.library,
                random: &mut *random,
                name: service.name,
            };
            words.push(word(&kind, &values.value(&kind, 0)?));
        }
        let typed = Attempt {
            code: called.code,
            arguments: Arguments::Typed(words),
        };
        if random.usize(..3) != 0 {
            return Ok(typed);
        }
        let plan = typed.parcel(service, Format::default())?;
        // An object at another place is no object.
        let words = parcel::words(&plan.data);
        Ok(match plan.objects.is_empty() {
            true => typed.malformed(words, random),
            false => typed,
        })
    }

    fn malformed(&self, mut words: Vec<u32>, random: &mut Rng) -> Attempt {
        for _ in 0..=random.usize(..2) {
            let at = random.usize(..=words.len());
            match random.usize(..3) {
                0 => words.truncate(at),
                1 if at < words.len() => words[at] = WORDS[random.usize(..WORDS.len())],
                _ => words.insert(at, WORDS[random.usize(..WORDS.len())]),
            }
        }
        let code = match random.usize(..20) {
            0 => random.u32(..1 << 24),
            _ => self.code,
        };
        Attempt {
            code,
            arguments: Arguments::Malformed(words),
        }
    }

    /// What is sent behind the header.
    pub fn parcel(&self, service: &Service, format: Format) -> Result<Parcel> {
        match &self.arguments {
            Arguments::Typed(words) => {
                let called = service.interface.by_code(self.code);
                let called = called.ok_or_else(|| Error::new("There is no such method."))?;
                write_typed(
                    service.library,
                    &service.interface.entry,
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

    pub fn is_oneway(&self, service: &Service) -> bool {
        let called = service.interface.by_code(self.code);
        called.is_some_and(|called| called.method.is_oneway)
    }

    /// Shorter calls, the shortest first.
    pub fn shorter(&self, service: &Service) -> Result<Vec<Attempt>> {
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
                let Some(called) = service.interface.by_code(self.code) else {
                    return Ok(Vec::new());
                };
                let mut all = Vec::new();
                for (at, kind) in kinds(service, called)?.iter().enumerate() {
                    let simplest = word(kind, &empty(kind));
                    if words[at].len() > simplest.len() || words[at] > simplest {
                        let mut shorter = words.clone();
                        shorter[at] = simplest;
                        all.push(with(Arguments::Typed(shorter)));
                    }
                }
                // Empty values do not fit every type: a file has to be one.
                all.retain(|one| one.parcel(service, Format::default()).is_ok());
                Ok(all)
            }
        }
    }

    /// The command that makes the call.
    pub fn line(&self, service: &Service, device: &str, aidl: &[String]) -> String {
        let mut words = vec!["anybinder".to_string(), "call".to_string()];
        if device != "binder" {
            words.extend(["--device".to_string(), device.to_string()]);
        }
        match (&self.arguments, service.interface.by_code(self.code)) {
            (Arguments::Typed(given), Some(called)) => {
                for path in aidl {
                    words.extend(["--aidl".to_string(), quoted(path)]);
                }
                words.extend([quoted(service.name), called.method.name.clone()]);
                if !given.is_empty() {
                    words.push("--".to_string());
                }
                words.extend(given.iter().map(|word| quoted(word)));
            }
            (Arguments::Malformed(given), called) => {
                if called.is_some_and(|called| called.method.is_oneway) {
                    words.push("--oneway".to_string());
                }
                words.extend([quoted(service.name), self.code.to_string()]);
                words.extend(given.iter().map(|word| format!("u32 {word}")));
            }
            (Arguments::Typed(_), None) => {}
        }
        words.join(" ")
    }
}
