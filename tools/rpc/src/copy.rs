// SPDX-License-Identifier: Apache-2.0
//! What a parcel of one side becomes on the other.
//!
//! Numbers, strings and arrays have the same bytes on both sides. A binder has not: it is written
//! anew, as a relay of the original or, if it was a relay, as the original. Its length changes with
//! that, and so does that of a parcelable around it, which has its own size in front. That size
//! cannot be told from a number, so a parcel in which a number may be one is refused.
use crate::relay::Bridge;
use crate::words::{self, Object};
use rsbinder::{Parcel, StatusCode};
use std::sync::Arc;

type Result<T> = std::result::Result<T, StatusCode>;

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

/// Whether some number in front of an object may be the size of a parcelable around it.
fn may_be_inside(bytes: &[u8], object: &Object) -> bool {
    let end = object.position + object.length;
    (0..object.position).step_by(4).any(|at| {
        let size = words::word(bytes, at).unwrap_or(0) as usize;
        let last = at.saturating_add(size);
        size.is_multiple_of(4) && last >= end && last <= bytes.len()
    })
}

/// Appends what `from` has from `start` on to `to`.
pub fn copy(bridge: &Arc<Bridge>, from: &mut Parcel, start: usize, to: &mut Parcel) -> Result<()> {
    if from.data_size().saturating_sub(start) > bridge.max_size {
        return Err(StatusCode::FailedTransaction);
    }
    let bytes = words::read(from, start)?;
    let objects = words::objects(from, &bytes, start)?;
    let to_rpc = !to.is_kernel_backed();
    for object in &objects {
        let is_same_length = words::length_elsewhere(object, to_rpc) == object.length;
        if !is_same_length && may_be_inside(&bytes, object) {
            return Err(StatusCode::InvalidOperation);
        }
    }
    let mut done = 0;
    for object in objects {
        words::write(to, &bytes[done..object.position])?;
        match &object.binder {
            Some(binder) => bridge.write(binder, to)?,
            None => to.write(&Option::<rsbinder::SIBinder>::None)?,
        }
        done = object.position + object.length;
    }
    words::write(to, &bytes[done..])
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
    fn what_is_too_large_is_refused() {
        let bridge = Bridge::new(8, None);
        let mut from = Parcel::new();
        words::write(&mut from, &[7; 12]).unwrap();
        let copied = copy(&bridge, &mut from, 0, &mut Parcel::new());
        assert_eq!(copied, Err(StatusCode::FailedTransaction));
        let mut to = Parcel::new();
        copy(&bridge, &mut from, 4, &mut to).unwrap();
        assert_eq!(words::read(&mut to, 0).unwrap(), [7; 8]);
    }
}
