// SPDX-License-Identifier: Apache-2.0
//! The calls that the service manager makes to the callbacks of its clients.
use super::hidl::names::{split, CLIENT_CALLBACK, NOTIFICATION};
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Parcel, Target};

/// The only method of `IServiceCallback` and of `IClientCallback`.
pub const CODE: u32 = 1;

const NO_STRICT_MODE: i32 = 0;

/// How the client of a callback reads its parcels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Aidl {
        header_word: i32,
        form: StabilityForm,
    },
    Hidl,
}

impl Dialect {
    /// A service is registered.
    ///
    /// * `is_old`: whether it was registered before the callback; only HIDL says so
    pub fn registered(self, name: &str, service: (Target, Stability), is_old: bool) -> Parcel {
        match self {
            Dialect::Aidl { header_word, form } => {
                let mut parcel =
                    Parcel::call(NO_STRICT_MODE, header_word, "android.os.IServiceCallback");
                parcel.string16(name).binder(Some(service), form);
                parcel
            }
            Dialect::Hidl => {
                let (interface, instance) = split(name);
                let mut parcel = Parcel::hidl_call(NOTIFICATION);
                parcel
                    .hidl_string(interface)
                    .hidl_string(instance)
                    .hidl_byte(is_old.into());
                parcel
            }
        }
    }

    /// A service has got its first client, or lost its last.
    pub fn clients(self, service: (Target, Stability), has_clients: bool) -> Parcel {
        match self {
            Dialect::Aidl { header_word, form } => {
                let mut parcel =
                    Parcel::call(NO_STRICT_MODE, header_word, "android.os.IClientCallback");
                parcel.binder(Some(service), form).i32(has_clients.into());
                parcel
            }
            Dialect::Hidl => {
                let mut parcel = Parcel::hidl_call(CLIENT_CALLBACK);
                parcel
                    .binder(Some(service), StabilityForm::Absent)
                    .hidl_byte(has_clients.into());
                parcel
            }
        }
    }
}
