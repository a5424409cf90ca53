// SPDX-License-Identifier: Apache-2.0
//! Parcels that cross by their types, as `.aidl` files declare them.
//!
//! A parcel does not say where its parcelables begin and end, or that a word 0 is a binder that is
//! null. With the types of the method these places are known: objects are written anew wherever
//! they are, and the sizes in front of parcelables are corrected. The result is planned as a whole
//! before the first byte is written, so that a parcel that cannot cross leaves nothing behind.
use crate::copy::{copy, reason, Objects};
use crate::dialect::Dialect;
use crate::parcel_bytes::{self, is_manager};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::note;
use anybinder_driver::parcel::word;
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::budget::MAX_DEPTH;
use anybinder_parcel::shape::{Interface, Members, Shape};
use rsbinder::{Parcel, ParcelFileDescriptor, SIBinder, StatusCode};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Exceptions with a block of data in front: notes of Java services.
const HAS_NOTED_APP_OPS: u32 = -127i32 as u32;
const HAS_REPLY_HEADER: u32 = -128i32 as u32;

/// The lengths of a `ParcelFileDescriptor`, of an object, and of a null binder.
const KERNEL_FILE: usize = 32;
const RPC_OBJECT: usize = 16;
const RPC_NULL_BINDER: usize = 8;

/// The interfaces that are known.
pub struct Gateway {
    library: Mutex<Library>,
    interfaces: Mutex<HashMap<String, Arc<Interface>>>,
    /// The interfaces of parcelables that were found in holders.
    parcelables: Mutex<HashMap<String, Arc<Interface>>>,
}

type Find = fn(&Library, &str) -> Option<Interface>;

impl Gateway {
    /// Finds the `.aidl` files; None if no directory is given.
    pub fn open(roots: &Roots) -> Result<Option<Gateway>> {
        if roots.paths.is_empty() {
            return Ok(None);
        }
        let library = Library::open(roots).map_err(|err| {
            Error::with_advice(
                format!("The .aidl files cannot be used: {err}."),
                "Give --aidl a directory with .aidl files.",
            )
            .of(Kind::Usage)
        })?;
        Ok(Some(Gateway {
            library: Mutex::new(library),
            interfaces: Mutex::default(),
            parcelables: Mutex::default(),
        }))
    }

    /// What has a name, if a file declares it. Names that peers invent are not kept.
    fn find(
        &self,
        declared: &Mutex<HashMap<String, Arc<Interface>>>,
        name: &str,
        find: Find,
    ) -> Option<Arc<Interface>> {
        let known = || declared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(name) {
            return Some(found.clone());
        }
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Arc::new(find(&library, name)?);
        known().insert(name.to_string(), made.clone());
        Some(made)
    }

    /// The interface with a descriptor.
    pub fn interface(&self, descriptor: &str) -> Option<Arc<Interface>> {
        self.find(&self.interfaces, descriptor, Interface::find)
    }

    /// The parcelable or union with a name, the first of the bodies.
    fn parcelable(&self, name: &str) -> Option<Arc<Interface>> {
        self.find(&self.parcelables, name, Interface::of_parcelable)
    }

    /// Fails if the interface of a service is not declared; says which methods cross without types.
    pub fn check(&self, service: &str, descriptor: &str) -> Result<()> {
        let Some(interface) = self.interface(descriptor) else {
            let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
            let broken = library.broken();
            let advice = match broken.is_empty() {
                true => "Give --aidl the directory where it is declared.".to_string(),
                false => broken.join("\n  "),
            };
            return Err(Error::with_advice(
                format!("No .aidl file declares {descriptor}, the interface of {service}."),
                advice,
            ));
        };
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        for doubt in library.take_doubts() {
            note(format_args!("anybinder: {doubt}."));
        }
        for why in &interface.unknown {
            note(format_args!("anybinder: Without types crosses {why}."));
        }
        Ok(())
    }
}

/// Why a parcel does not cross.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    /// A clause.
    pub why: String,
}

type Outcome<T> = std::result::Result<T, Refusal>;

fn refusal<T>(status: StatusCode, why: impl Into<String>) -> Outcome<T> {
    let why = why.into();
    Err(Refusal { status, why })
}

/// An object that is written anew.
enum Object {
    Binder(Option<SIBinder>),
    File(ParcelFileDescriptor),
}

