// SPDX-License-Identifier: Apache-2.0
//! The measuring program in C, as far as a peer sees it: bench/peer.h and bench/cell.h.
use crate::pair::{Cell, Shared};
use std::ffi::{c_char, c_int, c_void};

/// `struct peer`; bench/peer.h describes its steps. All pairs have their state in a `Shared`.
#[repr(C)]
pub struct Peer {
    pub name: *const c_char,
    pub needs_address: bool,
    pub has_no_payload: bool,
    pub shares_server: bool,
    pub prepare: Option<unsafe extern "C" fn(*const Cell) -> *mut c_void>,
    pub assist: Option<unsafe extern "C" fn(*mut c_void, *const Cell)>,
    pub serve: Option<unsafe extern "C" fn(*mut c_void, *const Cell, c_int)>,
    pub connect: Option<unsafe extern "C" fn(*mut c_void, *const Cell, c_int) -> *mut c_void>,
    pub before_call: Option<unsafe extern "C" fn(*mut c_void)>,
    pub call: Option<unsafe extern "C" fn(*mut c_void)>,
    pub report: Option<unsafe extern "C" fn(*const Cell)>,
}

// SAFETY: constants, which nobody changes.
unsafe impl Sync for Peer {}

extern "C" {
    fn cell_process_ready();
}

/// A server says that it is ready for calls.
pub fn ready() {
    // SAFETY: increments an atomic number.
    unsafe { cell_process_ready() };
}

/// # Safety
/// `cell` points to a cell.
pub unsafe extern "C" fn prepare(cell: *const Cell) -> *mut c_void {
    let shared = Shared::new(unsafe { &*cell }.nr_pairs as usize);
    Box::into_raw(Box::new(shared)).cast()
}

/// The same for servers that start processes: these become children of this process when their
/// parents end, so that it can wait for them and knows their processor time.
///
/// # Safety
/// As `prepare`.
pub unsafe extern "C" fn prepare_with_orphans(cell: *const Cell) -> *mut c_void {
    // SAFETY: only changes whose child a process becomes.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    unsafe { prepare(cell) }
}

/// Makes a peer of the C program.
///
/// * `$symbol`, `$name`: of the peer
/// * `$needs_address`: whether the ends meet by keys in a directory
/// * `$serve`: serves a pair, calls `ready()` when it listens, never returns
/// * `$connect`: returns a connection to such a server; never freed
/// * `$client`: the type of the connection, which has a function `call()`
#[macro_export]
macro_rules! peer {
    ($symbol:ident, $name:literal, $needs_address:literal, $prepare:ident, $serve:expr,
     $connect:expr, $client:ty) => {
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static $symbol: $crate::c::Peer = {
            use std::ffi::{c_int, c_void};
            use $crate::c::Peer;
            use $crate::pair::{Cell, Pair, Shared};

            unsafe fn pair(state: *mut c_void, cell: *const Cell, number: c_int) -> Pair {
                // SAFETY: as the C program calls the steps of a peer.
                unsafe { Pair::new(&*state.cast::<Shared>(), &*cell, number as usize) }
            }

            unsafe extern "C" fn serve(state: *mut c_void, cell: *const Cell, number: c_int) {
                $serve(&unsafe { pair(state, cell, number) });
            }

            unsafe extern "C" fn connect(
                state: *mut c_void,
                cell: *const Cell,
                number: c_int,
            ) -> *mut c_void {
                let client: $client = $connect(&unsafe { pair(state, cell, number) });
                Box::into_raw(Box::new(client)).cast()
            }

            unsafe extern "C" fn call(client: *mut c_void) {
                // SAFETY: connect() returned it, and no other call uses it at the same time.
                unsafe { &mut *client.cast::<$client>() }.call();
            }

            Peer {
                name: $name.as_ptr(),
                needs_address: $needs_address,
                has_no_payload: false,
                shares_server: false,
                prepare: Some($crate::c::$prepare),
                assist: None,
                serve: Some(serve),
                connect: Some(connect),
                before_call: None,
                call: Some(call),
                report: None,
            }
        };
    };
}
