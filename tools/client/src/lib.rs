// SPDX-License-Identifier: Apache-2.0
//! A Binder client over rsbinder, and the AddInts example service.
//!
//! * `device`: opens a device and finds services
//! * `raw`: sends parcels that are made of bytes and objects
//! * `output_stream`: a pipe for a service
//! * `raw_manager`: the service manager, without asking services for anything; `objects`: what it
//!   finds, and files, in parcels; `unasked`: one-way calls to a service that may not answer
//! * `restarts`: how often services were restarted of late
//! * `stand_in`: processes that have the names of services and pass calls on
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod addints;
pub mod device;
pub mod objects;
pub mod output_stream;
pub mod place;
pub mod raw;
pub mod raw_manager;
pub mod restarts;
pub mod stand_in;
mod unasked;
