// SPDX-License-Identifier: Apache-2.0
//! The service manager of anybinder: one process for any number of devices, clients of every
//! Android level on each.
//!
//! A thread serves each device, by itself: no call blocks it, since all that it sends are replies
//! and one-way calls. The one call that waits for a process that is not trusted, HIDL's question
//! what a service is, is made by a thread that another one has relieved (`server`). The
//! transactions are raw (`anybinder_driver`); rsbinder's statuses, exceptions and codes are used.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod callbacks;
mod caller;
mod clients;
mod contexts;
mod device;
mod files;
mod handles;
mod hidl;
mod lazy;
mod level_set;
mod listing;
mod log;
mod manager;
mod methods;
pub mod numbering;
mod outbox;
pub mod pattern;
mod policy;
mod positions;
mod protocol;
mod queues;
mod quota;
mod registry;
mod reply;
mod request;
pub mod rules;
mod server;
mod state;
mod turns;
mod users;
mod waiting;
mod watches;

#[cfg(test)]
mod bench;
#[cfg(test)]
mod fairness_test;
#[cfg(test)]
mod hidl_fairness_test;
#[cfg(test)]
mod hidl_test;
#[cfg(test)]
mod manager_test;

pub use device::{serve, Options};
pub use protocol::Protocol;
pub use quota::DEFAULT_PER_USER;
pub use request::DESCRIPTOR;
pub use server::{Cause, End};
