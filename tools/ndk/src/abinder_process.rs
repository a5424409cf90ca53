// SPDX-License-Identifier: Apache-2.0
//! The process: its driver, opened at the first use, and the threads that serve its objects.
use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rsbinder::{ProcessState, Result, StatusCode};

use crate::{number, Status};

static MAX_THREADS: AtomicU32 = AtomicU32::new(rsbinder::DEFAULT_MAX_BINDER_THREADS);
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// `_IOW('b', 5, __u32)`
const BINDER_SET_MAX_THREADS: u64 = 0x4004_6205;

extern "C" {
    fn ioctl(file: c_int, request: u64, ...) -> c_int;
}

/// Opens the driver. `NoInit`: there is none; a line on the standard error says which was tried.
pub fn ready() -> Result<&'static ProcessState> {
    if ProcessState::is_initialized() {
        return Ok(ProcessState::as_self());
    }
    let path = [rsbinder::DEFAULT_BINDER_PATH, rsbinder::LEGACY_BINDER_PATH];
    let path = path
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap_or(path[1]);
    ProcessState::init(path, MAX_THREADS.load(Ordering::Relaxed)).map_err(|error| {
        eprintln!("libbinder_ndk: {error}Is a Binder driver mounted, and may this user open it?");
        StatusCode::NoInit
    })
}

#[no_mangle]
pub extern "C" fn ABinderProcess_startThreadPool() {
    if ready().is_ok() {
        IS_STARTED.store(true, Ordering::Release);
        ProcessState::start_thread_pool();
    }
}

#[no_mangle]
pub extern "C" fn ABinderProcess_isThreadPoolStarted() -> bool {
    IS_STARTED.load(Ordering::Acquire)
}

#[no_mangle]
pub extern "C" fn ABinderProcess_setThreadPoolMaxThreadCount(count: u32) -> bool {
    if ABinderProcess_isThreadPoolStarted() {
        return false;
    }
    MAX_THREADS.store(count, Ordering::Relaxed);
    // rsbinder tells the driver when it opens it, and has no call for later.
    !ProcessState::is_initialized()
        // SAFETY: the driver reads the number, and keeps no pointer.
        || unsafe {
            let driver = ProcessState::as_self().driver();
            ioctl(driver.as_raw_fd(), BINDER_SET_MAX_THREADS, &raw const count) == 0
        }
}

#[no_mangle]
pub extern "C" fn ABinderProcess_joinThreadPool() {
    if ready().is_ok() {
        // It says itself why it ends.
        let _ = ProcessState::join_thread_pool();
    }
}

/// Refused: rsbinder serves objects by threads of its own, or by one that joins them.
#[no_mangle]
pub unsafe extern "C" fn ABinderProcess_setupPolling(file: *mut c_int) -> Status {
    if !file.is_null() {
        *file = -1;
    }
    number(StatusCode::InvalidOperation)
}

#[no_mangle]
pub extern "C" fn ABinderProcess_handlePolledCommands() -> Status {
    number(StatusCode::InvalidOperation)
}