/// What a parcel becomes.
struct Plan<'a> {
    bridge: &'a dyn Objects,
    gateway: &'a Gateway,
    /// The types of the method, or of a holder.
    interface: Arc<Interface>,
    from: &'a mut Parcel,
    /// What `from` has from `start` on.
    bytes: Vec<u8>,
    start: usize,
    at: usize,
    /// Where the parcelable ends that is being read.
    end: usize,
    to_rpc: bool,
    /// How the one of the two that is a parcel of the driver is written.
    dialect: Dialect,
    allows_files: bool,
    /// With zeros where objects will be.
    made: Vec<u8>,
    objects: Vec<(usize, usize, Object)>,
}

impl Plan<'_> {
    fn too_short<T>(&self) -> Outcome<T> {
        let name = &self.interface.name;
        refusal(
            StatusCode::NotEnoughData,
            format!(
                "at byte {} it does not fit {name} in the .aidl files",
                self.at
            ),
        )
    }

    fn plain(&mut self, size: usize) -> Outcome<()> {
        if size > self.end - self.at {
            return self.too_short();
        }
        let taken = &self.bytes[self.at..self.at + size];
        self.made.extend_from_slice(taken);
        self.at += size;
        Ok(())
    }

    fn peek(&self) -> Outcome<u32> {
        match word(&self.bytes[..self.end], self.at) {
            Some(word) => Ok(word),
            None => self.too_short(),
        }
    }

    fn word(&mut self) -> Outcome<u32> {
        let word = self.peek()?;
        self.plain(4)?;
        Ok(word)
    }

    /// Bytes whose types are not known: those of a newer version, for example.
    fn opaque(&mut self, size: usize) -> Outcome<()> {
        if size > self.end - self.at {
            return self.too_short();
        }
        let part = self.bytes[self.at..self.at + size].to_vec();
        let found = parcel_bytes::objects(self.from, &part, self.start + self.at, self.dialect);
        match found.as_deref() {
            Ok([]) => self.plain(size),
            _ => refusal(
                StatusCode::InvalidOperation,
                "it has an object where the .aidl files declare nothing",
            ),
        }
    }

    /// A count of things of at least `size` bytes; 0 for null.
    fn count(&mut self, size: usize) -> Outcome<usize> {
        let count = match self.word()? {
            u32::MAX => 0,
            count => count as usize,
        };
        match count.saturating_mul(size) <= self.end - self.at {
            true => Ok(count),
            false => self.too_short(),
        }
    }

    fn put(&mut self, object: Object, size: usize) {
        self.objects.push((self.made.len(), size, object));
        self.made.resize(self.made.len() + size, 0);
    }

    /// Goes on behind what was read from the parcel itself.
    fn skip_read(&mut self) -> Outcome<()> {
        let at = self.from.data_position().saturating_sub(self.start);
        if at > self.end {
            return self.too_short();
        }
        self.at = at;
        Ok(())
    }

    /// Reads the binder that is next.
    fn read_binder(&mut self) -> Outcome<Option<SIBinder>> {
        let (none, at) = (StatusCode::BadType, self.at);
        let read = match self.from.is_kernel_backed() {
            true => {
                let place = (&*self.bytes, self.start);
                let read = parcel_bytes::read_binder(self.from, place, at, self.dialect);
                let end = self.start + at + self.dialect.binder_length();
                self.from.set_data_position(end);
                read.unwrap_or(Err(none))
            }
            false => {
                self.from.set_data_position(self.start + at);
                self.from.read()
            }
        };
        let Ok(binder) = read else {
            return refusal(
                none,
                format!("there is no binder that can cross at byte {at}"),
            );
        };
        self.skip_read()?;
        Ok(binder)
    }

    fn binder(&mut self) -> Outcome<()> {
        let binder = self.read_binder()?;
        if binder.as_ref().is_some_and(is_manager) {
            return refusal(
                StatusCode::PermissionDenied,
                "the service manager cannot cross a link",
            );
        }
        let size = match (&binder, self.to_rpc) {
            (None, true) => RPC_NULL_BINDER,
            (Some(_), true) => RPC_OBJECT,
            (_, false) => self.dialect.binder_length(),
        };
        self.put(Object::Binder(binder), size);
        Ok(())
    }

    fn file(&mut self) -> Outcome<()> {
        if self.peek()? == 0 {
            return self.plain(4);
        }
        if !self.allows_files {
            return refusal(
                StatusCode::FdsNotAllowed,
                "a file crosses only a link over unix:// with --aidl at both ends",
            );
        }
        self.from.set_data_position(self.start + self.at);
        let Ok(file) = self.from.read::<ParcelFileDescriptor>() else {
            return refusal(
                StatusCode::BadType,
                format!("there is no file at byte {}", self.at),
            );
        };
        self.skip_read()?;
        let size = if self.to_rpc { RPC_OBJECT } else { KERNEL_FILE };
        self.put(Object::File(file), size);
        Ok(())
    }

    /// The text of a `String`, which is copied.
    fn text(&mut self) -> Outcome<String> {
        let at = self.at + 4;
        self.value(&Shape::String16, 0)?;
        let units = self.bytes[at..self.at].as_chunks::<2>().0;
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        let text = char::decode_utf16(units.take_while(|unit| *unit != 0));
        Ok(text.map(|one| one.unwrap_or('\u{fffd}')).collect())
    }

    /// A holder has the name of its parcelable before it.
    fn holder(&mut self, depth: usize) -> Outcome<()> {
        if self.word()? == 0 {
            return Ok(());
        }
        // The stability.
        self.word()?;
        let made_from = self.made.len() + 4;
        let size = self.count(1)?;
        if size == 0 {
            return Ok(());
        }
        if !size.is_multiple_of(4) {
            return self.too_short();
        }
        let outer_end = std::mem::replace(&mut self.end, self.at + size);
        let name = self.text()?;
        match self.gateway.parcelable(&name) {
            Some(inner) => {
                let outer = std::mem::replace(&mut self.interface, inner);
                self.body(0, depth + 1)?;
                self.opaque(self.end - self.at)?;
                self.interface = outer;
            }
            None => self.opaque(self.end - self.at).map_err(|_| Refusal {
                status: StatusCode::InvalidOperation,
                why: format!(
                    "it has an object inside a ParcelableHolder with a {name}, which no .aidl \
                     file declares"
                ),
            })?,
        }
        self.end = outer_end;
        self.set_size(made_from - 4, self.made.len() - made_from);
        Ok(())
    }

    fn set_size(&mut self, at: usize, size: usize) {
        self.made[at..at + 4].copy_from_slice(&(size as u32).to_le_bytes());
    }

    fn all_members(&mut self, shapes: &[Shape], depth: usize) -> Outcome<()> {
        let (from, made_from) = (self.at, self.made.len());
        let size = self.word()? as usize;
        if size < 4 || !size.is_multiple_of(4) || size > self.end - from {
            self.at = from;
            return self.too_short();
        }
        let outer_end = std::mem::replace(&mut self.end, from + size);
        self.values(shapes, depth)?;
        // A newer sender has more members.
        self.opaque(self.end - self.at)?;
        self.end = outer_end;
        self.set_size(made_from, self.made.len() - made_from);
        Ok(())
    }

    fn declared(&mut self, number: usize, depth: usize) -> Outcome<()> {
        match self.word()? {
            0 => Ok(()),
            _ => self.body(number, depth),
        }
    }

    /// A parcelable or union behind the word that says that it is not null.
    fn body(&mut self, number: usize, depth: usize) -> Outcome<()> {
        let interface = self.interface.clone();
        match &interface.bodies[number] {
            Members::All(shapes) => self.all_members(shapes, depth),
            Members::One(shapes) => {
                let at = self.at;
                match shapes.get(self.word()? as usize) {
                    Some(shape) => self.value(shape, depth),
                    None => {
                        self.at = at;
                        self.too_short()
                    }
                }
            }
        }
    }

    fn value(&mut self, shape: &Shape, depth: usize) -> Outcome<()> {
        if depth > MAX_DEPTH {
            return refusal(
                StatusCode::BadValue,
                format!("its values are nested deeper than {MAX_DEPTH}"),
            );
        }
        match shape {
            Shape::Plain(size) => self.plain(*size),
            Shape::Packed => {
                let count = self.count(1)?;
                self.plain(count.next_multiple_of(4))
            }
            Shape::String8 | Shape::String16 => {
                let unit = if *shape == Shape::String8 { 1 } else { 2 };
                match self.word()? {
                    u32::MAX => Ok(()),
                    length => self.plain(((length as usize + 1) * unit).next_multiple_of(4)),
                }
            }
            Shape::Array(element) => {
                let count = self.count(4)?;
                if let Shape::Plain(size) = **element {
                    return self.plain(count.saturating_mul(size));
                }
                (0..count).try_for_each(|_| self.value(element, depth + 1))
            }
            Shape::Binder => self.binder(),
            Shape::File => self.file(),
            Shape::RawFile => refusal(
                StatusCode::FdsNotAllowed,
                "a FileDescriptor cannot cross a link, a ParcelFileDescriptor can",
            ),
            Shape::Holder => self.holder(depth),
            Shape::Declared(number) => self.declared(*number, depth + 1),
        }
    }

    /// Values one after the other; an older sender has fewer.
    fn values(&mut self, shapes: &[Shape], depth: usize) -> Outcome<()> {
        for shape in shapes {
            if self.at == self.end {
                break;
            }
            self.value(shape, depth)?;
        }
        Ok(())
    }

    /// The exception of a reply; whether there was none.
    fn exception(&mut self) -> Outcome<bool> {
        let mut code = self.word()?;
        let block = |plan: &mut Self| -> Outcome<()> {
            let size = plan.word()? as usize;
            plan.plain(size.saturating_sub(4))
        };
        if code == HAS_NOTED_APP_OPS {
            block(self)?;
            code = self.word()?;
        }
        if code == HAS_REPLY_HEADER {
            block(self)?;
            code = 0;
        }
        Ok(code == 0)
    }

    /// Writes what was planned.
    fn write(self, to: &mut Parcel) -> std::result::Result<(), StatusCode> {
        let base = to.data_position();
        let mut done = 0;
        for (at, size, object) in self.objects {
            parcel_bytes::write(to, &self.made[done..at])?;
            match &object {
                Object::Binder(binder) => self.bridge.write(binder.as_ref(), to, self.dialect)?,
                Object::File(file) => to.write(file)?,
            }
            done = at + size;
            if to.data_position() != base + done {
                return Err(StatusCode::InvalidOperation);
            }
        }
        parcel_bytes::write(to, &self.made[done..])
    }
}

