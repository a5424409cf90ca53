// SPDX-License-Identifier: Apache-2.0
//! Arrays in parcels. C says where to put the elements, by a function that is told how many there
//! are (-1: null), and may refuse.
use std::ffi::{c_char, c_void};

use rsbinder::{Parcel, Result, StatusCode};

use crate::aparcel::{give_text, size, text, with, AParcel};
use crate::{ensure, result_of, Status};

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
                let read = read.unwrap_or_default();
                ensure(read.is_empty() || !place.is_null(), StatusCode::NoMemory)?;
                if !read.is_empty() {
                    place.copy_from(read.as_ptr(), read.len());
                }
                Ok(())
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

/// Writes the length, then each element by what the caller's `function` says of it.
unsafe fn write_each<F>(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    function: Option<F>,
    write: impl Fn(&mut Parcel, &F, usize) -> Result<()>,
) -> Status {
    with(parcel, |parcel| {
        let function = function.ok_or(StatusCode::UnexpectedNull)?;
        let count = count(array.is_null(), length)?;
        parcel.write_i32(count.map_or(-1, |_| length))?;
        (0..count.unwrap_or(0)).try_for_each(|index| write(parcel, &function, index))
    })
}

type Allocator = unsafe extern "C" fn(*mut c_void, i32) -> bool;

/// Reads the length, has the array made, then gives each element to the caller's `function`.
unsafe fn read_each<F>(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    function: Option<F>,
    read: impl Fn(&mut Parcel, &F, usize) -> Result<()>,
) -> Status {
    with(parcel, |parcel| {
        let function = function.ok_or(StatusCode::UnexpectedNull)?;
        let allocate = allocator.ok_or(StatusCode::UnexpectedNull)?;
        let number = parcel.read_i32()?;
        let length = match number {
            -1 => None,
            _ => Some(size(number)?),
        };
        // Each element takes a word at least: no memory for more than there can be.
        let most = parcel.data_avail() / size_of::<i32>();
        ensure(length.unwrap_or(0) <= most, StatusCode::NotEnoughData)?;
        let count = taken(length, allocate(data, number))?;
        (0..count).try_for_each(|index| read(parcel, &function, index))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeBoolArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    getter: Option<unsafe extern "C" fn(*const c_void, usize) -> bool>,
) -> Status {
    write_each(parcel, array, length, getter, |parcel, get, index| {
        parcel.write(&get(array, index))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readBoolArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    setter: Option<unsafe extern "C" fn(*mut c_void, usize, bool)>,
) -> Status {
    read_each(parcel, data, allocator, setter, |parcel, set, index| {
        set(data, index, parcel.read()?);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeStringArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    getter: Option<unsafe extern "C" fn(*const c_void, usize, *mut i32) -> *const c_char>,
) -> Status {
    write_each(parcel, array, length, getter, |parcel, get, index| {
        let mut length = 0;
        let string = get(array, index, &raw mut length);
        parcel.write(&text(string, length)?)
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readStringArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    element: Option<unsafe extern "C" fn(*mut c_void, usize, i32, *mut *mut c_char) -> bool>,
) -> Status {
    read_each(
        parcel,
        data,
        allocator,
        element,
        |parcel, allocate, index| {
            give_text(parcel.read()?, |length, place| {
                allocate(data, index, length, place)
            })
        },
    )
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeParcelableArray(
    parcel: *mut AParcel,
    array: *const c_void,
    length: i32,
    writer: Option<unsafe extern "C" fn(*mut AParcel, *const c_void, usize) -> Status>,
) -> Status {
    // The writer is given the same parcel again, by its pointer.
    write_each(parcel, array, length, writer, |_, write, index| {
        result_of(write(parcel, array, index))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readParcelableArray(
    parcel: *const AParcel,
    data: *mut c_void,
    allocator: Option<Allocator>,
    reader: Option<unsafe extern "C" fn(*const AParcel, *mut c_void, usize) -> Status>,
) -> Status {
    read_each(parcel, data, allocator, reader, |_, read, index| {
        result_of(read(parcel, data, index))
    })
}
