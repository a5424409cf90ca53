// SPDX-License-Identifier: Apache-2.0
//! From a parcel to the call that its client means, and the levels at which it means that.
//!
//! The header is certain: without a work source it is Android 9, without a header word Android 10.
//! From Android 11 on a code is read at every level that has it; the arguments that do not fit, and
//! the form of the stability, exclude levels. More than one meaning may be left, of which
//! `Speakers` chooses.
use super::numbering::{self, Found, Method, Shape};
use super::set::LevelSet;
use anybinder_driver::level::Level;
use anybinder_driver::parcel::{Binder, Reader, Result, HEADER_WORDS};
use rsbinder::StatusCode;

pub const DESCRIPTOR: &str = "android.os.IServiceManager";

/// What libgbinder writes as the strict mode policy at every level. libbinder wrote the same up to
/// Android 10; later releases and rsbinder write bit 31.
const STRICT_POLICY_OF_GBINDER: i32 = 0x40 << 16;

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub levels: LevelSet,
    /// None before Android 11. A callback gets it, too.
    pub word: Option<i32>,
    pub is_gbinder: bool,
}

impl Header {
    /// Reads the header of a call to the interface `android.os.IServiceManager`.
    pub fn read(reader: &mut Reader) -> Result<Header> {
        let policy = reader.i32()?;
        let attempts = [
            (LevelSet::LEGACY_9, 0),
            (LevelSet::LEGACY_10, 1),
            (LevelSet::AIDL, 2),
        ];
        let mut outcome = Err(StatusCode::BadType);
        for (levels, words) in attempts {
            let mut attempt = reader.clone();
            match Header::rest(&mut attempt, words) {
                Ok(word) => {
                    *reader = attempt;
                    return Ok(Header {
                        levels,
                        word,
                        is_gbinder: policy == STRICT_POLICY_OF_GBINDER && word.is_some(),
                    });
                }
                // A cut header is that of the newest level.
                Err(status) => outcome = Err(status),
            }
        }
        outcome
    }

