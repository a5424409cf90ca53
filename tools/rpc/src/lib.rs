// SPDX-License-Identifier: Apache-2.0
//! Services on other machines: Binder calls carried over RPC Binder, and back.
//!
//! RPC Binder is libbinder's protocol for Binder calls over a socket; `rsbinder` speaks it. A
//! *relay* is a local object that stands for an object on the other side: it copies each call there
//! and its reply back. `export` puts relays of local services behind a socket; `link` puts a relay
//! of a service behind a socket into this machine's service manager.
//!
//! * `parcel_bytes`: the bytes of a parcel, and the objects in them; `dialect`: those of old
//!   releases, and the word that a libbinder wants in a call
//! * `copy`: what a parcel of one side becomes on the other
//! * `gateway`: the same by the types of `.aidl` files, where parcels do not say enough
//! * `relay`: the object that stands for another one; `call_turns`: whose call goes next; `answer`:
//!   what is done at a reply
//! * `address`, `tls`, `access`: where the other machine is, who it is, and what it may call
//! * `listener`: accepts connections; `handshakes`: those whose peer is not known yet;
//!   `connections`: those whose peer is, in slots; `service_directory`: several services at one
//!   address
//! * `foreign`: the service manager, also of other levels and other libbinders
//! * `status_text`: Binder's statuses in words; `peer_log`: what is said about peers
//! * `export`, `link`, `accessor`: the two ends
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod access;
pub mod accessor;
pub mod address;
mod answer;
pub mod call_turns;
pub mod connections;
pub mod copy;
pub mod dialect;
pub mod export;
pub mod foreign;
pub mod gateway;
pub mod handshakes;
pub mod link;
pub mod listener;
pub mod parcel_bytes;
pub mod peer_log;
pub mod relay;
pub mod service_directory;
pub mod status_text;
pub mod tls;
