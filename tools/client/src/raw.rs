// SPDX-License-Identifier: Apache-2.0
//! Transactions of bytes and objects: rsbinder's parcels take only values of types that it knows.
use anybinder_cli::error::{Doing, Result};
use anybinder_driver::abi::OBJECT_SIZE;
use anybinder_driver::parcel::{Parcel as Raw, HEADER_WORDS};
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Object, Parcel as Plan};
use anybinder_rpc::dialect::{Dialect, WORD_POSITION};
use anybinder_rpc::parcel_bytes;
use anybinder_rpc::relay::descriptor_of;
use rsbinder::rpc::RpcProxy;
use rsbinder::{Parcel, SIBinder, StatusCode};
use std::fs::File;
use std::os::fd::OwnedFd;

/// A request that is ready to be sent. Holds what its objects refer to.
#[derive(Default)]
pub struct Request {
    /// The interface, in a request over a socket, whose header is not part of the data.
    descriptor: Option<String>,
    raw: Raw,
    /// How the service reads it.
    dialect: Dialect,
    /// Whether the data begins with a header, which has the word of a libbinder.
    has_word: bool,
    files: Vec<OwnedFd>,
    /// Parcels of rsbinder, which keep the binders in them.
    kept: Vec<Parcel>,
}

/// A reply. Its files stay open as long as it lives.
pub struct Reply {
    pub data: Vec<u8>,
    _parcel: Option<Parcel>,
}

/// Whether a service is called over a socket: only an accessor leads to it.
pub fn is_rpc(service: &SIBinder) -> bool {
    service.as_any().is::<RpcProxy>()
}

impl Reply {
    fn of(parcel: Option<Parcel>) -> rsbinder::Result<Reply> {
        let Some(mut parcel) = parcel else {
            return Ok(Reply {
                data: Vec::new(),
                _parcel: None,
            });
        };
        Ok(Reply {
            data: bytes_of(&mut parcel)?,
            _parcel: Some(parcel),
        })
    }
}

/// The bytes of a parcel of rsbinder.
fn bytes_of(parcel: &mut Parcel) -> rsbinder::Result<Vec<u8>> {
    let size = parcel.data_size();
    parcel.set_data_position(0);
    let mut data = Vec::with_capacity(size);
    while parcel.data_avail() >= 4 {
        data.extend_from_slice(&parcel.read_u32()?.to_le_bytes());
    }
    Ok(data)
}

impl Request {
    /// A request with the header of an interface, which is that of the service, in its dialect.
    pub fn with_header(service: &SIBinder, dialect: Dialect) -> Result<Request> {
        let doing = || "making a parcel".to_string();
        let mut request = Request {
            dialect,
            ..Request::default()
        };
        if is_rpc(service) {
            request.descriptor = Some(descriptor_of(service).doing(doing)?);
        } else if let Some(proxy) = service.as_proxy() {
            let mut header = match dialect.has_stability() {
                true => proxy.prepare_transact(true).doing(doing)?,
                false => {
                    let descriptor = descriptor_of(service).doing(doing)?;
                    dialect.request(proxy, &descriptor).doing(doing)?
                }
            };
            request.raw.data = bytes_of(&mut header).doing(doing)?;
            request.has_word = dialect.has_stability();
            if request.has_word {
                request.set_word(dialect.word);
            }
        }
        Ok(request)
    }

    /// Appends a parcel, with its objects: files are opened, services looked up by `find`.
    pub fn append(&mut self, plan: &Plan, find: &dyn Fn(&str) -> Result<SIBinder>) -> Result<()> {
        let base = self.raw.data.len();
        self.raw.data.extend_from_slice(&plan.data);
        for (offset, object) in &plan.objects {
            let at = base + offset;
            match object {
                Object::Service(name) => self.put_binder(at, &find(name)?)?,
                Object::File(path) => {
                    let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
                    self.put_file(at, file.into());
                }
            }
        }
        Ok(())
    }

    pub fn append_binder(&mut self, binder: &SIBinder) -> Result<()> {
        let at = self.raw.data.len();
        self.raw.data.resize(at + self.dialect.binder_length(), 0);
        self.put_binder(at, binder)
    }

