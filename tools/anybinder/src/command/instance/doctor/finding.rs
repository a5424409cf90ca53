// SPDX-License-Identifier: Apache-2.0
//! A question about the machine, and its answer.
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Something does not work, or only for some users.
    Limited,
    No,
}

/// The answer to one question.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub state: State,
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Check {
    pub fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Check {
            name,
            state: State::Ok,
            text: text.into(),
            advice: None,
        }
    }

    pub fn limited(name: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Check {
            name,
            state: State::Limited,
            text: text.into(),
            advice: Some(advice.into()),
        }
    }

    /// For people.
    pub fn line(&self) -> String {
        let state = match self.state {
            State::Ok => "ok",
            State::Limited => "limited",
            State::No => "no",
        };
        let advice = self.advice.as_ref();
        let advice = advice.map_or(String::new(), |advice| format!(" -> {advice}"));
        format!("{:<12} {state:<8} {}{advice}", self.name, self.text)
    }

    pub fn no(name: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Check {
            state: State::No,
            ..Check::limited(name, text, advice)
        }
    }
}
