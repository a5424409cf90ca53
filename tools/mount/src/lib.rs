// SPDX-License-Identifier: Apache-2.0
//! A mounted Binder file system and the daemon behind it, for command-line programs.
//!
//! * `mount`: a mount directory, what serves it, its devices; `nodes`: devices outside a mount;
//!   `binderfs`: the files it offers; `served`: whether it can be used; `access`: who may open a
//!   device; `device_check`: what this user finds on each device; `state`: what its reports say of
//!   processes, objects and transactions
//! * `instance`: starts and stops a daemon and its service managers (`daemon`, `manager`,
//!   `keeper`, `record`, `process`); `temporary`: the same for as long as one command runs
//! * `generation`: which server of a daemon serves the mount; replacing it while it serves;
//!   `programs`: whether its program is the one that is installed
//! * `directory`: directories that no other user can change; `probe`: system calls that may never
//!   return; `limit`: a time limit for a whole command
//! * `namespace`: mount namespaces, for mounts without root and for programs that know only
//!   `/dev/binderfs`
//! * `error`, `context`, `harmless`, `interrupt`, `note`: what every command line needs
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod access;
pub mod binderfs;
pub mod context;
pub mod daemon;
pub mod device_check;
pub mod directory;
pub mod error;
pub mod found;
pub mod generation;
pub mod harmless;
pub mod instance;
pub mod interrupt;
pub mod keeper;
pub mod limit;
pub mod manager;
pub mod mount;
pub mod namespace;
pub mod nodes;
pub mod note;
pub mod probe;
pub mod process;
pub mod programs;
pub mod record;
mod served;
pub mod state;
pub mod temporary;
