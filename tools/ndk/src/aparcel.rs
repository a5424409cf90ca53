// SPDX-License-Identifier: Apache-2.0
//! `AParcel`: what a call carries, but for arrays (`aparcel_array.rs`).
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{BorrowedFd, IntoRawFd};

use rsbinder::{Parcel, ParcelFileDescriptor, Result, StatusCode};

use crate::astatus::{self, AStatus};
use crate::{ensure, given, outcome, Status};

pub struct AParcel {
    held: Held,
    target: *const c_void,
}

#[allow(
    clippy::large_enum_variant,
    reason = "one that is lent is on the stack for one call"
)]
enum Held {
    Own(UnsafeCell<Parcel>),
    /// Of a call that is being served.
    Lent(*mut Parcel),
}

impl AParcel {
    pub fn borrow(parcel: &mut Parcel) -> Self {
        AParcel {
            held: Held::Lent(parcel),
            target: std::ptr::null(),
        }
    }

    pub fn for_call(parcel: Parcel, target: *const c_void) -> *mut Self {
        // The parcel is moved once: to where it stays.
        let held = Held::Own(UnsafeCell::new(parcel));
        Box::leak(Box::new_uninit()).write(AParcel { held, target })
    }

    /// Has another parcel in the place of its own, with the memory for it.
    pub fn hold(&mut self, parcel: Parcel) {
        self.held = Held::Own(UnsafeCell::new(parcel));
    }

    /// The `AIBinder` that the parcel was prepared for.
    pub fn target(&self) -> *const c_void {
        self.target
    }

    /// Reading moves the position, of a `const AParcel` too. A parcel is of one thread at a time.
    #[allow(
        clippy::mut_from_ref,
        reason = "the C API reads through a pointer to const"
    )]
    pub unsafe fn parcel(&self) -> &mut Parcel {
        match &self.held {
            Held::Own(parcel) => &mut *parcel.get(),
            Held::Lent(parcel) => &mut **parcel,
        }
    }
}

pub unsafe fn with(parcel: *const AParcel, act: impl FnOnce(&mut Parcel) -> Result<()>) -> Status {
    outcome(|| act(given(parcel)?.parcel()))
}

/// Stores what was read; null is no place.
pub unsafe fn store<T>(place: *mut T, value: T) -> Result<()> {
    ensure(!place.is_null(), StatusCode::UnexpectedNull)?;
    place.write(value);
    Ok(())
}

/// A file of the caller; `BadValue`: it is none.
pub unsafe fn borrowed<'a>(file: c_int) -> Result<BorrowedFd<'a>> {
    ensure(file >= 0, StatusCode::BadValue)?;
    Ok(BorrowedFd::borrow_raw(file))
}

