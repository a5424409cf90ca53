// SPDX-License-Identifier: Apache-2.0
//! The service manager of anybinder: one process for any number of devices, clients of every
//! Android level on each.
//!
//! Four layers, of which each uses those above it in this list only:
//!
//! - `wire`: what stands in the parcels, at every level (`wire::level`: which level speaks?)
//! - `registry`: what is registered, and who is told of it
//! - `policy`: who may do what (it does not use the registry, nor the registry it)
//! - `serve`: the methods, and the threads that run them
//!
//! A thread serves each device, by itself: no call blocks it, since all that it sends are replies
//! and one-way calls. The one call that waits for a process that is not trusted, HIDL's question
//! what a service is, is made by a thread that another one has relieved (`serve::device_server`).
//! The transactions are raw (`anybinder_driver`); rsbinder's statuses, exceptions and codes are
//! used.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod policy;
mod registry;
mod serve;
mod wire;

pub use policy::{pattern, rule_files};
pub use registry::DEFAULT_PER_USER;
pub use serve::{serve, Cause, End, Options, Protocol};
pub use wire::hidl::interface as hidl_interface;
pub use wire::level::numbering;
pub use wire::level::{DESCRIPTOR, LEVEL_TRANSACTION};
