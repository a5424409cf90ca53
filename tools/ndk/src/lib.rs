// SPDX-License-Identifier: Apache-2.0
//! `libbinder_ndk.so`: the C API of Android's NDK for Binder, over the crate rsbinder, which keeps
//! all of the protocol. Each function does what its comment in `include/android` says, and each
//! symbol has the version that it has on Android (`libbinder_ndk.map`, which lists them). All that
//! the map names works, but for these, which rsbinder has no way to do:
//!
//! | level | function | here |
//! |---|---|---|
//! | 31 | `ABinderProcess_setupPolling`, `_handlePolledCommands` | `STATUS_INVALID_OPERATION` |
//! | 30 | `AIBinder_Class_setHandleShellCommand` | kept; a command is `STATUS_INVALID_OPERATION` |
//! | 31, 33 | `AParcel_appendFrom`, `AParcel_marshal` of binders or files | the same |
//! | 31 | `AParcel_markSensitive` | nothing: calls have `FLAG_CLEAR_BUF` |
//! | 35 | `AServiceManager_openDeclaredPassthroughHal` | null |
//!
//! Not there at all, so that linking says so: what is for Java (`AIBinder_fromJavaBinder`,
//! `_toJavaBinder`, `AParcel_fromJavaParcel`), `APersistableBundle_*` (35), `ABinderRpc_*` (36).
//!
//! A panic ends the process: no caller in C could go on after one.
#![allow(
    non_camel_case_types,
    non_snake_case,
    clippy::missing_safety_doc,
    reason = "names of the C API; which pointers a function takes is said in the headers"
)]

mod abinder_process;
mod aibinder;
mod aparcel;
mod aparcel_array;
mod aservice_manager;
mod astatus;
mod binder;
mod class;
mod death_recipient;

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rsbinder::{Result, StatusCode};

/// `binder_status_t`: 0, or a negative number that `binder_status.h` names.
pub type Status = i32;

pub const OK: Status = 0;

/// The number of a status. One that the NDK does not name is `STATUS_UNKNOWN_ERROR`.
fn number(code: StatusCode) -> Status {
    match code {
        StatusCode::BadFd
        | StatusCode::RpcError
        | StatusCode::Errno(_)
        | StatusCode::ServiceSpecific(_) => StatusCode::Unknown.into(),
        named => named.into(),
    }
}

fn outcome(act: impl FnOnce() -> Result<()>) -> Status {
    act().map_or_else(number, |()| OK)
}

/// What a callback returned.
fn result_of(status: Status) -> Result<()> {
    ensure(status == OK, StatusCode::from(status))
}

fn ensure(is_right: bool, otherwise: StatusCode) -> Result<()> {
    is_right.then_some(()).ok_or(otherwise)
}

/// What C points at, which must not be null.
unsafe fn given<'a, T>(pointer: *const T) -> Result<&'a T> {
    pointer.as_ref().ok_or(StatusCode::UnexpectedNull)
}

/// Gives to C what it frees by a call; null is none.
fn boxed<T>(value: Option<T>) -> *mut T {
    value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

/// What the user has its own functions be given.
struct UserData(*mut c_void);

// SAFETY: it goes to the user's functions alone, which any thread may call.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
