// SPDX-License-Identifier: Apache-2.0
//! One pair of a comparison: where its ends meet, and what its calls carry.
use crate::OrFail;
use anybinder_rpc::tls::Credentials;
use std::ffi::{c_char, c_int, CStr};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr as UnixAddr;
use std::path::{Path, PathBuf};

/// The beginning of `struct cell` of bench/cell.h.
#[repr(C)]
pub struct Cell {
    pub address: *const c_char,
    pub request_bytes: usize,
    pub reply_bytes: usize,
    pub nr_pairs: c_int,
}

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "localhost";

/// What all pairs of a measurement share, made before any of them is a process.
pub struct Shared {
    /// Different for each measurement that may run at the same time.
    measurement: u32,
    /// Where the server of each pair, or what exports it, listens.
    ports: Vec<u16>,
}

impl Shared {
    pub fn new(pairs: usize) -> Self {
        Shared {
            measurement: std::process::id(),
            ports: (0..pairs).map(|_| free_port()).collect(),
        }
    }
}

pub struct Pair {
    /// With the keys and, for links, two mounts.
    directory: PathBuf,
    /// What no other measurement or pair has in its names.
    number: String,
    pub address: SocketAddr,
    pub request_bytes: usize,
    pub reply_bytes: usize,
}

impl Pair {
    /// # Safety
    /// The address of `cell` is NULL or a string that ends with a zero byte.
    pub unsafe fn new(shared: &Shared, cell: &Cell, pair: usize) -> Pair {
        let directory = match cell.address.is_null() {
            true => PathBuf::new(),
            false => {
                let text = unsafe { CStr::from_ptr(cell.address) };
                PathBuf::from(text.to_string_lossy().as_ref())
            }
        };
        Pair {
            directory,
            number: format!("{}-{pair}", shared.measurement),
            address: (Ipv4Addr::LOCALHOST, shared.ports[pair]).into(),
            request_bytes: cell.request_bytes,
            reply_bytes: cell.reply_bytes,
        }
    }

    /// The abstract unix socket of the server.
    pub fn socket(&self) -> UnixAddr {
        let name = format!("anybinder-bench-{}", self.number);
        UnixAddr::from_abstract_name(name).or_fail("naming a socket")
    }

    /// The name of the Binder service.
    pub fn service(&self) -> String {
        format!("anybinder.bench.IEcho/{}", self.number)
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

/// A port of the loopback device that no program listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).or_fail("reserving a port");
    listener.local_addr().or_fail("reserving a port").port()
}
