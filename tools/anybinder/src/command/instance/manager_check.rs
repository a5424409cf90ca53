// SPDX-License-Identifier: Apache-2.0
//! `anybinder manager-check`: whether a service manager answers on one device. For other commands,
//! which ask about several devices (see `anybinder_mount::manager_check`).
use crate::command::services::list;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::manager_check::{ManagerCheck, ManagerState};
use std::process::ExitCode;

/// The names under which a service manager registers itself: Android's, and that of HIDL.
const SELF: [&str; 2] = [
    "manager",
    "android.hidl.manager@1.0::IServiceManager/default",
];

pub fn run(context: &Context, option: &DeviceOption) -> Result<ExitCode> {
    device::open(&context.mount, &option.device, 0)?;
    let manager = device::service_manager(&context.mount, &option.device)?;
    // A service manager of another version or policy may refuse this.
    let services = list::services(&manager).unwrap_or_default();
    let own = services
        .iter()
        .find(|service| SELF.contains(&service.name.as_str()));
    let check = ManagerCheck {
        device: option.device.clone(),
        state: ManagerState::Answers,
        pid: own.and_then(|service| u32::try_from(service.place.pid).ok()),
    };
    context.show(&check, |check| println!("{check:?}"));
    Ok(ExitCode::SUCCESS)
}
