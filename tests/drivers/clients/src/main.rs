// SPDX-License-Identifier: Apache-2.0
//! Real clients on a mounted Binder file system of any driver.
//!
//! Without a subcommand this is the runner: it starts each case as a separate process with a
//! time limit, and prints the results. The cases start services, which are this program in
//! another role. The mount is an option, so the same cases run on the daemon and on the module.
mod callback;
mod case_runner;
mod cases;
mod descriptors;
mod fixture;
mod gateway;
mod peer_process;
mod remote;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/test_aidl.rs"));
}

/// The generated interfaces, without the package path.
mod aidl {
    pub use crate::generated::anybinder::test::Envelope::Envelope;
    pub use crate::generated::anybinder::test::ICallback::{BnCallback, ICallback};
    pub use crate::generated::anybinder::test::IPeer::{BnPeer, IPeer};
    pub use crate::generated::anybinder::test::Record::Record;
}

use aidl::IPeer;
use clap::{Args, Parser, Subcommand};
use fixture::{Failure, Fixture, Verdict};
use rsbinder::{FromIBinder, ProcessState, Strong};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit status of a case that cannot be checked here.
pub const EXIT_SKIPPED: u8 = 77;

/// Test a Binder file system with real clients
#[derive(Parser)]
#[command(version, name = "client-tests")]
struct Cli {
    /// Where the Binder file system is mounted
    #[arg(long, default_value = "/dev/binderfs", global = true)]
    mount: PathBuf,

    #[command(subcommand)]
    role: Option<Role>,

    #[command(flatten)]
    runner: case_runner::Options,
}

#[derive(Subcommand)]
enum Role {
    /// Run one case in this process
    Case { name: String },
    /// Be a service
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        name: String,
        #[arg(long)]
        max_threads: u32,
    },
    /// Manage the context of a device
    #[command(hide = true)]
    Manage(Device),
    /// Print the pid of the process that manages the context of a device
    #[command(hide = true)]
    WhoManages(Device),
    /// Print the pid and the uid that a service sees of this process
    #[command(hide = true)]
    WhoAmI {
        #[arg(long)]
        name: String,
    },
    /// Be a client of a service on another machine
    #[command(hide = true)]
    Gateway {
        #[arg(long)]
        name: String,
        /// Files cross, too; else they are refused
        #[arg(long)]
        files: bool,
        /// Send none
        #[arg(long, conflicts_with = "files")]
        no_files: bool,
    },
    /// Be a service that speaks RPC Binder at a wire version
    #[command(hide = true)]
    RpcServe(Remote),
    /// Be a client that does
    #[command(hide = true)]
    RpcCall(Remote),
    /// Be one client of many
    #[command(hide = true)]
    Mix {
        #[arg(long)]
        name: String,
        #[arg(long)]
        seed: i32,
    },
}

#[derive(Args)]
struct Device {
    #[arg(long)]
    device: String,
}

#[derive(Args)]
struct Remote {
    #[arg(long)]
    socket: PathBuf,
    #[arg(long)]
    version: u32,
}

fn one_case(mount: &Path, name: &str) -> Verdict {
    let case = cases::all()
        .find(|case| case.name == name)
        .ok_or("no such case")?;
    (case.run)(&Fixture::open(mount, name, 15)?)
}

fn who_manages(device: &Path) -> Verdict {
    let state = ProcessState::init(&device.to_string_lossy(), 0)?;
    let manager: Strong<dyn IPeer> = FromIBinder::try_from(state.context_object()?)?;
    println!("{}", manager.pid()?);
    Ok(())
}

fn who_am_i(mount: &Path, name: &str) -> Verdict {
    let _fixture = Fixture::open(mount, "who", 0)?;
    let peer: Strong<dyn IPeer> = rsbinder::hub::check_interface(name)?;
    println!("{} {}", peer.callingPid()?, peer.callingUid()?);
    Ok(())
}

fn one_of_many(mount: &Path, name: &str, seed: i32) -> Verdict {
    let _fixture = Fixture::open(mount, "mix", 15)?;
    let peer: Strong<dyn IPeer> = rsbinder::hub::wait_for_interface(name)?;
    cases::parallel::mix(&peer, seed)
}

fn play(mount: &Path, role: Role) -> Verdict {
    let device = |name: &str| mount.join(name);
    let path = |name: &str| device(name).to_string_lossy().into_owned();
    match role {
        Role::Case { name } => one_case(mount, &name),
        Role::Serve { name, max_threads } => {
            Ok(peer_process::serve(&path("binder"), &name, max_threads)?)
        }
        Role::Manage(which) => Ok(peer_process::manage(&path(&which.device))?),
        Role::WhoManages(which) => who_manages(&device(&which.device)),
        Role::WhoAmI { name } => who_am_i(mount, &name),
        Role::Gateway {
            name,
            files,
            no_files,
        } => {
            let has_files = (!no_files).then_some(files);
            gateway::run(&Fixture::open(mount, "far", 4)?, &name, has_files)
        }
        Role::RpcServe(at) => remote::serve(&at.socket, at.version),
        Role::RpcCall(at) => remote::call(&at.socket, at.version),
        Role::Mix { name, seed } => one_of_many(mount, &name, seed),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Some(role) = cli.role else {
        return case_runner::run(&cli.mount, &cli.runner);
    };
    match play(&cli.mount, role) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Skipped(why)) => {
            println!("{why}");
            ExitCode::from(EXIT_SKIPPED)
        }
        Err(Failure::Failed(why)) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
