// SPDX-License-Identifier: Apache-2.0
//! The driver's ABI, as far as it is used here (include/uapi/linux/android/binder.h). rsbinder
//! keeps its own copy to itself.
use std::mem::size_of;

const WRITE: u32 = 1;
const READ: u32 = 2;

const fn number(direction: u32, group: u8, nr: u32, size: usize) -> u32 {
    (direction << 30) | ((size as u32) << 16) | ((group as u32) << 8) | nr
}

/// How many bytes follow a command or return.
pub const fn payload_size(command: u32) -> usize {
    ((command >> 16) & 0x3fff) as usize
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct WriteRead {
    pub write_size: u64,
    pub write_consumed: u64,
    pub write_buffer: u64,
    pub read_size: u64,
    pub read_consumed: u64,
    pub read_buffer: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TransactionData {
    pub target: u64,
    pub cookie: u64,
    pub code: u32,
    pub flags: u32,
    pub sender_pid: i32,
    pub sender_euid: u32,
    pub data_size: u64,
    pub offsets_size: u64,
    pub buffer: u64,
    pub offsets: u64,
}

/// A transaction with buffers beside its data (BC_*_SG).
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TransactionDataSg {
    pub transaction: TransactionData,
    /// The sizes of all buffers, each rounded up to a multiple of 8.
    pub buffers_size: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FlatObject {
    pub kind: u32,
    pub flags: u32,
    pub binder: u64,
    pub cookie: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct NodeInfoForRef {
    pub handle: u32,
    pub strong_count: u32,
    pub weak_count: u32,
    pub reserved: [u32; 3],
}

/// Why the last transaction of a thread failed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ExtendedError {
    pub id: u32,
    /// The return that said so, or another one if nothing failed.
    pub command: u32,
    /// A negative errno, or 0.
    pub param: i32,
}

/// A transaction with the security context of its sender, as a text in the buffer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TransactionDataContext {
    pub transaction: TransactionData,
    pub context: u64,
}

/// The types of the objects in a parcel.
pub const TYPE_BINDER: u32 = object_type(*b"sb*");
pub const TYPE_WEAK_BINDER: u32 = object_type(*b"wb*");
pub const TYPE_HANDLE: u32 = object_type(*b"sh*");
pub const TYPE_WEAK_HANDLE: u32 = object_type(*b"wh*");
pub const TYPE_FD: u32 = object_type(*b"fd*");
pub const TYPE_FD_ARRAY: u32 = object_type(*b"fda");
pub const TYPE_BUFFER: u32 = object_type(*b"pt*");

/// The size of a binder, a handle or a file (`flat_binder_object`, `binder_fd_object`).
pub const OBJECT_SIZE: usize = size_of::<FlatObject>();
/// The sizes of `binder_buffer_object` and of `binder_fd_array_object`.
pub const BUFFER_SIZE: usize = 40;
pub const FD_ARRAY_SIZE: usize = 32;

/// Flag of a buffer whose address is in another one, its parent.
pub const HAS_PARENT: u32 = 1;
/// Flag of a node: calls to it may have files.
pub const ACCEPTS_FDS: u32 = 0x100;
/// Flag of a node: it is called with the real-time priority of the caller.
pub const INHERIT_RT: u32 = 0x800;
/// Flags of an object that a program passes on, as libbinder writes them: accepts files, lowest
/// priority.
pub const FD_FLAGS: u32 = ACCEPTS_FDS | 0x7f;

const fn object_type([one, two, three]: [u8; 3]) -> u32 {
    u32::from_be_bytes([one, two, three, 0x85])
}

const TRANSACTION_CONTEXT_SIZE: usize = size_of::<TransactionDataContext>();
const TRANSACTION_SIZE: usize = size_of::<TransactionData>();
const TRANSACTION_SG_SIZE: usize = size_of::<TransactionDataSg>();
const POINTER_COOKIE: usize = 16;

pub const BINDER_WRITE_READ: u32 = number(READ | WRITE, b'b', 1, size_of::<WriteRead>());
pub const BINDER_SET_MAX_THREADS: u32 = number(WRITE, b'b', 5, 4);
pub const BINDER_SET_CONTEXT_MGR: u32 = number(WRITE, b'b', 7, 4);
pub const BINDER_THREAD_EXIT: u32 = number(WRITE, b'b', 8, 4);
pub const BINDER_VERSION: u32 = number(READ | WRITE, b'b', 9, 4);
pub const BINDER_GET_NODE_INFO_FOR_REF: u32 =
    number(READ | WRITE, b'b', 12, size_of::<NodeInfoForRef>());
pub const BINDER_SET_CONTEXT_MGR_EXT: u32 = number(WRITE, b'b', 13, size_of::<FlatObject>());
pub const BINDER_GET_EXTENDED_ERROR: u32 =
    number(READ | WRITE, b'b', 17, size_of::<ExtendedError>());
pub const CURRENT_VERSION: i32 = 8;

pub const BC_TRANSACTION: u32 = number(WRITE, b'c', 0, TRANSACTION_SIZE);
pub const BC_REPLY: u32 = number(WRITE, b'c', 1, TRANSACTION_SIZE);
pub const BC_FREE_BUFFER: u32 = number(WRITE, b'c', 3, 8);
pub const BC_ACQUIRE: u32 = number(WRITE, b'c', 5, 4);
pub const BC_RELEASE: u32 = number(WRITE, b'c', 6, 4);
pub const BC_INCREFS_DONE: u32 = number(WRITE, b'c', 8, POINTER_COOKIE);
pub const BC_ACQUIRE_DONE: u32 = number(WRITE, b'c', 9, POINTER_COOKIE);
pub const BC_REGISTER_LOOPER: u32 = number(0, b'c', 11, 0);
pub const BC_ENTER_LOOPER: u32 = number(0, b'c', 12, 0);
/// A handle and a cookie, packed.
pub const BC_REQUEST_DEATH_NOTIFICATION: u32 = number(WRITE, b'c', 14, 12);
pub const BC_CLEAR_DEATH_NOTIFICATION: u32 = number(WRITE, b'c', 15, 12);
pub const BC_DEAD_BINDER_DONE: u32 = number(WRITE, b'c', 16, 8);
pub const BC_TRANSACTION_SG: u32 = number(WRITE, b'c', 17, TRANSACTION_SG_SIZE);
pub const BC_REPLY_SG: u32 = number(WRITE, b'c', 18, TRANSACTION_SG_SIZE);

pub const BR_TRANSACTION: u32 = number(READ, b'r', 2, TRANSACTION_SIZE);
pub const BR_TRANSACTION_CONTEXT: u32 = number(READ, b'r', 2, TRANSACTION_CONTEXT_SIZE);
pub const BR_REPLY: u32 = number(READ, b'r', 3, TRANSACTION_SIZE);
pub const BR_DEAD_REPLY: u32 = number(0, b'r', 5, 0);
pub const BR_TRANSACTION_COMPLETE: u32 = number(0, b'r', 6, 0);
pub const BR_INCREFS: u32 = number(READ, b'r', 7, POINTER_COOKIE);
pub const BR_ACQUIRE: u32 = number(READ, b'r', 8, POINTER_COOKIE);
pub const BR_RELEASE: u32 = number(READ, b'r', 9, POINTER_COOKIE);
pub const BR_DEAD_BINDER: u32 = number(READ, b'r', 15, 8);
pub const BR_SPAWN_LOOPER: u32 = number(0, b'r', 13, 0);
pub const BR_FAILED_REPLY: u32 = number(0, b'r', 17, 0);
pub const BR_FROZEN_REPLY: u32 = number(0, b'r', 18, 0);

/// Flag of a node: its transactions come with the security context of their sender.
pub const NEEDS_CONTEXT: u32 = 0x1000;

pub const TF_ONE_WAY: u32 = 0x01;
/// The data of a reply is an int32 status.
pub const TF_STATUS_CODE: u32 = 0x08;
/// The reply may have files.
pub const TF_ACCEPT_FDS: u32 = 0x10;
/// With this flag the completion of a reply comes with what the thread reads next (Android 17). A
/// driver that does not know the flag returns the completion at once.
pub const TF_DEFER_COMPLETE: u32 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        assert_eq!(BINDER_WRITE_READ, 3_224_396_289);
        assert_eq!(BINDER_GET_EXTENDED_ERROR, 0xc00c_6211);
        assert_eq!(BC_TRANSACTION, 0x4040_6300);
        assert_eq!(BC_REQUEST_DEATH_NOTIFICATION, 0x400c_630e);
        assert_eq!(BR_TRANSACTION, 0x8040_7202);
        assert_eq!(BR_DEAD_BINDER, 0x8008_720f);
        assert_eq!(BR_TRANSACTION_CONTEXT, 0x8048_7202);
        assert_eq!(BC_TRANSACTION_SG, 0x4048_6311);
        assert_eq!(BC_REPLY_SG, 0x4048_6312);
        assert_eq!((BR_DEAD_REPLY, BR_FAILED_REPLY), (0x7205, 0x7211));
        assert_eq!(payload_size(BR_TRANSACTION), 64);
        assert_eq!((TYPE_BINDER, TYPE_HANDLE), (0x7362_2a85, 0x7368_2a85));
        assert_eq!((TYPE_FD, TYPE_FD_ARRAY), (0x6664_2a85, 0x6664_6185));
        assert_eq!((TYPE_BUFFER, OBJECT_SIZE), (0x7074_2a85, 24));
        assert_eq!(TYPE_WEAK_BINDER, 0x7762_2a85);
        assert_eq!(TYPE_WEAK_HANDLE, 0x7768_2a85);
    }
}
