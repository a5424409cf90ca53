// SPDX-License-Identifier: Apache-2.0
//! `.aidl` files: what is declared in them (`syntax`), and all of a directory (`library`).
//!
//! rsbinder-aidl does not export what it parses, and aidl-parser knows neither unions nor nested
//! types nor constants, so the grammar is here, for the parser generator pest.
mod constant;
pub mod entry;
pub mod library;
pub mod syntax;

pub use library::Library;
