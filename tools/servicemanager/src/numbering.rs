// SPDX-License-Identifier: Apache-2.0
//! The transaction codes of `android.os.IServiceManager`, level by level.
//!
//! Sources: up to Android 10 `IServiceManager.h` (the enum of `BpServiceManager`), which is also
//! what `service_manager.c` serves; from Android 11 on `libs/binder/aidl/android/os/
//! IServiceManager.aidl` of android-11.0.0_r1, 12.0.0_r1, 13.0.0_r1, 14.0.0_r1, 15.0.0_r6,
//! 15.0.0_r20 and 16.0.0_r1. 15.0.0_r1 to r5 are numbered as 14, and 17.0.0_r1 as 16. The order of
//! declaration is the code, from 1 on.
use anybinder_driver::level::Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    GetService,
    GetService2,
    CheckService,
    CheckService2,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    GetUpdatableNames,
    GetConnectionInfo,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
}
use Method::*;

const A9: &[Method] = &[GetService, CheckService, AddService, ListServices];

const A11: &[Method] = &[
    GetService,
    CheckService,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    RegisterClientCallback,
    TryUnregisterService,
];

const A12: &[Method] = &[
    GetService,
    CheckService,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
];

const A13: &[Method] = &[
    GetService,
    CheckService,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    GetConnectionInfo,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
];

const A14: &[Method] = &[
    GetService,
    CheckService,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    GetUpdatableNames,
    GetConnectionInfo,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
];

const A15: &[Method] = &[
    GetService,
    GetService2,
    CheckService,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    GetUpdatableNames,
    GetConnectionInfo,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
];

const A16: &[Method] = &[
    GetService,
    GetService2,
    CheckService,
    CheckService2,
    AddService,
    ListServices,
    RegisterForNotifications,
    UnregisterForNotifications,
    IsDeclared,
    GetDeclaredInstances,
    UpdatableViaApex,
    GetUpdatableNames,
    GetConnectionInfo,
    RegisterClientCallback,
    TryUnregisterService,
    GetServiceDebugInfo,
];

/// The methods of a level; the code of a method is its index plus 1.
pub fn methods(level: Level) -> &'static [Method] {
    match level {
        Level::A9 | Level::A10 => A9,
        Level::A11 => A11,
        Level::A12 => A12,
        Level::A13 => A13,
        Level::A14 => A14,
        Level::A15R6 | Level::A15R20 => A15,
        Level::A16 => A16,
    }
}

/// The method with this code.
pub fn method(level: Level, code: u32) -> Option<Method> {
    let index = usize::try_from(code.checked_sub(1)?).ok()?;
    methods(level).get(index).copied()
}

/// The code of a method; None if the level does not have it.
pub fn code(level: Level, wanted: Method) -> Option<u32> {
    let index = methods(level).iter().position(|one| *one == wanted)?;
    u32::try_from(index + 1).ok()
}

/// The arguments of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Nothing,
    Name,
    /// An int32; before Android 11 an index and an optional int32.
    Priority,
    /// A name, a binder, and two int32, which are optional before Android 11.
    Add,
    NameBinder,
    NameBinderBinder,
}

impl Method {
    pub fn shape(self) -> Shape {
        match self {
            AddService => Shape::Add,
            ListServices => Shape::Priority,
            RegisterForNotifications | UnregisterForNotifications | TryUnregisterService => {
                Shape::NameBinder
            }
            RegisterClientCallback => Shape::NameBinderBinder,
            GetServiceDebugInfo => Shape::Nothing,
            _ => Shape::Name,
        }
    }
}

/// What a lookup returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A nullable binder.
    Binder,
    /// The union `Service` whose first member is a nullable binder.
    Union,
    /// The union `Service` whose first member is a parcelable of a nullable binder and a flag.
    UnionWithMetadata,
}

/// What a lookup method returns at a level. `checkService` of Android 15 from r6 on returns the
/// union, and a binder at all other levels.
pub fn found(level: Level, method: Method) -> Found {
    let is_union = match method {
        GetService2 | CheckService2 => true,
        CheckService => matches!(level, Level::A15R6 | Level::A15R20),
        _ => false,
    };
    match (is_union, level) {
        (false, _) => Found::Binder,
        (true, Level::A15R6) => Found::Union,
        (true, _) => Found::UnionWithMetadata,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_driver::level::LEVELS;

    #[test]
    fn a_code_and_its_method_agree_at_every_level() {
        for level in LEVELS {
            for (index, one) in methods(level).iter().enumerate() {
                let number = index as u32 + 1;
                assert_eq!(method(level, number), Some(*one));
                assert_eq!(code(level, *one), Some(number));
            }
            assert_eq!(method(level, 0), None);
            assert_eq!(method(level, methods(level).len() as u32 + 1), None);
        }
    }

    #[test]
    fn add_service_moved_twice() {
        let of = |level| code(level, AddService);
        assert_eq!(of(Level::A9), Some(3));
        assert_eq!(of(Level::A14), Some(3));
        assert_eq!(of(Level::A15R6), Some(4));
        assert_eq!(of(Level::A16), Some(5));
    }
}
