// SPDX-License-Identifier: Apache-2.0
//! Rules by security context: what SELinux or Smack calls a process. They hold beside those by
//! user: a request needs both. A context that no rule names may do nothing.
//!
//! The driver adds the context to each transaction if the context manager asks for it. Callers
//! refer to a context by a number, since they are kept with every service.
use super::mistakes::explain_text;
use super::pattern;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

/// How many different contexts are told apart; a further one is refused everything.
const MAX_CONTEXTS: usize = 4096;

/// Where the security modules that give contexts have their files.
const MODULES: [&str; 2] = ["/sys/fs/selinux", "/sys/fs/smackfs"];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    rule: Vec<Rule>,
}

/// Contexts and names end in `*` for any end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    context: Vec<String>,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    find: Vec<String>,
    #[serde(default)]
    list: bool,
}

/// What a context may be allowed.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    Add(&'a str),
    Find(&'a str),
    List,
}

fn matches(patterns: &[String], text: &str) -> bool {
    let is_one = |one: &String| pattern::matches(one, text);
    patterns.iter().any(is_one)
}

impl Document {
    fn allows(&self, context: &str, wish: Wish) -> bool {
        self.rule.iter().any(|rule| {
            let is_allowed = match wish {
                Wish::Add(name) => matches(&rule.add, name),
                Wish::Find(name) => matches(&rule.find, name),
                Wish::List => rule.list,
            };
            is_allowed && matches(&rule.context, context)
        })
    }
}

pub struct Contexts {
    path: PathBuf,
    rules: RwLock<Document>,
    /// A context's number is its place here, from 1 on.
    known: Mutex<Vec<String>>,
}

fn parse(text: &str) -> Result<Document, String> {
    let document: Document = toml::from_str(text).map_err(|err| explain_text(text, &err))?;
    match document.rule.iter().any(|rule| rule.context.is_empty()) {
        true => Err(format!("{}: a rule has no context", empty_context(text))),
        false => Ok(document),
    }
}

/// Where a rule without contexts may be.
fn empty_context(text: &str) -> String {
    let line = text.lines().position(|line| {
        let rest = line.trim_start().strip_prefix("context");
        rest.is_some_and(|rest| rest.replace(' ', "").starts_with("=[]"))
    });
    line.map_or("a rule".to_string(), |line| {
        format!("line {}, column 1", line + 1)
    })
}

/// How many rules a file has. Fails with what is wrong, and where.
pub fn check(text: &str) -> Result<usize, String> {
    parse(text).map(|document| document.rule.len())
}

fn read(path: &Path) -> Result<Document, String> {
    std::fs::read_to_string(path)
        .map_err(|err| err.to_string())
        .and_then(|text| parse(&text))
        .map_err(|err| format!("the rules in {} cannot be used: {err}", path.display()))
}

impl Contexts {
    /// Reads the rules. Fails where no security module gives contexts: on the kernel's own driver
    /// every call of the service manager would.
    pub fn load(path: &Path) -> Result<Contexts, String> {
        if !MODULES.iter().any(|module| Path::new(module).is_dir()) {
            return Err(format!(
                "the rules in {} are by security context, and neither SELinux nor Smack is active; \
                 leave --contexts out, or boot with security=selinux",
                path.display()
            ));
        }
        Ok(Contexts {
            path: path.to_path_buf(),
            rules: RwLock::new(read(path)?),
            known: Mutex::default(),
        })
    }

    /// Reads the rules again; those in force stay if that fails.
    pub fn reload(&self) -> Result<(), String> {
        let rules = read(&self.path)?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        Ok(())
    }

    /// The number of a context; 0 for one that may do nothing.
    pub fn number(&self, context: &str) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = known.iter().position(|one| one == context) {
            return at as u32 + 1;
        }
        if known.len() >= MAX_CONTEXTS {
            return 0;
        }
        known.push(context.to_string());
        known.len() as u32
    }

    /// The context of a number; None for 0.
    pub fn text(&self, number: u32) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (number as usize).checked_sub(1);
        place.and_then(|at| known.get(at)).cloned()
    }

    pub fn allows(&self, number: u32, wish: Wish) -> bool {
        let context = self.text(number);
        context.is_some_and(|context| self.allows_context(&context, wish))
    }

    /// The same for a context by its name, which need not be one of a caller.
    pub fn allows_context(&self, context: &str, wish: Wish) -> bool {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.allows(context, wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_may_do_what_its_rules_name() {
        let text =
            "[[rule]]\ncontext = [\"u:r:system:s0\", \"u:r:hal_*\"]\nadd = [\"a.*\", \"b\"]\n\
                    [[rule]]\ncontext = [\"*\"]\nfind = [\"a.x\"]\nlist = true\n";
        let contexts = Contexts {
            path: PathBuf::new(),
            rules: RwLock::new(parse(text).unwrap()),
            known: Mutex::default(),
        };
        let [system, hal, other] =
            ["u:r:system:s0", "u:r:hal_light:s0", "kernel"].map(|one| contexts.number(one));
        assert_eq!(contexts.number("kernel"), other);
        for (number, is_named) in [(system, true), (hal, true), (other, false)] {
            assert_eq!(contexts.allows(number, Wish::Add("a.b")), is_named);
            assert_eq!(contexts.allows(number, Wish::Add("b")), is_named);
            assert!(!contexts.allows(number, Wish::Add("bc")));
            assert!(contexts.allows(number, Wish::Find("a.x")));
            assert!(!contexts.allows(number, Wish::Find("a.b")));
            assert!(contexts.allows(number, Wish::List));
        }
        assert!(!contexts.allows(0, Wish::List) && !contexts.allows(99, Wish::List));
        // A context that nobody has called from, which gets no number.
        assert!(contexts.allows_context("u:r:hal_new:s0", Wish::Add("a.b")));
        assert!(!contexts.allows_context("u:r:new:s0", Wish::Add("a.b")));
        assert_eq!(contexts.known.lock().unwrap().len(), 3);
        assert_eq!(contexts.text(hal).as_deref(), Some("u:r:hal_light:s0"));
        assert_eq!((contexts.text(0), contexts.text(99)), (None, None));
        for number in 0..MAX_CONTEXTS {
            contexts.number(&number.to_string());
        }
        assert_eq!(contexts.number("one more"), 0);
    }

    #[test]
    fn rules_that_are_not_understood_are_an_error() {
        for wrong in [
            "x",
            "[[rule]]",
            "[[rule]]\ncontext = []",
            "[[rule]]\ncontext = [\"*\"]\nad = []",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
