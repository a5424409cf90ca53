// SPDX-License-Identifier: Apache-2.0
//! anybinder-device-plugin: gives pods of a Kubernetes node Binder (docs/CONTAINERS.md).
mod api;
mod cdi;
mod endpoint;
mod kubelet_service;
mod pool;
mod worker;

use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output;
use anybinder_mount::mount::{Mount, DEFAULT_PATH};
use cdi::Specification;
use clap::Parser;
use endpoint::Resource;
use pool::{Kind, Pool};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{signal, SignalKind};
use worker::Worker;

/// No node runs more containers.
const MOST: i64 = 10_000;

fn up_to_most() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(..=MOST)
}

/// Gives pods of this Kubernetes node Binder: registers with the kubelet as a device plugin
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The mount whose devices pods get, at the path that it has on the node
    #[arg(long, value_name = "DIR", default_value = DEFAULT_PATH)]
    mount: PathBuf,

    /// How many containers may have a context of their own, anybinder.dev/binder
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = up_to_most())]
    contexts: u32,

    /// How many containers may have the devices of the machine, anybinder.dev/binder-shared
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = up_to_most())]
    shared: u32,

    /// Where the runtime reads specifications of CDI: the kubelet is then given names of devices,
    /// which pods with user namespaces of their own need (hostUsers: false)
    #[arg(long, value_name = "DIR")]
    cdi: Option<PathBuf>,

    /// Where the kubelet has its socket
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/lib/kubelet/device-plugins"
    )]
    kubelet: PathBuf,
}

fn resources(arguments: &Arguments, mount: &Mount) -> Vec<Resource> {
    let all = [
        ("anybinder.dev/binder", Kind::Own, arguments.contexts),
        (
            "anybinder.dev/binder-shared",
            Kind::Shared,
            arguments.shared,
        ),
    ];
    let offered = all.into_iter().filter(|(_, _, count)| *count > 0);
    let resource = |(name, kind, count): (&str, Kind, u32)| {
        let file = name.replace(['.', '/'], "-");
        let specification = |directory: &PathBuf| Specification::new(directory, &file);
        Resource {
            name: name.into(),
            socket: format!("{file}.sock"),
            pool: Arc::new(Pool {
                kind,
                mount: mount.clone(),
                count,
                worker: Worker::default(),
                specification: arguments.cdi.as_ref().map(specification),
            }),
        }
    };
    offered.map(resource).collect()
}

async fn run(arguments: Arguments, mount: Mount) -> std::io::Result<()> {
    let mut ends = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ];
    for resource in resources(&arguments, &mount) {
        tokio::spawn(endpoint::serve(arguments.kubelet.clone(), resource));
    }
    let [terminate, interrupt] = &mut ends;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn serve(arguments: Arguments) -> Result<ExitCode> {
    let mount = Mount::new(Some(arguments.mount.clone()), None)?;
    // Who may write to a socket may connect.
    // SAFETY: a plain call.
    unsafe { libc::umask(0o022) };
    // A child that asked a mount without an answer is waited for by nobody.
    // SAFETY: a plain call.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let doing = || "serving the kubelet".to_string();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().doing(doing)?;
    let outcome = runtime.block_on(run(arguments, mount));
    // A thread that waits for the mount must not keep the plugin's pod from ending.
    runtime.shutdown_background();
    outcome.doing(doing)?;
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let outcome = serve(Arguments::parse());
    output::exit("anybinder-device-plugin", false, outcome)
}
