// SPDX-License-Identifier: Apache-2.0
//! What is spoken on a device.
use anybinder_driver::level::Level;
use std::str::FromStr;

/// What the clients of a device speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AIDL; the level of calls that could be of several.
    Aidl(Level),
    /// HIDL: `hwservicemanager`.
    Hidl,
}

impl Protocol {
    /// The protocol of a device whose user did not say.
    pub fn of_device(name: &str) -> Protocol {
        match name.contains("hwbinder") {
            true => Protocol::Hidl,
            false => Protocol::Aidl(Level::A16),
        }
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Protocol, String> {
        match text {
            "hidl" => Ok(Protocol::Hidl),
            text => match text.parse() {
                Ok(level) => Ok(Protocol::Aidl(level)),
                Err(why) => Err(format!("{why}, and hidl for one device")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_a_level_or_hidl() {
        assert_eq!("hidl".parse(), Ok(Protocol::Hidl));
        assert_eq!("34".parse(), Ok(Protocol::Aidl(Level::A14)));
    }
}
