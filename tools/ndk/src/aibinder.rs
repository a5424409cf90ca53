// SPDX-License-Identifier: Apache-2.0
//! `AIBinder`: an object of this process, or a proxy of another's.
//!
//! A local object is an `IBinder` of rsbinder by itself. For a proxy there is one `AIBinder` while
//! somebody holds it, so that the same object has the same address; the table of them is the only
//! state here.
use std::any::Any;
use std::collections::HashMap;
use std::ffi::{c_int, c_void, CString};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use rsbinder::{
    Binder, BinderFeatures, IBinder, Interface, Parcel, Remotable, RemoteProxy, Result, SIBinder,
    Stability, StatusCode, Transactable, TransactionCode, WIBinder,
};

use crate::aparcel::AParcel;
use crate::class::AIBinder_Class;
use crate::death_recipient::Link;
use crate::{abinder_process, lock, result_of, UserData};

pub struct AIBinder {
    class: AtomicPtr<AIBinder_Class>,
    kind: Kind,
}

enum Kind {
    Local(Box<Local>),
    Remote(Remote),
}

pub struct Remote {
    pub binder: SIBinder,
    pub links: Mutex<Vec<Arc<Link>>>,
}

impl Remote {
    pub fn proxy(&self) -> Result<&dyn RemoteProxy> {
        self.binder.as_remote().ok_or(StatusCode::InvalidOperation)
    }
}

struct Local {
    me: Weak<AIBinder>,
    user_data: UserData,
    was_parceled: AtomicBool,
    settings: Mutex<Settings>,
}

#[derive(Default)]
pub struct Settings {
    pub stability: Stability,
    pub features: BinderFeatures,
    extension: Option<SIBinder>,
}

static REMOTES: LazyLock<Mutex<HashMap<usize, Weak<AIBinder>>>> = LazyLock::new(Mutex::default);

pub fn address(binder: &SIBinder) -> usize {
    (&raw const **binder).cast::<()>() as usize
}

/// The one object of `binder`.
pub fn of(binder: SIBinder) -> Arc<AIBinder> {
    if let Some(Kind::Local(local)) = binder
        .as_any()
        .downcast_ref()
        .map(|own: &AIBinder| &own.kind)
    {
        return local.me.upgrade().expect("somebody holds it: the argument");
    }
    let mut remotes = lock(&REMOTES);
    let entry = remotes.entry(address(&binder)).or_default();
    entry.upgrade().unwrap_or_else(|| {
        let new = Arc::new(AIBinder {
            class: AtomicPtr::default(),
            kind: Kind::Remote(Remote {
                binder,
                links: Mutex::default(),
            }),
        });
        *entry = Arc::downgrade(&new);
        new
    })
}

/// Hands a reference to C.
pub fn into_raw(binder: Option<SIBinder>) -> *mut AIBinder {
    binder.map_or(std::ptr::null_mut(), |binder| {
        Arc::into_raw(of(binder)).cast_mut()
    })
}

impl Drop for AIBinder {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Local(local) => {
                if let Some(class) = self.class() {
                    // SAFETY: what onCreate returned, once.
                    unsafe { (class.on_destroy)(local.user_data.get()) };
                }
            }
            Kind::Remote(remote) => {
                let mut remotes = lock(&REMOTES);
                let key = address(&remote.binder);
                // Another may have taken its place since the last reference went.
                if remotes
                    .get(&key)
                    .is_some_and(|weak| weak.strong_count() == 0)
                {
                    remotes.remove(&key);
                }
            }
        }
    }
}

impl AIBinder {
    pub fn local_of(class: *const AIBinder_Class, user_data: *mut c_void) -> Arc<Self> {
        Arc::new_cyclic(|me| AIBinder {
            class: AtomicPtr::new(class.cast_mut()),
            kind: Kind::Local(Box::new(Local {
                me: me.clone(),
                user_data: UserData(user_data),
                was_parceled: AtomicBool::new(false),
                settings: Mutex::default(),
            })),
        })
    }

