// SPDX-License-Identifier: Apache-2.0
//! `binder-control`, which makes devices.
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

const NAME_BYTES: usize = 256;

/// `struct binderfs_device`.
#[repr(C)]
struct NewDevice {
    name: [u8; NAME_BYTES],
    major: u32,
    minor: u32,
}

/// `BINDER_CTL_ADD`: `_IOWR('b', 1, struct binderfs_device)`.
const ADD: u32 = 3 << 30 | (size_of::<NewDevice>() as u32) << 16 | (b'b' as u32) << 8 | 1;

/// Makes the device `name` in `mount`.
pub fn add(mount: &Path, name: &str) -> io::Result<()> {
    let control = File::open(mount.join("binder-control"))?;
    let mut device = NewDevice {
        name: [0; NAME_BYTES],
        major: 0,
        minor: 0,
    };
    if name.len() >= NAME_BYTES {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    device.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the call reads and writes one structure of the size that its number has.
    match unsafe { libc::ioctl(control.as_raw_fd(), ADD as _, &raw mut device) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
