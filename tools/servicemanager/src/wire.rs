// SPDX-License-Identifier: Apache-2.0
//! The lowest layer: what stands in the parcels of a service manager and of its clients, and who
//! sent them. Nothing here knows what is registered, or who may do what.
pub mod attached_files;
pub mod caller;
pub mod hidl;
pub mod level;
pub mod notification;
pub mod port;
pub mod reply;
