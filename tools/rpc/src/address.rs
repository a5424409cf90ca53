// SPDX-License-Identifier: Apache-2.0
//! Where an exported service is: `tls://HOST:PORT`, `unix://PATH`, `vsock://CID:PORT`.
use anybinder_cli::error::{Error, Kind, Result};
use rsbinder::{Endpoint, Uri};
use std::fmt;
use std::str::FromStr;

/// An address, and a service there if several share it.
#[derive(Clone, Debug)]
pub struct Address {
    text: String,
    pub endpoint: Endpoint,
    pub service: Option<String>,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Address, String> {
        let uri = Uri::parse(text).map_err(|why| why.to_string())?;
        let is_plain = !text.contains('?') && uri.service() != Some("");
        let endpoint = uri.endpoint().clone();
        match &endpoint {
            Endpoint::Tls { .. } | Endpoint::Unix(_) | Endpoint::Vsock { .. } if is_plain => {}
            _ => {
                let forms = "tls://HOST:PORT, unix:///PATH, vsock://CID:PORT";
                return Err(format!("an address is one of {forms}"));
            }
        }
        Ok(Address {
            text: text.to_string(),
            endpoint,
            service: uri.service().map(String::from),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Address {
    pub fn is_tls(&self) -> bool {
        matches!(self.endpoint, Endpoint::Tls { .. })
    }

    /// Fails for an address with a service, where one is listened on.
    pub fn check_listen(&self) -> Result<()> {
        match &self.service {
            None => Ok(()),
            Some(service) => Err(Error::with_advice(
                format!("{self} names a service."),
                format!("Leave #{service} out: what is exported is named before --listen."),
            )
            .of(Kind::Usage)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_or_refused() {
        let address: Address = "tls://[::1]:70#a.b/c".parse().unwrap();
        assert!(address.is_tls());
        assert_eq!(address.service.as_deref(), Some("a.b/c"));
        for text in ["unix:///run/x", "vsock://2:70", "tls://name:70"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert!(address.check_listen().is_ok());
        }
        for wrong in [
            "",
            "x",
            "tls://name",
            "tls://:70",
            "tls://a:70#",
            "tcp://a:70",
            "binder://a",
            "unix://x",
            "vsock://2",
            "tls://a:70?profile=android13plus",
            "tls://a:99999",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
