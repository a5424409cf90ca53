// SPDX-License-Identifier: Apache-2.0
//! An open device and its receive buffer, shared by the threads that serve it.
use crate::abi;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The bytes that every client of libbinder maps.
const MAP_SIZE: usize = 1024 * 1024 - 2 * 4096;

/// Where the buffers of a transaction are.
pub trait Memory {
    /// The bytes at an address that the driver wrote.
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]>;
}

/// Maps the receive buffer, which the driver fills.
pub struct Map {
    start: *const u8,
}

// SAFETY: the mapping is read-only and lives as long as the value; any thread may read it.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    fn new(file: &File) -> io::Result<Map> {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MAP_SIZE,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map {
            start: start.cast(),
        })
    }
}

impl Memory for Map {
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        if size == 0 {
            return Some(&[]);
        }
        let offset = address.checked_sub(self.start as u64)?;
        let end = offset.checked_add(size)?;
        if end > MAP_SIZE as u64 {
            return None;
        }
        // SAFETY: within the mapping; the buffer is ours until BC_FREE_BUFFER, and the driver
        // writes to it no more.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(offset as usize), size as usize) })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast_mut().cast(), MAP_SIZE) };
    }
}

/// An open device.
pub struct Open {
    pub map: Map,
    pub file: File,
}

pub fn ioctl<T>(file: &File, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the argument is a live structure of the size that the request names.
    let result = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::c_ulong::from(request),
            std::ptr::from_mut(argument),
        )
    };
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Open {
    pub fn new(path: &Path) -> io::Result<Open> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)?;
        let mut version = 0i32;
        ioctl(&file, abi::BINDER_VERSION, &mut version)?;
        if version != abi::CURRENT_VERSION {
            return Err(io::Error::other(format!(
                "its protocol version is {version}"
            )));
        }
        let map = Map::new(&file)?;
        // The driver asks for no threads: whether there is another one is decided here.
        ioctl(&file, abi::BINDER_SET_MAX_THREADS, &mut 0u32)?;
        Ok(Open { map, file })
    }
}
