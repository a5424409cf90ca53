// SPDX-License-Identifier: Apache-2.0
//! A mounted Binder file system and the daemon behind it.
pub mod context;
pub mod daemon;
pub mod home;
pub mod instance;
pub mod interrupt;
pub mod manager;
pub mod namespace;
pub mod place;
pub mod process;
pub mod trouble;
