// SPDX-License-Identifier: Apache-2.0
//! Raw parcels of AIDL: reading what another process sent, and writing calls and replies at any
//! level.
//!
//! rsbinder's own parcels have one format (that of Android 13 and newer), so they are not used.
use crate::abi::{FD_FLAGS, OBJECT_SIZE, TYPE_BINDER, TYPE_FD, TYPE_HANDLE};
use crate::level::{Level, Stability, StabilityForm};
use rsbinder::StatusCode;
use std::os::fd::{AsFd, AsRawFd};

pub type Result<T> = std::result::Result<T, StatusCode>;

/// The header word of the system, from Android 11 on.
pub const SYSTEM_HEADER: i32 = i32::from_be_bytes(*b"SYST");

/// What libbinder writes on Android, where it is built for another system, for vendors' programs,
/// and in a recovery system. It accepts only its own.
pub const HEADER_WORDS: [i32; 4] = [
    SYSTEM_HEADER,
    i32::from_be_bytes(*b"UNKN"),
    i32::from_be_bytes(*b"VNDR"),
    i32::from_be_bytes(*b"RECO"),
];

/// How a program writes calls; it takes only those that are written so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaker {
    pub level: Level,
    /// The header word of its libbinder, which writes it from Android 11 on.
    pub header_word: i32,
}

impl Default for Speaker {
    fn default() -> Speaker {
        Speaker {
            level: Level::default(),
            header_word: SYSTEM_HEADER,
        }
    }
}

impl Speaker {
    /// A call as it writes and reads one.
    ///
    /// * `strict_mode`: the policy, from Android 11 on
    pub fn call(self, strict_mode: i32, interface: &str) -> Parcel {
        match self.level.is_legacy() {
            true => Parcel::legacy_call(self.level, interface),
            false => Parcel::call(strict_mode, self.header_word, interface),
        }
    }
}

const NO_WORK_SOURCE: i32 = -1;
/// The policy of strict mode that was written up to Android 10.
const LEGACY_STRICT_MODE: i32 = 0x40_0000;

/// The word at an offset; None past the end.
pub fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let four = bytes.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*four))
}

/// All whole words.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let all = (0..bytes.len()).step_by(4);
    all.map_while(|offset| word(bytes, offset)).collect()
}

/// The numbers of the objects of a type: handles or descriptors.
///
/// * `offsets`: where objects are
pub fn objects_of<'p>(
    data: &'p [u8],
    offsets: &'p [u64],
    kind: u32,
) -> impl Iterator<Item = u32> + 'p {
    let places = offsets.iter().filter_map(|at| usize::try_from(*at).ok());
    places.filter_map(move |at| {
        let whole = data.get(at..at.checked_add(OBJECT_SIZE)?)?;
        word(whole, 8).filter(|_| word(whole, 0) == Some(kind))
    })
}

/// Appends bytes, and zeros up to a multiple of 4.
pub fn put_padded(data: &mut Vec<u8>, bytes: &[u8]) {
    data.extend_from_slice(bytes);
    data.resize(data.len().next_multiple_of(4), 0);
}

/// Appends a string of AIDL: how many units it has, the units, a 0.
pub fn put_string16(data: &mut Vec<u8>, text: &str) {
    let units: Vec<u16> = text.encode_utf16().collect();
    data.extend_from_slice(&(units.len() as u32).to_le_bytes());
    let units = units.iter().chain(&[0]);
    let bytes: Vec<u8> = units.flat_map(|unit| unit.to_le_bytes()).collect();
    put_padded(data, &bytes);
}

/// A binder as this process knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Another process's object.
    Handle(u32),
    /// The one object of this process: a service manager.
    Own,
}

/// What the node of this process is registered as; not 0, which means no binder.
pub const OWN_POINTER: u64 = 1;

/// A binder in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binder {
    pub target: Target,
    /// None before Android 11.
    pub stability: Option<(Stability, StabilityForm)>,
}

