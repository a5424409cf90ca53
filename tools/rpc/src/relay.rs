// SPDX-License-Identifier: Apache-2.0
//! The object that stands for an object of the other side.
use crate::access::Access;
use crate::answer;
use crate::call_turns::{self, Turn, Turns};
use crate::connections;
use crate::copy::Objects;
use crate::dialect::{Dialect, Form};
use crate::gateway::{copy_by_types, copy_untyped, Gateway, Part, Refusal};
use crate::parcel_bytes;
use crate::peer_log::log_peer;
use anybinder_driver::parcel::Speaker;
use anybinder_parcel::header;
use anybinder_parcel::shape::{Interface, Method, Shape};
use rsbinder::observe::{self, TransactionObserver, TxnContext};
use rsbinder::rpc::RpcProxy;
use rsbinder::{
    calling_caller, get_calling_uid, Caller, ExceptionCode, IBinder, Parcel, SIBinder, Stability,
    Status, StatusCode, Transactable, TransactionCode, WIBinder, EXTENSION_TRANSACTION,
    FIRST_CALL_TRANSACTION, FLAG_ONEWAY, INTERFACE_TRANSACTION, LAST_CALL_TRANSACTION,
    PING_TRANSACTION,
};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

type Result<T> = std::result::Result<T, StatusCode>;

/// At how many relays the table is cleared of those that are gone, first.
const FIRST_SWEEP: usize = 64;

thread_local! {
    static IS_ONEWAY: Cell<bool> = const { Cell::new(false) };
    /// Objects of the peer that this thread has written into its call or reply.
    static RETURNED: RefCell<Vec<SIBinder>> = const { RefCell::new(Vec::new()) };
}

/// Notes whether the caller of a thread's transaction waits for a reply, which an object is not
/// told.
struct OnewayObserver;

impl TransactionObserver for OnewayObserver {
    fn on_transact(&self, call: &TxnContext<'_>) -> Option<Box<dyn Any + Send>> {
        let before = IS_ONEWAY.replace(call.is_oneway);
        // Calls nest; only a call that waits can have one inside.
        before.then(|| Box::new(before) as Box<dyn Any + Send>)
    }

    fn on_reply(
        &self,
        _: &TxnContext<'_>,
        before: Option<Box<dyn Any + Send>>,
        _: &Result<()>,
        _: Duration,
    ) {
        IS_ONEWAY.set(before.is_some());
    }
}

struct Pair {
    target: WIBinder,
    relay: WIBinder,
}

/// The relays between this machine's driver and the sessions of one export or link.
pub struct Bridge {
    max_size: usize,
    /// The types of methods, where they are known.
    gateway: Option<Gateway>,
    /// The dialect of programs of this machine whose calls do not tell.
    dialect: Dialect,
    /// By the address of the original, so that it has the same relay whenever it crosses: an
    /// interface may compare objects.
    relays: Mutex<Table>,
    /// Of the calls of local users to the other machine.
    of_users: Turns,
    /// Of calls to the objects of peers.
    to_peers: Turns,
}

/// With the size at which to look for relays that are gone.
type Table = (HashMap<usize, Pair>, usize);

fn key_of(target: &SIBinder) -> usize {
    std::ptr::from_ref::<dyn IBinder>(&**target).cast::<()>() as usize
}

fn note(relays: &mut Table, target: &SIBinder, relay: &SIBinder) {
    let (table, sweep_at) = relays;
    if table.len() >= *sweep_at {
        table.retain(|_, pair| pair.relay.upgrade().is_ok());
        *sweep_at = FIRST_SWEEP.max(2 * table.len());
    }
    let pair = Pair {
        target: SIBinder::downgrade(target),
        relay: SIBinder::downgrade(relay),
    };
    table.insert(key_of(target), pair);
}

impl Bridge {
    /// * `form`: that of programs of this machine whose calls do not tell
    /// * `calls`: how many can be made at the same time over one session
    pub fn new(max_size: usize, gateway: Option<Gateway>, form: Form, calls: u32) -> Arc<Bridge> {
        let calls = calls as usize;
        observe::set_observer(Some(Arc::new(OnewayObserver)));
        Arc::new(Bridge {
            max_size,
            gateway,
            dialect: Dialect {
                form,
                ..Dialect::default()
            },
            relays: Mutex::new((HashMap::new(), FIRST_SWEEP)),
            of_users: Turns::of_users(calls),
            to_peers: Turns::to_peers(calls),
        })
    }

