// SPDX-License-Identifier: Apache-2.0
//! Who calls, and with what.
use anybinder_driver::receive_map::Memory;

/// The process that made a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub pid: i32,
    pub uid: u32,
    /// The user who is charged for what it registers (`users`).
    pub charged: u32,
    /// The number of its security context; 0 if it is not known.
    pub context: u32,
}

/// One transaction, as the driver delivers it.
pub struct Transaction<'a> {
    pub code: u32,
    pub caller: Caller,
    pub data: &'a [u8],
    pub offsets: &'a [u64],
    /// Where its buffers are.
    pub memory: &'a dyn Memory,
}
