// SPDX-License-Identifier: Apache-2.0
//! The names of methods: of the calls that every object answers, of service managers at every
//! level, and of `.aidl` files.
use crate::command::services::interface_files;
use anybinder_cli::error::Result;
use anybinder_driver::level::{Level, LEVELS};
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::shape::Interface;
use anybinder_servicemanager::hidl_interface::{base_code, METHODS};
use anybinder_servicemanager::{numbering, DESCRIPTOR};
use std::collections::{BTreeMap, HashMap};

const fn code(letters: [u8; 4]) -> u32 {
    u32::from_be_bytes(letters)
}

/// The calls that every object answers: those of AIDL, of stable AIDL, and of HIDL.
const OF_ALL: [(u32, &str); 21] = [
    (code(*b"_PNG"), "ping"),
    (code(*b"_NTF"), "getInterfaceDescriptor"),
    (code(*b"_DMP"), "dump"),
    (code(*b"_CMD"), "shellCommand"),
    (code(*b"_SPR"), "syspropsChanged"),
    (code(*b"_EXT"), "getExtension"),
    (code(*b"_PID"), "getDebugPid"),
    (code(*b"_RPC"), "setRpcClient"),
    (code(*b"_LIK"), "like"),
    (code(*b"_TWT"), "tweet"),
    (0x00ff_ffff, "getInterfaceVersion"),
    (0x00ff_fffe, "getInterfaceHash"),
    (base_code(*b"PNG"), "ping"),
    (base_code(*b"CHN"), "interfaceChain"),
    (base_code(*b"DBG"), "debug"),
    (base_code(*b"DSC"), "interfaceDescriptor"),
    (base_code(*b"HSH"), "getHashChain"),
    (base_code(*b"INT"), "setHALInstrumentation"),
    (base_code(*b"LTD"), "linkToDeath"),
    (base_code(*b"UTD"), "unlinkToDeath"),
    (base_code(*b"REF"), "getDebugInfo"),
];

/// The interfaces of callbacks with one method each.
const CALLBACKS: [(&str, &str); 4] = [
    ("android.os.IServiceCallback", "onRegistration"),
    ("android.os.IClientCallback", "onClients"),
    (
        "android.hidl.manager@1.0::IServiceNotification",
        "onRegistration",
    ),
    ("android.hidl.manager@1.2::IClientCallback", "onClients"),
];

/// The name under which a service manager registers itself.
pub const MANAGER: &str = "manager";
const HIDL_MANAGER: (&str, &str) = ("android.hidl.manager@", "::IServiceManager");

/// The name of a method, whose type is called like it.
fn name_of(method: impl std::fmt::Debug) -> String {
    let name = format!("{method:?}");
    name[..1].to_ascii_lowercase() + &name[1..]
}

/// The name of a call that every object answers.
pub fn of_all(code: u32) -> Option<&'static str> {
    let found = OF_ALL.iter().find(|(known, _)| *known == code);
    found.map(|(_, name)| *name)
}

