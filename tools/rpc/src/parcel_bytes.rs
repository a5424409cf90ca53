// SPDX-License-Identifier: Apache-2.0
//! The bytes of a received parcel, and the objects among them.
//!
//! A parcel does not say what types its bytes have, only where its objects are: the driver has a
//! list of them, and RPC Binder sends one from wire version 2 (Android 16 QPR2) on. rsbinder checks
//! that list whenever an object is read, so the objects are found by trying to read one wherever
//! the bytes look like one.
use crate::dialect::{bare_binder, Dialect};
use anybinder_driver::abi::{
    OBJECT_SIZE, TYPE_BINDER, TYPE_BUFFER, TYPE_FD, TYPE_FD_ARRAY, TYPE_HANDLE, TYPE_WEAK_BINDER,
    TYPE_WEAK_HANDLE,
};
use anybinder_driver::parcel::word;
use rsbinder::{Parcel, ParcelFileDescriptor, SIBinder, StatusCode};

type Result<T> = std::result::Result<T, StatusCode>;

/// The types of objects in a parcel of the driver.
const TYPES: [u32; 7] = [
    TYPE_BINDER,
    TYPE_HANDLE,
    TYPE_WEAK_BINDER,
    TYPE_WEAK_HANDLE,
    TYPE_FD,
    TYPE_FD_ARRAY,
    TYPE_BUFFER,
];

/// A binder with its stability, as rsbinder reads it.
const KERNEL_BYTES: usize = OBJECT_SIZE + 4;

/// A binder in an RPC parcel: a word 1, an address of two words, the stability.
const RPC_PRESENT: u32 = 1;
const RPC_BYTES: usize = 16;

/// Bits of an RPC address' first word: it was created by this protocol, and by the server.
const ADDRESS_CREATED: u32 = 1;
const ADDRESS_FOR_SERVER: u32 = 2;

/// A binder in a parcel.
pub struct Object {
    pub position: usize,
    pub length: usize,
    /// None for a null binder.
    pub binder: Option<SIBinder>,
}

/// The bytes of `parcel` from `start` on. Fails if they are no whole words.
pub fn read(parcel: &mut Parcel, start: usize) -> Result<Vec<u8>> {
    read_most(parcel, start, usize::MAX)
}

/// The first bytes of that, `most` or somewhat more.
fn read_most(parcel: &mut Parcel, start: usize, most: usize) -> Result<Vec<u8>> {
    parcel.set_data_position(start);
    let wanted = most.min(parcel.data_avail());
    let mut bytes = Vec::with_capacity(wanted);
    while wanted - bytes.len() >= 4096 {
        bytes.extend(<[u8; 4096]>::try_from(&mut *parcel)?);
    }
    while wanted - bytes.len() >= 64 {
        bytes.extend(<[u8; 64]>::try_from(&mut *parcel)?);
    }
    while wanted > bytes.len() {
        bytes.extend(<[u8; 4]>::try_from(&mut *parcel)?);
    }
    Ok(bytes)
}

/// From how many bytes on they are written as an array.
const ARRAY_BYTES: usize = 256;

/// Appends whole words.
pub fn write(parcel: &mut Parcel, bytes: &[u8]) -> Result<()> {
    match bytes.split_first_chunk::<4>() {
        Some((first, rest)) if rest.len() >= ARRAY_BYTES => write_array(parcel, first, rest),
        _ => write_words(parcel, bytes),
    }
}

/// Appends a word and bytes. rsbinder copies many bytes at once only as an array, whose length it
/// writes in front: there the word is written afterwards. It copies them much faster to where the
/// parcel has bytes already.
fn write_array(parcel: &mut Parcel, first: &[u8; 4], rest: &[u8]) -> Result<()> {
    let at = parcel.data_position();
    let end = at + 4 + rest.len();
    parcel.set_data_position(end - 4);
    parcel.write_u32(0)?;
    parcel.set_data_position(at);
    parcel.write(rest)?;
    parcel.set_data_position(at);
    parcel.write_u32(u32::from_le_bytes(*first))?;
    parcel.set_data_position(end);
    Ok(())
}