    /// The words between the policy and the name of the interface, and that name.
    fn rest(reader: &mut Reader, words: usize) -> Result<Option<i32>> {
        let mut word = None;
        for index in 0..words {
            let value = reader.i32()?;
            // The first is the work source, the second the header word.
            word = (index == 1).then_some(value);
        }
        if word.is_some_and(|word| !HEADER_WORDS.contains(&word)) {
            return Err(StatusCode::BadType);
        }
        match reader.string16()? == DESCRIPTOR {
            true => Ok(word),
            false => Err(StatusCode::BadType),
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arguments {
    After {
        last: Option<String>,
        restarts: bool,
    },
    Name(String),
    Priority {
        /// The position in the list, before Android 11.
        index: Option<i32>,
        priority: Option<i32>,
    },
    Add {
        name: String,
        service: Binder,
        allow_isolated: bool,
        priority: Option<i32>,
    },
    NameBinder(String, Binder),
    NameBinderBinder(String, Binder, Binder),
    Access(Access),
}

/// Whose access is asked for, and to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The security context.
    pub sid: String,
    pub uid: u32,
    pub name: String,
    pub permission: String,
}

impl Access {
    fn read(reader: &mut Reader) -> Result<Access> {
        let mut access = Access::default();
        let end = reader.parcelable()?;
        if reader.is_before(end) {
            access.sid = reader.string16()?;
        }
        // The process is for messages of the security module.
        if reader.is_before(end) {
            reader.i32()?;
        }
        if reader.is_before(end) {
            access.uid = reader.i32()? as u32;
        }
        reader.go_to(end);
        access.name = reader.string16()?;
        access.permission = reader.string16()?;
        Ok(access)
    }
}

impl Arguments {
    fn read(reader: &mut Reader, shape: Shape, is_legacy: bool) -> Result<Arguments> {
        let stability = !is_legacy;
        let arguments = match shape {
            Shape::After => Arguments::After {
                last: reader.string16().ok(),
                restarts: optional_i32(reader)? == Some(numbering::WITH_RESTARTS),
            },
            Shape::Name => Arguments::Name(reader.string16()?),
            Shape::Priority if is_legacy => Arguments::Priority {
                index: Some(reader.i32()?),
                priority: optional_i32(reader)?,
            },
            Shape::Priority => Arguments::Priority {
                index: None,
                priority: Some(reader.i32()?),
            },
            Shape::Add => Arguments::Add {
                name: reader.string16()?,
                service: reader.binder(stability)?,
                allow_isolated: match is_legacy {
                    true => optional_i32(reader)?.unwrap_or(0) != 0,
                    false => reader.i32()? != 0,
                },
                priority: match is_legacy {
                    true => optional_i32(reader)?,
                    false => Some(reader.i32()?),
                },
            },
            Shape::NameBinder => {
                Arguments::NameBinder(reader.string16()?, reader.binder(stability)?)
            }
            Shape::NameBinderBinder => Arguments::NameBinderBinder(
                reader.string16()?,
                reader.binder(stability)?,
                reader.binder(stability)?,
            ),
            Shape::Access => Arguments::Access(Access::read(reader)?),
        };
        // Arguments that are left over belong to another method.
        match reader.is_at_end() {
            true => Ok(arguments),
            false => Err(StatusCode::BadValue),
        }
    }

    fn binders(&self) -> impl Iterator<Item = &Binder> {
        let (first, second) = match self {
            Arguments::Add { service, .. } => (Some(service), None),
            Arguments::NameBinder(_, binder) => (Some(binder), None),
            Arguments::NameBinderBinder(_, service, callback) => (Some(service), Some(callback)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Whether the stabilities are in the form of this level.
    fn fits(&self, level: Level) -> bool {
        // 0 means undeclared in the plain form. A level that writes categories never writes it.
        self.binders()
            .all(|binder| match (binder.stability, level.stability_form()) {
                (None, _) => true,
                (Some((_, form)), wanted) => form == wanted,
            })
    }
}

fn optional_i32(reader: &mut Reader) -> Result<Option<i32>> {
    match reader.is_at_end() {
        true => Ok(None),
        false => reader.i32().map(Some),
    }
}

/// One meaning of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub method: Method,
    pub found: Found,
    pub levels: LevelSet,
    pub arguments: Arguments,
}

/// All meanings of a request that its code and arguments leave.
#[derive(Clone, Debug)]
pub struct Meanings {
    pub all: Vec<Meaning>,
    /// Why the request has none.
    pub status: StatusCode,
}

impl Meanings {
    pub fn levels(&self) -> LevelSet {
        let mut levels = LevelSet::default();
        for level in self.all.iter().flat_map(|meaning| meaning.levels.iter()) {
            levels.insert(level);
        }
        levels
    }

    /// Reads the arguments after the header at each level.
    ///
    /// * `preferred`: the level that a status is for if no level fits
    pub fn read(header: &Header, code: u32, reader: &Reader, preferred: Level) -> Meanings {
        let mut meanings = Meanings {
            all: Vec::new(),
            status: StatusCode::UnknownTransaction,
        };
        // Most levels read the same arguments.
        let mut last = None;
        for level in header.levels.iter() {
            let Some((method, shape)) = numbering::method(level, code) else {
                continue;
            };
            let found = found_for(header, level, method);
            let Some(found) = found else { continue };
            let form = (shape, level.is_legacy());
            let arguments = match last.take() {
                Some((of, arguments)) if of == form => arguments,
                _ => Arguments::read(&mut reader.clone(), shape, level.is_legacy()),
            };
            let (_, arguments) = last.insert((form, arguments));
            match arguments {
                Ok(arguments) if arguments.fits(level) => {
                    meanings.add(level, method, found, arguments);
                }
                Ok(_) => {}
                Err(status) => {
                    let status = *status;
                    let is_first = meanings.status == StatusCode::UnknownTransaction;
                    if is_first || level == preferred {
                        meanings.status = status;
                    }
                }
            }
        }
        meanings
    }

    fn add(&mut self, level: Level, method: Method, found: Found, arguments: &Arguments) {
        let same = |one: &&mut Meaning| one.method == method && one.found == found;
        if let Some(known) = self.all.iter_mut().find(same) {
            known.levels.insert(level);
            return;
        }
        let mut levels = LevelSet::default();
        levels.insert(level);
        self.all.push(Meaning {
            method,
            found,
            levels,
            arguments: arguments.clone(),
        });
    }
}

/// What a lookup returns to this client; None if the client never calls the method. libgbinder
/// looks services up by `getService` and `checkService` only, and reads a plain binder from either
/// at every level (from the union of Android 15 too, but not every version of it does).
fn found_for(header: &Header, level: Level, method: Method) -> Option<Found> {
    match (header.is_gbinder, method) {
        (true, Method::GetService2 | Method::CheckService2) => None,
        (true, _) => Some(Found::Binder),
        (false, _) => Some(numbering::found(level, method)),
    }
}
