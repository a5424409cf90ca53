// SPDX-License-Identifier: Apache-2.0
//! A Binder client over rsbinder, and the AddInts example service.
pub mod addints;
pub mod device;
pub mod foreign;
