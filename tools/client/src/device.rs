// SPDX-License-Identifier: Apache-2.0
//! Opening a device, finding services, and Binder's statuses in words.
use anybinder_mount::error::{Error, Result};
use anybinder_mount::mount::Mount;
use rsbinder::hub::ServiceManager;
use rsbinder::{ProcessState, SIBinder, StatusCode};
use std::sync::Arc;

/// The device that a client command uses.
#[derive(Debug, clap::Args)]
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
    ProcessState::init(&path.to_string_lossy(), max_threads).map_err(|err| {
        Error::with_advice(
            format!(
                "{} does not answer as a Binder device: {err}.",
                path.display()
            ),
            "See what serves it with `anybinder status`.",
        )
    })?;
    Ok(())
}

/// The service manager of the device that `open` opened. Fails, with advice, if there is none.
pub fn service_manager(mount: &Mount, device: &str) -> Result<Arc<ServiceManager>> {
    rsbinder::hub::default().map_err(|err| {
        Error::with_advice(
            format!(
                "No service manager answers on {} ({err}).",
                mount.file(device).display()
            ),
            format!("Start one with `anybinder servicemanager --device {device}`."),
        )
    })
}

/// Opens a device and finds the service `name` there. Fails, with advice, if there is none.
pub fn find(mount: &Mount, device: &str, name: &str) -> Result<SIBinder> {
    open(mount, device, 0)?;
    let manager = service_manager(mount, device)?;
    match manager.try_get_service(name) {
        Ok(Some(service)) => Ok(service),
        Ok(None) => Err(Error::with_advice(
            format!("No service is registered as {name}."),
            "See the registered ones with `anybinder list`.",
        )),
        Err(err) => Err(Error::new(format!(
            "The service manager failed to look up {name}: {}.",
            explain(err)
        ))),
    }
}

/// A Binder status in words.
pub fn explain(status: StatusCode) -> String {
    let words = match status {
        StatusCode::DeadObject => "the process of the service is dead",
        StatusCode::FailedTransaction => {
            "the driver refused the transaction (too big, malformed, or the service is frozen)"
        }
        StatusCode::UnknownTransaction => "the service does not know this transaction code",
        StatusCode::PermissionDenied => "permission denied",
        StatusCode::BadType => "the service has another interface",
        other => return format!("{other:?}"),
    };
    format!("{words} ({status:?})")
}
