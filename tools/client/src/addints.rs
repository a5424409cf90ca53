// SPDX-License-Identifier: Apache-2.0
//! The AddInts service of the demo, a process of its own.
use crate::device;
use aidl::{BnAddInts, IAddInts};
use anybinder_mount::context::Context;
use anybinder_mount::trouble::{Doing, Result};
use rsbinder::{BinderResult, Interface, ParcelFileDescriptor, ProcessState, StatusCode};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/demo_aidl.rs"));
}
pub use generated::anybinder::demo::IAddInts as aidl;

pub const NAME: &str = "anybinder.demo.IAddInts/default";

struct AddInts;

impl Interface for AddInts {}

/// Reads an open file to its end, through a descriptor of our own.
pub fn read_text(file: &ParcelFileDescriptor) -> std::io::Result<String> {
    let mut text = String::new();
    File::from(file.as_fd().try_clone_to_owned()?).read_to_string(&mut text)?;
    Ok(text)
}

/// A file without a name that holds the text, to be read from its start.
pub fn open_text(text: &str) -> std::io::Result<ParcelFileDescriptor> {
    let fd = rustix::fs::memfd_create("text", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(ParcelFileDescriptor::new(file))
}

fn status(err: std::io::Error) -> rsbinder::Status {
    StatusCode::from(err).into()
}

impl IAddInts for AddInts {
    fn add(&self, a: i32, b: i32) -> BinderResult<i32> {
        Ok(a.wrapping_add(b))
    }

    fn readFile(&self, file: &ParcelFileDescriptor) -> BinderResult<String> {
        read_text(file).map_err(status)
    }

    fn openText(&self, text: &str) -> BinderResult<ParcelFileDescriptor> {
        open_text(text).map_err(status)
    }
}

pub fn run(context: &Context) -> Result<ExitCode> {
    device::open(&context.place, "binder", 4)?;
    let manager = device::service_manager(&context.place, "binder")?;
    ProcessState::start_thread_pool();
    manager
        .add_service(
            NAME,
            rsbinder::Interface::as_binder(&*BnAddInts::new_binder(AddInts)),
        )
        .doing(|| format!("registering {NAME}"))?;
    ProcessState::join_thread_pool().doing(|| "serving".to_string())?;
    Ok(ExitCode::SUCCESS)
}