    pub fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// The relay of an object, which understands a dialect if it is one of this machine's.
    fn relay(self: &Arc<Bridge>, target: &SIBinder, dialect: Dialect) -> Result<SIBinder> {
        let mut relays = self.relays.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = relays.0.get(&key_of(target)) {
            if let (Ok(original), Ok(relay)) = (pair.target.upgrade(), pair.relay.upgrade()) {
                if original == *target {
                    return Ok(relay);
                }
            }
        }
        let relay = Relay::binder(self, target.clone(), dialect, None)?;
        note(&mut relays, target, &relay);
        Ok(relay)
    }

    /// The relay of a service, which is that of the object wherever it crosses.
    ///
    /// * `registrant`: the program that has registered it, if this machine's service manager tells
    /// * `access`: who may call it, if not all who were given it
    pub fn publish(
        self: &Arc<Bridge>,
        target: &SIBinder,
        registrant: Option<Speaker>,
        access: Option<Access>,
    ) -> Result<SIBinder> {
        let dialect = Dialect {
            word: registrant.map_or(self.dialect.word, |one| one.header_word),
            ..self.dialect
        };
        let relay = Relay::binder(self, target.clone(), dialect, access)?;
        let mut relays = self.relays.lock().unwrap_or_else(PoisonError::into_inner);
        note(&mut relays, target, &relay);
        Ok(relay)
    }

    fn write_binder(
        self: &Arc<Bridge>,
        binder: &SIBinder,
        to: &mut Parcel,
        dialect: Dialect,
    ) -> Result<()> {
        let to_rpc = !to.is_kernel_backed();
        let of_rpc = |binder: &SIBinder| binder.as_any().is::<RpcProxy>();
        let relay = binder.as_any().downcast_ref::<Relay>();
        let original = relay.map_or(binder, |relay| &relay.target);
        if !original.is_remote() {
            return to.write(original);
        }
        if of_rpc(original) != to_rpc {
            return match relay {
                Some(_) => to.write(binder),
                None => to.write(&self.relay(binder, dialect)?),
            };
        }
        if to_rpc {
            RETURNED.with_borrow_mut(|returned| returned.push(original.clone()));
        }
        let at = to.data_position();
        match to.write(original) {
            // An object of another session of ours; nothing was written.
            Err(StatusCode::InvalidOperation) if to_rpc => {
                to.set_data_position(at);
                match relay {
                    Some(_) => to.write(binder),
                    None => to.write(&self.relay(binder, dialect)?),
                }
            }
            outcome => outcome,
        }
    }
}

impl Objects for Arc<Bridge> {
    fn max_size(&self) -> usize {
        self.max_size
    }

    fn write(&self, binder: Option<&SIBinder>, to: &mut Parcel, dialect: Dialect) -> Result<()> {
        match binder {
            Some(binder) => self.write_binder(binder, to, dialect)?,
            None => to.write(&Option::<SIBinder>::None)?,
        }
        match to.is_kernel_backed() {
            true => dialect.finish_binder(to),
            false => Ok(()),
        }
    }
}

/// An object that stands for another.
pub struct Relay {
    bridge: Arc<Bridge>,
    target: SIBinder,
    descriptor: OnceLock<String>,
    /// The methods of the target, if a `.aidl` file declares them.
    interface: OnceLock<Option<Arc<Interface>>>,
    /// The dialect of the target, if it is an object of this machine.
    dialect: Dialect,
    access: Option<Access>,
    /// Of the connection that the target came over, if that was accepted here.
    peer: Option<Arc<str>>,
}

/// The interface of an object of the other side.
pub fn descriptor_of(target: &SIBinder) -> Result<String> {
    if target.as_proxy().is_some() {
        return Ok(target.descriptor().to_string());
    }
    let remote = target.as_remote().ok_or(StatusCode::DeadObject)?;
    let request = remote.prepare_transact(false)?;
    let reply = remote.submit_transact(INTERFACE_TRANSACTION, &request, 0)?;
    reply.ok_or(StatusCode::UnexpectedNull)?.read()
}

impl Relay {
    fn binder(
        bridge: &Arc<Bridge>,
        target: SIBinder,
        dialect: Dialect,
        access: Option<Access>,
    ) -> Result<SIBinder> {
        SIBinder::new(Arc::new(Relay {
            bridge: bridge.clone(),
            target,
            descriptor: OnceLock::new(),
            interface: OnceLock::new(),
            dialect,
            access,
            peer: connections::peer(),
        }))
    }

