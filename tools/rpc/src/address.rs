// SPDX-License-Identifier: Apache-2.0
//! Where an exported service is: `tls://HOST:PORT`, `unix://PATH`, `vsock://CID:PORT`.
use anybinder_cli::error::{Error, Kind, Result};
use rsbinder::{Endpoint, Uri};
use rustix::io::Errno;
use std::str::FromStr;
use std::{fmt, io};

/// Every CID of this machine, to listen at: `vsock://any:PORT`.
const ANY_CID: u32 = u32::MAX;

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
        let numbered = text.replacen("vsock://any:", &format!("vsock://{ANY_CID}:"), 1);
        let uri = Uri::parse(&numbered).map_err(|why| why.to_string())?;
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

    /// Fails for an address that can only be listened at.
    pub fn check_connect(&self) -> Result<()> {
        match self.endpoint {
            Endpoint::Vsock { cid: ANY_CID, .. } => Err(Error::with_advice(
                format!("{self} names no machine."),
                "Name its CID: 2 is the host of this machine.",
            )
            .of(Kind::Usage)),
            _ => Ok(()),
        }
    }

    /// The sentence of a vsock connection that failed because nobody listens, when the kernel
    /// resets it, or because none can be made.
    pub fn unheard(&self, error: &io::Error) -> Option<String> {
        let Endpoint::Vsock { cid, port } = self.endpoint else {
            return None;
        };
        let of_host = match cid {
            vsock::VMADDR_CID_LOCAL => {
                " (in a guest without the module vsock_loopback, CID 1 is the host)"
            }
            _ => "",
        };
        match Errno::from_io_error(error) {
            Some(Errno::CONNRESET) => Some(format!(
                "nobody listens at port {port} of CID {cid}{of_host}"
            )),
            Some(Errno::NODEV) => Some(format!(
                "no transport of vsock leads to CID {cid} from here: a guest needs the module \
                 vmw_vsock_virtio_transport, a host vhost_vsock, and CID 1 vsock_loopback"
            )),
            _ => None,
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
        for text in [
            "unix:///run/x",
            "vsock://2:70",
            "vsock://2:0",
            "tls://name:70",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert!(address.check_listen().is_ok() && address.check_connect().is_ok());
        }
        let any: Address = "vsock://any:70".parse().unwrap();
        assert!(matches!(
            any.endpoint,
            Endpoint::Vsock {
                cid: ANY_CID,
                port: 70
            }
        ));
        assert_eq!(any.to_string(), "vsock://any:70");
        assert!(any.check_listen().is_ok() && any.check_connect().is_err());
        let error = |errno: Errno| any.unheard(&errno.into());
        let text = error(Errno::CONNRESET).unwrap();
        assert!(text.contains("nobody listens at port 70"), "{text}");
        let text = error(Errno::NODEV).unwrap();
        assert!(
            text.contains("no transport of vsock leads to CID"),
            "{text}"
        );
        assert_eq!(error(Errno::PERM), None);
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
