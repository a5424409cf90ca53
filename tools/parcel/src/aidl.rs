// SPDX-License-Identifier: Apache-2.0
//! `.aidl` files: what is declared in them (`syntax`, behind `brackets`), and all of a directory
//! (`library`): which files there are (`sources`), what a declaration knows (`entry`), and what its
//! constants are (`values`, by `constant`, kept in `computed`).
//!
//! rsbinder-aidl does not export what it parses, and aidl-parser knows neither unions nor nested
//! types nor constants, so the grammar is here, for the parser generator pest.
mod brackets;
mod computed;
mod constant;
pub mod entry;
pub mod library;
mod sources;
pub mod syntax;
mod values;

#[cfg(test)]
mod constant_test;

pub use library::Library;
pub use sources::Roots;
