// SPDX-License-Identifier: Apache-2.0
//! An application process of `bench heap`. As applications do when they start, it allocates small
//! and big buffers as fast as it can, frees many of them, keeps the rest for a while, and ends. It
//! prints how long the allocations took.
use crate::durations::Durations;
use anybinder_mount::error::{Doing, Result};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// _IOWR('H', 0, struct dma_heap_allocation_data)
const DMA_HEAP_IOCTL_ALLOC: libc::c_ulong = 0xc018_4800;

#[repr(C)]
#[derive(Default)]
struct AllocationData {
    len: u64,
    fd: u32,
    fd_flags: u32,
    heap_flags: u64,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The three buffers of a window.
const SURFACE_BYTES: [u64; 3] = [2 * MIB; 3];
/// Icons and other pictures: their number and largest size.
const TEXTURES: (usize, u64) = (60, 256 * KIB);
/// Buffers used only while the application loads: their number and largest size.
const SCRATCH: (usize, u64) = (40, 512 * KIB);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(long)]
    heap: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    keep_ms: u64,
}

struct Heap {
    device: OwnedFd,
    seed: u64,
    durations: Durations,
}

impl Heap {
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed >> 16
    }

    fn allocate(&mut self, len: u64) -> Result<OwnedFd> {
        let mut data = AllocationData {
            len,
            fd_flags: (libc::O_RDWR | libc::O_CLOEXEC) as u32,
            ..Default::default()
        };
        let start = Instant::now();
        // SAFETY: the structure is the one that the ioctl reads and writes.
        let status =
            unsafe { libc::ioctl(self.device.as_raw_fd(), DMA_HEAP_IOCTL_ALLOC, &mut data) };
        if status != 0 {
            return Err(std::io::Error::last_os_error())
                .doing(|| format!("allocating {len} bytes"));
        }
        self.durations.record(start.elapsed().as_nanos() as u64)?;
        // SAFETY: the kernel has just opened this descriptor, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(data.fd as i32) })
    }

    fn allocate_some(&mut self, (count, most): (usize, u64)) -> Result<Vec<OwnedFd>> {
        (0..count)
            .map(|_| {
                let len = 1 + self.random() % most;
                self.allocate(len)
            })
            .collect()
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let path = &arguments.heap;
    let mut heap = Heap {
        device: rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .doing(|| format!("opening {}", path.display()))?,
        // The state must not be 0, and close seeds must give different sequences.
        seed: (arguments.seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        durations: Durations::default(),
    };
    let mut kept = heap.allocate_some(TEXTURES)?;
    for bytes in SURFACE_BYTES {
        kept.push(heap.allocate(bytes)?);
    }
    for _ in 0..2 {
        drop(heap.allocate_some(SCRATCH)?);
        let half = kept.len() / 2;
        kept.truncate(half);
        kept.extend(heap.allocate_some(TEXTURES)?);
    }
    let line = serde_json::to_string(&heap.durations).expect("numbers become JSON");
    println!("{line}");
    std::thread::sleep(Duration::from_millis(arguments.keep_ms));
    Ok(ExitCode::SUCCESS)
}
