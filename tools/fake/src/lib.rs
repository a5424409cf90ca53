// SPDX-License-Identifier: Apache-2.0
//! Services that answer as told: what a test of a client has in place of the real ones.
//!
//! Every value is of the type that an `.aidl` file declares, and is checked and written as a parcel
//! when the answer is given, before anything is registered. A call is then a lookup, a note of what
//! came, and a reply that is ready. The driver is spoken to directly (`anybinder_driver`): one open
//! device, whose threads wait in it; there is always one more than those that have to wait.
//!
//! * `step`: one answer of a sequence, as JSON; `answer_text`: as it is written on a command line
//! * `prepared`: answers as parcels, sequences, and which one is next
//! * `answers_file`: which services there are, from a command line and a file; `recording`: what
//!   they answered once
//! * `bus`: the open device, its service manager, objects in parcels
//! * `serve`: the threads; `journal`: which calls came
//! * `json_lines`: a program that answers and calls by lines of JSON; `client`: the calls that it
//!   makes; `known`: the objects that these calls have found
use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod answer_text;
pub mod answers_file;
pub mod bus;
pub mod client;
pub mod journal;
pub mod json_lines;
pub mod known;
pub mod prepared;
pub mod recording;
pub mod serve;
pub mod step;

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
