// SPDX-License-Identifier: Apache-2.0
//! A service manager of another Android level, as that of a container or an emulator: rsbinder
//! speaks the newest one only.
use anybinder_driver::abi::TYPE_HANDLE;
use anybinder_driver::level::{Level, LEVELS};
use anybinder_servicemanager::numbering::{self, Method};
use rsbinder::{Parcel, ProcessState, SIBinder, StatusCode};

const PRIORITY_ALL: i32 = 0x0f;

/// A service manager that is not of the newest level.
pub struct Foreign {
    context: SIBinder,
    pub level: Level,
}

/// A service as such a service manager lists it.
pub struct Listed {
    pub name: String,
    /// None before Android 12, which does not say it.
    pub pid: Option<i32>,
}

type Result<T> = std::result::Result<T, StatusCode>;

/// Calls a method with the header of Android 11 and newer. Returns the reply behind its exception.
fn call(
    context: &SIBinder,
    code: u32,
    fill: impl FnOnce(&mut Parcel) -> Result<()>,
) -> Result<Parcel> {
    let proxy = context.as_proxy().ok_or(StatusCode::BadType)?;
    let mut request = proxy.prepare_transact(true)?;
    fill(&mut request)?;
    let reply = proxy.submit_transact(code, &request, 0)?;
    let mut reply = reply.ok_or(StatusCode::UnexpectedNull)?;
    match reply.read_i32()? {
        0 => Ok(reply),
        _ => Err(StatusCode::PermissionDenied),
    }
}

/// The names and processes in a reply of getServiceDebugInfo.
fn read_debug_info(reply: &mut Parcel) -> Result<Vec<Listed>> {
    let mut services = Vec::new();
    for _ in 0..reply.read_i32()? {
        // Not null, and its size.
        if reply.read_i32()? != 1 {
            return Err(StatusCode::BadValue);
        }
        reply.read_i32()?;
        services.push(Listed {
            name: reply.read()?,
            pid: Some(reply.read_i32()?),
        });
    }
    Ok(services)
}

/// The services by the numbering of a level; fails at a service manager of another one.
fn list_at(context: &SIBinder, level: Level) -> Result<Vec<Listed>> {
    if let Some(code) = numbering::code(level, Method::GetServiceDebugInfo) {
        return read_debug_info(&mut call(context, code, |_| Ok(()))?);
    }
    let code = numbering::code(level, Method::ListServices).ok_or(StatusCode::BadType)?;
    let mut reply = call(context, code, |request| request.write_i32(PRIORITY_ALL))?;
    let names: Vec<String> = reply.read()?;
    let listed = |name| Listed { name, pid: None };
    Ok(names.into_iter().map(listed).collect())
}

impl Foreign {
    /// The service manager of the open device, and its level: that of the newest numbering in which
    /// it lists its services. None if it knows none of those from Android 11 on.
    pub fn find() -> Option<Foreign> {
        let context = ProcessState::as_self().context_object().ok()?;
        let level = LEVELS
            .into_iter()
            .rev()
            .filter(|level| !level.is_legacy())
            .find(|level| list_at(&context, *level).is_ok())?;
        Some(Foreign { context, level })
    }

    pub fn list(&self) -> Result<Vec<Listed>> {
        list_at(&self.context, self.level)
    }

    /// Looks up a service. `getService` has the code 1 and returns a binder at every level; what
    /// follows it differs, and is not read.
    pub fn service(&self, name: &str) -> Result<Option<SIBinder>> {
        let code = numbering::code(self.level, Method::GetService).ok_or(StatusCode::BadType)?;
        let mut reply = call(&self.context, code, |request| request.write(name))?;
        let kind = reply.read_u32()?;
        reply.read_u32()?;
        let handle = reply.read_u32()?;
        if kind != TYPE_HANDLE {
            return Ok(None);
        }
        // The reply keeps the handle until the proxy has a reference.
        ProcessState::as_self()
            .strong_proxy_for_handle(handle)
            .map(Some)
    }
}