    pub fn class(&self) -> Option<&'static AIBinder_Class> {
        // SAFETY: a class is never freed.
        unsafe { self.class.load(Ordering::Acquire).as_ref() }
    }

    /// False: it has another.
    pub fn associate(&self, wanted: &AIBinder_Class) -> bool {
        if self.class().is_none() && self.inner().descriptor() == wanted.name() {
            let place = std::ptr::from_ref(wanted).cast_mut();
            let _ = self.class.compare_exchange(
                std::ptr::null_mut(),
                place,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
        }
        self.class()
            .is_some_and(|known| std::ptr::eq(known, wanted))
    }

    pub fn user_data(&self) -> *mut c_void {
        self.local()
            .map_or(std::ptr::null_mut(), |local| local.user_data.get())
    }

    fn local(&self) -> Option<&Local> {
        match &self.kind {
            Kind::Local(local) => Some(local),
            Kind::Remote(_) => None,
        }
    }

    pub fn remote(&self) -> Option<&Remote> {
        match &self.kind {
            Kind::Local(_) => None,
            Kind::Remote(remote) => Some(remote),
        }
    }

    /// As rsbinder knows it.
    pub fn inner(&self) -> SIBinder {
        match &self.kind {
            Kind::Local(local) => {
                let me = local.me.upgrade().expect("the caller holds it");
                SIBinder::new(me).expect("counting cannot fail: inc_strong")
            }
            Kind::Remote(remote) => remote.binder.clone(),
        }
    }

    /// Changes what others are told of a local object, which is not possible any more when one has
    /// been told.
    pub fn set(&self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        let local = self.local().ok_or(StatusCode::InvalidOperation)?;
        if local.was_parceled.load(Ordering::Acquire) {
            eprintln!(
                "libbinder_ndk: set the stability, the identity and the priority of an \
                       object before it is passed on: now they stay as they were"
            );
            return Err(StatusCode::InvalidOperation);
        }
        change(&mut lock(&local.settings));
        Ok(())
    }

    fn call(&self, code: TransactionCode, data: &mut Parcel, reply: &mut Parcel) -> Result<()> {
        let class = self.class().ok_or(StatusCode::InvalidOperation)?;
        class.read_header(data)?;
        let (input, mut output) = (AParcel::borrow(data), AParcel::borrow(reply));
        let me = (&raw const *self).cast_mut().cast();
        // SAFETY: both parcels outlive the call.
        result_of(unsafe {
            (class.on_transact)(
                me,
                code,
                (&raw const input).cast(),
                (&raw mut output).cast(),
            )
        })
    }

    pub fn dump(&self, file: c_int, arguments: &[CString]) -> Result<()> {
        let Some(dump) = self.class().and_then(|class| class.on_dump.get()) else {
            return Ok(());
        };
        let mut words: Vec<_> = arguments.iter().map(|word| word.as_ptr()).collect();
        let me = (&raw const *self).cast_mut().cast();
        // SAFETY: the words outlive the call.
        result_of(unsafe { dump(me, file, words.as_mut_ptr(), words.len() as u32) })
    }
}

/// Reads the request of a dump, as only an object of rsbinder can, for one in C.
#[derive(Default)]
struct Dumper {
    binder: Weak<AIBinder>,
    file: c_int,
}

impl Remotable for Dumper {
    fn descriptor() -> &'static str {
        ""
    }

    fn on_transact(&self, _: TransactionCode, _: &mut Parcel, _: &mut Parcel) -> Result<()> {
        Err(StatusCode::UnknownTransaction)
    }

    /// By now the object at the parcel's begin is known to be an open file, of the number there.
    fn on_dump(&self, _: &mut dyn Write, arguments: &[String]) -> Result<()> {
        let arguments: std::result::Result<Vec<_>, _> = arguments
            .iter()
            .map(|word| CString::new(word.as_str()))
            .collect();
        let binder = self.binder.upgrade().ok_or(StatusCode::DeadObject)?;
        binder.dump(self.file, &arguments.map_err(|_| StatusCode::BadValue)?)
    }
}