    fn check_access(&self) -> Result<()> {
        let (Some(access), Some(Caller::Rpc(peer))) = (&self.access, calling_caller()) else {
            return Ok(());
        };
        match access.allows(&peer) {
            true => {
                access.life.note_use(&access.name);
                Ok(())
            }
            false => {
                log_peer(&format!("{peer} may not call {}.", access.name));
                Err(StatusCode::PermissionDenied)
            }
        }
    }

    /// The turn of a call of a process of this machine that waits for the reply. None if it needs
    /// none: what waits for this thread's own call must not wait for another one's.
    fn turn(&self) -> Result<Option<Turn<'_>>> {
        if call_turns::is_calling() || IS_ONEWAY.get() {
            return Ok(None);
        }
        let turn = match &self.peer {
            Some(peer) => self.bridge.to_peers.take(peer.clone()),
            None => {
                let user = format!("user {}", get_calling_uid());
                self.bridge.of_users.take(user.into())
            }
        };
        turn.ok_or(StatusCode::WouldBlock).map(Some)
    }

    /// A method with its types, if they are known.
    fn method(&self, code: TransactionCode) -> Option<(&Arc<Interface>, &Method)> {
        let gateway = self.bridge.gateway.as_ref()?;
        let find = || gateway.interface(self.descriptor());
        let interface = self.interface.get_or_init(find).as_ref()?;
        Some((interface, interface.methods.get(&code)?))
    }

    /// Copies a call or a reply to the other side.
    fn copy(
        &self,
        known: Option<(&Arc<Interface>, Part, &[Shape])>,
        from: (&mut Parcel, usize),
        to: &mut Parcel,
        dialect: Dialect,
    ) -> std::result::Result<(), Refusal> {
        match (known, &self.bridge.gateway) {
            (Some(known), Some(gateway)) => {
                copy_by_types((&self.bridge, gateway), known, from, to, dialect)
            }
            _ => copy_untyped(&self.bridge, from, to, dialect),
        }
    }

    /// Says why a parcel does not cross, to the caller as well if the method is known: its reply
    /// begins with an exception.
    fn refuse(
        &self,
        what: &str,
        code: TransactionCode,
        why: &Refusal,
        reply: &mut Parcel,
    ) -> Result<()> {
        let descriptor = self.descriptor();
        let method = self.method(code).map(|(_, method)| method.name.as_str());
        let method = method.map_or(format!("code {code}"), |name| format!("method {name}"));
        let text = format!(
            "A {what} of {descriptor}, {method}, is refused: {}.",
            why.why
        );
        log_peer(&text);
        match self.method(code) {
            Some(_) if reply.data_position() == 0 => reply.write(&Status::from((
                ExceptionCode::UnsupportedOperation,
                text.as_str(),
            ))),
            _ => Err(why.status),
        }
    }

    /// Makes a call of the interface.
    ///
    /// * `start`: where the arguments begin in `from`, and the dialect of a caller of this machine
    fn forward(
        &self,
        code: TransactionCode,
        from: &mut Parcel,
        (start, caller): (usize, Dialect),
        reply: &mut Parcel,
    ) -> Result<()> {
        let is_oneway = IS_ONEWAY.get();
        let remote = self.target.as_remote().ok_or(StatusCode::DeadObject)?;
        let (mut request, dialect) = match self.target.as_any().downcast_ref::<RpcProxy>() {
            Some(proxy) => (proxy.build_request(self.descriptor())?, caller),
            None => {
                let request = self.dialect.request(remote, self.descriptor())?;
                (request, self.dialect)
            }
        };
        let method = self.method(code);
        let known = method.map(|(interface, method)| (interface, Part::Call, &*method.request));
        if let Err(why) = self.copy(known, (from, start), &mut request, dialect) {
            return self.refuse("call", code, &why, reply);
        }
        let flags = if is_oneway { FLAG_ONEWAY } else { 0 };
        let received = remote.submit_transact(code, &request, flags)?;
        if let (Some(mut original), false) = (received, is_oneway) {
            let known = method.map(|(interface, method)| (interface, Part::Reply, &*method.reply));
            if let Err(why) = self.copy(known, (&mut original, 0), reply, dialect) {
                return self.refuse("reply", code, &why, reply);
            }
            if original.is_kernel_backed() && connections::is_served() {
                answer::keep(original);
            }
        }
        Ok(())
    }

    fn dispatch(
        &self,
        code: TransactionCode,
        from: &mut Parcel,
        start: impl FnOnce(&mut Parcel) -> Result<(usize, Dialect)>,
        reply: &mut Parcel,
    ) -> Result<()> {
        self.check_access()?;
        call_turns::calling(|| match code {
            FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION => {
                let start = start(from)?;
                self.forward(code, from, start, reply)
            }
            PING_TRANSACTION => self.target.ping_binder(),
            INTERFACE_TRANSACTION => reply.write(self.descriptor()),
            EXTENSION_TRANSACTION => {
                let extension = self.target.get_extension()?;
                self.bridge.write(extension.as_ref(), reply, self.dialect)
            }
            _ => Err(StatusCode::UnknownTransaction),
        })
    }
}

