// SPDX-License-Identifier: Apache-2.0
//! What happens in a Binder driver: its events, and the calls that they make up.
//!
//! * `event`: one event, from whichever source
//! * `ring`: the daemon's `binder_logs/events`; `tracefs`: the tracepoints of a kernel's driver;
//!   `source`: whichever of them a mount has; `instance`: an instance of tracefs
//! * `call`: from events to calls
//! * `payload`: the data of a call
//! * `names`: what threads and objects are called
//! * `stream`: a source that a thread reads
//! * `recording`: events and names in a file
//! * `perfetto`: a recording as a trace for Perfetto
pub mod call;
pub mod event;
pub mod instance;
pub mod names;
pub mod payload;
pub mod perfetto;
pub mod recording;
pub mod source;
pub mod stream;

mod idle;
mod ring;
mod tracefs;
