// SPDX-License-Identifier: Apache-2.0
//! The service manager, as rsbinder speaks with it.
use std::ffi::{c_char, c_void, CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rsbinder::hub::android_16::IServiceManager;
use rsbinder::hub::{self, BnServiceCallback, IServiceCallback, ServiceManager};
use rsbinder::lazy_service::LazyServiceRegistrar;
use rsbinder::{BinderResult, ExceptionCode, Interface, SIBinder, StatusCode, Strong};

use crate::aibinder::{self, AIBinder};
use crate::{abinder_process, boxed, given, outcome, UserData};

/// How long `AServiceManager_getService` waits, as on Android.
const PATIENCE: Duration = Duration::from_secs(5);
const ALLOW_ISOLATED: u32 = 1 << 0;

fn manager() -> rsbinder::Result<Arc<ServiceManager>> {
    abinder_process::ready()?;
    hub::default()
}

unsafe fn name<'a>(text: *const c_char) -> rsbinder::Result<&'a str> {
    CStr::from_ptr(given(text)?)
        .to_str()
        .or(Err(StatusCode::BadValue))
}

unsafe fn both<'a>(
    binder: *mut AIBinder,
    instance: *const c_char,
) -> BinderResult<(SIBinder, &'a str)> {
    let binder = binder.as_ref().ok_or(ExceptionCode::IllegalArgument)?;
    let instance = name(instance).or(Err(ExceptionCode::IllegalArgument))?;
    Ok((aibinder::to_send(binder)?, instance))
}

