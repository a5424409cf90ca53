// SPDX-License-Identifier: Apache-2.0
//! The declarations in directories of `.aidl` files. A file is read when a name that could be in it
//! is looked up: a directory may have thousands of files.
use super::constant::{self, MAX_REFERENCES};
pub use super::entry::Entry;
use super::syntax::{self, Body, Declaration, Method, TypeName, Value};
use crate::types::{Kind, Type};
use serde_json::Value as Json;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_FILES: usize = 200_000;
const MAX_DEPTH: usize = 64;
/// The largest array of a fixed size.
const MAX_ARRAY: i64 = 1 << 20;

#[derive(Default)]
pub struct Library {
    /// The files by the names before `.aidl`.
    files: HashMap<String, Vec<PathBuf>>,
    entries: RefCell<HashMap<String, Arc<Entry>>>,
    /// What is wrong with the files that could not be read.
    broken: RefCell<Vec<String>>,
    references: Cell<usize>,
}

/// A method as it is called.
#[derive(Clone, Debug)]
pub struct Called {
    pub code: u32,
    pub method: Method,
}

impl Library {
    /// Finds the `.aidl` files of directories, or takes single files.
    pub fn open(roots: &[PathBuf]) -> Result<Library, String> {
        let mut library = Library::default();
        let mut count = 0;
        for root in roots {
            let metadata = std::fs::metadata(root)
                .map_err(|err| format!("{} cannot be read: {err}", root.display()))?;
            match metadata.is_dir() {
                true => library.add_directory(root, 0, &mut count)?,
                false => library.add_file(root.clone()),
            }
        }
        match library.files.is_empty() {
            true => Err("there is no .aidl file".to_string()),
            false => Ok(library),
        }
    }

