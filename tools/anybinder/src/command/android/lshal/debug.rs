// SPDX-License-Identifier: Apache-2.0
//! `anybinder lshal debug`: what a HIDL service says of itself, which it writes into a file that
//! `debug` of `IBase` brings, with words for the service.
use super::DEVICE;
use crate::command::services::arguments::refused;
use anybinder_cli::error::{Doing, Result};
use anybinder_client::device::{call_error, no_device, no_service};
use anybinder_client::output_stream::{cut_error, MostOutput, Stream, Written};
use anybinder_driver::abi::{TF_ACCEPT_FDS, TYPE_FD_ARRAY};
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::hidl_parcel::Reader;
use anybinder_driver::parcel::{Parcel, Target};
use anybinder_driver::raw_call::Reply;
use anybinder_mount::context::Context;
use anybinder_servicemanager::hidl_interface::base_code;
use rsbinder::StatusCode;
use serde::Serialize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

/// The service manager: its handle, its interface, and the code of `get`.
const MANAGER: u32 = 0;
const SERVICE_MANAGER: &str = "android.hidl.manager@1.0::IServiceManager";
const GET: u32 = 1;
const BASE: &str = "android.hidl.base@1.0::IBase";
/// What stands in front of the files of a `native_handle`: its own size, and two counts.
const HANDLE_HEAD: u64 = 12;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Its interface and instance, `/default` if that is left out
    #[arg(value_name = "INTERFACE/INSTANCE")]
    pub name: String,

    /// Leave out a service that is also of a newer interface
    #[arg(short = 'E')]
    exact: bool,

    #[command(flatten)]
    most: MostOutput,

    /// Words for the service
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WORD"
    )]
    words: Vec<String>,
}

#[derive(Serialize)]
struct Debug {
    name: String,
    text: String,
    /// There was more: see --max-output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// Calls an object; a reply that begins with success, which `read` gets behind that.
fn call<T>(
    driver: &mut Driver,
    (handle, code): (u32, u32),
    request: Parcel,
    read: impl FnOnce(&mut Driver, &Reply) -> std::result::Result<T, StatusCode>,
) -> Result<std::result::Result<T, StatusCode>> {
    let mut serve = |driver: &mut Driver, event: Event| driver.refuse(event);
    let called = driver.call((handle, code, TF_ACCEPT_FDS), request, None, &mut serve);
    let outcome = called.doing(|| "calling a service".to_string())?;
    Ok(outcome.reply().and_then(|reply| {
        let found = read(driver, &reply);
        driver.give_back(&reply);
        found
    }))
}

fn success(reader: &mut Reader) -> std::result::Result<(), StatusCode> {
    match reader.i32()? {
        0 => Ok(()),
        status => Err(status.into()),
    }
}

/// The handle of a service; None if there is none.
fn look_up(driver: &mut Driver, interface: &str, instance: &str) -> Result<Option<u32>> {
    let mut request = Parcel::hidl_call(SERVICE_MANAGER);
    request.hidl_string(interface).hidl_string(instance);
    let found = call(driver, (MANAGER, GET), request, |driver, reply| {
        driver.keep_handles(reply);
        let open = driver.opened();
        let mut reader = Reader::new(&reply.data, &reply.offsets, &open.map);
        success(&mut reader)?;
        Ok(match reader.binder()?.map(|binder| binder.target) {
            Some(Target::Handle(handle)) => Some(handle),
            _ => None,
        })
    })?;
    found.map_err(|status| call_error("The service manager failed to look it up", status))
}

/// The newest interface of a service.
fn newest(driver: &mut Driver, handle: u32) -> Result<std::result::Result<String, StatusCode>> {
    let request = Parcel::hidl_call(BASE);
    call(
        driver,
        (handle, base_code(*b"DSC")),
        request,
        |driver, reply| {
            let open = driver.opened();
            let mut reader = Reader::new(&reply.data, &reply.offsets, &open.map);
            success(&mut reader)?;
            reader.string()
        },
    )
}

/// Appends a `native_handle` with one file, which is open until the parcel is sent.
fn append_file(request: &mut Parcel, file: &OwnedFd) {
    // The size of its head, how many files and numbers it has, and the files.
    let words = [HANDLE_HEAD as i32, 1, 0, file.as_raw_fd()];
    let handle: Vec<u8> = words.into_iter().flat_map(i32::to_ne_bytes).collect();
    request.data.extend((handle.len() as u64).to_ne_bytes());
    let parent = request.hidl_buffer(handle, None);
    request.offsets.push(request.data.len() as u64);
    request.data.extend(TYPE_FD_ARRAY.to_ne_bytes());
    request.data.extend(0u32.to_ne_bytes());
    for word in [1, parent, HANDLE_HEAD] {
        request.data.extend(word.to_ne_bytes());
    }
}

fn ask(
    mut driver: Driver,
    handle: u32,
    end: &OwnedFd,
    words: &[String],
) -> Result<std::result::Result<(), StatusCode>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut request = Parcel::hidl_call(BASE);
    append_file(&mut request, end);
    request.hidl_strings(&words);
    call(
        &mut driver,
        (handle, base_code(*b"DBG")),
        request,
        |driver, reply| {
            let open = driver.opened();
            success(&mut Reader::new(&reply.data, &reply.offsets, &open.map))
        },
    )
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = super::whole_name(&arguments.name);
    let (interface, instance) = name.split_once('/').unwrap_or((&name, "default"));
    context.mount.check_device(DEVICE)?;
    let opened = Driver::open(&context.mount.file(DEVICE));
    let mut driver = opened.map_err(|err| no_device(&context.mount, DEVICE, &err.to_string()))?;
    let handle = look_up(&mut driver, interface, instance)?.ok_or_else(|| no_service(&name))?;
    let failed = |status| refused(&name, "debug", status);
    if arguments.exact && newest(&mut driver, handle)?.map_err(failed)? != interface {
        return Ok(ExitCode::SUCCESS);
    }
    let most = arguments.most.max_output;
    let stream = Stream::new(std::io::stdout(), (context.json, most), || {})?;
    let (end, words) = (stream.end()?, arguments.words.clone());
    // The call lasts as long as the service writes.
    let call = std::thread::spawn(move || ask(driver, handle, &end, &words));
    let Written { text, is_cut } = stream.finish();
    if !is_cut {
        let outcome = call.join().unwrap_or(Ok(Err(StatusCode::Unknown)));
        outcome?.map_err(failed)?;
    }
    let debug = Debug {
        name: name.clone(),
        text,
        cut: is_cut,
    };
    context.show(&debug, |_| {});
    match is_cut {
        true => Err(cut_error(&name, most)),
        false => Ok(ExitCode::SUCCESS),
    }
}
