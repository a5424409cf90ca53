// SPDX-License-Identifier: Apache-2.0
//! Parcels by types: values written as JSON become the bytes and objects of a transaction, and the
//! bytes of a reply become JSON.
//!
//! * `types`: what a value is on the wire; `words`: the types and values of a command line
//! * `aidl`: the types and methods in `.aidl` files
//! * `budget`: how much work and output others may cause
//! * `encode`, `decode`, `status`: between JSON and parcels
//! * `header`: what a call begins with; `method`: the parcels of the calls of a method
//! * `interface_methods`: the methods of an interface by name and by code
//! * `loose_types`: those of bundles, and of Java's maps and lists
//! * `shape`: where objects and sizes are in the parcels of a method
//!
//! Nothing here talks to a driver: a parcel names services and files, and the caller puts objects
//! in their places.
pub mod aidl;
pub mod budget;
pub mod decode;
pub mod encode;
pub mod header;
pub mod interface_methods;
pub mod loose_types;
pub mod method;
pub mod shape;
pub mod status;
pub mod types;
pub mod words;

#[cfg(test)]
mod limits_test;
#[cfg(test)]
mod round_trip_test;
#[cfg(test)]
mod scratch;
