// SPDX-License-Identifier: Apache-2.0
//! Errors that end a command: one sentence says what is wrong, one what to do about it.
use std::fmt;

/// An error that ends the command. Its text is all that the user sees of it.
#[derive(Debug)]
pub struct Error {
    what: String,
    advice: Option<String>,
}

/// The result of everything that can end a command.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error for which there is no advice. `what` is a whole sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Error {
            what: what.into(),
            advice: None,
        }
    }

    /// An error and what to do about it; both are whole sentences.
    pub fn with_advice(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Error {
            what: what.into(),
            advice: Some(advice.into()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
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
