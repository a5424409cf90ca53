// SPDX-License-Identifier: Apache-2.0
//! `AStatus`: how a call went.
use std::ffi::{c_char, CStr, CString};

use rsbinder::{ExceptionCode, Status, StatusCode};

use crate::number;

pub struct AStatus {
    status: Status,
    message: CString,
}

/// Success carries nothing: all of it is this one, which is never freed.
static SUCCESS: Shared = Shared(c"");
struct Shared(&'static CStr);

fn success() -> *mut AStatus {
    &raw const SUCCESS as *mut AStatus
}

/// `None`: it is success (or null).
unsafe fn failure<'a>(status: *const AStatus) -> Option<&'a AStatus> {
    if status == success() {
        None
    } else {
        status.as_ref()
    }
}

pub fn into_raw(status: Status) -> *mut AStatus {
    if status.is_ok() {
        return success();
    }
    let message = CString::new(status.message().unwrap_or_default()).unwrap_or_default();
    Box::into_raw(Box::new(AStatus { status, message }))
}

pub unsafe fn from_raw(status: *const AStatus) -> Status {
    failure(status).map_or_else(|| StatusCode::Ok.into(), |failure| failure.status.clone())
}

/// The exceptions that a service may raise; any other is `EX_TRANSACTION_FAILED`.
fn exception(code: i32) -> ExceptionCode {
    use ExceptionCode::*;
    let all = [
        None,
        Security,
        BadParcelable,
        IllegalArgument,
        NullPointer,
        IllegalState,
        NetworkMainThread,
        UnsupportedOperation,
        ServiceSpecific,
        Parcelable,
    ];
    all.into_iter()
        .find(|one| *one as i32 == code)
        .unwrap_or(TransactionFailed)
}

unsafe fn text(message: *const c_char) -> Option<String> {
    (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
}

fn of_exception(code: i32, message: Option<String>) -> *mut AStatus {
    let code = exception(code);
    into_raw(match message {
        // The status of a failed transaction is not the sender's to say.
        _ if code == ExceptionCode::TransactionFailed => StatusCode::FailedTransaction.into(),
        Some(message) => (code, &*message).into(),
        None => code.into(),
    })
}

#[no_mangle]
pub extern "C" fn AStatus_newOk() -> *mut AStatus {
    success()
}

#[no_mangle]
pub extern "C" fn AStatus_fromExceptionCode(code: i32) -> *mut AStatus {
    of_exception(code, None)
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_fromExceptionCodeWithMessage(
    code: i32,
    message: *const c_char,
) -> *mut AStatus {
    of_exception(code, text(message))
}

#[no_mangle]
pub extern "C" fn AStatus_fromServiceSpecificError(error: i32) -> *mut AStatus {
    into_raw(Status::new_service_specific_error(error, None))
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_fromServiceSpecificErrorWithMessage(
    error: i32,
    message: *const c_char,
) -> *mut AStatus {
    into_raw(Status::new_service_specific_error(error, text(message)))
}

#[no_mangle]
pub extern "C" fn AStatus_fromStatus(status: crate::Status) -> *mut AStatus {
    if status == crate::OK {
        return success();
    }
    into_raw(StatusCode::from(number(status.into())).into())
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_isOk(status: *const AStatus) -> bool {
    failure(status).is_none()
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_getExceptionCode(status: *const AStatus) -> i32 {
    failure(status).map_or(0, |failure| failure.status.exception_code() as i32)
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_getServiceSpecificError(status: *const AStatus) -> i32 {
    failure(status).map_or(0, |failure| failure.status.service_specific_error())
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_getStatus(status: *const AStatus) -> crate::Status {
    failure(status).map_or(crate::OK, |failure| {
        number(failure.status.transaction_error())
    })
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_getMessage(status: *const AStatus) -> *const c_char {
    failure(status).map_or(SUCCESS.0.as_ptr(), |failure| failure.message.as_ptr())
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_getDescription(status: *const AStatus) -> *const c_char {
    let words = from_raw(status).to_string();
    CString::new(words).unwrap_or_default().into_raw()
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_deleteDescription(description: *const c_char) {
    if !description.is_null() {
        drop(CString::from_raw(description.cast_mut()));
    }
}

#[no_mangle]
pub unsafe extern "C" fn AStatus_delete(status: *mut AStatus) {
    if failure(status).is_some() {
        drop(Box::from_raw(status));
    }
}
