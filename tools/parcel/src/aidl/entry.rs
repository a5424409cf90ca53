// SPDX-License-Identifier: Apache-2.0
//! One declaration of a library.
use super::sources::{Source, FROZEN};
use super::syntax::Declaration;
use std::collections::HashMap;
use std::path::Path;
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

    /// Of a frozen copy, `aidl_api/NAME/VERSION/`: the version, and the hash beside it if there is
    /// one.
    pub fn frozen(&self) -> Option<(u32, Option<String>)> {
        let path = &self.file.source.path;
        let is_version = |one: &&Path| {
            let above = one
                .parent()
                .and_then(Path::parent)
                .and_then(Path::file_name);
            above.is_some_and(|name| name == FROZEN)
        };
        let directory = path.ancestors().find(is_version)?;
        let version = directory.file_name()?.to_str()?.parse().ok()?;
        let hash = std::fs::read_to_string(directory.join(".hash")).ok();
        // The last line is that of the version.
        let hash = hash.and_then(|text| text.lines().last().map(|line| line.trim().to_string()));
        Some((version, hash))
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
