// SPDX-License-Identifier: Apache-2.0
//! The files of a request, which the driver has installed in this process. No method reads or
//! writes one; they are there because `dumpsys` and `cmd` send them to every service.
use anybinder_driver::abi::{OBJECT_SIZE, TYPE_FD};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Closes the files of a request. May not return before their file systems answer.
pub fn close_all(data: &[u8], offsets: &[u64]) {
    for number in numbers(data, offsets) {
        // SAFETY: the driver installed it for this request, which nobody else reads.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}

/// The numbers of the files, each behind the type and the flags of its object.
fn numbers<'a>(data: &'a [u8], offsets: &'a [u64]) -> impl Iterator<Item = RawFd> + 'a {
    offsets.iter().filter_map(move |offset| {
        let start = usize::try_from(*offset).ok()?;
        let object = data.get(start..start.checked_add(OBJECT_SIZE)?)?;
        let word = |at: usize| Some(u32::from_ne_bytes(object[at..at + 4].try_into().ok()?));
        let number = RawFd::try_from(word(8)?).ok()?;
        (word(0)? == TYPE_FD).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_driver::parcel::Parcel;

    #[test]
    fn only_files_are_taken_and_nothing_outside_is_read() {
        let mut parcel = Parcel::default();
        parcel.i32(7);
        let mut data = parcel.data;
        data.resize(8, 0);
        for (kind, number) in [(TYPE_FD, 5_u32), (TYPE_FD + 1, 6), (TYPE_FD, u32::MAX)] {
            data.extend(kind.to_ne_bytes());
            data.extend([0; 4]);
            data.extend(number.to_ne_bytes());
            data.extend([0; 12]);
        }
        let offsets = [8, 32, 56, 80, 79, u64::MAX];
        assert_eq!(numbers(&data, &offsets).collect::<Vec<_>>(), [5]);
    }
}
