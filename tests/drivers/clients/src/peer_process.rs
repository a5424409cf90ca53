// SPDX-License-Identifier: Apache-2.0
//! The service side of every test: one process, one `IPeer`, registered by name.
use crate::aidl::{BnPeer, Envelope, ICallback, IPeer, Record};
use crate::callback::Callback;
use crate::descriptors;
use rsbinder::{
    hub, BinderResult, DeathRecipient, ExceptionCode, Interface, ParcelFileDescriptor,
    ProcessState, SIBinder, Status, StatusCode, Strong, WIBinder,
};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Exceptions of AIDL that carry only a message.
pub const EXCEPTIONS: [ExceptionCode; 7] = [
    ExceptionCode::Security,
    ExceptionCode::BadParcelable,
    ExceptionCode::IllegalArgument,
    ExceptionCode::NullPointer,
    ExceptionCode::IllegalState,
    ExceptionCode::NetworkMainThread,
    ExceptionCode::UnsupportedOperation,
];

/// State that persists between calls.
#[derive(Default)]
pub struct Peer {
    posted: Mutex<Vec<i32>>,
    is_gate_open: Mutex<bool>,
    gate_opens: Condvar,
    held: Mutex<Option<Strong<dyn ICallback>>>,
    watcher: Arc<DeathWatcher>,
    inside: AtomicI32,
    most_inside: AtomicI32,
}

#[derive(Default)]
struct DeathWatcher {
    deaths: AtomicI32,
}

impl DeathRecipient for DeathWatcher {
    fn binder_died(&self, _who: &WIBinder) {
        self.deaths.fetch_add(1, Ordering::SeqCst);
    }
}

fn status(err: std::io::Error) -> Status {
    StatusCode::from(err).into()
}

fn sleep_ms(ms: i32) {
    std::thread::sleep(Duration::from_millis(ms.max(0) as u64));
}

fn copy_of(record: &Record) -> BinderResult<Record> {
    let file = record
        .file
        .as_ref()
        .map(ParcelFileDescriptor::try_clone)
        .transpose()?;
    Ok(Record {
        id: record.id,
        big: record.big,
        ratio: record.ratio,
        flag: record.flag,
        name: record.name.clone(),
        blob: record.blob.clone(),
        words: record.words.clone(),
        object: record.object.clone(),
        file,
    })
}

impl Interface for Peer {
    fn dump(&self, writer: &mut dyn std::io::Write, args: &[String]) -> rsbinder::Result<()> {
        writeln!(writer, "peer {} {}", std::process::id(), args.join(","))?;
        Ok(())
    }
}

impl IPeer for Peer {
    fn add(&self, a: i32, b: i32) -> BinderResult<i32> {
        Ok(a.wrapping_add(b))
    }

    fn echo(&self, text: &str) -> BinderResult<String> {
        Ok(text.to_string())
    }

    fn reverse(&self, data: &[u8]) -> BinderResult<Vec<u8>> {
        Ok(data.iter().rev().copied().collect())
    }

    fn fill(&self, size: i32, value: i8) -> BinderResult<Vec<u8>> {
        Ok(vec![value as u8; size as usize])
    }

    fn callBack(&self, callback: &Strong<dyn ICallback>, value: i32) -> BinderResult<i32> {
        callback.onValue(value)
    }

