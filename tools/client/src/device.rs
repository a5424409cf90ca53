// SPDX-License-Identifier: Apache-2.0
//! Opening a device, finding services, and the errors of calls.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::note;
use anybinder_cli::time_limit::waits_because;
use anybinder_driver::parcel::Speaker;
use anybinder_mount::mount::Mount;
use anybinder_rpc::dialect::{header_word, registrant};
use anybinder_rpc::foreign::{Foreign, Manager};
use anybinder_rpc::status_text::explain;
use rsbinder::hub::ServiceManager;
use rsbinder::{ExceptionCode, ProcessState, SIBinder, StatusCode};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// How often a device without a service manager is asked for one.
const POLL: Duration = Duration::from_millis(100);

/// The device that a client command uses.
#[derive(Clone, Debug, clap::Args)]
pub struct DeviceOption {
    /// The binder device to use
    #[arg(long, value_name = "NAME", default_value = "binder")]
    pub device: String,
}

/// Opens a device for this process, which can have only one open. Fails, with advice, if it cannot
/// be opened or is no Binder device.
///
/// * `max_threads`: how many threads may serve incoming calls
pub fn open(mount: &Mount, device: &str, max_threads: u32) -> Result<()> {
    mount.check_device(device)?;
    let path = mount.file(device);
    ProcessState::init(&path.to_string_lossy(), max_threads)
        .map_err(|err| no_device(mount, device, &err.to_string()))?;
    Ok(())
}

/// The error of a file that is no Binder device.
pub fn no_device(mount: &Mount, device: &str, reason: &str) -> Error {
    Error::with_advice(
        format!(
            "{} does not answer as a Binder device: {reason}.",
            mount.file(device).display()
        ),
        "See what serves it with `anybinder status`.",
    )
}

/// The service manager of the device that `open` opened. Fails, with advice, if there is none.
pub fn service_manager(mount: &Mount, device: &str) -> Result<Arc<ServiceManager>> {
    rsbinder::hub::default().map_err(|err| no_manager(mount, device, &err.to_string()))
}

/// Does what `service_manager` does, and waits until there is one. Fails if nobody serves the
/// device any more.
pub fn wait_for_manager(mount: &Mount, device: &str) -> Result<Arc<ServiceManager>> {
    loop {
        match service_manager(mount, device) {
            Ok(manager) => return Ok(manager),
            Err(error) => {
                mount.check_served()?;
                waits_because(&error);
            }
        }
        std::thread::sleep(POLL);
    }
}

/// The service manager of a device, whatever its level and its header word.
pub fn manager(mount: &Mount, device: &str) -> Result<Manager> {
    Ok(Manager::new(service_manager(mount, device)?, foreign()))
}

/// The error of a device without a service manager.
pub fn no_manager(mount: &Mount, device: &str, reason: &str) -> Error {
    Error::with_advice(
        format!(
            "No service manager answers on {} ({reason}).",
            mount.file(device).display()
        ),
        format!(
            "Start one with `anybinder up`, or with \
             `anybinder servicemanager --device {device}`."
        ),
    )
    .of(Kind::NoManager)
}

/// The error of a name that no service is registered as.
pub fn no_service(name: &str) -> Error {
    Error::with_advice(
        format!("No service is registered as {name}."),
        "See the registered ones with `anybinder list`.",
    )
    .of(Kind::NoService)
}

/// The service manager of the open device, if it is not of the newest Android level or has another
/// header word; says so on standard error.
pub fn foreign() -> Option<Foreign> {
    let foreign = Foreign::find()?;
    note(format_args!(
        "anybinder: the service manager is one of {}.",
        foreign.describe()
    ));
    Some(foreign)
}

/// Whether a name is one of HIDL: AIDL's have no colons.
pub fn is_hidl(name: &str) -> bool {
    name.contains("::")
}

/// Fails for a name of HIDL, whose services understand no call of AIDL.
pub fn check_aidl(device: &str, name: &str) -> Result<()> {
    match is_hidl(name) {
        false => Ok(()),
        true => Err(Error::with_advice(
            format!("{name} is a service of HIDL, and this command speaks AIDL."),
            format!(
                "`anybinder check --device {device} {name}` says whether it is there; libgbinder's \
                 binder-ping and binder-call speak HIDL."
            ),
        )
        .of(Kind::Usage)),
    }
}

/// Opens a device and finds the service `name` there. Fails, with advice, if there is none, or if
/// the policy of the service manager does not let this user find it.
pub fn find(mount: &Mount, device: &str, name: &str) -> Result<SIBinder> {
    open(mount, device, 0)?;
    look_up(mount, device, name)
}

/// How a service of the open device reads calls: as the process that registered it writes them, or
/// else as the service manager reads them.
pub fn speaker_of(name: &str) -> Speaker {
    registrant(name).unwrap_or_else(|| Speaker {
        header_word: header_word(),
        ..Speaker::default()
    })
}

/// Looks up a service on the device that is open already.
pub fn look_up(mount: &Mount, device: &str, name: &str) -> Result<SIBinder> {
    check_aidl(device, name)?;
    let manager = service_manager(mount, device)?;
    let found = match foreign() {
        Some(foreign) => foreign.service(name),
        None => manager.try_get_service(name),
    };
    match found {
        Ok(Some(service)) => Ok(service),
        Ok(None) => Err(denied_lookup(&manager, name).unwrap_or_else(|| no_service(name))),
        Err(err) => Err(call_error(
            &format!("The service manager failed to look up {name}"),
            err,
        )),
    }
}

/// A lookup that a policy denies is answered as if there were no such service; other questions
/// about the same name are refused openly. None if the lookup was not denied.
fn denied_lookup(manager: &ServiceManager, name: &str) -> Option<Error> {
    let status = manager.try_is_declared(name).err()?;
    (status.exception_code() == ExceptionCode::Security).then(|| {
        policy_error(&format!(
            "The policy of the service manager does not let you find {name}"
        ))
    })
}

/// The error of a request that the policy of the service manager denies.
pub fn policy_error(what: &str) -> Error {
    Error::with_advice(
        format!("{what}."),
        "Run this as a user whom the policy allows it, or change the rules that the service \
         manager was started with (--policy).",
    )
    .of(Kind::Denied)
}

/// The error of a call that failed.
pub fn call_error(what: &str, status: StatusCode) -> Error {
    let kind = match status {
        StatusCode::PermissionDenied => Kind::Denied,
        StatusCode::TimedOut => Kind::TimedOut,
        _ => Kind::CallFailed,
    };
    let reason = match status {
        StatusCode::FailedTransaction => refusal(refused_for()),
        _ => explain(status),
    };
    Error::new(format!("{what}: {reason}.")).of(kind)
}

/// The errno of the last transaction of this thread, if the driver refused it and tells why (from
/// Linux 6.0 on).
fn refused_for() -> Option<i32> {
    let error = rsbinder::get_extended_error().ok()?;
    (error.param < 0).then_some(-error.param)
}

/// In words, why the driver refused a transaction.
pub fn refusal(errno: Option<i32>) -> String {
    let reason = match errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC) => "no space for it in the buffer of its receiver".to_string(),
        Some(errno) => std::io::Error::from(errno).to_string(),
        None => return explain(StatusCode::FailedTransaction),
    };
    format!("the driver refused the transaction ({reason}) (FailedTransaction)")
}
