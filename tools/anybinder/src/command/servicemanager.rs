// SPDX-License-Identifier: Apache-2.0
//! `anybinder servicemanager`: started for each device by `up` or by a unit file.
use anybinder_client::device::DeviceOption;
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::manager::{self, ManagerOptions};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceOption,
    #[command(flatten)]
    options: ManagerOptions,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    Err(manager::become_manager(
        &context.mount,
        device,
        &arguments.options,
    ))
}
