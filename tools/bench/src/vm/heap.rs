// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench heap` in an emulated machine that loads the module of the heap.
use crate::cell::own_program;
use crate::daemon::die_with_parent;
use crate::machine::{top, KERNEL_HELP};
use anybinder_mount::error::{Doing, Error, Result};
use std::process::Command;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(long, value_name = "NAME", default_value = "6.12", help = KERNEL_HELP)]
    kernel: String,

    /// Arguments of `anybinder bench heap`; a directory for its files must exist
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs it, with both locking modes in one machine. The heap has a name that no kernel uses.
pub fn run(arguments: &Arguments) -> Result<()> {
    let top = top()?;
    let module = top
        .join("build/module")
        .join(&arguments.kernel)
        .join("anybinder_heap.ko");
    let mut command = Command::new(top.join("vm/run"));
    command.args([
        "--kernel",
        &arguments.kernel,
        "--memory",
        "2048",
        "--smp",
        "4",
    ]);
    command
        .args(["--timeout", "1500", "--share"])
        .arg(top.join("build"));
    let inside = "insmod \"$1\" heaps=pooled, && shift && exec \"$@\" --heap /dev/dma_heap/pooled";
    command
        .args(["--", "/bin/sh", "-c", inside, "sh"])
        .arg(module);
    command.arg(own_program()?).args(["bench", "heap"]);
    command.args(&arguments.arguments);
    die_with_parent(&mut command);
    let status = command.status().doing(|| "starting vm/run".to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::new(format!("The machine ended: {status}."))),
    }
}