/// The names that a code of a service manager has, those of newer levels first.
fn of_levels(code: u32) -> Vec<String> {
    let mut names = Vec::new();
    for level in LEVELS.into_iter().rev() {
        let name = numbering::method(level, code).map(|(method, _)| name_of(method));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// The name of a method that is known without `.aidl` files. A code that is another method of the
/// service manager at other levels has the names of all.
pub fn known(interface: &str, code: u32) -> Option<String> {
    let (package, manager) = HIDL_MANAGER;
    let index = usize::try_from(code.wrapping_sub(1)).ok()?;
    let callback = CALLBACKS.iter().find(|(name, _)| *name == interface);
    match callback {
        _ if of_all(code).is_some() => of_all(code).map(str::to_string),
        Some((_, method)) if code == 1 => Some((*method).to_string()),
        _ if interface == DESCRIPTOR => {
            Some(of_levels(code).join("/")).filter(|name| !name.is_empty())
        }
        _ if interface.starts_with(package) && interface.ends_with(manager) => {
            METHODS.get(index).map(name_of)
        }
        _ => None,
    }
}

/// The methods of the service manager that have a code, with their types, newer levels first.
pub fn of_manager(library: &Library, code: u32) -> Vec<Called> {
    let entry = library.find(DESCRIPTOR);
    let methods = entry.and_then(|entry| library.methods(&entry));
    let mut methods: HashMap<String, Called> = methods
        .unwrap_or_default()
        .into_iter()
        .map(|called| (called.method.name.clone(), called))
        .collect();
    let called = of_levels(code).into_iter().filter_map(|name| {
        let called = methods.remove(&name)?;
        Some(Called { code, ..called })
    });
    called.collect()
}

/// The code of a method of the service manager at a level.
pub fn manager_code(level: Level, name: &str) -> Option<u32> {
    let codes = 1..=numbering::METHODS.len() as u32;
    let is_it =
        |code: &u32| numbering::method(level, *code).is_some_and(|(one, _)| name_of(one) == name);
    codes.into_iter().find(is_it)
}

/// Opens `.aidl` files, those of the environment if none are given; None if there are none.
pub fn library(roots: &Roots) -> Result<Option<Library>> {
    let roots = roots.or_environment();
    match roots.paths.is_empty() {
        true => Ok(None),
        false => interface_files::open(&roots).map(Some),
    }
}

/// The same for a recording: those that it has itself, if no others are given.
pub fn library_or(roots: &Roots, recorded: &BTreeMap<String, String>) -> Result<Option<Library>> {
    let given = library(roots)?;
    let own = || (!recorded.is_empty()).then(|| Library::of_texts(recorded));
    Ok(given.or_else(own))
}

/// The `.aidl` files with all types of some interfaces, as far as they are declared.
pub fn texts<'a>(
    library: &Library,
    interfaces: impl Iterator<Item = &'a str>,
) -> Vec<(String, String)> {
    // What the types of methods are made of is read on the way.
    interfaces.for_each(|name| drop(Interface::find(library, name)));
    library.texts()
}

/// What tells the names of the methods of services.
#[derive(Default)]
pub struct Methods {
    /// The `.aidl` files, if some are given.
    pub library: Option<Library>,
    /// The interfaces of services, by their names.
    pub interfaces: HashMap<String, String>,
}

impl Methods {
    /// The name of a method of a service.
    pub fn name(&self, service: Option<&str>, code: u32) -> Option<String> {
        let own = of_all(code).map(str::to_string);
        own.or_else(|| {
            let service = service?;
            let interface = match (self.interfaces.get(service), service.split_once('/')) {
                (Some(interface), _) => interface,
                (None, Some((interface, _))) if interface.contains("::") => interface,
                (None, _) if service == MANAGER => DESCRIPTOR,
                _ => return None,
            };
            declared(self.library.as_ref(), interface, code).or_else(|| known(interface, code))
        })
    }
}

/// The name that `.aidl` files give to a method.
fn declared(library: Option<&Library>, interface: &str, code: u32) -> Option<String> {
    let library = library?;
    let entry = library.find(interface)?;
    let mut methods = library.methods(&entry)?.into_iter();
    let found = methods.find(|one| one.code == code && entry.descriptor() == interface);
    found.map(|called| called.method.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_the_names_that_it_has_at_some_level() {
        let manager = |code| known(DESCRIPTOR, code).unwrap();
        assert_eq!(manager(1), "getService");
        assert_eq!(manager(2), "getService2/checkService");
        assert_eq!(manager(code(*b"_PNG")), "ping");
        let hidl = |code| known("android.hidl.manager@1.2::IServiceManager", code);
        assert_eq!(hidl(1).unwrap(), "get");
        assert_eq!(hidl(14).unwrap(), "tryUnregister");
        assert_eq!(hidl(15), None);
        assert_eq!(known("a.IService", 1), None);
    }

    #[test]
    fn every_method_of_the_service_manager_has_types() {
        let library = Library::of_service_manager();
        assert_eq!(library.broken(), Vec::<String>::new());
        for code in 1..=numbering::METHODS.len() as u32 {
            let called = of_manager(&library, code);
            let names: Vec<&str> = called.iter().map(|one| one.method.name.as_str()).collect();
            assert_eq!(names.join("/"), known(DESCRIPTOR, code).unwrap());
        }
        assert_eq!(manager_code(Level::A11, "addService"), Some(3));
        assert_eq!(manager_code(Level::A16, "addService"), Some(5));
    }
}
