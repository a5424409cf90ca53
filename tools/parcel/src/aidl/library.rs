// SPDX-License-Identifier: Apache-2.0
//! The declarations in directories of `.aidl` files. A file is read when a name that could be in it
//! is looked up: a directory may have thousands of files.
use super::computed::Known;
use super::constant::Fault;
pub use super::entry::Entry;
use super::entry::FileScope;
use super::sources::{Rank, Roots, Source, Sources};
use super::syntax::{self, Argument, Body, Declaration, Direction, Method, TypeName};
use crate::budget::{Budget, MAX_ARRAY, MAX_DEPTH};
use crate::types::{Kind, Loose, Type};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

/// More files are not searched for an interface.
const MAX_SEARCHED: usize = 200;

#[derive(Default)]
pub struct Library {
    sources: Sources,
    /// Sources that are looked into when no other one has a name.
    copies: OnceCell<Sources>,
    loaded: RefCell<HashSet<PathBuf>>,
    entries: RefCell<HashMap<String, Arc<Entry>>>,
    /// By the numbers of types that are written.
    kinds: RefCell<HashMap<usize, Result<Type, Fault>>>,
    pub(super) known: Known,
    pub(super) budget: Budget,
    /// What is wrong with the files that could not be read.
    broken: RefCell<Vec<String>>,
    doubts: RefCell<Vec<String>>,
}

/// A method as it is called.
#[derive(Clone, Debug)]
pub struct Called {
    pub code: u32,
    pub method: Method,
}

impl Called {
    /// The arguments that callers pass.
    pub fn taken(&self) -> impl Iterator<Item = &Argument> {
        let arguments = self.method.arguments.iter();
        arguments.filter(|one| one.direction != Direction::Out)
    }

    /// The arguments that the service writes.
    pub fn returned(&self) -> impl Iterator<Item = &Argument> {
        let arguments = self.method.arguments.iter();
        arguments.filter(|one| one.direction != Direction::In)
    }
}

impl Library {
    /// Finds the `.aidl` files of directories, or takes single files.
    pub fn open(roots: &Roots) -> Result<Library, String> {
        Ok(Library {
            sources: Sources::open(roots)?,
            ..Library::default()
        })
    }

    /// The interface of a service manager, with the methods of all levels: a method has its code by
    /// its place among those of a level alone.
    pub fn of_service_manager() -> Library {
        let library = Library::default();
        let source = Source {
            path: PathBuf::from("manager.aidl"),
            rank: Rank::Current,
        };
        library.add(&source, include_str!("manager.aidl"));
        library
    }

