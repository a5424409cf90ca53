// SPDX-License-Identifier: Apache-2.0
//! Arrays in parcels. C says where to put the elements, by a function that is told how many there
//! are (-1: null), and may refuse.
use std::ffi::{c_char, c_void};

use rsbinder::{Parcel, Result, StatusCode};

use crate::aparcel::{give_text, text, with, AParcel};
use crate::{result_of, Status};

/// The number of elements to write; `None`: the array is null.
fn count(is_null: bool, length: i32) -> Result<Option<usize>> {
    match (is_null, usize::try_from(length)) {
        (true, Err(_)) if length == -1 => Ok(None),
        (false, Ok(count)) | (true, Ok(count @ 0)) => Ok(Some(count)),
        _ => Err(StatusCode::BadValue),
    }
}

/// Whether the one who reads takes an array of this length; `None` is null.
fn taken(length: Option<usize>, is_taken: bool) -> Result<usize> {
    match (length, is_taken) {
        (Some(length), true) => Ok(length),
        (None, true) => Ok(0),
        (None, false) => Err(StatusCode::UnexpectedNull),
        (Some(_), false) => Err(StatusCode::NoMemory),
    }
}

/// A pair of functions for each type of which arrays are copied as a whole.
macro_rules! arrays {
    ($($write:ident $read:ident $type:ty;)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $write(
            parcel: *mut AParcel,
            array: *const $type,
            length: i32,
        ) -> Status {
            with(parcel, |parcel| match count(array.is_null(), length)? {
                None => parcel.write_i32(-1),
                Some(0) => parcel.write_i32(0),
                Some(count) => parcel.write(std::slice::from_raw_parts(array, count)),
            })
        }

        #[no_mangle]
        pub unsafe extern "C" fn $read(
            parcel: *const AParcel,
            data: *mut c_void,
            allocator: Option<unsafe extern "C" fn(*mut c_void, i32, *mut *mut $type) -> bool>,
        ) -> Status {
            with(parcel, |parcel| {
                let allocate = allocator.ok_or(StatusCode::UnexpectedNull)?;
                let read: Option<Vec<$type>> = parcel.read()?;
                let length = read.as_ref().map(Vec::len);
                let mut place = std::ptr::null_mut();
                let number = length.map_or(-1, |length| length as i32);
                taken(length, allocate(data, number, &raw mut place))?;
                match read {
                    Some(read) if !read.is_empty() && place.is_null() => Err(StatusCode::NoMemory),
                    Some(read) if !read.is_empty() => {
                        place.copy_from(read.as_ptr(), read.len());
                        Ok(())
                    }
                    _ => Ok(()),
                }
            })
        }
    )*};
}

arrays! {
    AParcel_writeInt32Array AParcel_readInt32Array i32;
    AParcel_writeUint32Array AParcel_readUint32Array u32;
    AParcel_writeInt64Array AParcel_readInt64Array i64;
    AParcel_writeUint64Array AParcel_readUint64Array u64;
    AParcel_writeFloatArray AParcel_readFloatArray f32;
    AParcel_writeDoubleArray AParcel_readDoubleArray f64;
    AParcel_writeCharArray AParcel_readCharArray u16;
    AParcel_writeByteArray AParcel_readByteArray i8;
}

/// Writes the length, then each element by its own function.
fn write_each(
    parcel: &mut Parcel,
    is_null: bool,
    length: i32,
    mut write: impl FnMut(&mut Parcel, usize) -> Result<()>,
) -> Result<()> {
    let count = count(is_null, length)?;
    parcel.write_i32(count.map_or(-1, |_| length))?;
    (0..count.unwrap_or(0)).try_for_each(|index| write(parcel, index))
}

type Allocator = unsafe extern "C" fn(*mut c_void, i32) -> bool;

/// Reads the length, has the array made, then reads each element by its own function.
unsafe fn read_each(
    parcel: &mut Parcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    mut read: impl FnMut(&mut Parcel, usize) -> Result<()>,
) -> Result<()> {
    let allocate = allocator.ok_or(StatusCode::UnexpectedNull)?;
    let number = parcel.read_i32()?;
    let length = match number {
        -1 => None,
        // Each element takes a word at least: no memory for more than there can be.
        _ => Some(usize::try_from(number).or(Err(StatusCode::BadValue))?),
    };
    if length.is_some_and(|length| length > parcel.data_avail() / size_of::<i32>()) {
        return Err(StatusCode::NotEnoughData);
    }
    let count = taken(length, allocate(data, number))?;
    (0..count).try_for_each(|index| read(parcel, index))
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeBoolArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    getter: Option<unsafe extern "C" fn(*const c_void, usize) -> bool>,
) -> Status {
    with(parcel, |parcel| {
        let get = getter.ok_or(StatusCode::UnexpectedNull)?;
        write_each(parcel, array.is_null(), length, |parcel, index| {
            parcel.write(&get(array, index))
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readBoolArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    setter: Option<unsafe extern "C" fn(*mut c_void, usize, bool)>,
) -> Status {
    with(parcel, |parcel| {
        let set = setter.ok_or(StatusCode::UnexpectedNull)?;
        read_each(parcel, data, allocator, |parcel, index| {
            set(data, index, parcel.read()?);
            Ok(())
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeStringArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    getter: Option<unsafe extern "C" fn(*const c_void, usize, *mut i32) -> *const c_char>,
) -> Status {
    with(parcel, |parcel| {
        let get = getter.ok_or(StatusCode::UnexpectedNull)?;
        write_each(parcel, array.is_null(), length, |parcel, index| {
            let mut length = 0;
            let string = get(array, index, &raw mut length);
            parcel.write(&text(string, length)?)
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readStringArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    element: Option<unsafe extern "C" fn(*mut c_void, usize, i32, *mut *mut c_char) -> bool>,
) -> Status {
    with(parcel, |parcel| {
        let element = element.ok_or(StatusCode::UnexpectedNull)?;
        read_each(parcel, data, allocator, |parcel, index| {
            give_text(parcel.read()?, |length, place| {
                element(data, index, length, place)
            })
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeParcelableArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    writer: Option<unsafe extern "C" fn(*mut AParcel, *const c_void, usize) -> Status>,
) -> Status {
    with(parcel, |inner| {
        let write = writer.ok_or(StatusCode::UnexpectedNull)?;
        // The writer is given the same parcel again, by its pointer.
        let count = count(array.is_null(), length)?;
        inner.write_i32(count.map_or(-1, |_| length))?;
        (0..count.unwrap_or(0)).try_for_each(|index| result_of(write(parcel, array, index)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readParcelableArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    reader: Option<unsafe extern "C" fn(*const AParcel, *mut c_void, usize) -> Status>,
) -> Status {
    with(parcel, |inner| {
        let read = reader.ok_or(StatusCode::UnexpectedNull)?;
        read_each(inner, data, allocator, |_, index| {
            result_of(read(parcel, data, index))
        })
    })
}
