// SPDX-License-Identifier: Apache-2.0
//! The raw driver, and the parcels of its transactions at every Android level.
//!
//! rsbinder opens one device for each process, has the parcels of one level, and asks each binder
//! that it is given for its interface. What must not do so, or reads other parcels, is built on
//! this; rsbinder's statuses are used.
//!
//! * `abi`: the structures, commands and object types of the driver's header
//! * `receive_map`: an open device and its receive buffer; `driver`: one thread there, `raw_call`:
//!   its calls
//! * `level`: what differs between Android releases; `parcel`: parcels of AIDL, `hidl_parcel`: of
//!   HIDL
//! * `relay`: passes on what comes for objects that stand for others
pub mod abi;
pub mod driver;
pub mod hidl_parcel;
pub mod level;
pub mod parcel;
pub mod raw_call;
pub mod receive_map;
pub mod relay;
