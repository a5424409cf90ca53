// SPDX-License-Identifier: Apache-2.0
//! What `anybinder trace`, `anybinder top` and `anybinder graph` know of a running system.
//!
//! * `backlog`: one-way calls that wait for their turn
//! * `interfaces`: what interface each service says it has
//! * `meter`: how often each method is called, and how long its calls take, from the events
//! * `known`: what is known of processes beside the driver's reports, as how much they map
//! * `nodes`: which object is which service, by the service manager alone
//! * `past`: what a recording tells of a time
//! * `thread_priority`: policies and priorities
//! * `text`: codes and times as text
//! * `waits`: what the threads wait for, and the circles that they wait in
pub mod backlog;
pub mod interfaces;
pub mod known;
pub mod meter;
pub mod methods;
pub mod nodes;
pub mod past;
pub mod text;
pub mod thread_priority;
pub mod waits;