/// Reads the data of a transaction. Whatever a client sends, a read ends with a status.
#[derive(Clone)]
pub struct Reader<'a> {
    data: &'a [u8],
    offsets: &'a [u64],
    position: usize,
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8], offsets: &'a [u64]) -> Self {
        Reader {
            data,
            offsets,
            position: 0,
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.position >= self.data.len()
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let end = self
            .position
            .checked_add(size)
            .ok_or(StatusCode::NotEnoughData)?;
        let taken = self
            .data
            .get(self.position..end)
            .ok_or(StatusCode::NotEnoughData)?;
        // An object is read by `binder` only: its bytes are no numbers of the sender.
        let overlaps = |offset: &u64| {
            let start = usize::try_from(*offset).unwrap_or(usize::MAX);
            start < end && start.saturating_add(OBJECT_SIZE) > self.position
        };
        if self.offsets.iter().any(overlaps) {
            return Err(StatusCode::BadType);
        }
        self.position = end;
        Ok(taken)
    }

    pub fn i32(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A string that must not be null. Names are UTF-16 on the wire.
    pub fn string16(&mut self) -> Result<String> {
        let length = self.i32()?;
        if length == -1 {
            return Err(StatusCode::UnexpectedNull);
        }
        let length = usize::try_from(length).map_err(|_| StatusCode::BadValue)?;
        // The terminating 0 and the padding to a multiple of 4 are part of it.
        let size = length
            .checked_add(1)
            .and_then(|units| units.checked_mul(2))
            .and_then(|bytes| bytes.checked_next_multiple_of(4))
            .ok_or(StatusCode::NotEnoughData)?;
        let bytes = self.take(size)?;
        let (units, end) = bytes.split_at(2 * length);
        if end[..2] != [0; 2] {
            return Err(StatusCode::BadValue);
        }
        let units = units.chunks_exact(2);
        let units = units.map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        char::decode_utf16(units)
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| StatusCode::BadValue)
    }

    /// Reads the beginning of a parcelable that must not be null; returns where it ends.
    ///
    /// A field is read if the position `is_before` that end, else it has its default: an older
    /// sender does not have it. Then `go_to` skips the fields of a newer one. As in libbinder, the
    /// size bounds where a field begins alone.
    pub fn parcelable(&mut self) -> Result<usize> {
        if self.i32()? == 0 {
            return Err(StatusCode::UnexpectedNull);
        }
        let start = self.position;
        // The size counts itself.
        let size = usize::try_from(self.i32()?).unwrap_or(0);
        match size < 4 {
            true => Err(StatusCode::BadValue),
            false => Ok(start.saturating_add(size)),
        }
    }

    pub fn is_before(&self, end: usize) -> bool {
        self.position < end
    }

    pub fn go_to(&mut self, end: usize) {
        self.position = end;
    }

    /// A binder that must not be null, with its stability if the level has one.
    pub fn binder(&mut self, has_stability: bool) -> Result<Binder> {
        let start = self.position;
        let end = start
            .checked_add(OBJECT_SIZE)
            .ok_or(StatusCode::NotEnoughData)?;
        let object = self.data.get(start..end).ok_or(StatusCode::NotEnoughData)?;
        let word = |at: usize| word(object, at).unwrap_or(0);
        let pointer = (u64::from(word(12)) << 32) | u64::from(word(8));
        let is_translated = self.offsets.contains(&(start as u64));
        let target = match (word(0), is_translated) {
            (TYPE_HANDLE, true) => Target::Handle(word(8)),
            (TYPE_BINDER, true) if pointer == OWN_POINTER => Target::Own,
            (TYPE_BINDER, false) if pointer == 0 => return Err(StatusCode::UnexpectedNull),
            _ => return Err(StatusCode::BadType),
        };
        self.position = end;
        let stability = match has_stability {
            false => None,
            true => Some(Stability::read(self.i32()?).ok_or(StatusCode::BadType)?),
        };
        Ok(Binder { target, stability })
    }
}

/// A parcel to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    pub data: Vec<u8>,
    pub offsets: Vec<u64>,
    /// Buffers beside the data, each with the position of its object; only HIDL has them.
    pub buffers: Vec<(usize, Vec<u8>)>,
}

impl Parcel {
    /// A call with the header of Android 11 and newer.
    pub fn call(strict_mode: i32, header_word: i32, interface: &str) -> Parcel {
        let mut parcel = Parcel::default();
        parcel
            .i32(strict_mode)
            .i32(NO_WORK_SOURCE)
            .i32(header_word)
            .string16(interface);
        parcel
    }

