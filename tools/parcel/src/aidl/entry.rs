// SPDX-License-Identifier: Apache-2.0
//! One declaration of a library.
use super::syntax::Declaration;
use std::sync::Arc;

/// A declaration with its full name, and what the names in it refer to.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub declaration: Declaration,
    pub(super) package: String,
    pub(super) imports: Arc<Vec<String>>,
}

impl Entry {
    /// What the binder says that its interface is: the name, or that of `@Descriptor`.
    pub fn descriptor(&self) -> String {
        let own = self.annotation("Descriptor", "value");
        own.unwrap_or_else(|| self.name.clone())
    }

    /// A setting of an annotation.
    pub fn annotation(&self, name: &str, setting: &str) -> Option<String> {
        let found = self
            .declaration
            .annotations
            .iter()
            .find(|one| one.name == name)?;
        let found = found.settings.iter().find(|(key, _)| key == setting);
        found.map(|(_, value)| value.clone())
    }
}