    /// The declarations in texts, each with its path: those of `texts()`.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a String, &'a String)>) -> Library {
        let of = |(path, text): (&'a String, &'a String)| (Source::of(PathBuf::from(path)), text);
        let mut files: Vec<_> = texts.into_iter().map(of).collect();
        files.sort_by_key(|(source, _)| source.rank);
        let library = Library::default();
        files
            .iter()
            .for_each(|(source, text)| library.add(source, text));
        library
    }

    /// The files that were read so far, by their paths, without those that are gone.
    pub fn texts(&self) -> Vec<(String, String)> {
        let loaded = self.loaded.borrow();
        let text = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).ok()?;
            Some((path.to_str()?.to_string(), text))
        };
        loaded.iter().filter_map(text).collect()
    }

    /// What is wrong with the files that were looked into.
    pub fn broken(&self) -> Vec<String> {
        self.broken.borrow().clone()
    }

    /// Which declarations, found since the last time, another file has in another form.
    pub fn take_doubts(&self) -> Vec<String> {
        self.doubts.take()
    }

    fn known(&self, name: &str) -> Option<Arc<Entry>> {
        self.entries.borrow().get(name).cloned()
    }

    /// The declaration with a full name.
    pub fn find(&self, name: &str) -> Option<Arc<Entry>> {
        self.known(name)
            .or_else(|| self.read(&self.sources, name))
            .or_else(|| self.read(self.copies(), name))
    }

    fn copies(&self) -> &Sources {
        self.copies.get_or_init(|| {
            self.sources.copies().unwrap_or_else(|err| {
                self.broken.borrow_mut().push(err);
                Sources::default()
            })
        })
    }

    /// Reads the files that may declare a name, until one of them does.
    fn read(&self, sources: &Sources, name: &str) -> Option<Arc<Entry>> {
        let mut rank = None;
        for source in sources.of(name) {
            // Files of one rank are all read, so that two that differ are seen.
            if rank.is_some_and(|rank| rank != source.rank) && self.known(name).is_some() {
                break;
            }
            rank = Some(source.rank);
            self.load(source);
        }
        self.known(name)
    }

    /// The interface, if one file alone declares one of its own name; None among very many files.
    pub fn only_interface(&self) -> Option<Arc<Entry>> {
        let stems = self.sources.names(MAX_SEARCHED)?;
        let of_stem = |stem: &String| {
            drop(self.find(stem));
            let entries = self.entries.borrow();
            let mut found = entries.values().filter(|one| {
                let is_own = one.declaration.name == *stem && one.file.is_of(stem);
                is_own && matches!(one.declaration.body, Body::Interface { .. })
            });
            found.next().cloned()
        };
        let mut found = stems.iter().filter_map(of_stem);
        found.next().filter(|_| found.next().is_none())
    }

    /// Reads a file, once.
    fn load(&self, source: &Source) {
        if !self.loaded.borrow_mut().insert(source.path.clone()) {
            return;
        }
        let path = source.path.display();
        let read = std::fs::read_to_string(&source.path).map_err(|err| format!(" {err}"));
        let text = read.unwrap_or_else(|err| {
            self.broken.borrow_mut().push(format!("{path}:{err}"));
            String::new()
        });
        self.add(source, &text);
    }

    /// Adds what a file declares.
    fn add(&self, source: &Source, text: &str) {
        let path = source.path.display();
        let file = syntax::parse(text).unwrap_or_else(|err| {
            self.broken.borrow_mut().push(format!("{path}:{err}"));
            syntax::File::default()
        });
        let mut hasher = DefaultHasher::new();
        syntax::without_comments(text).hash(&mut hasher);
        let last = |import: String| {
            let name = import.rsplit('.').next().unwrap_or_default().to_string();
            (name, import)
        };
        let scope = Arc::new(FileScope {
            source: source.clone(),
            package: file.package,
            // The first import of a name wins.
            imports: file.imports.into_iter().rev().map(last).collect(),
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
            hash: hasher.finish(),
        });
        for declaration in file.declarations {
            self.insert(&scope.package, &scope, declaration);
        }
    }

    fn insert(&self, scope: &str, file: &Arc<FileScope>, mut one: Declaration) {
        let name = match scope {
            "" => one.name.clone(),
            _ => format!("{scope}.{}", one.name),
        };
        for nested in std::mem::take(&mut one.nested) {
            self.insert(&name, file, nested);
        }
        let is_opaque = |one: &Declaration| matches!(one.body, Body::Opaque);
        if let Some(known) = self
            .known(&name)
            .filter(|known| !is_opaque(&known.declaration))
        {
            let own = &known.file;
            let differs = own.source.rank == file.source.rank && own.hash != file.hash;
            if scope == file.package && differs && !is_opaque(&one) {
                let (used, other) = (own.source.path.display(), file.source.path.display());
                self.doubts.borrow_mut().push(format!(
                    "{name} is declared in {used} and, differently, in {other}; the first one is \
                     used"
                ));
            }
            return;
        }
        let entry = Entry {
            name: name.clone(),
            declaration: one,
            file: file.clone(),
        };
        self.entries.borrow_mut().insert(name, Arc::new(entry));
    }

    /// What a name means inside a declaration: a type in it or around it, an import, a type of the
    /// same package, or a full name.
    pub fn resolve(&self, within: &Entry, name: &str) -> Option<Arc<Entry>> {
        // What is declared inside of a declaration was read with it.
        let mut scopes = within.scopes();
        if let Some(found) = scopes.find_map(|scope| self.known(&format!("{scope}.{name}"))) {
            return Some(found);
        }
        let (first, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
        let import = within.file.imports.get(first);
        import
            .and_then(|import| self.find(&format!("{import}{rest}")))
            .or_else(|| self.find(&format!("{}.{name}", within.file.package)))
            .or_else(|| self.find(name))
    }

    /// The wire type of a type that is written inside a declaration.
    pub fn kind_of(&self, within: &Entry, written: &TypeName) -> Result<Type, String> {
        self.type_of(within, written).map_err(|fault| fault.what)
    }

    pub(super) fn type_of(&self, within: &Entry, written: &TypeName) -> Result<Type, Fault> {
        if let Some(known) = self.kinds.borrow().get(&written.id) {
            return known.clone();
        }
        let made = self.work_out(within, written);
        let made = made.map_err(|fault| fault.at(&within.place(written.at)));
        self.kinds.borrow_mut().insert(written.id, made.clone());
        made
    }

    /// The sizes of an array type; none for `[]`.
    fn dimensions(&self, within: &Entry, written: &TypeName) -> Result<Vec<Option<usize>>, Fault> {
        let (mut dimensions, mut elements) = (Vec::new(), 1usize);
        for dimension in &written.dimensions {
            let size = dimension.as_ref().map(|value| self.evaluate(within, value));
            let size = size.transpose()?.map(|value| {
                value
                    .size()
                    .ok_or("the size of an array is an int from 0 on".to_string())
            });
            dimensions.push(size.transpose()?);
            elements = elements.saturating_mul(dimensions.last().copied().flatten().unwrap_or(1));
        }
        match elements {
            0..=MAX_ARRAY => Ok(dimensions),
            _ => Err(format!("the array has more than {MAX_ARRAY} elements").into()),
        }
    }

    fn work_out(&self, within: &Entry, written: &TypeName) -> Result<Type, Fault> {
        let mut dimensions = self.dimensions(within, written)?;
        let last = written.path.rsplit('.').next().unwrap_or_default();
        let kind = match (Kind::built_in(&written.path), written.arguments.as_slice()) {
            (_, [element]) if last == "List" => {
                let element = self.type_of(within, element)?;
                dimensions.push(None);
                dimensions.extend(element.dimensions);
                element.kind
            }
            (Some(Kind::Loose(_)), [_, ..]) => {
                let what = format!("only Java writes and reads a {last} with these types");
                return Err(what.into());
            }
            (Some(Kind::Loose(kind)), []) => self.loose_kind(within, &written.path, kind),
            (Some(kind), _) => kind,
            (None, _) if last == "CharSequence" => {
                let what = "a CharSequence has styles, and only Java writes and reads it";
                return Err(what.to_string().into());
            }
            (None, _) => self.declared_kind(within, &written.path)?,
        };
        if dimensions.len() > MAX_DEPTH {
            return Err(format!("arrays are nested deeper than {MAX_DEPTH}").into());
        }
        Ok(Type {
            kind,
            dimensions,
            is_nullable: written.is_nullable,
        })
    }

    /// A type that a file may declare under the same name.
    fn loose_kind(&self, within: &Entry, path: &str, kind: Loose) -> Kind {
        let own = self.resolve(within, path);
        let own = own.filter(|own| !matches!(own.declaration.body, Body::Opaque));
        own.map_or(Kind::Loose(kind), Kind::Declared)
    }

    fn declared_kind(&self, within: &Entry, path: &str) -> Result<Kind, String> {
        let found = self.resolve(within, path);
        let found = found.ok_or_else(|| format!("{path} is not declared in these .aidl files"))?;
        match &found.declaration.body {
            Body::Interface { .. } => Ok(Kind::Binder),
            Body::Opaque if found.declaration.name.starts_with('I') => Ok(Kind::Binder),
            Body::Opaque => Err(format!("{} has no definition in AIDL", found.name)),
            _ => Ok(Kind::Declared(found)),
        }
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
