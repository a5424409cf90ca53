// SPDX-License-Identifier: Apache-2.0
//! Classes: the interface of a local object, by its functions in C. A class is never freed.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock};

use rsbinder::{Parcel, Result, StatusCode};

use crate::{ensure, lock, Status};

pub type OnCreate = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub type OnDestroy = unsafe extern "C" fn(*mut c_void);
/// `AIBinder`, the code, and two of `AParcel`.
pub type OnTransact = unsafe extern "C" fn(*mut c_void, u32, *const c_void, *mut c_void) -> Status;
/// `AIBinder`, and a file.
pub type OnDump = unsafe extern "C" fn(*mut c_void, c_int, *mut *const c_char, u32) -> Status;

/// All of them.
static CLASSES: Mutex<Vec<&'static AIBinder_Class>> = Mutex::new(Vec::new());

const STRICT_MODE_PENALTY_GATHER: i32 = i32::MIN;
const NO_WORK_SOURCE: i32 = -1;

pub struct AIBinder_Class {
    pub descriptor: CString,
    /// What names the interface in a parcel: a mark, the descriptor's length, and its UTF-16 with
    /// the NUL. It is read and written by pairs of words, in half of the time.
    pairs: Vec<i64>,
    /// The word after the last pair.
    last: Option<i32>,
    pub on_create: OnCreate,
    pub on_destroy: OnDestroy,
    pub on_transact: OnTransact,
    pub on_dump: OnceLock<OnDump>,
    has_header: AtomicBool,
    names: AtomicPtr<*const c_char>,
    names_len: OnceLock<usize>,
}

impl AIBinder_Class {
    pub fn name(&self) -> &str {
        self.descriptor.to_str().unwrap_or_default()
    }

    /// Writes what a call of this interface begins with, for an object of this process; for
    /// another's, rsbinder does.
    pub fn write_header(&self, parcel: &mut Parcel) -> Result<()> {
        if !self.has_header() {
            return Ok(());
        }
        parcel.write_i32(STRICT_MODE_PENALTY_GATHER)?;
        parcel.write_i32(NO_WORK_SOURCE)?;
        self.pairs.iter().try_for_each(|pair| parcel.write(pair))?;
        self.last.map_or(Ok(()), |word| parcel.write_i32(word))
    }

    /// Reads it; `BadType`: the call is of another interface.
    pub fn read_header(&self, parcel: &mut Parcel) -> Result<()> {
        if !self.has_header() {
            return Ok(());
        }
        // The low word is the policy, the high one the source of the work.
        rsbinder::set_strict_mode_policy(parcel.read_i64()? as i32);
        let mut pairs = self.pairs.iter();
        pairs.try_for_each(|pair| ensure(parcel.read_i64()? == *pair, StatusCode::BadType))?;
        self.last.map_or(Ok(()), |word| {
            ensure(parcel.read_i32()? == word, StatusCode::BadType)
        })
    }

    pub fn has_header(&self) -> bool {
        self.has_header.load(Ordering::Relaxed)
    }
}

/// The pairs, and the word after them.
fn words_of(name: &str) -> (Vec<i64>, Option<i32>) {
    let mut units: Vec<u16> = name.encode_utf16().collect();
    let begin = (units.len() as i64) << 32 | i64::from(rsbinder::INTERFACE_HEADER);
    units.resize(units.len() / 2 * 2 + 2, 0);
    let number = |units: &[u16]| {
        let high_first = units.iter().rev();
        high_first.fold(0, |number, unit| number << 16 | i64::from(*unit))
    };
    let pairs = units.chunks_exact(4);
    let rest = pairs.remainder();
    let last = (!rest.is_empty()).then(|| number(rest) as i32);
    let all = std::iter::once(begin).chain(pairs.map(number));
    (all.collect(), last)
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_define(
    descriptor: *const c_char,
    on_create: Option<OnCreate>,
    on_destroy: Option<OnDestroy>,
    on_transact: Option<OnTransact>,
) -> *mut AIBinder_Class {
    let (Some(on_create), Some(on_destroy), Some(on_transact), false) =
        (on_create, on_destroy, on_transact, descriptor.is_null())
    else {
        return std::ptr::null_mut();
    };
    let descriptor = CStr::from_ptr(descriptor).to_owned();
    let Ok((pairs, last)) = descriptor.to_str().map(words_of) else {
        return std::ptr::null_mut();
    };
    let class = Box::leak(Box::new(AIBinder_Class {
        descriptor,
        pairs,
        last,
        on_create,
        on_destroy,
        on_transact,
        on_dump: OnceLock::new(),
        has_header: AtomicBool::new(true),
        names: AtomicPtr::default(),
        names_len: OnceLock::new(),
    }));
    let place = &raw mut *class;
    lock(&CLASSES).push(class);
    place
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_setOnDump(
    class: *mut AIBinder_Class,
    dump: Option<OnDump>,
) {
    if let (Some(class), Some(dump)) = (class.as_ref(), dump) {
        let _ = class.on_dump.set(dump);
    }
}

/// Only kept: a shell command's files cannot be read through rsbinder.
#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_setHandleShellCommand(
    _class: *mut AIBinder_Class,
    _handle: *const c_void,
) {
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_disableInterfaceTokenHeader(class: *mut AIBinder_Class) {
    if let Some(class) = class.as_ref() {
        class.has_header.store(false, Ordering::Relaxed);
    }
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_getDescriptor(
    class: *const AIBinder_Class,
) -> *const c_char {
    class
        .as_ref()
        .map_or(std::ptr::null(), |class| class.descriptor.as_ptr())
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_setTransactionCodeToFunctionNameMap(
    class: *mut AIBinder_Class,
    names: *mut *const c_char,
    length: usize,
) {
    if let Some(class) = class.as_ref() {
        if class.names_len.set(length).is_ok() {
            class.names.store(names, Ordering::Release);
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Class_getFunctionName(
    class: *mut AIBinder_Class,
    code: u32,
) -> *const c_char {
    let Some(class) = class.as_ref() else {
        return std::ptr::null();
    };
    let names = class.names.load(Ordering::Acquire);
    let index = code.wrapping_sub(rsbinder::FIRST_CALL_TRANSACTION) as usize;
    if names.is_null() || index >= class.names_len.get().copied().unwrap_or(0) {
        return std::ptr::null();
    }
    *names.add(index)
}
