// SPDX-License-Identifier: Apache-2.0
//! `anybinder up`: the daemon, then a service manager on each wanted device.
use anybinder_mount::context::Context;
use anybinder_mount::instance::{self, InstanceOptions};
use anybinder_mount::trouble::Result;
use std::process::ExitCode;

pub fn run(context: &Context, options: &InstanceOptions) -> Result<ExitCode> {
    let note = instance::bring_up(&context.place, options)?;
    context.show(&note, |note| {
        println!("up at {}: daemon {}", note.mount.display(), note.daemon.pid);
        for manager in &note.managers {
            println!(
                "service manager {} on {}",
                manager.process.pid, manager.device
            );
        }
        if note.private {
            println!("only programs started with `anybinder run -- CMD` see it");
        }
    });
    Ok(ExitCode::SUCCESS)
}