#[no_mangle]
pub extern "C" fn AParcel_create() -> *mut AParcel {
    AParcel::for_call(Parcel::new(), std::ptr::null())
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_delete(parcel: *mut AParcel) {
    if !parcel.is_null() {
        drop(Box::from_raw(parcel));
    }
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_reset(parcel: *mut AParcel) -> Status {
    with(parcel, |parcel| {
        *parcel = Parcel::new();
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_setDataPosition(parcel: *const AParcel, position: i32) -> Status {
    with(parcel, |parcel| {
        parcel.set_data_position(size(position)?);
        Ok(())
    })
}

/// What there is to know of a parcel; of null, 0 or false.
unsafe fn of<T: Default>(parcel: *const AParcel, known: impl FnOnce(&Parcel) -> T) -> T {
    parcel
        .as_ref()
        .map(|parcel| known(parcel.parcel()))
        .unwrap_or_default()
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_getDataPosition(parcel: *const AParcel) -> i32 {
    of(parcel, |parcel| parcel.data_position() as i32)
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_getDataSize(parcel: *const AParcel) -> i32 {
    of(parcel, |parcel| parcel.data_size() as i32)
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_getAllowFds(parcel: *const AParcel) -> bool {
    of(parcel, Parcel::allow_fds)
}

/// The driver clears buffers by a flag of the call (`FLAG_CLEAR_BUF`).
#[no_mangle]
pub extern "C" fn AParcel_markSensitive(_parcel: *const AParcel) {}

const WORD: usize = size_of::<i32>();

/// The first word of each object in a parcel: binders, handles, files, and what points to buffers.
const OBJECTS: [&[u8; 4]; 7] = [
    b"\x85*bs", b"\x85*bw", b"\x85*hs", b"\x85*hw", b"\x85*df", b"\x85adf", b"\x85*tp",
];

/// Some bytes of a parcel. `InvalidOperation`: something in them looks like an object, of which
/// rsbinder makes no copy. The position stays.
unsafe fn bytes_of(from: &mut Parcel, start: usize, length: usize) -> Result<Vec<u8>> {
    let end = start.checked_add(length).ok_or(StatusCode::BadValue)?;
    let is_there = end <= from.data_size() && start & (WORD - 1) == 0;
    ensure(is_there, StatusCode::BadValue)?;
    let position = from.data_position();
    from.set_data_position(start);
    let words: Result<Vec<_>> = (0..length.div_ceil(WORD))
        .map(|_| from.read_i32().map(i32::to_le_bytes))
        .collect();
    from.set_data_position(position);
    let words = words?;
    let has_object = words.iter().any(|word| OBJECTS.contains(&word));
    ensure(!has_object, StatusCode::InvalidOperation)?;
    let mut bytes = words.concat();
    bytes.truncate(length);
    Ok(bytes)
}

fn append(to: &mut Parcel, bytes: &[u8]) -> Result<()> {
    bytes.chunks(WORD).try_for_each(|chunk| {
        let mut word = [0; WORD];
        word[..chunk.len()].copy_from_slice(chunk);
        to.write_i32(i32::from_le_bytes(word))
    })
}

pub fn size(number: i32) -> Result<usize> {
    number.try_into().or(Err(StatusCode::BadValue))
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_appendFrom(
    from: *const AParcel,
    to: *mut AParcel,
    start: i32,
    length: i32,
) -> Status {
    outcome(|| {
        let bytes = bytes_of(given(from)?.parcel(), size(start)?, size(length)?)?;
        append(given(to)?.parcel(), &bytes)
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_marshal(
    parcel: *const AParcel,
    buffer: *mut u8,
    start: usize,
    length: usize,
) -> Status {
    with(parcel, |parcel| {
        let bytes = bytes_of(parcel, start, length)?;
        ensure(length == 0 || !buffer.is_null(), StatusCode::UnexpectedNull)?;
        buffer.copy_from(bytes.as_ptr(), length);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_unmarshal(
    parcel: *mut AParcel,
    buffer: *const u8,
    length: usize,
) -> Status {
    with(parcel, |parcel| {
        ensure(length == 0 || !buffer.is_null(), StatusCode::UnexpectedNull)?;
        *parcel = Parcel::new();
        if length > 0 {
            append(parcel, std::slice::from_raw_parts(buffer, length))?;
        }
        parcel.set_data_position(0);
        Ok(())
    })
}

/// A pair of functions for each type of which a parcel holds one value.
macro_rules! scalars {
    ($($write:ident $read:ident $type:ty;)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $write(parcel: *mut AParcel, value: $type) -> Status {
            with(parcel, |parcel| parcel.write(&value))
        }

        #[no_mangle]
        pub unsafe extern "C" fn $read(parcel: *const AParcel, value: *mut $type) -> Status {
            with(parcel, |parcel| store(value, parcel.read()?))
        }
    )*};
}

scalars! {
    AParcel_writeInt32 AParcel_readInt32 i32;
    AParcel_writeUint32 AParcel_readUint32 u32;
    AParcel_writeInt64 AParcel_readInt64 i64;
    AParcel_writeUint64 AParcel_readUint64 u64;
    AParcel_writeFloat AParcel_readFloat f32;
    AParcel_writeDouble AParcel_readDouble f64;
    AParcel_writeBool AParcel_readBool bool;
    AParcel_writeChar AParcel_readChar u16;
    AParcel_writeByte AParcel_readByte i8;
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeParcelFileDescriptor(
    parcel: *mut AParcel,
    file: c_int,
) -> Status {
    with(parcel, |parcel| {
        if file == -1 {
            return parcel.write(&None::<ParcelFileDescriptor>);
        }
        let file = borrowed(file).or(Err(StatusCode::Unknown))?;
        parcel.write(&ParcelFileDescriptor::new(file.try_clone_to_owned()?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readParcelFileDescriptor(
    parcel: *const AParcel,
    file: *mut c_int,
) -> Status {
    with(parcel, |parcel| {
        store(file, -1)?;
        let read: Option<ParcelFileDescriptor> = parcel.read()?;
        store(file, read.map_or(-1, IntoRawFd::into_raw_fd))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeStatusHeader(
    parcel: *mut AParcel,
    status: *const AStatus,
) -> Status {
    with(parcel, |parcel| parcel.write(&astatus::from_raw(status)))
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readStatusHeader(
    parcel: *const AParcel,
    status: *mut *mut AStatus,
) -> Status {
    with(parcel, |parcel| {
        store(status, astatus::into_raw(parcel.read()?))
    })
}

pub type StringAllocator = unsafe extern "C" fn(*mut c_void, i32, *mut *mut c_char) -> bool;

/// The text that C gives; a length of -1 with null is none.
pub unsafe fn text<'a>(string: *const c_char, length: i32) -> Result<Option<&'a str>> {
    if string.is_null() {
        return ensure(length == -1, StatusCode::BadValue).map(|()| None);
    }
    let bytes = std::slice::from_raw_parts(string.cast::<u8>(), size(length)?);
    std::str::from_utf8(bytes)
        .map(Some)
        .or(Err(StatusCode::BadValue))
}

/// Gives a text to C, which says where to put it.
pub unsafe fn give_text(
    text: Option<String>,
    allocate: impl FnOnce(i32, *mut *mut c_char) -> bool,
) -> Result<()> {
    let Some(text) = text else {
        let is_taken = allocate(-1, std::ptr::null_mut());
        return ensure(is_taken, StatusCode::UnexpectedNull);
    };
    let mut place = std::ptr::null_mut();
    let is_taken = allocate(text.len() as i32 + 1, &raw mut place);
    ensure(is_taken && !place.is_null(), StatusCode::NoMemory)?;
    place.cast::<u8>().copy_from(text.as_ptr(), text.len());
    *place.add(text.len()) = 0;
    Ok(())
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeString(
    parcel: *mut AParcel,
    string: *const c_char,
    length: i32,
) -> Status {
    with(parcel, |parcel| parcel.write(&text(string, length)?))
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readString(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<StringAllocator>,
) -> Status {
    with(parcel, |parcel| {
        let allocate = allocator.ok_or(StatusCode::UnexpectedNull)?;
        give_text(parcel.read()?, |length, place| {
            allocate(data, length, place)
        })
    })
}
