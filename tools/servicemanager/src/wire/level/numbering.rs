// SPDX-License-Identifier: Apache-2.0
//! The transaction codes of `android.os.IServiceManager`, level by level.
//!
//! Sources: up to Android 10 `IServiceManager.h` (the enum of `BpServiceManager`), which is also
//! what `service_manager.c` serves; from Android 11 on `libs/binder/aidl/android/os/
//! IServiceManager.aidl` of android-11.0.0_r1, 12.0.0_r1, 13.0.0_r1, 14.0.0_r1, 15.0.0_r6,
//! 15.0.0_r20, 16.0.0_r1 and 17.0.0_r1. 15.0.0_r1 to r5 are numbered as 14. 17 has one method more
//! than 16, which comes last and which no client of 16 calls, so that they are one level here. The
//! order of declaration is the code, from 1 on.
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
    CheckServiceAccess,
}
use Method::*;

impl Method {
    /// Whether it only asks, for one name as most requests do, or for a list.
    pub fn is_question(self) -> bool {
        matches!(
            self,
            GetService
                | GetService2
                | CheckService
                | CheckService2
                | IsDeclared
                | ListServices
                | GetServiceDebugInfo
                | CheckServiceAccess
        )
    }
}

/// The arguments of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The name behind which a list goes on, from clients that know it.
    After,
    Name,
    /// An int32; before Android 11 an index and an optional int32.
    Priority,
    /// A name, a binder, and two int32, which are optional before Android 11.
    Add,
    NameBinder,
    NameBinderBinder,
    /// A parcelable that says who, a name, and what.
    Access,
}

/// How many services `getServiceDebugInfo` lists at a time for a client that says with which name
/// the last part of the list ended (in the first place ""), in an argument that AIDL does not
/// declare and that Android's service manager does not read. So a list may be longer than a buffer.
pub const PART: usize = 512;
/// In the argument after that, for a client that wants to know how often each service was restarted
/// in the last minute: an i32 behind the fields that AIDL declares.
pub const WITH_RESTARTS: i32 = 1;

/// A method, the first level that has it, and its arguments.
pub type Row = (Method, Level, Shape);

/// In the order of declaration, which no level changed: the code of a method is its place among
/// those that the level has.
pub const METHODS: [Row; 17] = [
    (GetService, Level::A9, Shape::Name),
    (GetService2, Level::A15R6, Shape::Name),
    (CheckService, Level::A9, Shape::Name),
    (CheckService2, Level::A16, Shape::Name),
    (AddService, Level::A9, Shape::Add),
    (ListServices, Level::A9, Shape::Priority),
    (RegisterForNotifications, Level::A11, Shape::NameBinder),
    (UnregisterForNotifications, Level::A11, Shape::NameBinder),
    (IsDeclared, Level::A11, Shape::Name),
    (GetDeclaredInstances, Level::A12, Shape::Name),
    (UpdatableViaApex, Level::A12, Shape::Name),
    (GetUpdatableNames, Level::A14, Shape::Name),
    (GetConnectionInfo, Level::A13, Shape::Name),
    (RegisterClientCallback, Level::A11, Shape::NameBinderBinder),
    (TryUnregisterService, Level::A11, Shape::NameBinder),
    (GetServiceDebugInfo, Level::A12, Shape::After),
    (CheckServiceAccess, Level::A16, Shape::Access),
];

fn rows(level: Level) -> impl Iterator<Item = &'static Row> {
    METHODS.iter().filter(move |(_, since, _)| *since <= level)
}

/// The method with this code, and its arguments.
pub fn method(level: Level, code: u32) -> Option<(Method, Shape)> {
    let index = usize::try_from(code.checked_sub(1)?).ok()?;
    rows(level)
        .nth(index)
        .map(|(method, _, shape)| (*method, *shape))
}

/// The code of a method; None if the level does not have it.
pub fn code(level: Level, wanted: Method) -> Option<u32> {
    let index = rows(level).position(|(method, _, _)| *method == wanted)?;
    u32::try_from(index + 1).ok()
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