    /// Appends a descriptor without the words of a ParcelFileDescriptor.
    pub fn append_file(&mut self, file: OwnedFd) {
        let at = self.raw.data.len();
        self.raw.data.resize(at + OBJECT_SIZE, 0);
        self.put_file(at, file);
    }

    fn put_binder(&mut self, at: usize, binder: &SIBinder) -> Result<()> {
        let doing = || "writing a binder".to_string();
        let mut parcel = Parcel::new();
        parcel.write(binder).doing(doing)?;
        self.dialect.finish_binder(&mut parcel).doing(doing)?;
        let bytes = bytes_of(&mut parcel).doing(doing)?;
        let size = self.dialect.binder_length();
        self.raw.data[at..at + size].copy_from_slice(&bytes[..size]);
        self.raw.offsets.push(at as u64);
        self.kept.push(parcel);
        Ok(())
    }

    fn put_file(&mut self, at: usize, file: OwnedFd) {
        self.raw.put_file(at, &file);
        self.files.push(file);
    }

    fn set_word(&mut self, word: i32) {
        if let Some(four) = self.raw.data.get_mut(WORD_POSITION..WORD_POSITION + 4) {
            four.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Sends the request. The reply of a one-way call is empty.
    pub fn send(
        mut self,
        service: &SIBinder,
        code: u32,
        flags: u32,
    ) -> std::result::Result<Reply, StatusCode> {
        if is_rpc(service) {
            return self.send_over_socket(service, code, flags);
        }
        let sent = self.send_to_driver(service, code, flags);
        if !matches!(sent, Err(StatusCode::BadType)) || !self.has_word {
            return sent;
        }
        // Perhaps the service's libbinder has another word, and refused the call for that, unread.
        // A service that refused the call for its arguments now does so for the word.
        let first = self.dialect.word;
        let others = HEADER_WORDS.into_iter().filter(|word| *word != first);
        for word in others {
            self.set_word(word);
            match self.send_to_driver(service, code, flags) {
                Err(StatusCode::BadType) => {}
                outcome => return outcome,
            }
        }
        sent
    }

    fn send_to_driver(
        &mut self,
        service: &SIBinder,
        code: u32,
        flags: u32,
    ) -> std::result::Result<Reply, StatusCode> {
        let proxy = service.as_proxy().ok_or(StatusCode::BadType)?;
        // SAFETY: the parcel borrows the vectors, which are not touched and outlive it; every
        // file is open in `self.files`, which outlives it, too.
        let parcel = unsafe {
            Parcel::from_ipc_parts(
                self.raw.data.as_mut_ptr(),
                self.raw.data.len(),
                self.raw.offsets.as_mut_ptr(),
                self.raw.offsets.len(),
                |_, _, _, _, _| Ok(()),
            )
        };
        let reply = proxy.submit_transact(code, &parcel, flags);
        drop(parcel);
        Reply::of(reply?)
    }

    fn send_over_socket(
        &self,
        service: &SIBinder,
        code: u32,
        flags: u32,
    ) -> std::result::Result<Reply, StatusCode> {
        // What the driver would translate means nothing there.
        if !self.raw.offsets.is_empty() {
            return Err(StatusCode::InvalidOperation);
        }
        let remote = service.as_remote().ok_or(StatusCode::BadType)?;
        let proxy = service.as_any().downcast_ref::<RpcProxy>();
        let mut parcel = match (&self.descriptor, proxy) {
            (Some(descriptor), Some(proxy)) => proxy.build_request(descriptor)?,
            _ => remote.prepare_transact(false)?,
        };
        parcel_bytes::write(&mut parcel, &self.raw.data)?;
        Reply::of(remote.submit_transact(code, &parcel, flags)?)
    }
}

/// The reply to a method without arguments.
pub fn ask(service: &SIBinder, dialect: Dialect, code: u32) -> Option<Reply> {
    let request = Request::with_header(service, dialect).ok()?;
    request.send(service, code, 0).ok()
}

/// The process that owns an object, if it says so.
pub fn pid_of(service: &SIBinder) -> Option<i32> {
    let request = Request::default();
    let reply = request.send(service, rsbinder::DEBUG_PID_TRANSACTION, 0);
    let reply = reply.ok()?;
    let pid = Decoder::new(&reply.data, None).word().ok()?;
    i32::try_from(pid).ok()
}