impl Transactable for Relay {
    fn transact(
        &self,
        code: TransactionCode,
        reader: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<()> {
        let start = |reader: &mut Parcel| {
            let bytes = parcel_bytes::read_header(reader, self.descriptor())?;
            let found = header::place(&bytes, self.descriptor());
            let (before, length) = found.ok_or(StatusCode::BadType)?;
            let header = bytes.get(..before).unwrap_or_default();
            Ok((length, Dialect::of_header(header, self.bridge.dialect)))
        };
        let turn = self.turn()?;
        let outcome = self.dispatch(code, reader, start, reply);
        drop(RETURNED.take());
        drop(turn);
        outcome
    }
}

/// What is the same for every object of ours that rsbinder has no type for. A file reaches it, so
/// that it can say why it refuses it. What refers to it holds its `Arc`, and it does not die.
#[macro_export]
macro_rules! local_binder {
    () => {
        fn link_to_death(
            &self,
            _: std::sync::Weak<dyn rsbinder::DeathRecipient>,
        ) -> rsbinder::Result<()> {
            Err(rsbinder::StatusCode::InvalidOperation)
        }

        fn unlink_to_death(
            &self,
            _: std::sync::Weak<dyn rsbinder::DeathRecipient>,
        ) -> rsbinder::Result<()> {
            Err(rsbinder::StatusCode::InvalidOperation)
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }

        fn as_transactable(&self) -> Option<&dyn rsbinder::Transactable> {
            Some(self)
        }

        fn is_remote(&self) -> bool {
            false
        }

        fn local_binder_flags(&self) -> u32 {
            anybinder_driver::abi::ACCEPTS_FDS
        }

        fn inc_strong(&self, _: &rsbinder::SIBinder) -> rsbinder::Result<()> {
            Ok(())
        }

        fn attempt_inc_strong(&self) -> bool {
            true
        }

        fn dec_strong(
            &self,
            _: Option<std::mem::ManuallyDrop<rsbinder::SIBinder>>,
        ) -> rsbinder::Result<()> {
            Ok(())
        }

        fn inc_weak(&self, _: &rsbinder::WIBinder) -> rsbinder::Result<()> {
            Ok(())
        }

        fn dec_weak(&self) -> rsbinder::Result<()> {
            Ok(())
        }
    };
}

impl IBinder for Relay {
    crate::local_binder!();
    fn ping_binder(&self) -> Result<()> {
        self.target.ping_binder()
    }

    fn descriptor(&self) -> &str {
        if let Some(known) = self.descriptor.get() {
            return known;
        }
        match descriptor_of(&self.target) {
            Ok(descriptor) => self.descriptor.get_or_init(|| descriptor),
            Err(status) => {
                log_peer(&format!(
                    "An object does not say its interface: {status:?}."
                ));
                ""
            }
        }
    }

    fn stability(&self) -> Stability {
        self.target.stability()
    }

    /// Called with the interface's descriptor read and compared.
    fn rpc_transact(
        &self,
        code: TransactionCode,
        reader: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<()> {
        drop(RETURNED.take());
        let start = |reader: &mut Parcel| Ok((reader.data_position(), self.dialect));
        let mut make = || self.dispatch(code, reader, start, reply);
        let outcome = match IS_ONEWAY.get() {
            true => connections::oneway(make),
            false => make(),
        };
        // Before wire version 2, the peer forgets an object of its own when we have released it,
        // even if it has not read a reply with it yet: the release may overtake the reply on
        // another connection. So it is kept until the next call comes over this connection, which
        // shows that the reply was read.
        let is_empty = RETURNED.with_borrow(Vec::is_empty);
        if !is_empty && parcel_bytes::has_positions(reader).unwrap_or(true) {
            drop(RETURNED.take());
        }
        if !IS_ONEWAY.get() {
            answer::is_next();
        }
        outcome
    }
}
