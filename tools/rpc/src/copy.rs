// SPDX-License-Identifier: Apache-2.0
//! What a parcel of one side becomes on the other.
//!
//! Numbers, strings and arrays have the same bytes on both sides. A binder has not: it is written
//! anew, as a relay of the original or, if it was a relay, as the original. Its length changes with
//! that, and so does that of a parcelable around it, which has its own size in front. That size
//! cannot be told from a number, so a parcel in which a number may be one is refused.
use crate::dialect::Dialect;
use crate::parcel_bytes::{self, Object};
use anybinder_driver::parcel::word;
use rsbinder::{Parcel, SIBinder, StatusCode};

type Result<T> = std::result::Result<T, StatusCode>;

/// How objects get to the other side.
pub trait Objects {
    /// How many bytes of data a call or reply may have.
    fn max_size(&self) -> usize;

    /// Writes an object of one side into a parcel of the other.
    ///
    /// * `dialect`: of the program on this machine that has sent it or will read it
    fn write(&self, binder: Option<&SIBinder>, to: &mut Parcel, dialect: Dialect) -> Result<()>;
}

/// Why a parcel cannot cross, in words.
pub fn reason(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FdsNotAllowed => "a file cannot cross a link",
        StatusCode::PermissionDenied => "the service manager cannot cross a link",
        StatusCode::BadType => "it has an object that cannot cross a link",
        StatusCode::InvalidOperation => "it has an object inside a parcelable, or may have one",
        StatusCode::FailedTransaction => "it is larger than --max-size",
        _ => "it is malformed",
    }
}

/// How far the parcelables reach that may begin in front of an object: each number there may be
/// the size of one. Looks at each word once, whatever number of objects a call has.
struct Reach<'a> {
    bytes: &'a [u8],
    /// The word that is looked at next.
    at: usize,
    end: usize,
}

impl Reach<'_> {
    fn of(bytes: &[u8]) -> Reach<'_> {
        let (at, end) = (0, 0);
        Reach { bytes, at, end }
    }

    /// Whether some number in front of an object may be the size of a parcelable around it. The
    /// words of the object are no numbers for those behind it.
    fn may_have_inside(&mut self, object: &Object) -> bool {
        for at in (self.at..object.position).step_by(4) {
            let size = word(self.bytes, at).unwrap_or(0) as usize;
            let end = at.saturating_add(size);
            if size.is_multiple_of(4) && end <= self.bytes.len() {
                self.end = self.end.max(end);
            }
        }
        self.at = object.position + object.length;
        self.end >= self.at
    }
}

/// Appends what `from` has from `start` on to `to`.
///
/// * `dialect`: of the one that is a parcel of the driver
pub fn copy(
    bridge: &dyn Objects,
    (from, start): (&mut Parcel, usize),
    to: &mut Parcel,
    dialect: Dialect,
) -> Result<()> {
    if from.data_size().saturating_sub(start) > bridge.max_size() {
        return Err(StatusCode::FailedTransaction);
    }
    let bytes = parcel_bytes::read(from, start)?;
    let objects = parcel_bytes::objects(from, &bytes, start, dialect)?;
    let to_rpc = !to.is_kernel_backed();
    let mut reach = Reach::of(&bytes);
    for object in &objects {
        let is_same_length =
            parcel_bytes::length_elsewhere(object, to_rpc, dialect) == object.length;
        if reach.may_have_inside(object) && !is_same_length {
            return Err(StatusCode::InvalidOperation);
        }
    }
    let mut done = 0;
    for object in objects {
        parcel_bytes::write(to, &bytes[done..object.position])?;
        bridge.write(object.binder.as_ref(), to, dialect)?;
        done = object.position + object.length;
    }
    parcel_bytes::write(to, &bytes[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(position: usize) -> Object {
        Object {
            position,
            length: 28,
            binder: None,
        }
    }

    fn bytes_of(words: &[u32], total: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(total, 0);
        bytes
    }

    #[test]
    fn a_number_that_may_be_a_size_around_an_object_is_seen() {
        // Not null, its size, one member, the object.
        let may_be_inside =
            |bytes: &[u8], object: &Object| Reach::of(bytes).may_have_inside(object);
        assert!(may_be_inside(&bytes_of(&[1, 36, 9], 40), &object(12)));
        assert!(may_be_inside(&bytes_of(&[1, 40, 9], 44), &object(12)));
        // Too short, too long, no whole words.
        assert!(!may_be_inside(&bytes_of(&[1, 32, 9], 40), &object(12)));
        assert!(!may_be_inside(&bytes_of(&[1, 40, 9], 40), &object(12)));
        assert!(!may_be_inside(&bytes_of(&[1, 37, 9], 44), &object(12)));
        assert!(!may_be_inside(
            &bytes_of(&[u32::MAX, 0x8000_0000], 36),
            &object(8)
        ));
    }

    #[test]
    fn words_of_an_object_are_no_sizes() {
        let bytes = bytes_of(&[1, 52], 56);
        let first = Object {
            length: 16,
            ..object(0)
        };
        assert!(Reach::of(&bytes).may_have_inside(&object(16)));
        let mut reach = Reach::of(&bytes);
        assert!(!reach.may_have_inside(&first) && !reach.may_have_inside(&object(16)));
    }

    struct NoObjects;

    impl Objects for NoObjects {
        fn max_size(&self) -> usize {
            8
        }

        fn write(&self, _: Option<&SIBinder>, _: &mut Parcel, _: Dialect) -> Result<()> {
            Err(StatusCode::BadType)
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let bridge = NoObjects;
        let mut from = Parcel::new();
        parcel_bytes::write(&mut from, &[7; 12]).unwrap();
        let copied = copy(
            &bridge,
            (&mut from, 0),
            &mut Parcel::new(),
            Dialect::default(),
        );
        assert_eq!(copied, Err(StatusCode::FailedTransaction));
        let mut to = Parcel::new();
        copy(&bridge, (&mut from, 4), &mut to, Dialect::default()).unwrap();
        assert_eq!(parcel_bytes::read(&mut to, 0).unwrap(), [7; 8]);
    }
}
