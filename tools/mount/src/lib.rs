// SPDX-License-Identifier: Apache-2.0
//! A mounted Binder file system and the daemon behind it, for command-line programs.
//!
//! * `mount`: a mount directory, what serves it, its devices, also those outside a mount;
//!   `mount_table`: what is mounted where;
//!   `binderfs`: the files it offers; `served`: whether it can be used; `device_access`: who may
//!   open a device; `device_check`: what this user finds on each device; `state_report`: what its
//!   reports say of processes, objects and transactions
//! * `instance`: starts and stops a daemon and its service managers (`daemon`, `manager_process`,
//!   `keeper`, `record`, `process`); `temporary`: the same for as long as one command runs
//! * `generation`: which server of a daemon serves the mount, and whether its program is the one
//!   that is installed; replacing it while it serves
//! * `private_directory`: directories that no other user can change; `probe`: system calls that may
//!   never return
//! * `namespace`: mount namespaces, for mounts without root and for programs that know only
//!   `/dev/binderfs`
//! * `context`: what every command is given
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod binderfs;
pub mod context;
pub mod daemon;
pub mod daemon_processes;
pub mod device_access;
pub mod device_check;
pub mod generation;
pub mod instance;
pub mod keeper;
pub mod manager_process;
pub mod mount;
mod mount_table;
pub mod namespace;
pub mod private_directory;
pub mod probe;
pub mod process;
pub mod record;
mod served;
pub mod state_report;
pub mod temporary;

// For the benchmarks, until they name the crate.
pub use anybinder_cli::{error, interrupt};