    fn callBackLater(&self, callback: &Strong<dyn ICallback>, times: i32) -> BinderResult<()> {
        let callback = callback.clone();
        std::thread::spawn(move || {
            for value in 0..times {
                if callback.onEvent(value).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    fn bounce(
        &self,
        here: &Strong<dyn IPeer>,
        there: &Strong<dyn IPeer>,
        depth: i32,
    ) -> BinderResult<i32> {
        if depth == 0 {
            return Ok(0);
        }
        Ok(there.bounce(there, here, depth - 1)? + 1)
    }

    fn addByThread(&self, there: &Strong<dyn IPeer>, a: i32, b: i32) -> BinderResult<i32> {
        std::thread::scope(|scope| scope.spawn(|| there.add(a, b)).join().unwrap())
    }

    fn post(&self, value: i32) -> BinderResult<()> {
        self.posted.lock().unwrap().push(value);
        Ok(())
    }

    fn posted(&self) -> BinderResult<Vec<i32>> {
        Ok(self.posted.lock().unwrap().clone())
    }

    fn postSlowly(&self, delay_ms: i32) -> BinderResult<()> {
        sleep_ms(delay_ms);
        self.posted.lock().unwrap().push(delay_ms);
        Ok(())
    }

    fn postAtGate(&self, value: i32) -> BinderResult<()> {
        let is_open = self.is_gate_open.lock().unwrap();
        drop(self.gate_opens.wait_while(is_open, |is_open| !*is_open));
        self.post(value)
    }

    fn openGate(&self) -> BinderResult<()> {
        *self.is_gate_open.lock().unwrap() = true;
        self.gate_opens.notify_all();
        Ok(())
    }

    fn echoBinder(&self, binder: &SIBinder) -> BinderResult<SIBinder> {
        Ok(binder.clone())
    }

    fn hold(&self, callback: &Strong<dyn ICallback>) -> BinderResult<()> {
        callback.as_binder().link_to_death_arc(&self.watcher)?;
        *self.held.lock().unwrap() = Some(callback.clone());
        Ok(())
    }

    fn held(&self) -> BinderResult<Option<Strong<dyn ICallback>>> {
        Ok(self.held.lock().unwrap().clone())
    }

    fn release(&self) -> BinderResult<()> {
        let held = self.held.lock().unwrap().take();
        drop(held);
        Ok(())
    }

    fn deaths(&self) -> BinderResult<i32> {
        Ok(self.watcher.deaths.load(Ordering::SeqCst))
    }

    fn makeCounter(&self) -> BinderResult<Strong<dyn ICallback>> {
        let count = AtomicI32::new(0);
        Ok(Callback::binder(move |step| {
            count.fetch_add(step, Ordering::SeqCst) + step
        }))
    }

    fn echoRecord(&self, record: &Record) -> BinderResult<Record> {
        copy_of(record)
    }

    fn copyRecord(&self, from: &Record, to: &mut Record) -> BinderResult<()> {
        *to = copy_of(from)?;
        Ok(())
    }

    fn echoEnvelope(&self, envelope: &Envelope) -> BinderResult<Envelope> {
        let mut made = Envelope {
            before: envelope.before,
            after: envelope.after,
            ..Envelope::default()
        };
        if let Some(record) = envelope.content.get_parcelable::<Record>()? {
            made.content.set_parcelable(Arc::new(copy_of(&record)?))?;
        }
        Ok(made)
    }

    fn echoCallbacks(
        &self,
        callbacks: Option<&[Option<Strong<dyn ICallback>>]>,
    ) -> BinderResult<Option<Vec<Option<Strong<dyn ICallback>>>>> {
        Ok(callbacks.map(<[_]>::to_vec))
    }

    fn readFile(&self, file: &ParcelFileDescriptor) -> BinderResult<String> {
        descriptors::read_text(file).map_err(status)
    }

    fn openText(&self, text: &str) -> BinderResult<ParcelFileDescriptor> {
        descriptors::open_text(text).map_err(status)
    }

    fn readFiles(&self, some: &[ParcelFileDescriptor]) -> BinderResult<String> {
        some.iter()
            .map(descriptors::read_text)
            .collect::<std::io::Result<String>>()
            .map_err(status)
    }

    fn openTexts(&self, texts: &[String]) -> BinderResult<Vec<ParcelFileDescriptor>> {
        texts
            .iter()
            .map(|text| descriptors::open_text(text))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(status)
    }

    fn openFiles(&self) -> BinderResult<i32> {
        descriptors::open_count().map_err(status)
    }

    fn throwException(&self, index: i32, message: &str) -> BinderResult<()> {
        let exception = EXCEPTIONS[index as usize];
        Err((exception, message).into())
    }

    fn throwServiceSpecific(&self, code: i32) -> BinderResult<()> {
        let message = Some("as asked".to_string());
        Err(Status::new_service_specific_error(code, message))
    }

    fn fail(&self, code: i32) -> BinderResult<()> {
        Err(StatusCode::from(code).into())
    }

    fn pid(&self) -> BinderResult<i32> {
        Ok(std::process::id() as i32)
    }

    fn callingPid(&self) -> BinderResult<i32> {
        Ok(rsbinder::get_calling_pid())
    }

    fn callingUid(&self) -> BinderResult<i32> {
        Ok(rsbinder::get_calling_uid() as i32)
    }

    fn maxConcurrent(&self, ms: i32) -> BinderResult<i32> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_inside.fetch_max(inside, Ordering::SeqCst);
        sleep_ms(ms);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(self.most_inside.load(Ordering::SeqCst))
    }

    fn exitNow(&self, code: i32) -> BinderResult<()> {
        std::process::exit(code);
    }
}

/// The body of a service process: serves until it is killed.
pub fn serve(device: &str, name: &str, max_threads: u32) -> Result<(), String> {
    let text = |err: &dyn std::fmt::Display| err.to_string();
    ProcessState::init(device, max_threads).map_err(|err| text(&err))?;
    ProcessState::start_thread_pool();
    let peer = BnPeer::new_binder(Peer::default());
    hub::add_service(name, peer.as_binder()).map_err(|err| text(&err))?;
    ProcessState::join_thread_pool().map_err(|err| text(&err))
}

/// The body of a process that manages the context of a device without a registry of names.
pub fn manage(device: &str) -> Result<(), String> {
    let state = ProcessState::init(device, 0).map_err(|err| err.to_string())?;
    let peer = BnPeer::new_binder(Peer::default());
    state
        .become_context_manager(peer.as_binder())
        .map_err(|err| err.to_string())?;
    println!("ready");
    ProcessState::join_thread_pool().map_err(|err| err.to_string())
}