    /// A call with the header of Android 9 or 10.
    fn legacy_call(level: Level, interface: &str) -> Parcel {
        let mut parcel = Parcel::default();
        parcel.i32(LEGACY_STRICT_MODE);
        if level == Level::A10 {
            parcel.i32(NO_WORK_SOURCE);
        }
        parcel.string16(interface);
        parcel
    }

    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.data.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn string16(&mut self, text: &str) -> &mut Self {
        put_string16(&mut self.data, text);
        self
    }

    pub fn nullable_string16(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.string16(text),
            None => self.i32(-1),
        }
    }

    pub fn strings16<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t str>) -> &mut Self {
        self.i32(texts.len() as i32);
        for text in texts {
            self.string16(text);
        }
        self
    }

    fn object(&mut self, kind: u32, value: u64) {
        // The flags concern only the owner of a new node.
        self.data.extend_from_slice(&kind.to_le_bytes());
        self.data.extend_from_slice(&0u32.to_le_bytes());
        self.data.extend_from_slice(&value.to_le_bytes());
        self.data.extend_from_slice(&value.to_le_bytes());
    }

    /// Puts a handle or a descriptor into the bytes that were left for it.
    pub fn put_object(&mut self, at: usize, kind: u32, flags: u32, value: u32) {
        let object = &mut self.data[at..at + OBJECT_SIZE];
        object.fill(0);
        object[..4].copy_from_slice(&kind.to_le_bytes());
        object[4..8].copy_from_slice(&flags.to_le_bytes());
        object[8..12].copy_from_slice(&value.to_le_bytes());
        self.offsets.push(at as u64);
    }

    /// Puts an object of this process into the bytes that were left for it.
    ///
    /// * `pointer`: what the driver calls it by, not 0
    pub fn put_own(&mut self, at: usize, flags: u32, pointer: u64) {
        self.put_object(at, TYPE_BINDER, flags, 0);
        for from in [at + 8, at + 16] {
            self.data[from..from + 8].copy_from_slice(&pointer.to_ne_bytes());
        }
    }

    /// Writes a file over a null object; it must be open until the parcel is sent.
    pub fn put_file(&mut self, at: usize, file: impl AsFd) {
        let number = file.as_fd().as_raw_fd();
        self.put_object(at, TYPE_FD, FD_FLAGS, number as u32);
    }

    /// A binder and its stability in the receiver's form.
    pub fn binder(
        &mut self,
        binder: Option<(Target, Stability)>,
        form: StabilityForm,
    ) -> &mut Self {
        if binder.is_some() {
            self.offsets.push(self.data.len() as u64);
        }
        match binder {
            Some((Target::Handle(handle), _)) => self.object(TYPE_HANDLE, handle.into()),
            Some((Target::Own, _)) => self.object(TYPE_BINDER, OWN_POINTER),
            None => self.object(TYPE_BINDER, 0),
        }
        let stability = binder.map_or(Stability::UNDECLARED, |(_, stability)| stability);
        if let Some(word) = stability.word(form) {
            self.i32(word);
        }
        self
    }

    /// A parcelable that is not null and begins with its size.
    pub fn sized(&mut self, fill: impl FnOnce(&mut Parcel)) -> &mut Self {
        self.i32(1);
        let start = self.data.len();
        self.i32(0);
        fill(self);
        let size = (self.data.len() - start) as i32;
        self.data[start..start + 4].copy_from_slice(&size.to_le_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_no_number_and_a_number_is_no_object() {
        let mut parcel = Parcel::default();
        parcel.binder(
            Some((Target::Handle(5), Stability::SYSTEM)),
            StabilityForm::Absent,
        );
        let mut reader = Reader::new(&parcel.data, &parcel.offsets);
        assert_eq!(reader.i32(), Err(StatusCode::BadType));
        let mut forged = Reader::new(&parcel.data, &[]);
        assert_eq!(forged.binder(false), Err(StatusCode::BadType));
        let mut null = Parcel::default();
        null.binder(None, StabilityForm::Plain);
        let mut reader = Reader::new(&null.data, &null.offsets);
        assert_eq!(reader.binder(true), Err(StatusCode::UnexpectedNull));
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        for length in [-2, i32::MIN] {
            let data = length.to_le_bytes();
            let status = Reader::new(&data, &[]).string16();
            assert_eq!(status, Err(StatusCode::BadValue));
        }
        let data = i32::MAX.to_le_bytes();
        let status = Reader::new(&data, &[]).string16();
        assert_eq!(status, Err(StatusCode::NotEnoughData));
    }
}