/// What a parcel has: the arguments of a call, or a reply, which begins with an exception.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Call,
    Reply,
}

/// Appends what `from` has from `start` on to `to`, by its types.
pub fn copy_by_types(
    (bridge, gateway): (&dyn Objects, &Gateway),
    (interface, part, shapes): (&Arc<Interface>, Part, &[Shape]),
    (from, start): (&mut Parcel, usize),
    to: &mut Parcel,
    dialect: Dialect,
) -> Outcome<()> {
    if from.data_size().saturating_sub(start) > bridge.max_size() {
        return refusal(
            StatusCode::FailedTransaction,
            "it is larger than --max-size",
        );
    }
    let malformed = |status| Refusal {
        status,
        why: "it is malformed".to_string(),
    };
    let bytes = parcel_bytes::read(from, start).map_err(malformed)?;
    if interface.is_plain(shapes) {
        return parcel_bytes::write(to, &bytes).map_err(malformed);
    }
    let mut plan = Plan {
        bridge,
        gateway,
        interface: interface.clone(),
        dialect,
        start,
        at: 0,
        end: bytes.len(),
        to_rpc: !to.is_kernel_backed(),
        allows_files: to.allow_fds(),
        made: Vec::with_capacity(bytes.len()),
        objects: Vec::new(),
        from,
        bytes,
    };
    if part == Part::Call || plan.exception()? {
        plan.values(shapes, 0)?;
    }
    plan.opaque(plan.end - plan.at)?;
    plan.write(to).map_err(|status| Refusal {
        status,
        why: "an object of it cannot be written".to_string(),
    })
}

/// Copies a parcel without types.
pub fn copy_untyped(
    bridge: &dyn Objects,
    from: (&mut Parcel, usize),
    to: &mut Parcel,
    dialect: Dialect,
) -> Outcome<()> {
    copy(bridge, from, to, dialect).map_err(|status| Refusal {
        status,
        why: reason(status).to_string(),
    })
}
