// SPDX-License-Identifier: Apache-2.0
//! Memory that two processes share by passing its file descriptor.
use memmap2::{Mmap, MmapMut, MmapOptions};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, SeekFrom};
use rustix::ioctl::{opcode, Opcode, Updater};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// `struct dma_heap_allocation_data` of linux/dma-heap.h.
#[repr(C)]
struct Allocation {
    len: u64,
    fd: u32,
    fd_flags: u32,
    heap_flags: u64,
}

const DMA_HEAP_IOCTL_ALLOC: Opcode = opcode::read_write::<Allocation>(b'H', 0);

fn dma_buf(heap: &File, size: usize) -> Result<OwnedFd> {
    let mut allocation = Allocation {
        len: size as u64,
        fd: 0,
        fd_flags: (OFlags::RDWR | OFlags::CLOEXEC).bits(),
        heap_flags: 0,
    };
    // SAFETY: the request reads and writes this struct, and returns a new descriptor in it.
    unsafe {
        let request = Updater::<DMA_HEAP_IOCTL_ALLOC, Allocation>::new(&mut allocation);
        rustix::ioctl::ioctl(heap, request)?;
        Ok(OwnedFd::from_raw_fd(allocation.fd as i32))
    }
}

fn memfd(size: usize) -> Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("board", flags)?;
    rustix::fs::ftruncate(&fd, size as u64)?;
    // The receiver insists on this: reading a mapping of a file that shrinks is a SIGBUS.
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK)?;
    Ok(fd)
}

/// A buffer of the DMA-BUF heap `system` where there is one, else a memfd, mapped. The text says
/// which.
pub fn allocate(size: usize) -> Result<(OwnedFd, MmapMut, &'static str)> {
    let (fd, kind) = match File::open("/dev/dma_heap/system") {
        Ok(heap) => (dma_buf(&heap, size)?, "DMA-BUF"),
        Err(_) => (memfd(size)?, "memfd"),
    };
    // SAFETY: the receiver only reads, and neither kind can shrink.
    let memory = unsafe { MmapOptions::new().len(size).map_mut(&fd)? };
    Ok((fd, memory, kind))
}

/// Maps a received buffer. If devices used it, too, each access would be enclosed in
/// `DMA_BUF_IOCTL_SYNC`.
pub fn map(fd: impl AsFd) -> Result<Mmap> {
    // A DMA-BUF, which cannot shrink, has no seals.
    let seals = rustix::fs::fcntl_get_seals(&fd);
    if seals.is_ok_and(|seals| !seals.contains(SealFlags::SHRINK)) {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "the buffer can shrink",
        ));
    }
    let size = rustix::fs::seek(&fd, SeekFrom::End(0))? as usize;
    // SAFETY: it cannot shrink. The sender may still write to it: the result is only a sum.
    unsafe { MmapOptions::new().len(size).map(&fd.as_fd()) }
}

pub fn sum(bytes: &[u8]) -> i64 {
    bytes.iter().map(|byte| i64::from(*byte)).sum()
}
