// SPDX-License-Identifier: Apache-2.0
//! The AddInts example: its interface, generated from AIDL, and its service.
use crate::device::{self, DeviceOption};
use aidl::{BnAddInts, IAddInts};
use anybinder_cli::error::{Doing, Result};
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use rsbinder::{BinderResult, Interface, ParcelFileDescriptor, ProcessState, StatusCode, Strong};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/demo_aidl.rs"));
}
pub use generated::anybinder::demo::IAddInts as aidl;

/// The name under which the service is registered.
pub const NAME: &str = "anybinder.demo.IAddInts/default";

struct AddInts;

impl Interface for AddInts {}

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

/// Opens the device `binder` and waits until the service is registered there.
///
/// * `max_threads`: how many threads may serve incoming calls and notifications
pub fn connect(mount: &Mount, max_threads: u32) -> Result<Strong<dyn IAddInts>> {
    device::open(mount, "binder", max_threads)?;
    device::service_manager(mount, "binder")?;
    ProcessState::start_thread_pool();
    rsbinder::hub::wait_for_interface(NAME).doing(|| format!("waiting for {NAME}"))
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceOption,
    /// The name under which it is registered
    #[arg(long, default_value = NAME)]
    name: String,
}

/// Registers the service, once there is a service manager, and serves it. Returns only if that
/// fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    device::open(&context.mount, device, 4)?;
    device::wait_for_manager(&context.mount, device)?;
    let manager = device::manager(&context.mount, device)?;
    ProcessState::start_thread_pool();
    let service = BnAddInts::new_binder(AddInts);
    manager.add(&arguments.name, service.as_binder())?;
    // For a program that waits for it.
    context.show(&arguments.name, |_| {});
    ProcessState::join_thread_pool().doing(|| "serving".to_string())?;
    Ok(ExitCode::SUCCESS)
}

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
