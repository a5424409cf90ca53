// SPDX-License-Identifier: Apache-2.0
//! Files without a name, to be passed between processes.
use rsbinder::ParcelFileDescriptor;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;

/// Reads an open file to its end, through a duplicate of its descriptor.
pub fn read_text(file: &ParcelFileDescriptor) -> std::io::Result<String> {
    let mut text = String::new();
    File::from(file.as_fd().try_clone_to_owned()?).read_to_string(&mut text)?;
    Ok(text)
}

/// A file without a name that holds `text` and is read from its start.
pub fn open_text(text: &str) -> std::io::Result<ParcelFileDescriptor> {
    let fd = rustix::fs::memfd_create("text", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(ParcelFileDescriptor::new(file))
}
