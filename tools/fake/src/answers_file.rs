// SPDX-License-Identifier: Apache-2.0
//! Which services there are and what they answer, as a command line and a file say it. A file has a
//! METHOD = ANSWER in a line, below the [NAME] or [NAME INTERFACE] of their service; `#` begins a
//! line that is a comment.
use crate::answer_text::{key_and_value, with_arguments};
use crate::prepared::{Answering, Behaviour, Sequence};
use crate::serve::Fake;
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_driver::driver::Driver;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::Misfit;
use anybinder_parcel::interface_methods::Interface;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A service to register.
pub struct Named {
    pub name: String,
    pub interface: Option<String>,
}

impl Named {
    /// The interface of a service: that which is said, or that with which its name begins, or the
    /// only one that there is.
    pub fn interface(&self, library: &Library) -> Result<Arc<Interface>> {
        let (name, said) = (&self.name, self.interface.as_deref());
        let by_name = name.split_once('/').map(|(interface, _)| interface);
        let found = match (said.or(by_name), library.only_interface()) {
            (Some(wanted), _) => Interface::find(library, wanted),
            (None, Some(entry)) => Interface::of(library, entry),
            (None, None) => {
                return Err(Error::usage(format!(
                    "There are several interfaces, and {name} does not say which it has: give \
                     --interface, or in a file [{name} INTERFACE]."
                )));
            }
        };
        found.ok_or_else(|| {
            let wanted = said.or(by_name).unwrap_or_default();
            let what = format!("No .aidl file declares the interface {wanted}.");
            match library.broken().is_empty() {
                true => Error::usage(what),
                false => Error::with_advice(what, library.broken().join("\n  ")),
            }
        })
    }
}

/// METHOD=ANSWER of a service.
pub struct Line {
    /// The index of the service.
    service: usize,
    /// Where it stands, as the beginning of a message; nothing for the command line.
    place: String,
    text: String,
}

#[derive(Default)]
pub struct Script {
    pub services: Vec<Named>,
    pub lines: Vec<Line>,
}

impl Script {
    /// The service with a name, which is added if it is new.
    pub fn service(&mut self, name: &str, interface: Option<&str>) -> usize {
        let known = self.services.iter().position(|one| one.name == name);
        let index = known.unwrap_or_else(|| {
            self.services.push(Named {
                name: name.to_string(),
                interface: None,
            });
            self.services.len() - 1
        });
        if let Some(interface) = interface {
            self.services[index].interface = Some(interface.to_string());
        }
        index
    }

    /// * `answers`: METHOD=ANSWER, as on a command line
    pub fn add(&mut self, service: usize, answers: &[String]) {
        let lines = answers.iter().map(|text| Line {
            service,
            place: String::new(),
            text: text.clone(),
        });
        self.lines.extend(lines);
    }

    pub fn read(&mut self, path: &Path) -> Result<()> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).doing(|| format!("reading {shown}"))?;
        let mut service = (!self.services.is_empty()).then_some(0);
        for (index, line) in text.lines().enumerate() {
            let (place, line) = (format!("{shown}:{}: ", index + 1), line.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(head) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                let mut words = head.split_whitespace();
                service = match (words.next(), words.next(), words.next()) {
                    (Some(name), interface, None) => Some(self.service(name, interface)),
                    _ => return Err(Error::usage(format!("{place}[NAME INTERFACE] is needed."))),
                };
                continue;
            }
            let service = service.ok_or_else(|| {
                Error::usage(format!(
                    "{place}[NAME] has to stand before the first answer."
                ))
            })?;
            self.lines.push(Line {
                service,
                place,
                text: line.to_string(),
            });
        }
        Ok(())
    }
}

/// Answers that are read, by the addresses of what has them and the codes of the methods.
#[derive(Default)]
pub struct Collected(HashMap<(usize, u32), (Arc<Behaviour>, Vec<Sequence>)>);

impl Collected {
    /// Reads the answer of a method. The error names method and field.
    ///
    /// * `key`: METHOD, METHOD(VALUE, ...) or INTERFACE.METHOD, of the object of `behaviour`
    pub fn add(
        &mut self,
        (fake, library, driver): (&Arc<Fake>, &Library, &mut Driver),
        behaviour: &Arc<Behaviour>,
        (key, text): (&str, &str),
    ) -> std::result::Result<(), String> {
        let (path, condition) = with_arguments(key)?;
        let (owner, name) = match path.rsplit_once('.') {
            None => (behaviour.clone(), path),
            Some((interface, method)) => {
                let within = &behaviour.interface.entry;
                let found = library.resolve(within, interface);
                let name = found.map_or(interface.to_string(), |entry| entry.name.clone());
                (fake.behaviour(library, &name)?, method)
            }
        };
        let method = Answering(owner.interface.by_name(library, name)?);
        let named = |err: String| format!("{name}: {err}");
        let steps = method.steps(text).map_err(named)?;
        let given = condition.map(|text| method.arguments(text));
        let given = given.transpose().map_err(named)?;
        let sequence = || {
            let when = given.map(|given| method.condition(&given)).transpose()?;
            let made = |step| fake.prepare(driver, method, step).map(Arc::new);
            let steps = steps.iter().map(made);
            Ok(Sequence::new(
                when,
                steps.collect::<std::result::Result<_, _>>()?,
            ))
        };
        let bad = |misfit: Misfit| format!("{name}{}: {}", misfit.path, misfit.what);
        let sequence = sequence().map_err(bad)?;
        let key = (Arc::as_ptr(&owner).addr(), method.called.code);
        let entry = self.0.entry(key).or_insert((owner.clone(), Vec::new()));
        entry.1.push(sequence);
        Ok(())
    }

    /// Sets all of them.
    pub fn set(self) {
        for ((_, code), (behaviour, sequences)) in self.0 {
            behaviour.set(code, sequences);
        }
    }
}

/// Reads all answers of a script.
///
/// * `behaviours`: those of its services
pub fn collect(
    script: &Script,
    (fake, library, driver): (&Arc<Fake>, &Library, &mut Driver),
    behaviours: &[Arc<Behaviour>],
) -> Result<Collected> {
    let mut collected = Collected::default();
    for line in &script.lines {
        let bad = |err: String| Error::usage(format!("{}{err}.", line.place));
        let parts = key_and_value(&line.text);
        let (key, text) = parts.ok_or_else(|| bad(format!("{} is no METHOD=ANSWER", line.text)))?;
        let of = &behaviours[line.service];
        let added = collected.add((fake, library, driver), of, (key, text));
        added.map_err(bad)?;
    }
    Ok(collected)
}