fn exception(result: BinderResult<()>) -> i32 {
    result.map_or_else(
        |status| status.exception_code() as i32,
        |()| ExceptionCode::None as i32,
    )
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_addService(
    binder: *mut AIBinder,
    instance: *const c_char,
) -> i32 {
    AServiceManager_addServiceWithFlags(binder, instance, 0)
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_addServiceWithFlags(
    binder: *mut AIBinder,
    instance: *const c_char,
    flags: u32,
) -> i32 {
    let add = || -> BinderResult<()> {
        let (binder, instance) = both(binder, instance)?;
        let allow_isolated = flags & ALLOW_ISOLATED != 0;
        let priorities = (flags as i32 >> 1) & hub::DUMP_FLAG_PRIORITY_ALL;
        let priorities = match priorities {
            0 => hub::DUMP_FLAG_PRIORITY_DEFAULT,
            chosen => chosen,
        };
        match &*manager()? {
            ServiceManager::Android16(manager) => {
                manager.addService(instance, &binder, allow_isolated, priorities)
            }
        }
    };
    exception(add())
}

unsafe fn found(
    instance: *const c_char,
    find: impl FnOnce(&ServiceManager, &str) -> Option<SIBinder>,
) -> *mut AIBinder {
    let binder = manager().and_then(|manager| Ok(find(&manager, name(instance)?)));
    aibinder::into_raw(binder.ok().flatten())
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_checkService(instance: *const c_char) -> *mut AIBinder {
    found(instance, |manager, name| manager.check_service(name))
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_getService(instance: *const c_char) -> *mut AIBinder {
    found(instance, |manager, name| {
        let start = Instant::now();
        loop {
            match manager.try_get_service(name) {
                Ok(None) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                got => return got.ok().flatten(),
            }
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_waitForService(instance: *const c_char) -> *mut AIBinder {
    found(instance, |manager, name| manager.wait_for_service(name))
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_isDeclared(instance: *const c_char) -> bool {
    manager().is_ok_and(|manager| name(instance).is_ok_and(|name| manager.is_declared(name)))
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_forEachDeclaredInstance(
    interface: *const c_char,
    context: *mut c_void,
    callback: Option<unsafe extern "C" fn(*const c_char, *mut c_void)>,
) {
    let (Ok(manager), Ok(interface), Some(callback)) = (manager(), name(interface), callback)
    else {
        return;
    };
    for instance in manager.get_declared_instances(interface) {
        if let Ok(instance) = CString::new(instance) {
            callback(instance.as_ptr(), context);
        }
    }
}

unsafe fn apex(instance: *const c_char) -> Option<String> {
    match &*manager().ok()? {
        ServiceManager::Android16(manager) => manager
            .updatableViaApex(name(instance).ok()?)
            .ok()
            .flatten(),
    }
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_isUpdatableViaApex(instance: *const c_char) -> bool {
    apex(instance).is_some()
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_getUpdatableApexName(
    instance: *const c_char,
    context: *mut c_void,
    callback: Option<unsafe extern "C" fn(*const c_char, *mut c_void)>,
) {
    let name = apex(instance).and_then(|name| CString::new(name).ok());
    if let (Some(name), Some(callback)) = (name, callback) {
        callback(name.as_ptr(), context);
    }
}

/// A HAL in the caller's own process is a library of Android's vendor: there is none.
#[no_mangle]
pub extern "C" fn AServiceManager_openDeclaredPassthroughHal(
    _interface: *const c_char,
    _instance: *const c_char,
    _flag: i32,
) -> *mut c_void {
    std::ptr::null_mut()
}

type OnRegister = unsafe extern "C" fn(*const c_char, *mut AIBinder, *mut c_void);

struct Listener {
    on_register: OnRegister,
    cookie: UserData,
}

impl Interface for Listener {}

impl IServiceCallback for Listener {
    fn onRegistration(&self, name: &str, binder: &SIBinder) -> BinderResult<()> {
        let name = CString::new(name).or(Err(ExceptionCode::IllegalArgument))?;
        let binder = aibinder::of(binder.clone());
        let place = Arc::as_ptr(&binder).cast_mut();
        // SAFETY: the callback holds what it keeps.
        unsafe { (self.on_register)(name.as_ptr(), place, self.cookie.get()) };
        Ok(())
    }
}

pub struct AServiceManager_NotificationRegistration {
    name: String,
    callback: Strong<dyn IServiceCallback>,
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_registerForServiceNotifications(
    instance: *const c_char,
    on_register: Option<OnRegister>,
    cookie: *mut c_void,
) -> *mut AServiceManager_NotificationRegistration {
    let register = || {
        let listener = Listener {
            on_register: on_register.ok_or(StatusCode::UnexpectedNull)?,
            cookie: UserData(cookie),
        };
        let name = name(instance)?.to_owned();
        let callback = BnServiceCallback::new_binder(listener);
        manager()?.register_for_notifications(&name, &callback)?;
        rsbinder::Result::Ok(AServiceManager_NotificationRegistration { name, callback })
    };
    boxed(register().ok())
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_NotificationRegistration_delete(
    registration: *mut AServiceManager_NotificationRegistration,
) {
    if registration.is_null() {
        return;
    }
    let registration = Box::from_raw(registration);
    if let Ok(manager) = manager() {
        let _ = manager.unregister_for_notifications(&registration.name, &registration.callback);
    }
}

#[no_mangle]
pub unsafe extern "C" fn AServiceManager_registerLazyService(
    binder: *mut AIBinder,
    instance: *const c_char,
) -> crate::Status {
    outcome(|| {
        let registered = both(binder, instance).and_then(|(binder, instance)| {
            LazyServiceRegistrar::instance().register_service(instance, binder)
        });
        registered.map_err(|status| match status.exception_code() {
            ExceptionCode::IllegalArgument => StatusCode::UnexpectedNull,
            _ => status.into(),
        })
    })
}

#[no_mangle]
pub extern "C" fn AServiceManager_forceLazyServicesPersist(persist: bool) {
    LazyServiceRegistrar::instance().force_persist(persist);
}

#[no_mangle]
pub extern "C" fn AServiceManager_setActiveServicesCallback(
    callback: Option<unsafe extern "C" fn(bool, *mut c_void) -> bool>,
    context: *mut c_void,
) {
    let Some(callback) = callback else {
        return;
    };
    let context = UserData(context);
    LazyServiceRegistrar::instance().set_active_services_callback(Arc::new(move |has_clients| {
        // SAFETY: the user's function, with the user's data.
        unsafe { callback(has_clients, context.get()) }
    }));
}

#[no_mangle]
pub extern "C" fn AServiceManager_tryUnregister() -> bool {
    LazyServiceRegistrar::instance().try_unregister()
}

#[no_mangle]
pub extern "C" fn AServiceManager_reRegister() {
    LazyServiceRegistrar::instance().re_register();
}
