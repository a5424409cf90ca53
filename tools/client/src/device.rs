// SPDX-License-Identifier: Apache-2.0
//! This program as a Binder client: connecting, and turning what fails into sentences.
use anybinder_mount::place::{Place, Served};
use anybinder_mount::trouble::{Result, Trouble};
use rsbinder::hub::ServiceManager;
use rsbinder::{ProcessState, SIBinder, StatusCode};
use std::io::ErrorKind;
use std::sync::Arc;

/// The device that a client command talks to.
#[derive(Debug, clap::Args)]
pub struct DeviceOption {
    /// The binder device to use
    #[arg(long, value_name = "NAME", default_value = "binder")]
    pub device: String,
}

/// Fails with the reason if the device cannot be opened.
pub fn check_device(place: &Place, device: &str) -> Result<()> {
    let path = place.device(device);
    match std::fs::File::options().read(true).write(true).open(path) {
        Ok(_) => Ok(()),
        Err(err) => Err(cannot_open(place, device, &err)),
    }
}

/// Opens the device with at most `max_threads` threads for incoming calls.
pub fn open(place: &Place, device: &str, max_threads: u32) -> Result<()> {
    check_device(place, device)?;
    let path = place.device(device);
    ProcessState::init(&path.to_string_lossy(), max_threads).map_err(|err| {
        Trouble::with_advice(
            format!(
                "{} does not answer as a Binder device: {err}.",
                path.display()
            ),
            "See what serves it with `anybinder status`.",
        )
    })?;
    Ok(())
}

fn cannot_open(place: &Place, device: &str, err: &std::io::Error) -> Trouble {
    let path = place.device(device);
    let path = path.display();
    match (place.served(), err.kind()) {
        (Served::Not, _) => Trouble::with_advice(
            format!("Nothing is mounted at {}.", place.mount.display()),
            "Bring it up with `anybinder up`, or name the right directory with --mount.",
        ),
        (Served::Stale, _) => Trouble::with_advice(
            format!("The daemon of {} is gone.", place.mount.display()),
            "Start it again with `anybinder up`.",
        ),
        (_, ErrorKind::NotFound) => Trouble::with_advice(
            format!("There is no device {path}."),
            format!("The mount offers: {}.", place.devices().join(", ")),
        ),
        (_, ErrorKind::PermissionDenied) => Trouble::with_advice(
            format!("You have no permission to open {path}."),
            "Run this as a user who may, or bring the home up with another --mode or --gid.",
        ),
        _ => Trouble::new(format!("{path} cannot be opened: {err}.")),
    }
}

/// The service manager of the device that `open` opened.
pub fn service_manager(place: &Place, device: &str) -> Result<Arc<ServiceManager>> {
    rsbinder::hub::default().map_err(|err| {
        Trouble::with_advice(
            format!(
                "No service manager answers on {} ({err}).",
                place.device(device).display()
            ),
            format!("Start one with `anybinder servicemanager --device {device}`."),
        )
    })
}

/// Opens the device and finds a service there.
pub fn find(place: &Place, device: &str, name: &str) -> Result<SIBinder> {
    open(place, device, 0)?;
    let manager = service_manager(place, device)?;
    match manager.try_get_service(name) {
        Ok(Some(service)) => Ok(service),
        Ok(None) => Err(Trouble::with_advice(
            format!("No service is registered as {name}."),
            "See the registered ones with `anybinder list`.",
        )),
        Err(err) => Err(Trouble::new(format!(
            "The service manager did not answer about {name}: {}.",
            explain(err)
        ))),
    }
}

/// A Binder status in words.
pub fn explain(status: StatusCode) -> String {
    let words = match status {
        StatusCode::DeadObject => "the process behind it is dead",
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
