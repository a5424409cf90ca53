// SPDX-License-Identifier: Apache-2.0
//! One pair of a comparison over TLS, as the C program describes it.
use crate::OrFail;
use anybinder_rpc::tls::Credentials;
use std::ffi::{c_char, CStr};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "localhost";

/// `struct far_pair` of bench/rpc.h.
#[repr(C)]
pub struct RawPair {
    directory: *const c_char,
    measurement: i32,
    pair: i32,
    port: u16,
    request_bytes: usize,
    reply_bytes: usize,
}

/// Where the server of a pair listens and what the calls carry.
pub struct Pair {
    /// With the keys and, for links, two mounts.
    pub directory: PathBuf,
    /// The name of the service, which no other measurement or pair has.
    pub name: String,
    pub address: SocketAddr,
    pub request_bytes: usize,
    pub reply_bytes: usize,
}

impl Pair {
    /// # Safety
    /// `raw` points to a pair whose directory is a string that ends with a zero byte.
    pub unsafe fn new(raw: *const RawPair) -> Pair {
        let raw = unsafe { &*raw };
        let directory = unsafe { CStr::from_ptr(raw.directory) }.to_string_lossy();
        Pair {
            directory: PathBuf::from(directory.as_ref()),
            name: format!("anybinder.bench.IEcho/{}-{}", raw.measurement, raw.pair),
            address: (Ipv4Addr::LOCALHOST, raw.port).into(),
            request_bytes: raw.request_bytes,
            reply_bytes: raw.reply_bytes,
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn pem(&self, name: &str) -> Vec<u8> {
        let path = self.file(name);
        std::fs::read(&path).or_fail(&path.display().to_string())
    }

    /// The keys and the authority of one end, `server` or `client`.
    pub fn credentials(&self, end: &str) -> Credentials {
        Credentials {
            certificate: Some(self.file(&format!("{end}.pem"))),
            key: Some(self.file(&format!("{end}.key"))),
            authorities: Some(self.file("ca.pem")),
            pins: Vec::new(),
        }
    }

    /// The mount of one machine, `server` or `client`.
    pub fn mount(&self, machine: &str) -> PathBuf {
        self.file(machine).join("binderfs")
    }
}

/// The program `anybinder`: beside this one, or on PATH.
pub fn anybinder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("")).join("anybinder");
    match beside.exists() {
        true => beside,
        false => PathBuf::from("anybinder"),
    }
}

/// A port that is free.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).or_fail("reserving a port");
    listener.local_addr().or_fail("reserving a port").port()
}
