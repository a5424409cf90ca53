// SPDX-License-Identifier: Apache-2.0
//! The service manager of the open device, whatever its level and its header word.
use crate::foreign::Foreign;
use crate::status_text::{explain, explain_answer};
use anybinder_cli::error::{Error, Kind, Result};
use rsbinder::hub::ServiceManager;
use rsbinder::{ExceptionCode, SIBinder, StatusCode};
use std::sync::Arc;

/// Under this name nothing is registered.
const NO_SERVICE: &str = "anybinder.no.service";

pub struct Manager {
    own: Arc<ServiceManager>,
    /// If rsbinder does not speak as it does.
    foreign: Option<Foreign>,
}

impl Manager {
    pub fn new(own: Arc<ServiceManager>, foreign: Option<Foreign>) -> Manager {
        Manager { own, foreign }
    }

    /// A service that is registered; None if it is not, or dies while it is looked up.
    pub fn find(&self, name: &str) -> std::result::Result<Option<SIBinder>, StatusCode> {
        match self.look_up(name) {
            // The service is dead, not the service manager, if that one answers.
            Err(StatusCode::DeadObject) => self.look_up(NO_SERVICE).map(|_| None),
            outcome => outcome,
        }
    }

    fn look_up(&self, name: &str) -> std::result::Result<Option<SIBinder>, StatusCode> {
        match &self.foreign {
            Some(foreign) => foreign.service(name),
            None => self.own.try_get_service(name),
        }
    }

    pub fn add(&self, name: &str, binder: SIBinder) -> Result<()> {
        let refused =
            |why: String, kind| Error::new(format!("{name} cannot be registered: {why}.")).of(kind);
        match &self.foreign {
            Some(foreign) => foreign.add(name, &binder).map_err(|status| match status {
                StatusCode::PermissionDenied => {
                    refused("the service manager refuses it".to_string(), Kind::Denied)
                }
                other => refused(explain(other), Kind::Failed),
            }),
            None => self.own.add_service(name, binder).map_err(|status| {
                let kind = match status.exception_code() {
                    ExceptionCode::Security => Kind::Denied,
                    _ => Kind::Failed,
                };
                refused(explain_answer(&status), kind)
            }),
        }
    }
}
