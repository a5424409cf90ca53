// SPDX-License-Identifier: Apache-2.0
//! `android.hidl.manager::IServiceManager`, the service manager of HIDL (`hwservicemanager`).
//!
//! The numbering never changed: version 1.1 added method 9 to the eight of 1.0, and 1.2 methods 10
//! to 14. A request begins with the name of the interface that has the method, a reply with a
//! status, 0. What every interface has (`android.hidl.base@1.0::IBase`) has codes of four letters.
pub mod interface;
pub mod names;

use super::reply::Reply;
use anybinder_driver::hidl_parcel::{set_head, Embedded, Reader, Struct};
use anybinder_driver::parcel::{Parcel, Result};
use anybinder_driver::receive_map::Memory;
use interface::{base_code, INTERFACE_CHAIN, MAX_CHAIN};
use names::{split, CHAIN};
use rsbinder::StatusCode;

/// The SHA-256 sums of their definitions as they were released.
const HASHES: [&str; 4] = [
    "6f3a8a3fd4bfbd02e4e61c732d2df616ff69434a1ed83cda337303adc6d714df",
    "0b94dc876f749ed24a98f61c41d46ad75a27511163f1968a084213a33c684ef6",
    "85394f8a0d15e7fb2ee45c52d1fb8b8fd3c13c333e63c78c4aa1ff86840cf6dc",
    "ec7fd79ed02dfa85bc499426adae3ebe23ef0524f3cd6957139324b83b18ca4c",
];

/// The size and the 64-bit architecture of `DebugInfo`.
const DEBUG_INFO_SIZE: usize = 24;
const ARCHITECTURE_AT: usize = 16;
const IS_64BIT: u8 = 1;

/// `InstanceDebugInfo` and the places of its members.
const INFO_SIZE: usize = 64;
const INFO_INTERFACE: usize = 0;
const INFO_INSTANCE: usize = 16;
const INFO_PID: usize = 32;
const INFO_CLIENT_PIDS: usize = 40;

/// Whether a request is one of HIDL. An AIDL request begins with numbers.
pub fn is_hidl(data: &[u8]) -> bool {
    data.starts_with(b"android.hidl.")
}

/// The reply to a method that every interface has.
pub fn base(code: u32) -> Result<Reply> {
    const PING: u32 = base_code(*b"PNG");
    const DESCRIPTOR: u32 = base_code(*b"DSC");
    const HASH_CHAIN: u32 = base_code(*b"HSH");
    const DEBUG_INFO: u32 = base_code(*b"REF");
    // One-way calls that concern the properties of a system that is not there.
    const SYSTEM_PROPERTIES: u32 = base_code(*b"SYS");
    const INSTRUMENTATION: u32 = base_code(*b"INT");
    let mut reply = Parcel::hidl_reply();
    match code {
        PING | SYSTEM_PROPERTIES | INSTRUMENTATION => {}
        INTERFACE_CHAIN => drop(reply.hidl_strings(&CHAIN)),
        DESCRIPTOR => drop(reply.hidl_string(CHAIN[0])),
        HASH_CHAIN => hash_chain(&mut reply),
        DEBUG_INFO => {
            let mut info = std::process::id().to_ne_bytes().to_vec();
            info.resize(DEBUG_INFO_SIZE, 0);
            info[ARCHITECTURE_AT] = IS_64BIT;
            reply.hidl_buffer(info, None);
        }
        // Files are not accepted, so neither is `debug`; deaths are no calls.
        _ => return Err(StatusCode::UnknownTransaction),
    }
    Ok(Reply::Parcel(reply))
}

fn hash_chain(reply: &mut Parcel) {
    let bytes = |hash: &str| -> Vec<u8> {
        let pairs = (0..hash.len()).step_by(2);
        pairs
            .map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap_or(0))
            .collect()
    };
    let hashes: Vec<_> = HASHES
        .iter()
        .map(|hash| Struct {
            bytes: bytes(hash),
            members: Vec::new(),
        })
        .collect();
    reply.hidl_structs(&hashes);
}

/// The reply of most methods.
pub fn done(success: bool) -> Reply {
    let mut reply = Parcel::hidl_reply();
    reply.hidl_byte(success.into());
    Reply::Parcel(reply)
}

/// A reply with a list of names.
pub fn strings(strings: &[&str]) -> Reply {
    let mut reply = Parcel::hidl_reply();
    reply.hidl_strings(strings);
    Reply::Parcel(reply)
}

/// The reply of `debugDump`.
///
/// * `services`: the names and the processes
pub fn debug_info<'a>(services: impl Iterator<Item = (&'a str, i32)>) -> Reply {
    let infos: Vec<_> = services
        .map(|(name, pid)| {
            let (interface, instance) = split(name);
            let mut info = vec![0; INFO_SIZE];
            set_head(&mut info, INFO_INTERFACE, interface.len());
            set_head(&mut info, INFO_INSTANCE, instance.len());
            info[INFO_PID..INFO_PID + 4].copy_from_slice(&pid.to_ne_bytes());
            // The architecture is not known (0).
            let members = vec![
                (INFO_INTERFACE, Embedded::Text(interface)),
                (INFO_INSTANCE, Embedded::Text(instance)),
                (INFO_CLIENT_PIDS, Embedded::Nothing),
            ];
            Struct {
                bytes: info,
                members,
            }
        })
        .collect();
    let mut reply = Parcel::hidl_reply();
    reply.hidl_structs(&infos);
    Reply::Parcel(reply)
}

/// The interfaces in the reply to `interfaceChain`; None if it is no such reply.
pub fn read_chain(data: &[u8], offsets: &[u64], memory: &dyn Memory) -> Option<Vec<String>> {
    let mut reader = Reader::new(data, offsets, memory);
    match reader.i32() {
        Ok(0) => reader.strings(MAX_CHAIN).ok(),
        _ => None,
    }
}