fn write_words(parcel: &mut Parcel, bytes: &[u8]) -> Result<()> {
    let (wide, rest) = bytes.as_chunks::<16>();
    for chunk in wide {
        parcel.write(&u128::from_le_bytes(*chunk))?;
    }
    for chunk in rest.as_chunks::<4>().0 {
        parcel.write_u32(u32::from_le_bytes(*chunk))?;
    }
    Ok(())
}

/// The first word from an offset on that is wanted, and its offset.
fn find(bytes: &[u8], at: usize, is_wanted: impl Fn(u32) -> bool) -> Option<(usize, u32)> {
    let words = bytes.get(at..)?.as_chunks::<4>().0;
    let mut words = words.iter().map(|four| u32::from_le_bytes(*four));
    let skipped = words.clone().position(&is_wanted)?;
    Some((at + 4 * skipped, words.nth(skipped)?))
}

/// Whether a binder is that of the service manager.
pub fn is_manager(binder: &SIBinder) -> bool {
    binder.as_proxy().is_some_and(|it| it.handle() == 0)
}

/// Reads a binder at an offset of a parcel of the driver whose bytes from `start` on are `bytes`.
/// None if no object is there.
///
/// The object is consumed whether or not it is in the driver's list, the word behind it only if it
/// is; without that word the two failures differ in their status.
pub fn read_binder(
    parcel: &mut Parcel,
    (bytes, start): (&[u8], usize),
    at: usize,
    dialect: Dialect,
) -> Option<Result<Option<SIBinder>>> {
    let position = start + at;
    parcel.set_data_position(position);
    let outcome = parcel.read::<Option<SIBinder>>();
    match &outcome {
        Err(StatusCode::BadType) if parcel.data_position() < position + KERNEL_BYTES => None,
        Err(StatusCode::NotEnoughData) if parcel.data_position() < position + OBJECT_SIZE => None,
        _ if dialect.has_stability() => Some(outcome),
        _ => Some(bare_binder(bytes.get(at..)?.first_chunk()?)),
    }
}

/// The binders in a parcel of the driver. Fails if it has objects that cannot cross.
///
/// * `bytes`: the parcel's from `start` on
fn kernel_objects(
    parcel: &mut Parcel,
    bytes: &[u8],
    start: usize,
    dialect: Dialect,
) -> Result<Vec<Object>> {
    let mut objects = Vec::new();
    let mut at = 0;
    while let Some((position, kind)) = find(bytes, at, |kind| TYPES.contains(&kind)) {
        at = position + 4;
        let Some(outcome) = read_binder(parcel, (bytes, start), position, dialect) else {
            continue;
        };
        let is_file = kind == TYPE_FD || kind == TYPE_FD_ARRAY;
        let binder = match outcome {
            _ if is_file => return Err(StatusCode::FdsNotAllowed),
            Ok(binder) if kind == TYPE_BINDER || kind == TYPE_HANDLE => binder,
            // Weak references, memory of hwbinder.
            _ => return Err(StatusCode::BadType),
        };
        if binder.as_ref().is_some_and(is_manager) {
            return Err(StatusCode::PermissionDenied);
        }
        objects.push(Object {
            position,
            length: dialect.binder_length(),
            binder,
        });
        at = position + dialect.binder_length();
    }
    Ok(objects)
}

/// Whether the session of a parcel has wire version 2, in which parcels say where binders are.
///
/// Reads a binder behind the end of the received data. In version 2 it fails before the address,
/// because the list has no object there; before that, behind it, because there is none of that
/// address. What is received has more data afterwards.
pub fn has_positions(parcel: &mut Parcel) -> Result<bool> {
    let end = parcel.data_size();
    parcel.set_data_position(end);
    for word in [RPC_PRESENT, 0, 0, 0] {
        parcel.write_u32(word)?;
    }
    parcel.set_data_position(end);
    let outcome = parcel.read::<Option<SIBinder>>();
    Ok(outcome.is_err() && parcel.data_position() == end + 4)
}