impl Transactable for AIBinder {
    fn transact(&self, code: TransactionCode, data: &mut Parcel, reply: &mut Parcel) -> Result<()> {
        data.set_data_position(0);
        match code {
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                self.call(code, data, reply)
            }
            rsbinder::PING_TRANSACTION => Ok(()),
            rsbinder::INTERFACE_TRANSACTION => reply.write(self.descriptor()),
            rsbinder::EXTENSION_TRANSACTION => reply.write(&self.get_extension()?),
            rsbinder::DEBUG_PID_TRANSACTION => reply.write_i32(std::process::id() as i32),
            rsbinder::DUMP_TRANSACTION => {
                // An object that is a file: its type, its flags, its number.
                data.set_data_position(2 * size_of::<u32>());
                let dumper = Dumper {
                    binder: self.local().ok_or(StatusCode::InvalidOperation)?.me.clone(),
                    file: data.read_i32()?,
                };
                let by = Binder::new(dumper).as_binder();
                by.as_transactable()
                    .ok_or(StatusCode::Unknown)?
                    .transact(code, data, reply)
            }
            rsbinder::SHELL_COMMAND_TRANSACTION
            | rsbinder::SYSPROPS_TRANSACTION
            | rsbinder::START_RECORDING_TRANSACTION
            | rsbinder::STOP_RECORDING_TRANSACTION => Err(StatusCode::InvalidOperation),
            _ => Err(StatusCode::UnknownTransaction),
        }
    }
}

impl IBinder for AIBinder {
    fn link_to_death(&self, _: Weak<dyn rsbinder::DeathRecipient>) -> Result<()> {
        Err(StatusCode::InvalidOperation)
    }

    fn unlink_to_death(&self, _: Weak<dyn rsbinder::DeathRecipient>) -> Result<()> {
        Err(StatusCode::InvalidOperation)
    }

    fn ping_binder(&self) -> Result<()> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_transactable(&self) -> Option<&dyn Transactable> {
        Some(self)
    }

    fn descriptor(&self) -> &str {
        self.class().map_or("", AIBinder_Class::name)
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn stability(&self) -> Stability {
        self.local()
            .map_or_else(Stability::default, |local| lock(&local.settings).stability)
    }

    fn get_extension(&self) -> Result<Option<SIBinder>> {
        Ok(self
            .local()
            .and_then(|local| lock(&local.settings).extension.clone()))
    }

    fn set_extension(&self, extension: &SIBinder) -> Result<()> {
        let local = self.local().ok_or(StatusCode::InvalidOperation)?;
        lock(&local.settings).extension = Some(extension.clone());
        Ok(())
    }

    /// As rsbinder encodes them.
    fn local_binder_flags(&self) -> u32 {
        let features = self.local().map(|local| lock(&local.settings).features);
        Binder::new_with_features(Dumper::default(), features.unwrap_or_default())
            .as_binder()
            .local_binder_flags()
    }

    fn was_parceled(&self) -> bool {
        self.local()
            .is_some_and(|local| local.was_parceled.load(Ordering::Acquire))
    }

    fn set_parceled(&self) {
        if let Some(local) = self.local() {
            local.was_parceled.store(true, Ordering::Release);
        }
    }

    // The `Arc` counts.
    fn inc_strong(&self, _: &SIBinder) -> Result<()> {
        Ok(())
    }

    fn attempt_inc_strong(&self) -> bool {
        true
    }

    fn dec_strong(&self, _: Option<ManuallyDrop<SIBinder>>) -> Result<()> {
        Ok(())
    }

    fn inc_weak(&self, _: &WIBinder) -> Result<()> {
        Ok(())
    }

    fn dec_weak(&self) -> Result<()> {
        Ok(())
    }
}

/// Before an object goes to another process, the driver has to be open.
pub fn to_send(binder: &AIBinder) -> Result<SIBinder> {
    abinder_process::ready()?;
    Ok(binder.inner())
}
