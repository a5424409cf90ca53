// SPDX-License-Identifier: Apache-2.0
//! Who may call what: a file with a line for each peer.
//!
//! A peer is known by what its transport proves: the certificate of a TLS connection, the user of a
//! Unix socket. A vsock address is a route and proves nothing, and is offered for machines whose
//! hypervisor is trusted.
use crate::connections::Life;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_parcel::encode::hex_bytes;
use anybinder_servicemanager::pattern::matches;
use rsbinder::rpc::PeerIdentity;
use std::path::Path;
use std::sync::Arc;

/// SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Peer {
    Certificate(Fingerprint),
    User(u32),
    Context(u32),
    /// All that the transport lets in.
    Any,
}

impl Peer {
    fn is(&self, identity: &PeerIdentity) -> bool {
        match (self, identity) {
            (Peer::Any, _) => true,
            (Peer::Certificate(own), PeerIdentity::Certificate(id)) => own == id.fingerprint(),
            (Peer::User(own), PeerIdentity::Local { uid, .. }) => own == uid,
            (Peer::Context(own), PeerIdentity::Vsock { cid }) => own == cid,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    peer: Peer,
    /// Names of services; a last `*` stands for any end.
    names: Vec<String>,
}

/// The rules of an export.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

/// Reads 64 hexadecimal digits, with or without colons, as `openssl x509 -fingerprint` prints them.
pub fn fingerprint(text: &str) -> std::result::Result<Fingerprint, String> {
    let digits: String = text.chars().filter(|one| *one != ':').collect();
    let bytes = hex_bytes(&digits).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| format!("{text} is no SHA-256 fingerprint (64 hexadecimal digits)"))
}

fn peer(text: &str) -> std::result::Result<Peer, String> {
    let number = |text: &str| text.parse().map_err(|_| format!("{text} is no number"));
    match text.split_once('=') {
        Some(("cert", value)) => Ok(Peer::Certificate(fingerprint(value)?)),
        Some(("uid", value)) => Ok(Peer::User(number(value)?)),
        Some(("cid", value)) => Ok(Peer::Context(number(value)?)),
        None if text == "any" => Ok(Peer::Any),
        _ => Err(format!(
            "{text} is none of cert=FINGERPRINT, uid=NUMBER, cid=NUMBER, any"
        )),
    }
}

impl Rules {
    /// All that the transport lets in may call everything.
    pub fn anyone() -> Rules {
        Rules(vec![Rule {
            peer: Peer::Any,
            names: vec!["*".to_string()],
        }])
    }

    /// This user and root may call everything.
    pub fn own_user() -> Rules {
        let own = rustix::process::geteuid().as_raw();
        let rule = |uid| Rule {
            peer: Peer::User(uid),
            names: vec!["*".to_string()],
        };
        Rules(vec![rule(own), rule(0)])
    }

    fn parse(text: &str) -> std::result::Result<Rules, String> {
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let mut words = line.split_whitespace();
            let Some(who) = words.next() else {
                continue;
            };
            let at_line = |why| format!("line {}: {why}", index + 1);
            let names: Vec<String> = words.map(String::from).collect();
            if names.is_empty() {
                return Err(at_line(format!("{who} has no names of services behind it")));
            }
            let peer = peer(who).map_err(at_line)?;
            rules.push(Rule { peer, names });
        }
        match rules.is_empty() {
            true => Err("it names no peer".to_string()),
            false => Ok(Rules(rules)),
        }
    }

    pub fn read(path: &Path) -> Result<Rules> {
        let doing = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).doing(doing)?;
        Rules::parse(&text).map_err(|why| {
            Error::with_advice(
                format!("{}: {why}.", path.display()),
                "Each line is a peer and the names that it may call: cert=FINGERPRINT NAME...",
            )
            .of(Kind::Usage)
        })
    }

    /// The certificates that have rules.
    pub fn certificates(&self) -> Vec<Fingerprint> {
        let of_rule = |rule: &Rule| match &rule.peer {
            Peer::Certificate(fingerprint) => Some(*fingerprint),
            _ => None,
        };
        self.0.iter().filter_map(of_rule).collect()
    }

    /// Whether a peer may connect at all.
    pub fn knows(&self, identity: &PeerIdentity) -> bool {
        self.0.iter().any(|rule| rule.peer.is(identity))
    }

    fn allows(&self, identity: &PeerIdentity, name: &str) -> bool {
        self.0.iter().any(|rule| {
            rule.peer.is(identity) && rule.names.iter().any(|pattern| matches(pattern, name))
        })
    }
}

/// The rules for one service.
#[derive(Clone, Debug)]
pub struct Access {
    pub name: String,
    pub rules: Arc<Rules>,
    pub life: Life,
}

impl Access {
    pub fn allows(&self, identity: &PeerIdentity) -> bool {
        self.rules.allows(identity, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsbinder::rpc::CertId;

    #[test]
    fn a_fingerprint_has_64_digits() {
        let digits = "0f".repeat(32);
        let colons = vec!["0F"; 32].join(":");
        assert_eq!(fingerprint(&digits), Ok([15; 32]));
        assert_eq!(fingerprint(&colons), Ok([15; 32]));
        for wrong in [
            "",
            "0f",
            &digits[1..],
            &"0g".repeat(32),
            &"+1".repeat(32)[..63],
        ] {
            assert!(fingerprint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_peer_may_call_what_its_rules_name() {
        let text = format!("cert={} a.* b # first\n\nuid=7 *\n", "01".repeat(32));
        let rules = Rules::parse(&text).unwrap();
        let known = PeerIdentity::Certificate(CertId::new("x", [1; 32]));
        let other = PeerIdentity::Certificate(CertId::new("x", [2; 32]));
        let user = PeerIdentity::Local { uid: 7, pid: 1 };
        assert!(rules.knows(&known) && rules.knows(&user) && !rules.knows(&other));
        assert!(!rules.knows(&PeerIdentity::Anonymous));
        for (name, allowed) in [("a.b", true), ("b", true), ("bc", false), ("a", false)] {
            assert_eq!(rules.allows(&known, name), allowed, "{name}");
            assert!(rules.allows(&user, name) && !rules.allows(&other, name));
        }
        assert_eq!(rules.certificates(), [[1; 32]]);
    }

    #[test]
    fn a_rule_that_is_not_understood_is_an_error() {
        for wrong in ["", "# none", "any", "cert=12 a", "uid=x a", "who a"] {
            assert!(Rules::parse(wrong).is_err(), "{wrong}");
        }
    }
}
