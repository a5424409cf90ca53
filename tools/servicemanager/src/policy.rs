// SPDX-License-Identifier: Apache-2.0
//! Who may add, find and list services, and which services are declared: the files of rsb_hub. Its
//! library, the crate rsbinder_tools, reads them and judges by them (`Enforcer`).
mod contexts;
mod mistakes;
pub mod pattern;
pub mod rule_files;

use crate::wire::caller::Caller;
use contexts::Contexts;
pub use contexts::Wish;
use mistakes::explain;
use rsbinder_tools::config::{
    self, Activator, Config, Enforcer, Permission, SystemResolver, SystemRunner,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Android's ranges of user ids, within each Android user's 100,000.
const UIDS_PER_ANDROID_USER: u32 = 100_000;
const FIRST_APP_UID: u32 = 10_000;
const FIRST_ISOLATED_UID: u32 = 90_000;

/// The access rules of all devices.
pub struct Policy {
    path: Option<PathBuf>,
    enforcer: Enforcer,
    contexts: Option<Contexts>,
    activator: Activator,
    /// The names of the declared services, which the library does not enumerate.
    declared: RwLock<Vec<String>>,
    /// Whether user ids are Android's: apps add no services, isolated ones find few.
    has_android_uids: bool,
}

impl Policy {
    /// Reads the rules; without a path every user who may open the device may do everything.
    ///
    /// * `contexts`: a file of rules by security context
    pub fn load(
        path: Option<&Path>,
        contexts: Option<&Path>,
        has_android_uids: bool,
    ) -> Result<Policy, String> {
        let enforcer = match path {
            Some(path) => Enforcer::enforcing(read(path)?),
            None => Enforcer::allow_all(),
        };
        let declared = path.map(rule_files::declared).transpose()?;
        Ok(Policy {
            path: path.map(Path::to_path_buf),
            enforcer,
            contexts: contexts.map(Contexts::load).transpose()?,
            activator: Activator::new(Arc::new(SystemRunner)),
            declared: RwLock::new(declared.unwrap_or_default()),
            has_android_uids,
        })
    }

    /// Reads the rules again; those in force stay if that fails.
    pub fn reload(&self) -> Result<(), String> {
        if let Some(path) = &self.path {
            let (rules, declared) = (read(path)?, rule_files::declared(path)?);
            self.enforcer.replace(rules);
            *self
                .declared
                .write()
                .unwrap_or_else(PoisonError::into_inner) = declared;
        }
        self.contexts.as_ref().map_or(Ok(()), Contexts::reload)
    }

    pub fn needs_contexts(&self) -> bool {
        self.contexts.is_some()
    }

    /// The number of a security context, for `Caller`.
    pub fn context_number(&self, context: &str) -> u32 {
        let contexts = self.contexts.as_ref();
        contexts.map_or(0, |contexts| contexts.number(context))
    }

    /// What a message says of a caller's context; nothing where there are no rules by context.
    pub fn context_in_words(&self, caller: Caller) -> String {
        let words = |contexts: &Contexts| match contexts.text(caller.context) {
            Some(text) if text.is_empty() => " without a context".to_string(),
            Some(text) => format!(" in the context {text}"),
            None => " in one context too many".to_string(),
        };
        self.contexts.as_ref().map(words).unwrap_or_default()
    }

    pub fn may_add(&self, caller: Caller, name: &str) -> bool {
        self.allows(caller, Wish::Add(name))
    }

    pub fn may_find(&self, caller: Caller, name: &str) -> bool {
        self.allows(caller, Wish::Find(name))
    }

    /// Whether this user finds only services that allow it; only for Android's user ids.
    pub fn is_isolated(&self, caller: Caller) -> bool {
        self.has_android_uids && caller.uid % UIDS_PER_ANDROID_USER >= FIRST_ISOLATED_UID
    }

    pub fn may_list(&self, caller: Caller) -> bool {
        self.allows(caller, Wish::List)
    }

    pub fn allows(&self, caller: Caller, wish: Wish) -> bool {
        let contexts = self.contexts.as_ref();
        let has_context = contexts.is_none_or(|contexts| contexts.allows(caller.context, wish));
        has_context && self.allows_user(caller.uid, wish)
    }

    /// The same for a user and a security context, where the rules have those, that need not be a
    /// caller's.
    pub fn allows_other(&self, uid: u32, context: &str, wish: Wish) -> bool {
        let contexts = self.contexts.as_ref();
        let has_context = contexts.is_none_or(|contexts| contexts.allows_context(context, wish));
        has_context && self.allows_user(uid, wish)
    }

    fn allows_user(&self, uid: u32, wish: Wish) -> bool {
        let is_app = self.has_android_uids && uid % UIDS_PER_ANDROID_USER >= FIRST_APP_UID;
        match wish {
            Wish::Add(name) => !is_app && self.enforcer.check_uid(Permission::Add, name, uid),
            Wish::Find(name) => self.enforcer.check_uid(Permission::Find, name, uid),
            Wish::List => self.enforcer.check_uid(Permission::List, "", uid),
        }
    }

    /// The names of the declared services.
    pub fn declared(&self) -> Vec<String> {
        let declared = self.declared.read();
        declared.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn declarations(&self) -> Arc<Config> {
        self.enforcer.config()
    }

    /// Starts the program of a declared service that was looked up and is not registered.
    pub fn start_service(&self, name: &str) {
        let config = self.enforcer.config();
        if let Some(activation) = config.declarations.activation(name) {
            self.activator.try_start(name, activation);
        }
    }
}

fn read(path: &Path) -> Result<Config, String> {
    config::load(path, &SystemResolver).map_err(|err| {
        format!(
            "the rules in {} cannot be used: {}",
            path.display(),
            explain(&err)
        )
    })
}
