// SPDX-License-Identifier: Apache-2.0
//! `android.hidl.manager::IServiceManager`, the service manager of HIDL (`hwservicemanager`).
//!
//! Its numbering never changed: version 1.1 added method 9 to the eight of 1.0, and 1.2 methods 10
//! to 14. A request begins with the name of the interface that has the method, a reply with a
//! status, 0. What every interface has (`android.hidl.base@1.0::IBase`) has codes of four letters.
pub mod interface;
pub mod methods;
pub mod names;
mod registry;

use crate::caller::Transaction;
use crate::handles::Port;
use crate::reply::Reply;
use crate::state::State;
use anybinder_driver::hidl::{Reader, Struct};
use anybinder_driver::map::Memory;
use anybinder_driver::parcel::{Parcel, Result};
use interface::{base_code, INTERFACE_CHAIN, MAX_CHAIN, METHODS};
use names::{BASE, CHAIN};
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

/// Whether a request is one of HIDL. An AIDL request begins with numbers.
pub fn is_hidl(data: &[u8]) -> bool {
    data.starts_with(b"android.hidl.")
}

/// Answers a request of HIDL.
pub fn answer(state: &mut State, port: &mut dyn Port, transaction: &Transaction) -> Reply {
    let memory = transaction.memory;
    let mut reader = Reader::new(transaction.data, transaction.offsets, memory);
    let outcome = match reader.interface() {
        Ok(BASE) => base(transaction.code),
        Ok(interface) if CHAIN.contains(&interface) => {
            let number = (transaction.code as usize).wrapping_sub(1);
            match METHODS.get(number) {
                Some(method) => methods::run(state, port, transaction, *method, &mut reader),
                None => Err(StatusCode::UnknownTransaction),
            }
        }
        Ok(_) => Err(StatusCode::BadType),
        Err(status) => Err(status),
    };
    outcome.unwrap_or_else(Reply::from)
}

/// What every interface has.
fn base(code: u32) -> Result<Reply> {
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

/// The interfaces in the reply to `interfaceChain`; None if it is no such reply.
pub fn read_chain(data: &[u8], offsets: &[u64], memory: &dyn Memory) -> Option<Vec<String>> {
    let mut reader = Reader::new(data, offsets, memory);
    match reader.i32() {
        Ok(0) => reader.strings(MAX_CHAIN).ok(),
        _ => None,
    }
}
