// SPDX-License-Identifier: Apache-2.0
//! What the data of a call of the driver begins with: the descriptor of the interface, behind one
//! word (Android 9), two (10) or three. A call of HIDL has a C string instead.
use anybinder_driver::parcel::word;

/// Where the descriptor may be.
const PLACES: [usize; 3] = [12, 8, 4];
/// The longest descriptor that is looked for.
const NAME_MAX: usize = 400;

/// Where the descriptor begins in the header of a call of the driver, and where the arguments begin
/// behind it. None for another interface.
///
/// Inlined into crates that are optimised: it is part of each call of a link.
#[inline]
pub fn place(bytes: &[u8], descriptor: &str) -> Option<(usize, usize)> {
    let count = descriptor.encode_utf16().count();
    let units = || descriptor.encode_utf16().chain([0]);
    let size = 2 * (count + 1);
    PLACES.into_iter().find_map(|at| {
        let is_length = word(bytes, at) == u32::try_from(count).ok();
        let found = bytes.get(at + 4..)?.get(..size)?.as_chunks::<2>().0;
        let is_same = found
            .iter()
            .map(|unit| u16::from_le_bytes(*unit))
            .eq(units());
        (is_length && is_same).then(|| (at, at + 4 + size.next_multiple_of(4)))
    })
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._$@:/-".contains(c);
    !name.is_empty() && name.chars().all(allowed)
}

fn string16(bytes: &[u8], at: usize) -> Option<String> {
    let count = word(bytes, at)? as usize;
    let characters = bytes.get(at + 4..)?.get(..count.min(NAME_MAX) * 2)?;
    let units: Vec<u16> = characters
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    String::from_utf16(&units)
        .ok()
        .filter(|name| is_name(name) && count <= NAME_MAX)
}

/// The descriptor that a call names, and where its arguments begin. None if there is nothing that
/// looks like one, as in calls of programs that send none.
pub fn find(bytes: &[u8]) -> Option<(String, usize)> {
    let of_aidl = PLACES.into_iter().find_map(|at| {
        let name = string16(bytes, at)?;
        let (_, end) = place(bytes, &name)?;
        Some((name, end))
    });
    of_aidl.or_else(|| {
        let end = bytes.iter().take(NAME_MAX).position(|byte| *byte == 0)?;
        let name = std::str::from_utf8(&bytes[..end]).ok()?;
        let is_hidl = is_name(name) && name.contains("::");
        is_hidl.then(|| (name.to_string(), (end + 1).next_multiple_of(4)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_driver::parcel::put_string16;

    /// A header with these words before the descriptor.
    fn header(words: &[u32], descriptor: &str) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        put_string16(&mut bytes, descriptor);
        bytes
    }

    #[test]
    fn a_header_cut_at_any_byte_is_refused() {
        let whole = header(&[0, u32::MAX, 0x5359_5354], "a.b.IC");
        assert_eq!(place(&whole, "a.b.IC"), Some((12, 32)));
        assert_eq!(place(&whole, "a.b.ID"), None);
        assert_eq!(place(&whole[4..], "a.b.IC"), Some((8, 28)));
        for size in 0..30 {
            assert_eq!(place(&whole[..size], "a.b.IC"), None, "{size}");
            assert_eq!(find(&whole[..size]), None, "{size}");
        }
    }

    #[test]
    fn the_descriptor_is_found_in_the_header_of_every_level() {
        let words = [0, u32::MAX, 0x5359_5354];
        for count in 1..=3 {
            let bytes = header(&words[..count], "android.os.IServiceManager");
            let found = find(&bytes);
            let expected = ("android.os.IServiceManager".to_string(), bytes.len());
            assert_eq!(found, Some(expected), "{count}");
        }
        let hidl = b"android.hidl.base@1.0::IBase\0\0\0\0rest";
        let expected = ("android.hidl.base@1.0::IBase".to_string(), 32);
        assert_eq!(find(hidl), Some(expected));
    }

    #[test]
    fn other_data_has_no_descriptor() {
        assert_eq!(find(b""), None);
        assert_eq!(find(&[0; 64]), None);
        assert_eq!(find(&[0xff; 64]), None);
        assert_eq!(find(b"some text without an interface\0\0"), None);
        assert_eq!(find(&header(&[0], "not a name")), None);
        assert_eq!(find(&header(&[0], "")), None);
    }
}
