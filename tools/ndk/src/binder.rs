// SPDX-License-Identifier: Apache-2.0
//! The functions of the C API for objects (`aibinder.rs`).
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, Weak};

use rsbinder::{
    IBinder, Parcel, Result, SIBinder, Stability, StatusCode, Transactable, TransactionCode,
    WIBinder,
};

use crate::aibinder::{address, into_raw, to_send, AIBinder, Remote, Settings};
use crate::aparcel::{borrowed, store, with, AParcel};
use crate::class::AIBinder_Class;
use crate::death_recipient::{AIBinder_DeathRecipient, Link};
use crate::{abinder_process, boxed, ensure, given, lock, outcome, Status};

#[no_mangle]
pub unsafe extern "C" fn AIBinder_new(
    class: *const AIBinder_Class,
    args: *mut c_void,
) -> *mut AIBinder {
    let Some(known) = class.as_ref() else {
        return std::ptr::null_mut();
    };
    let user_data = (known.on_create)(args);
    Arc::into_raw(AIBinder::local_of(class, user_data)).cast_mut()
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_incStrong(binder: *mut AIBinder) {
    if !binder.is_null() {
        Arc::increment_strong_count(binder);
    }
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_decStrong(binder: *mut AIBinder) {
    if !binder.is_null() {
        Arc::decrement_strong_count(binder);
    }
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_debugGetRefCount(binder: *mut AIBinder) -> i32 {
    if binder.is_null() {
        return -1;
    }
    let counted = ManuallyDrop::new(Arc::from_raw(binder.cast_const()));
    Arc::strong_count(&counted) as i32
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_isRemote(binder: *const AIBinder) -> bool {
    binder
        .as_ref()
        .is_some_and(|binder| binder.remote().is_some())
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_isAlive(binder: *const AIBinder) -> bool {
    // A proxy knows of the death of its object, and says so before it looks for the recipient.
    let is_alive = |remote: &Remote| {
        remote.binder.unlink_to_death(Weak::<Link>::new()) != Err(StatusCode::DeadObject)
    };
    binder
        .as_ref()
        .is_some_and(|binder| binder.remote().is_none_or(is_alive))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_ping(binder: *mut AIBinder) -> Status {
    outcome(|| match given(binder)?.remote() {
        Some(remote) => remote.binder.ping_binder(),
        None => Ok(()),
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_dump(
    binder: *mut AIBinder,
    file: c_int,
    arguments: *mut *const c_char,
    count: u32,
) -> Status {
    outcome(|| {
        let binder = given(binder)?;
        let words: &[*const c_char] = if arguments.is_null() || count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(arguments, count as usize)
        };
        let words = words.iter().map(|word| CStr::from_ptr(*word));
        let Some(remote) = binder.remote() else {
            let words: Vec<_> = words.map(CStr::to_owned).collect();
            return binder.dump(file, &words);
        };
        let proxy = remote
            .binder
            .as_proxy()
            .ok_or(StatusCode::InvalidOperation)?;
        let words: Vec<_> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        proxy.dump(borrowed(file)?.try_clone_to_owned()?, &words)
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_associateClass(
    binder: *mut AIBinder,
    class: *const AIBinder_Class,
) -> bool {
    let both = binder.as_ref().zip(class.as_ref());
    both.is_some_and(|(binder, wanted)| binder.associate(wanted))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_getClass(binder: *mut AIBinder) -> *const AIBinder_Class {
    binder
        .as_ref()
        .and_then(AIBinder::class)
        .map_or(std::ptr::null(), std::ptr::from_ref)
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_getUserData(binder: *mut AIBinder) -> *mut c_void {
    binder
        .as_ref()
        .map_or(std::ptr::null_mut(), AIBinder::user_data)
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_lt(left: *const AIBinder, right: *const AIBinder) -> bool {
    left < right
}

const FLAG_ONEWAY: u32 = rsbinder::FLAG_ONEWAY;
const FLAG_CLEAR_BUF: u32 = rsbinder::FLAG_CLEAR_BUF;
const FLAGS: u32 = FLAG_ONEWAY | FLAG_CLEAR_BUF | rsbinder::FLAG_PRIVATE_VENDOR;

#[no_mangle]
pub unsafe extern "C" fn AIBinder_prepareTransaction(
    binder: *mut AIBinder,
    out: *mut *mut AParcel,
) -> Status {
    outcome(|| {
        let known = given(binder)?;
        store(out, std::ptr::null_mut())?;
        let class = known.class().ok_or(StatusCode::InvalidOperation)?;
        let parcel = if let Some(remote) = known.remote() {
            remote.proxy()?.prepare_transact(class.has_header())?
        } else {
            let mut parcel = Parcel::new();
            class.write_header(&mut parcel)?;
            parcel
        };
        store(out, AParcel::for_call(parcel, binder.cast()))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_transact(
    binder: *mut AIBinder,
    code: TransactionCode,
    input: *mut *mut AParcel,
    output: *mut *mut AParcel,
    flags: u32,
) -> Status {
    outcome(|| {
        given(*given(input)?)?;
        let mut data = Box::from_raw(std::mem::replace(&mut *input, std::ptr::null_mut()));
        let known = given(binder)?;
        store(output, std::ptr::null_mut())?;
        let calls = rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION;
        ensure(calls.contains(&code), StatusCode::UnknownTransaction)?;
        let is_for_it = std::ptr::eq(data.target(), binder.cast());
        ensure(flags & !FLAGS == 0 && is_for_it, StatusCode::BadValue)?;
        let flags = flags & (FLAG_ONEWAY | FLAG_CLEAR_BUF);
        if let Some(remote) = known.remote() {
            let proxy = remote.proxy()?;
            match proxy.submit_transact(code, data.parcel(), flags)? {
                Some(reply) => data.hold(reply),
                None => data.hold(Parcel::with_capacity(0)),
            }
        } else {
            let mut reply = Parcel::new();
            known.transact(code, data.parcel(), &mut reply)?;
            reply.set_data_position(0);
            data.hold(reply);
        }
        store(output, Box::into_raw(data))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_getExtension(
    binder: *mut AIBinder,
    out: *mut *mut AIBinder,
) -> Status {
    outcome(|| {
        let binder = given(binder)?;
        store(out, std::ptr::null_mut())?;
        let extension = binder.inner().get_extension()?;
        store(out, into_raw(extension))
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_setExtension(
    binder: *mut AIBinder,
    extension: *mut AIBinder,
) -> Status {
    outcome(|| given(binder)?.set_extension(&given(extension)?.inner()))
}

/// Functions that set something of a local object; of a proxy, they do nothing.
macro_rules! setters {
    ($($name:ident($($argument:ident: $type:ty),*) = $change:expr;)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $name(binder: *mut AIBinder $(, $argument: $type)*) {
            if let Some(binder) = binder.as_ref() {
                let change: fn(&mut Settings $(, $type)*) = $change;
                let _ = binder.set(|settings| change(settings $(, $argument)*));
            }
        }
    )*};
}

setters! {
    AIBinder_markSystemStability() = |local| local.stability = Stability::System;
    AIBinder_markVendorStability() = |local| local.stability = Stability::Vendor;
    AIBinder_markVintfStability() = |local| local.stability = Stability::Vintf;
    AIBinder_forceDowngradeToSystemStability() = |local| local.stability = Stability::System;
    AIBinder_forceDowngradeToVendorStability() = |local| local.stability = Stability::Vendor;
    AIBinder_setRequestingSid(wanted: bool) =
        |local, wanted| local.features.set_requesting_sid = wanted;
    AIBinder_setInheritRt(wanted: bool) = |local, wanted| local.features.inherit_rt = wanted;
    AIBinder_setMinSchedulerPolicy(policy: c_int, priority: c_int) = |local, policy, priority| {
        local.features.min_sched_policy = Some(policy);
        local.features.min_priority = Some(priority);
    };
}

#[no_mangle]
pub extern "C" fn AIBinder_getCallingUid() -> u32 {
    rsbinder::get_calling_uid()
}

#[no_mangle]
pub extern "C" fn AIBinder_getCallingPid() -> i32 {
    rsbinder::get_calling_pid()
}

#[no_mangle]
pub extern "C" fn AIBinder_isHandlingTransaction() -> bool {
    rsbinder::is_handling_transaction()
}

#[no_mangle]
pub extern "C" fn AIBinder_getCallingSid() -> *const c_char {
    thread_local!(static LAST: Mutex<Option<CString>> = const { Mutex::new(None) });
    LAST.with(|last| {
        let mut last = lock(last);
        *last = rsbinder::get_calling_sid();
        last.as_ref()
            .map_or(std::ptr::null(), |context| context.as_ptr())
    })
}

#[derive(Clone)]
pub struct AIBinder_Weak {
    binder: WIBinder,
    /// Of the object, which keeps it while this is there: the order of weak references.
    address: usize,
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Weak_new(binder: *mut AIBinder) -> *mut AIBinder_Weak {
    let inner = binder.as_ref().map(AIBinder::inner);
    boxed(inner.map(|inner| AIBinder_Weak {
        binder: SIBinder::downgrade(&inner),
        address: address(&inner),
    }))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Weak_promote(weak: *mut AIBinder_Weak) -> *mut AIBinder {
    into_raw(weak.as_ref().and_then(|weak| weak.binder.upgrade().ok()))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Weak_clone(weak: *const AIBinder_Weak) -> *mut AIBinder_Weak {
    boxed(weak.as_ref().cloned())
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Weak_lt(
    left: *const AIBinder_Weak,
    right: *const AIBinder_Weak,
) -> bool {
    let order = |weak: *const AIBinder_Weak| weak.as_ref().map(|weak| weak.address);
    order(left) < order(right)
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_Weak_delete(weak: *mut AIBinder_Weak) {
    if !weak.is_null() {
        drop(Box::from_raw(weak));
    }
}

/// `InvalidOperation`: the object is of this process, and dies with it.
unsafe fn linked<'a>(
    binder: *mut AIBinder,
    recipient: *mut AIBinder_DeathRecipient,
) -> Result<(&'a Remote, &'a AIBinder_DeathRecipient)> {
    let (binder, recipient) = (given(binder)?, given(recipient)?);
    let remote = binder.remote().ok_or(StatusCode::InvalidOperation)?;
    Ok((remote, recipient))
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_linkToDeath(
    binder: *mut AIBinder,
    recipient: *mut AIBinder_DeathRecipient,
    cookie: *mut c_void,
) -> Status {
    outcome(|| {
        let (remote, recipient) = linked(binder, recipient)?;
        let link = recipient.link(cookie);
        remote.binder.link_to_death_arc(&link)?;
        let mut links = lock(&remote.links);
        links.retain(|other| !other.is_over());
        links.push(link);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn AIBinder_unlinkToDeath(
    binder: *mut AIBinder,
    recipient: *mut AIBinder_DeathRecipient,
    cookie: *mut c_void,
) -> Status {
    outcome(|| {
        let (remote, recipient) = linked(binder, recipient)?;
        let mut links = lock(&remote.links);
        let index = links.iter().position(|link| link.is_of(recipient, cookie));
        let link = index.map(|index| links.remove(index));
        drop(links);
        remote
            .binder
            .unlink_to_death_arc(&link.ok_or(StatusCode::NameNotFound)?)
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_writeStrongBinder(
    parcel: *mut AParcel,
    binder: *mut AIBinder,
) -> Status {
    with(parcel, |parcel| {
        let binder = binder.as_ref().map(to_send).transpose()?;
        parcel.write(&binder)
    })
}

#[no_mangle]
pub unsafe extern "C" fn AParcel_readStrongBinder(
    parcel: *const AParcel,
    binder: *mut *mut AIBinder,
) -> Status {
    with(parcel, |parcel| {
        abinder_process::ready()?;
        store(binder, std::ptr::null_mut())?;
        let read: Option<SIBinder> = parcel.read()?;
        store(binder, into_raw(read))
    })
}
