// SPDX-License-Identifier: Apache-2.0
//! Which Android level speaks? A request does not say, and most of them mean the same at every
//! level. What excludes levels is, in this order: the header and the arguments (`meanings`, by the
//! tables in `numbering`), what the process sent before (`processes`), and the callbacks that it
//! has registered. What is left is read at the level that the device is set to.
mod meanings;
pub mod numbering;
mod processes;
mod set;

pub use meanings::{Access, Arguments, Header, Meaning, DESCRIPTOR};
pub use set::LevelSet;

use anybinder_driver::level::Level;
use anybinder_driver::parcel::{Reader, Speaker, Target, SYSTEM_HEADER};
use meanings::Meanings;
use numbering::Method;
use processes::Processes;
use rsbinder::StatusCode;

/// Asks for the level of the process that registered a name (`_LVL`): the request is the name, the
/// reply the level, both as text, and the header word. Only this service manager answers it.
pub const LEVEL_TRANSACTION: u32 = u32::from_be_bytes(*b"_LVL");

/// Why a request has no meaning here.
pub struct Unclear {
    pub status: StatusCode,
    pub why: String,
}

/// The levels of the client that registered a callback for a name; None if none did.
///
/// The arguments are the name, and the handle of the callback.
pub type WatchLevels<'a> = &'a dyn Fn(&str, u32) -> Option<LevelSet>;

/// The clients of one device, and the level of a call that could be of several.
pub struct Speakers {
    processes: Processes,
    preferred: Level,
}

impl Speakers {
    pub fn new(preferred: Level) -> Speakers {
        Speakers {
            processes: Processes::default(),
            preferred,
        }
    }

    /// The meaning of a request: the only one that the client can have, else that of the level of
    /// this device.
    ///
    /// * `reader`: behind the header
    pub fn understand(
        &mut self,
        pid: i32,
        header: &Header,
        (code, reader): (u32, &Reader),
        watches: WatchLevels,
    ) -> Result<Meaning, Unclear> {
        let meanings = Meanings::read(header, code, reader, self.preferred);
        let possible = meanings.levels();
        if possible.is_empty() {
            return Err(Unclear {
                status: meanings.status,
                why: "its arguments fit no known level".to_string(),
            });
        }
        // A call that every level has says nothing, unless few have its header.
        if possible != header.levels || header.word != Some(SYSTEM_HEADER) {
            self.processes.learn(pid, possible, header.word);
        }
        let narrowed = self.processes.narrow(pid, possible);
        let narrowed = narrow_by_watch(narrowed, &meanings, watches);
        let mut left = meanings.all;
        left.retain_mut(|meaning| {
            meaning.levels = meaning.levels.intersection(narrowed);
            !meaning.levels.is_empty()
        });
        exclude_by_watches(&mut left, watches);
        let preferred = self.preferred;
        let is_preferred = |meaning: &Meaning| meaning.levels.contains(preferred);
        let index = match left.len() {
            1 => Some(0),
            _ => left.iter().position(is_preferred),
        };
        match index {
            Some(index) => Ok(left.swap_remove(index)),
            None => Err(Unclear {
                status: StatusCode::UnknownTransaction,
                why: format!(
                    "it looks like {narrowed}, where its meaning differs, and this device is set \
                     to {preferred} (--level)"
                ),
            }),
        }
    }

    /// How a process reads a call, by those that it sent.
    pub fn speaker(&mut self, pid: i32) -> Speaker {
        match self.processes.of(pid) {
            Some((levels, word)) => Speaker {
                level: self.level(levels),
                header_word: word.unwrap_or(SYSTEM_HEADER),
            },
            None => Speaker {
                level: self.preferred,
                ..Speaker::default()
            },
        }
    }

    /// The level in whose format a client of these levels reads and writes.
    pub fn level(&self, levels: LevelSet) -> Level {
        match levels.contains(self.preferred) {
            true => self.preferred,
            // The newest one that fits: only Android 12 reads categories.
            false => levels.iter().last().unwrap_or(self.preferred),
        }
    }
}

/// A callback that is registered is of a client of the levels that registered it.
fn narrow_by_watch(levels: LevelSet, meanings: &Meanings, watches: WatchLevels) -> LevelSet {
    let mut all = meanings.all.iter();
    let watch = all.find_map(|meaning| watch_of(meaning, watches));
    let both = watch.map_or(levels, |known| levels.intersection(known));
    match both.is_empty() {
        true => levels,
        false => both,
    }
}

/// The levels of the client that registered the callback of a request.
fn watch_of(meaning: &Meaning, watches: WatchLevels) -> Option<LevelSet> {
    match &meaning.arguments {
        Arguments::NameBinder(name, callback) => match callback.target {
            Target::Handle(handle) => watches(name, handle),
            Target::Own => None,
        },
        _ => None,
    }
}

/// A callback that is not registered is not unregistered.
fn exclude_by_watches(meanings: &mut Vec<Meaning>, watches: WatchLevels) {
    let has = |method| meanings.iter().any(|meaning| meaning.method == method);
    let could_register = has(Method::RegisterForNotifications);
    let mut all = meanings.iter();
    let is_registered = all.any(|one| watch_of(one, watches).is_some());
    if could_register && !is_registered {
        meanings.retain(|one| one.method != Method::UnregisterForNotifications);
    }
}
