// SPDX-License-Identifier: Apache-2.0
//! Replies, in the format of the level that asked.
use super::level::numbering::Found;
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Parcel, Target};
use rsbinder::{ExceptionCode, StatusCode};

/// What a transaction is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Parcel(Parcel),
    /// A failure of the transaction itself.
    Status(i32),
}

impl From<StatusCode> for Reply {
    fn from(status: StatusCode) -> Reply {
        Reply::Status(status.into())
    }
}

/// How the client reads a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Replies before Android 11 have no exception in front.
    pub is_legacy: bool,
    pub stability: StabilityForm,
}

/// What `service_manager.c` returned for every failure: EPERM, negative.
pub const LEGACY_FAILURE: Reply = Reply::Status(-1);

/// A refusal with a reason, for callers of any level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub exception: ExceptionCode,
    pub message: String,
}

impl Refusal {
    pub fn new(exception: ExceptionCode, message: impl Into<String>) -> Refusal {
        let message = message.into();
        Refusal { exception, message }
    }
}

/// What a change of the registry leads to.
pub type Outcome = Result<(), Refusal>;

pub fn refuse<T>(exception: ExceptionCode, message: &str) -> Result<T, Refusal> {
    Err(Refusal::new(exception, message))
}

impl Format {
    /// A reply without a result, or the start of one with a result.
    pub fn done(self) -> Parcel {
        let mut parcel = Parcel::default();
        parcel.i32(0);
        parcel
    }

    pub fn refusal(self, refusal: &Refusal) -> Reply {
        if self.is_legacy {
            return LEGACY_FAILURE;
        }
        let mut parcel = Parcel::default();
        // The last word is the size of a remote stack trace.
        parcel
            .i32(refusal.exception as i32)
            .string16(&refusal.message)
            .i32(0);
        Reply::Parcel(parcel)
    }

    /// The result of a lookup.
    pub fn found(self, found: Found, service: Option<&FoundService>) -> Reply {
        let with_default =
            |(target, stability): (Target, Stability)| (target, stability.or_system());
        let binder = service.and_then(|service| service.binder).map(with_default);
        if self.is_legacy {
            let mut parcel = Parcel::default();
            match binder {
                Some(_) => parcel.binder(binder, StabilityForm::Absent),
                None => parcel.i32(0),
            };
            return Reply::Parcel(parcel);
        }
        let accessor = service.and_then(|service| service.accessor);
        let accessor = accessor.map(with_default);
        let is_lazy = service.is_some_and(|service| service.is_lazy);
        let mut parcel = self.done();
        match found {
            Found::Binder => parcel.binder(binder, self.stability),
            Found::UnionWithMetadata if accessor.is_some() => {
                // Not null; member 1 of the union.
                parcel.i32(1).i32(1).binder(accessor, self.stability)
            }
            // Not null; member 0 of the union.
            Found::Union => parcel.i32(1).i32(0).binder(binder, self.stability),
            Found::UnionWithMetadata => parcel.i32(1).i32(0).sized(|metadata| {
                metadata.binder(binder, self.stability).i32(is_lazy.into());
            }),
        };
        Reply::Parcel(parcel)
    }
}

/// A service as a lookup returns it.
#[derive(Clone, Copy, Debug)]
pub struct FoundService {
    /// None if only an accessor leads to it.
    pub binder: Option<(Target, Stability)>,
    /// The service may unregister without dying, so that clients must not keep it.
    pub is_lazy: bool,
    /// What gives connections to it, for clients that make them themselves.
    pub accessor: Option<(Target, Stability)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accessor_is_for_those_who_know_it() {
        let mut service = FoundService {
            binder: Some((Target::Handle(5), Stability::SYSTEM)),
            is_lazy: false,
            accessor: None,
        };
        let format = Format {
            is_legacy: false,
            stability: StabilityForm::Plain,
        };
        let plain = format.found(Found::UnionWithMetadata, Some(&service));
        let bare = format.found(Found::Binder, Some(&service));
        service.accessor = Some((Target::Handle(6), Stability::SYSTEM));
        let with_accessor = format.found(Found::UnionWithMetadata, Some(&service));
        assert_ne!(with_accessor, plain);
        let mut wanted = format.done();
        let accessor = Some((Target::Handle(6), Stability::SYSTEM));
        wanted.i32(1).i32(1).binder(accessor, format.stability);
        assert_eq!(with_accessor, Reply::Parcel(wanted));
        assert_eq!(format.found(Found::Binder, Some(&service)), bare);
    }
}