    fn add_directory(
        &mut self,
        path: &Path,
        depth: usize,
        count: &mut usize,
    ) -> Result<(), String> {
        let entries = std::fs::read_dir(path)
            .map_err(|err| format!("{} cannot be read: {err}", path.display()))?;
        for entry in entries.flatten() {
            *count += 1;
            if *count > MAX_FILES {
                return Err(format!("there are more than {MAX_FILES} files"));
            }
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.add_directory(&path, depth + 1, count)?;
                }
                Ok(_) if path.extension().is_some_and(|end| end == "aidl") => self.add_file(path),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: PathBuf) {
        if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
            self.files
                .entry(stem.to_string())
                .or_default()
                .push(path.clone());
        }
    }

    /// What is wrong with the files that were looked into.
    pub fn broken(&self) -> Vec<String> {
        self.broken.borrow().clone()
    }

    /// The declaration with a full name.
    pub fn find(&self, name: &str) -> Option<Arc<Entry>> {
        let found = || self.entries.borrow().get(name).cloned();
        found().or_else(|| {
            for part in name.split('.') {
                for path in self.files.get(part).into_iter().flatten() {
                    self.load(path);
                }
            }
            found()
        })
    }

    /// Reads a file, once.
    fn load(&self, path: &Path) {
        let key = format!("file {}", path.display());
        if self.entries.borrow().contains_key(&key) {
            return;
        }
        let read = std::fs::read_to_string(path)
            .map_err(|err| err.to_string())
            .and_then(|source| syntax::parse(&source));
        let file = read.unwrap_or_else(|err| {
            let text = format!("{} is no AIDL that can be used: {err}", path.display());
            self.broken.borrow_mut().push(text);
            syntax::File::default()
        });
        let imports = Arc::new(file.imports);
        for declaration in file.declarations {
            self.insert(&file.package, &file.package, &imports, declaration);
        }
        let mark = Entry {
            name: key.clone(),
            declaration: Declaration {
                name: String::new(),
                annotations: Vec::new(),
                body: Body::Opaque,
                constants: Vec::new(),
                nested: Vec::new(),
            },
            package: String::new(),
            imports,
        };
        self.entries.borrow_mut().insert(key, Arc::new(mark));
    }

    fn insert(&self, scope: &str, package: &str, imports: &Arc<Vec<String>>, one: Declaration) {
        let name = match scope {
            "" => one.name.clone(),
            _ => format!("{scope}.{}", one.name),
        };
        for nested in one.nested.clone() {
            self.insert(&name, package, imports, nested);
        }
        let entry = Entry {
            name: name.clone(),
            declaration: one,
            package: package.to_string(),
            imports: imports.clone(),
        };
        let mut entries = self.entries.borrow_mut();
        let is_known = entries
            .get(&name)
            .is_some_and(|known| !matches!(known.declaration.body, Body::Opaque));
        if !is_known {
            entries.insert(name, Arc::new(entry));
        }
    }

    /// What a name means inside a declaration: a type in it or around it, an import, a type of the
    /// same package, or a full name.
    pub fn resolve(&self, within: &Entry, name: &str) -> Option<Arc<Entry>> {
        let mut scope = within.name.as_str();
        while scope.len() > within.package.len() {
            if let Some(found) = self.find(&format!("{scope}.{name}")) {
                return Some(found);
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        let (first, rest) = name
            .split_once('.')
            .map_or((name, ""), |(first, rest)| (first, rest));
        for import in within.imports.iter() {
            if import.rsplit('.').next() == Some(first) {
                let full = match rest {
                    "" => import.clone(),
                    rest => format!("{import}.{rest}"),
                };
                if let Some(found) = self.find(&full) {
                    return Some(found);
                }
            }
        }
        self.find(&format!("{}.{name}", within.package))
            .or_else(|| self.find(name))
    }

    /// The wire type of a type that is written inside a declaration.
    pub fn kind_of(&self, within: &Entry, written: &TypeName) -> Result<Type, String> {
        let mut dimensions = Vec::new();
        for dimension in &written.dimensions {
            dimensions.push(match dimension {
                None => None,
                Some(size) => match self.integer(within, size)? {
                    size @ 0..=MAX_ARRAY => Some(size as usize),
                    size => return Err(format!("an array of {size} elements is not possible")),
                },
            });
        }
        let last = written.path.rsplit('.').next().unwrap_or_default();
        if last == "List" && written.arguments.len() == 1 {
            let element = self.kind_of(within, &written.arguments[0])?;
            dimensions.push(None);
            dimensions.extend(element.dimensions);
            return Ok(Type {
                dimensions,
                is_nullable: written.is_nullable,
                ..element
            });
        }
        let kind = match Kind::built_in(&written.path) {
            Some(kind) => kind,
            None => {
                let found = self.resolve(within, &written.path).ok_or_else(|| {
                    format!("{} is not declared in these .aidl files", written.path)
                })?;
                match &found.declaration.body {
                    Body::Interface { .. } => Kind::Binder,
                    Body::Opaque if found.declaration.name.starts_with('I') => Kind::Binder,
                    Body::Opaque => {
                        return Err(format!("{} has no definition in AIDL", found.name));
                    }
                    _ => Kind::Declared(found),
                }
            }
        };
        Ok(Type {
            kind,
            dimensions,
            is_nullable: written.is_nullable,
        })
    }

    /// The value of a constant that is written inside a declaration.
    pub fn constant(&self, within: &Entry, value: &Value) -> Result<Json, String> {
        if self.references.get() >= MAX_REFERENCES {
            return Err("constants refer to each other without end".to_string());
        }
        self.references.set(self.references.get() + 1);
        let outcome = constant::evaluate(value, &|path| self.named_constant(within, path));
        self.references.set(self.references.get() - 1);
        outcome
    }

    fn integer(&self, within: &Entry, value: &Value) -> Result<i64, String> {
        constant::integer(value, &|path| self.named_constant(within, path))
    }

    /// A constant of a type that is named, of this declaration, or of one around it.
    fn named_constant(&self, within: &Entry, path: &str) -> Result<Json, String> {
        let unknown = || format!("the constant {path} is not known");
        if let Some((holder, name)) = path.rsplit_once('.') {
            let holder = self.resolve(within, holder).ok_or_else(unknown)?;
            return self.own_constant(&holder, name)?.ok_or_else(unknown);
        }
        let mut scope = within.name.as_str();
        while scope.len() > within.package.len() {
            if let Some(holder) = self.find(scope) {
                if let Some(value) = self.own_constant(&holder, path)? {
                    return Ok(value);
                }
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        Err(unknown())
    }

    fn own_constant(&self, holder: &Entry, name: &str) -> Result<Option<Json>, String> {
        let constants = &holder.declaration.constants;
        if let Some(one) = constants.iter().find(|one| one.name == name) {
            return self.constant(holder, &one.value).map(Some);
        }
        match &holder.declaration.body {
            Body::Enum { items } if items.iter().any(|(item, _)| item == name) => {
                let items = self.enumerators(holder)?;
                let item = items.into_iter().find(|(item, _)| item == name);
                Ok(item.map(|(_, value)| Json::from(value)))
            }
            _ => Ok(None),
        }
    }

    /// The names and values of an enum; empty for another declaration.
    pub fn enumerators(&self, entry: &Entry) -> Result<Vec<(String, i64)>, String> {
        let Body::Enum { items } = &entry.declaration.body else {
            return Ok(Vec::new());
        };
        let mut known: Vec<(String, i64)> = Vec::new();
        for (name, value) in items {
            let number = match value {
                None => known.last().map_or(0, |(_, last)| last + 1),
                Some(value) => {
                    let look_up = |path: &str| {
                        let own = known.iter().find(|(name, _)| name == path);
                        own.map_or_else(
                            || self.constant(entry, &Value::Path(path.to_string())),
                            |(_, value)| Ok(Json::from(*value)),
                        )
                    };
                    constant::integer(value, &look_up)?
                }
            };
            known.push((name.clone(), number));
        }
        Ok(known)
    }

    /// The methods of an interface with their codes: numbered in order, unless they say theirs.
    pub fn methods(&self, entry: &Entry) -> Option<Vec<Called>> {
        let Body::Interface { methods } = &entry.declaration.body else {
            return None;
        };
        let called = methods.iter().enumerate().map(|(index, method)| Called {
            code: method.code.unwrap_or(index as u32) + 1,
            method: method.clone(),
        });
        Some(called.collect())
    }
}
