// SPDX-License-Identifier: Apache-2.0
//! The measuring program in C, as far as a peer sees it: bench/peer.h and bench/cell.h.
use crate::pair::{Cell, Pair, Shared};
use std::ffi::{c_char, c_int, c_void, CStr};

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

/// Both ends of a peer.
pub trait Ends: Sized {
    /// Whether the ends meet by keys in a directory.
    const NEEDS_ADDRESS: bool;
    /// Whether a server starts processes: these become children of the measuring program when their
    /// parents end, so that it can wait for them and knows their processor time.
    const LEAVES_ORPHANS: bool = false;

    /// Serves a pair; calls `ready()` when it listens, never returns.
    fn serve(pair: &Pair);

    /// A connection to such a server; never freed.
    fn connect(pair: &Pair) -> Self;

    fn call(&mut self);
}

unsafe extern "C" fn prepare<E: Ends>(cell: *const Cell) -> *mut c_void {
    if E::LEAVES_ORPHANS {
        // SAFETY: only changes whose child a process becomes.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    // SAFETY: `cell` points to a cell.
    let shared = Shared::new(unsafe { &*cell }.nr_pairs as usize);
    Box::into_raw(Box::new(shared)).cast()
}

unsafe fn pair(state: *mut c_void, cell: *const Cell, number: c_int) -> Pair {
    // SAFETY: as the C program calls the steps of a peer.
    unsafe { Pair::new(&*state.cast::<Shared>(), &*cell, number as usize) }
}

unsafe extern "C" fn serve<E: Ends>(state: *mut c_void, cell: *const Cell, number: c_int) {
    E::serve(&unsafe { pair(state, cell, number) });
}

unsafe extern "C" fn connect<E: Ends>(
    state: *mut c_void,
    cell: *const Cell,
    number: c_int,
) -> *mut c_void {
    let client = E::connect(&unsafe { pair(state, cell, number) });
    Box::into_raw(Box::new(client)).cast()
}

unsafe extern "C" fn call<E: Ends>(client: *mut c_void) {
    // SAFETY: connect() returned it, and no other call uses it at the same time.
    unsafe { &mut *client.cast::<E>() }.call();
}

impl Peer {
    pub const fn new<E: Ends>(name: &'static CStr) -> Peer {
        Peer {
            name: name.as_ptr(),
            needs_address: E::NEEDS_ADDRESS,
            has_no_payload: false,
            shares_server: false,
            prepare: Some(prepare::<E>),
            assist: None,
            serve: Some(serve::<E>),
            connect: Some(connect::<E>),
            before_call: None,
            call: Some(call::<E>),
            report: None,
        }
    }
}

/// Makes a peer of the C program: its symbol, its name, and its ends.
#[macro_export]
macro_rules! peer {
    ($symbol:ident, $name:literal, $ends:ty) => {
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static $symbol: $crate::c::Peer = $crate::c::Peer::new::<$ends>($name);
    };
}
