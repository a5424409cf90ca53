// SPDX-License-Identifier: Apache-2.0
//! What went wrong, said to a person: one sentence for the fault, one for the way out.
use std::fmt;

/// An error that ends the command. Its text is the whole of what the user gets to see.
#[derive(Debug)]
pub struct Trouble {
    what: String,
    advice: Option<String>,
}

pub type Result<T> = std::result::Result<T, Trouble>;

impl Trouble {
    /// A fault that leaves the user nothing to do but read it.
    pub fn new(what: impl Into<String>) -> Self {
        Trouble {
            what: what.into(),
            advice: None,
        }
    }

    /// A fault with a way out; both are whole sentences.
    pub fn with_advice(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Trouble {
            what: what.into(),
            advice: Some(advice.into()),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

/// Adds what was being done to a system error.
pub trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|err| Trouble::new(format!("{}: {err}.", what())))
    }
}
