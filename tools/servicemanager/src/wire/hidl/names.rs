// SPDX-License-Identifier: Apache-2.0
//! Names of HIDL services: `android.hardware.light@2.0::ILight/default` is the instance `default`
//! of an interface.

/// The interface that all others extend. Every service is registered as one.
pub const BASE: &str = "android.hidl.base@1.0::IBase";

/// The interfaces of the service manager, the newest first.
pub const CHAIN: [&str; 4] = [
    "android.hidl.manager@1.2::IServiceManager",
    "android.hidl.manager@1.1::IServiceManager",
    "android.hidl.manager@1.0::IServiceManager",
    BASE,
];

/// The instance as which a service manager registers itself.
pub const OWN_INSTANCE: &str = "default";

/// The interfaces of callbacks.
pub const NOTIFICATION: &str = "android.hidl.manager@1.0::IServiceNotification";
pub const CLIENT_CALLBACK: &str = "android.hidl.manager@1.2::IClientCallback";

/// The length of each half, which is that of a service name of AIDL.
const MAX_LENGTH: usize = 127;

/// The interface and the instance of a full name. An instance may have slashes, too.
pub fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, ""))
}

/// The interface of a full name with the separator: what callbacks for all instances wait for.
pub fn package_of(name: &str) -> &str {
    let end = name.find('/').map_or(name.len(), |at| at + 1);
    &name[..end]
}

pub fn full(interface: &str, instance: &str) -> String {
    format!("{interface}/{instance}")
}

pub fn is_interface(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._@:-".contains(&byte);
    (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(is_letter)
}

pub fn is_instance(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_halves() {
        let name = "android.hardware.camera.provider@2.4::ICameraProvider/legacy/0";
        let (interface, instance) = split(name);
        assert_eq!(instance, "legacy/0");
        assert!(is_interface(interface) && is_instance(instance));
        assert_eq!(package_of(name), full(interface, ""));
        assert_eq!(full(interface, instance), name);
    }
}
