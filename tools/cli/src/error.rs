// SPDX-License-Identifier: Apache-2.0
//! Errors that end a command: one sentence says what is wrong, one what to do about it, and a kind
//! decides the exit status.
use crate::escape::harmless;
use std::fmt;

/// What kind of error ends a command. The exit statuses are part of the interface: scripts rely on
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Failed,
    Usage,
    NotUp,
    NotWorking,
    NoManager,
    NoService,
    CallFailed,
    Denied,
    TimedOut,
    NoDevice,
    Exception,
    Taken,
    CannotRun,
    NotFound,
    Interrupted,
}

/// Each kind with its exit status, its name in JSON and its description in the help.
pub const KINDS: [(Kind, u8, &str, &str); 15] = [
    (Kind::Failed, 1, "failed", "failed for another reason"),
    (Kind::Usage, 2, "usage", "the command line is wrong"),
    (Kind::NotUp, 3, "not-up", "nothing is mounted there"),
    (
        Kind::NotWorking,
        4,
        "not-working",
        "the daemon is dead or does not answer; status: or a service manager is dead",
    ),
    (
        Kind::NoManager,
        5,
        "no-manager",
        "no service manager on the device",
    ),
    (Kind::NoService, 6, "no-service", "no such service"),
    (
        Kind::CallFailed,
        7,
        "call-failed",
        "the service or the driver failed the call",
    ),
    (
        Kind::Denied,
        8,
        "denied",
        "denied by permissions or by a policy",
    ),
    (Kind::TimedOut, 9, "timed-out", "the time was over"),
    (Kind::NoDevice, 10, "no-device", "no such device"),
    (
        Kind::Exception,
        11,
        "exception",
        "call: the service answered with an exception",
    ),
    (
        Kind::Taken,
        12,
        "taken",
        "servicemanager: the device has one already",
    ),
    (
        Kind::CannotRun,
        126,
        "cannot-run",
        "run: the program cannot be executed",
    ),
    (Kind::NotFound, 127, "not-found", "run: no such program"),
    (Kind::Interrupted, 130, "interrupted", "interrupted"),
];

impl Kind {
    /// The kind of an error of a system call.
    pub fn of_io(kind: std::io::ErrorKind) -> Kind {
        match kind {
            std::io::ErrorKind::PermissionDenied => Kind::Denied,
            _ => Kind::Failed,
        }
    }

    fn row(self) -> &'static (Kind, u8, &'static str, &'static str) {
        let row = KINDS.iter().find(|row| row.0 == self);
        row.expect("the table has every kind")
    }

    pub fn exit_status(self) -> u8 {
        self.row().1
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.row().2
    }
}

/// An error that ends the command. Its text is all that the user sees of it.
#[derive(Debug)]
pub struct Error {
    what: String,
    advice: Option<String>,
    kind: Kind,
    /// What else the JSON document has, by its name.
    detail: Option<(&'static str, serde_json::Value)>,
}

/// The result of everything that can end a command.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error for which there is no advice. `what` is a whole sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Error {
            what: what.into(),
            advice: None,
            kind: Kind::Failed,
            detail: None,
        }
    }

    /// An error of the command line.
    pub fn usage(what: impl Into<String>) -> Self {
        Error::new(what).of(Kind::Usage)
    }

    /// The error and its advice in one line.
    pub fn line(&self) -> String {
        self.to_string().replace("\n  ", " ").replace('\n', " ")
    }

    /// An error and what to do about it; both are whole sentences.
    pub fn with_advice(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Error {
            advice: Some(advice.into()),
            ..Error::new(what)
        }
    }

    /// The same error with another kind than `Failed`.
    pub fn of(self, kind: Kind) -> Self {
        Error { kind, ..self }
    }

    /// The same error with one more field in JSON.
    pub fn with_detail(self, name: &'static str, detail: serde_json::Value) -> Self {
        let detail = Some((name, detail));
        Error { detail, ..self }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The error as a JSON document.
    pub fn to_json(&self) -> serde_json::Value {
        let mut document = serde_json::json!({ "error": {
            "kind": self.kind.name(),
            "exit_status": self.kind.exit_status(),
            "message": self.what,
            "advice": self.advice,
        }});
        if let Some((name, detail)) = &self.detail {
            document["error"][*name] = detail.clone();
        }
        document
    }
}

/// The message and the advice in what a command with `--json` wrote to standard error, where other
/// lines may stand before the document.
pub fn read_json(text: &str) -> (Option<String>, Option<String>) {
    let document = text
        .find("{\n")
        .and_then(|at| serde_json::from_str(&text[at..]).ok())
        .unwrap_or(serde_json::Value::Null);
    let word = |key: &str| document["error"][key].as_str().map(str::to_string);
    (word("message"), word("advice"))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may quote what another program says, which has no lines of its own here.
        f.write_str(&harmless(&self.what))?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// Adds to the error of a library or a system call what was being done.
pub trait Doing<T> {
    /// Turns the error into a sentence that begins with "Error while" and `what`, which is only
    /// called for an error. `what` begins with a verb, as in "writing /run/x".
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|err| Error::new(format!("Error while {}: {err}.", what())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_as_it_was_written() {
        let json = |error: Error| format!("anybinder: a line\n{:#}\n", error.to_json());
        let of = |one: &str| Some(one.to_string());
        let with = json(Error::with_advice("No.", "Ask."));
        assert_eq!(read_json(&with), (of("No."), of("Ask.")));
        assert_eq!(read_json(&json(Error::new("No."))), (of("No."), None));
        assert_eq!(read_json("killed"), (None, None));
    }

    #[test]
    fn every_kind_has_a_status_of_its_own() {
        for (index, row) in KINDS.iter().enumerate() {
            assert!(KINDS[..index]
                .iter()
                .all(|other| other.0 != row.0 && other.1 != row.1 && other.2 != row.2));
        }
        assert_eq!(Kind::Interrupted.exit_status(), 130);
    }
}
