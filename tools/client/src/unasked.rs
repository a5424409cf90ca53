// SPDX-License-Identifier: Apache-2.0
//! One-way calls to a service that may be stopped.
use crate::device::refusal;
use crate::raw_manager::{RawManager, STRICT_MODE};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_driver::driver::Sent;
use anybinder_driver::parcel::Speaker;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::status_text::explain;
use rsbinder::StatusCode;

impl RawManager<'_> {
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
        let files = self.fill(&mut parcel, plan, speaker)?;
        let sent = self.driver.send_oneway(target, code, parcel);
        drop(files);
        let reason = match sent.doing(|| format!("calling {name}"))? {
            Sent::Accepted => return Ok(()),
            Sent::Dead => explain(StatusCode::DeadObject),
            Sent::Refused(errno) => refusal(errno),
        };
        Err(Error::new(format!("{name} failed: {reason}.")).of(Kind::CallFailed))
    }
}
