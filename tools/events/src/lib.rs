// SPDX-License-Identifier: Apache-2.0
//! What happens in a Binder driver: its events, and the calls that they make up.
//!
//! * `event`: one event, from whichever source
//! * `ring`: the daemon's `binder_logs/events`; `tracefs`: the tracepoints of a kernel's driver;
//!   `tracefs_instance`: an instance of tracefs
//! * `calls`: from events to calls
//! * `beforehand`: what there is before the first event
//! * `payload`: the data of a call
//! * `thread_names`: what threads and objects are called
//! * `event_stream`: whichever source a mount has, and a thread that reads it
//! * `recording`: events and names in a file
//! * `perfetto`: a recording as a trace for Perfetto
pub mod calls;
pub mod event;
pub mod event_stream;
pub mod payload;
pub mod perfetto;
pub mod recording;
pub mod thread_names;
pub mod tracefs_instance;

mod beforehand;
mod ring;
mod tracefs;
