// SPDX-License-Identifier: Apache-2.0
//! The header word of calls. libbinder refuses a call with a word that is not its own, before it
//! reads more of it, and rsbinder writes Android's only. So the word of the programs here is found
//! by trying (`foreign`), and then used for all calls.
use anybinder_driver::parcel::SYSTEM_HEADER;
use rsbinder::{Parcel, RemoteProxy, StatusCode};
use std::sync::atomic::{AtomicI32, Ordering};

type Result<T> = std::result::Result<T, StatusCode>;

/// What libbinder writes on Android, where it is built for another system, for vendors' programs,
/// and in a recovery system.
pub const HEADER_WORDS: [i32; 4] = [
    SYSTEM_HEADER,
    i32::from_be_bytes(*b"UNKN"),
    i32::from_be_bytes(*b"VNDR"),
    i32::from_be_bytes(*b"RECO"),
];

/// Where the word is in a call.
pub const WORD_POSITION: usize = 8;

/// The word of the programs here.
static WORD: AtomicI32 = AtomicI32::new(SYSTEM_HEADER);

/// The header word of calls.
pub fn header_word() -> i32 {
    WORD.load(Ordering::Relaxed)
}

/// A request with the header of an interface, and with that word.
pub fn request(target: &dyn RemoteProxy) -> Result<Parcel> {
    request_with(target, header_word())
}

/// A request with the header of an interface, and with a word that is tried.
pub fn request_with(target: &dyn RemoteProxy, word: i32) -> Result<Parcel> {
    let mut request = target.prepare_transact(true)?;
    if word != SYSTEM_HEADER {
        let end = request.data_position();
        request.set_data_position(WORD_POSITION);
        request.write_u32(word.cast_unsigned())?;
        request.set_data_position(end);
    }
    Ok(request)
}

/// Has all calls from now on made with a word.
pub fn use_for_all(word: i32) {
    WORD.store(word, Ordering::Relaxed);
}
