// SPDX-License-Identifier: Apache-2.0
//! One declaration of a library.
use super::sources::Source;
use super::syntax::Declaration;
use std::collections::HashMap;
use std::sync::Arc;

/// What is common to the declarations of a file.
#[derive(Debug)]
pub struct FileScope {
    pub source: Source,
    pub package: String,
    /// The full names of what is imported by their last parts.
    pub imports: HashMap<String, String>,
    pub line_ends: Vec<usize>,
    /// Tells its text, without comments, from that of others.
    pub hash: u64,
}

/// A declaration with its full name, and what the names in it refer to.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub declaration: Declaration,
    pub(super) file: Arc<FileScope>,
}

impl FileScope {
    /// Whether it is the file NAME.aidl.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.source
            .path
            .file_stem()
            .is_some_and(|stem| stem == name)
    }
}

impl Entry {
    /// A place in its file as file and line, for messages.
    pub fn place(&self, at: usize) -> String {
        let line = self.file.line_ends.partition_point(|end| *end < at) + 1;
        format!("{}:{line}", self.file.source.path.display())
    }

    /// Its name, and those of the declarations around it, outwards.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &str> {
        let package = self.file.package.len();
        std::iter::successors(Some(self.name.as_str()), |scope| {
            scope.rsplit_once('.').map(|(outer, _)| outer)
        })
        .take_while(move |scope| scope.len() > package)
    }

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