/// Whether a file is at a position of a parcel of RPC Binder: words that say that it is not null,
/// that it has no second one, that it is a file, and its number.
fn has_file(parcel: &mut Parcel, bytes: &[u8], start: usize, at: usize) -> bool {
    let is_likely =
        [Some(1), Some(0), Some(1)] == [0, 4, 8].map(|word_at| word(bytes, at + word_at));
    parcel.set_data_position(start + at);
    is_likely && parcel.allow_fds() && parcel.read::<ParcelFileDescriptor>().is_ok()
}

/// The binders in a parcel of RPC Binder: none before wire version 2, which does not say where they
/// are.
fn rpc_objects(parcel: &mut Parcel, bytes: &[u8], start: usize) -> Result<Vec<Object>> {
    let is_likely = |at: usize| {
        word(bytes, at + 12).is_some()
            && word(bytes, at + 4).is_some_and(|options| {
                options & ADDRESS_CREATED != 0
                    && options & !(ADDRESS_CREATED | ADDRESS_FOR_SERVER) == 0
            })
    };
    let mut objects = Vec::new();
    let mut at = 0;
    let mut is_known = false;
    while let Some((position, _)) = find(bytes, at, |word| word == RPC_PRESENT) {
        at = position + 4;
        if has_file(parcel, bytes, start, position) {
            return Err(StatusCode::FdsNotAllowed);
        }
        if !is_likely(position) {
            continue;
        }
        if !is_known && !has_positions(parcel)? {
            return Ok(objects);
        }
        is_known = true;
        parcel.set_data_position(start + position);
        let outcome = parcel.read::<Option<SIBinder>>();
        if outcome.is_err() && parcel.data_position() <= start + position + 4 {
            continue;
        }
        objects.push(Object {
            position,
            length: RPC_BYTES,
            binder: outcome?,
        });
        at = position + RPC_BYTES;
    }
    Ok(objects)
}

/// The binders in a parcel whose bytes from `start` on are `bytes`.
///
/// * `dialect`: of a parcel of the driver
pub fn objects(
    parcel: &mut Parcel,
    bytes: &[u8],
    start: usize,
    dialect: Dialect,
) -> Result<Vec<Object>> {
    match !parcel.is_kernel_backed() {
        true => rpc_objects(parcel, bytes, start),
        false => kernel_objects(parcel, bytes, start, dialect),
    }
}

/// How many bytes an object takes in a parcel of the other kind.
pub fn length_elsewhere(object: &Object, to_rpc: bool, dialect: Dialect) -> usize {
    match (&object.binder, to_rpc) {
        (Some(_), true) => RPC_BYTES,
        (None, true) => 8,
        (_, false) => dialect.binder_length(),
    }
}

/// The bytes with which a call of the driver begins, among them the header with a descriptor.
pub fn read_header(parcel: &mut Parcel, descriptor: &str) -> Result<Vec<u8>> {
    // Three words, the length, at most as many units as bytes, and their end.
    read_most(parcel, 0, 20 + 2 * descriptor.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        for count in [0, 1, 3, 4, 5, 16, 17, 64, 65, 66, 1023, 1024, 1025, 3000] {
            let words: Vec<u32> = (0..count).collect();
            let bytes = bytes_of(&words);
            let mut parcel = Parcel::new();
            write(&mut parcel, &bytes).unwrap();
            assert_eq!(read(&mut parcel, 0).unwrap(), bytes, "{count} words");
            assert_eq!(parcel.data_size(), bytes.len());
            // Behind others, and before others.
            parcel.set_data_position(bytes.len());
            write(&mut parcel, &bytes).unwrap();
            parcel.write_u32(7).unwrap();
            let more = read(&mut parcel, 0).unwrap();
            assert_eq!(more, [&bytes[..], &bytes, &[7, 0, 0, 0]].concat());
        }
    }
}
