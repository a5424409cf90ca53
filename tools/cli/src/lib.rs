// SPDX-License-Identifier: Apache-2.0
//! What every command-line program of anybinder shares.
//!
//! * `error`: errors of one sentence and advice, and the exit statuses
//! * `output`: text or JSON (`--json`), lines that cannot control a terminal, the last error
//! * `new_file`: a file that is written where others may write as well
//! * `time_limit`: a time limit for a whole command (`--timeout`), and durations of a command line
//! * `interrupt`: signals that end a long command after it has cleaned up
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod error;
mod escape;
pub mod interrupt;
pub mod new_file;
pub mod output;
pub mod time_limit;
