// SPDX-License-Identifier: Apache-2.0
//! `anybinder up`: the daemon, then a service manager on each wanted device.
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::instance::{self, InstanceOptions};
use std::process::ExitCode;

pub fn run(context: &Context, options: &InstanceOptions) -> Result<ExitCode> {
    let record = instance::start(&context.mount, options)?;
    context.show(&record, |record| {
        println!(
            "up at {}: daemon {}",
            record.mount.display(),
            record.daemon.pid
        );
        for manager in &record.managers {
            println!(
                "service manager {} on {}",
                manager.process.pid, manager.device
            );
        }
        if record.private {
            println!("only programs started with `anybinder run -- CMD` see it");
        }
    });
    Ok(ExitCode::SUCCESS)
}
