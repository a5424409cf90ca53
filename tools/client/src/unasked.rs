// SPDX-License-Identifier: Apache-2.0
//! One-way calls to a service that may be stopped.
use crate::device::refusal;
use crate::raw_manager::{RawManager, STRICT_MODE};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_driver::parcel::Speaker;
use anybinder_driver::raw_call::Outcome;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::status_text::explain;

impl RawManager {
    /// Sends a one-way call.
    ///
    /// * `name`, `target`, `code`: the service, its handle, the method
    /// * `interface`, `speaker`: the header
    pub fn send_unasked(
        &mut self,
        (name, target, code): (&str, u32, u32),
        (interface, speaker): (&str, Speaker),
        plan: &Plan,
    ) -> Result<()> {
        let mut parcel = speaker.call(STRICT_MODE, interface);
        // Open until the driver has taken them.
        let _files = self.fill(&mut parcel, plan, speaker.level)?;
        let reason = match self.call((target, code, true), parcel, None)? {
            Outcome::Reply(_) => return Ok(()),
            Outcome::Refused => refusal(self.driver.refused_for()),
            other => other.reply().err().map(explain).unwrap_or_default(),
        };
        Err(Error::new(format!("{name} failed: {reason}.")).of(Kind::CallFailed))
    }
}
