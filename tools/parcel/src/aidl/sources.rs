// SPDX-License-Identifier: Apache-2.0
//! Which `.aidl` files there are, and which come first. Of an interface that is released,
//! `aidl_api/NAME/VERSION/` keeps a copy of each version, frozen: the current files win. In the
//! folders of Android three of four files are copies, so these are looked for only when they are
//! needed.
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// The `.aidl` files that a command uses.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Roots {
    /// Directory of the .aidl files that declare the interface, or one such file; of a link at both
    /// ends, for parcels to cross by their types
    #[arg(long = "aidl", id = "aidl", value_name = "DIR")]
    pub paths: Vec<PathBuf>,

    /// Use the frozen copies of this version, which are in aidl_api/NAME/VERSION below DIR
    #[arg(long, value_name = "VERSION", requires = "aidl")]
    pub version: Option<u32>,
}

/// Directories and files for commands that are given none, with colons between.
const ENVIRONMENT: &str = "ANYBINDER_AIDL";

impl Roots {
    /// These, or where there are none those of `ANYBINDER_AIDL`.
    pub fn or_environment(&self) -> Roots {
        let given = std::env::var_os(ENVIRONMENT).filter(|_| self.paths.is_empty());
        let found = given.iter().flat_map(std::env::split_paths);
        let found = found.filter(|path| !path.as_os_str().is_empty());
        Roots {
            paths: self.paths.iter().cloned().chain(found).collect(),
            version: self.version,
        }
    }
}

impl From<PathBuf> for Roots {
    fn from(path: PathBuf) -> Roots {
        Roots {
            paths: vec![path],
            version: None,
        }
    }
}

const MAX_FILES: usize = 200_000;
const MAX_DEPTH: usize = 64;
pub(super) const FROZEN: &str = "aidl_api";

/// What is looked into first: the lower, the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A frozen copy of the version that is asked for.
    Wanted,
    Current,
    /// A frozen copy, the newest first; `current` is the newest of all.
    Frozen(Reverse<u32>),
}

#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    pub rank: Rank,
}

impl Rank {
    /// * `version`: of the frozen copy that a file is in, if it is in one
    fn of(version: Option<u32>) -> Rank {
        version.map_or(Rank::Current, |version| Rank::Frozen(Reverse(version)))
    }
}

impl Source {
    /// A file as far as its path says what it is.
    pub fn of(path: PathBuf) -> Source {
        let rank = Rank::of(frozen_version(&path));
        Source { path, rank }
    }
}

#[derive(Default)]
pub struct Sources {
    /// By the names before `.aidl`.
    files: HashMap<String, Vec<Source>>,
    /// Directories of frozen copies that were not looked into.
    frozen: Vec<PathBuf>,
    wanted: Option<u32>,
    count: usize,
}

/// The version of a frozen copy; the files of a root that is one itself are none.
fn frozen_version(path: &Path) -> Option<u32> {
    let mut parts = path.iter().skip_while(|part| *part != FROZEN).skip(2);
    let version = parts.next()?.to_str()?;
    match version {
        "current" => Some(u32::MAX),
        number => number.parse().ok(),
    }
}

impl Sources {
    /// Finds the `.aidl` files of directories, or takes single files.
    pub fn open(roots: &Roots) -> Result<Sources, String> {
        let wanted = roots.version;
        let mut sources = Sources {
            wanted,
            ..Sources::default()
        };
        for root in &roots.paths {
            let unread = |err| format!("{} cannot be read: {err}", root.display());
            let root = std::fs::canonicalize(root).map_err(unread)?;
            let is_copy = frozen_version(&root).is_some();
            match root.is_dir() {
                true if !is_copy && root.iter().any(|part| part == FROZEN) => {
                    sources.frozen.push(root);
                }
                true => sources.add_directory(&root, is_copy, 0)?,
                false => sources.add_file(root, is_copy),
            }
        }
        if wanted.is_some() || sources.files.is_empty() {
            sources.add_frozen()?;
        }
        let mut all = sources.files.values().flatten();
        let has_wanted = all.any(|one| one.rank == Rank::Wanted);
        match wanted {
            _ if sources.files.is_empty() => Err("there is no .aidl file".to_string()),
            Some(version) if !has_wanted => Err(format!(
                "there is no version {version}: no directory {FROZEN}/NAME/{version}"
            )),
            _ => Ok(sources),
        }
    }

    /// The frozen copies that were not looked for when the sources were opened.
    pub fn copies(&self) -> Result<Sources, String> {
        let mut copies = Sources {
            frozen: self.frozen.clone(),
            count: self.count,
            ..Sources::default()
        };
        copies.add_frozen()?;
        Ok(copies)
    }

    fn add_frozen(&mut self) -> Result<(), String> {
        let directories = std::mem::take(&mut self.frozen);
        let mut all = directories.iter();
        all.try_for_each(|path| self.add_entries(path, false, 0))
    }

    fn add_directory(&mut self, path: &Path, is_copy: bool, depth: usize) -> Result<(), String> {
        match path.file_name() {
            Some(name) if name == FROZEN && !is_copy => self.frozen.push(path.to_path_buf()),
            _ => self.add_entries(path, is_copy, depth)?,
        }
        Ok(())
    }

    fn add_entries(&mut self, path: &Path, is_copy: bool, depth: usize) -> Result<(), String> {
        let entries = std::fs::read_dir(path)
            .map_err(|err| format!("{} cannot be read: {err}", path.display()))?;
        let is_file = |entry: &DirEntry| entry.file_name().as_encoded_bytes().ends_with(b".aidl");
        for entry in entries.flatten() {
            self.count += 1;
            if self.count > MAX_FILES {
                return Err(format!("there are more than {MAX_FILES} files"));
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.add_directory(&entry.path(), is_copy, depth + 1)?;
                }
                Ok(_) if is_file(&entry) => self.add_file(entry.path(), is_copy),
                _ => {}
            }
        }
        Ok(())
    }

    /// * `is_copy`: it is below a frozen copy that is given by its own name
    fn add_file(&mut self, path: PathBuf, is_copy: bool) {
        let rank = match frozen_version(&path).filter(|_| !is_copy) {
            version @ Some(_) if version == self.wanted => Rank::Wanted,
            version => Rank::of(version),
        };
        if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
            let known = self.files.entry(stem.to_string()).or_default();
            known.push(Source { path, rank });
        }
    }

    /// The names before `.aidl`, unless there are more.
    pub fn names(&self, most: usize) -> Option<Vec<String>> {
        (self.files.len() <= most).then(|| self.files.keys().cloned().collect())
    }

    /// The files that may declare a name, in their order.
    pub fn of(&self, name: &str) -> Vec<&Source> {
        let parts = name.split('.').filter_map(|part| self.files.get(part));
        let mut found: Vec<&Source> = parts.flatten().collect();
        found.sort_by(|a, b| (a.rank, &a.path).cmp(&(b.rank, &b.path)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aidl::Library;
    use crate::scratch::Scratch;

    const FILES: [(&str, &str); 5] = [
        ("p/E.aidl", "package p; enum E { NEWEST }"),
        ("aidl_api/x/1/p/E.aidl", "package p; enum E { FIRST }"),
        ("aidl_api/x/2/p/E.aidl", "package p; enum E { SECOND }"),
        (
            "aidl_api/x/10/p/Gone.aidl",
            "package p; enum Gone { TENTH }",
        ),
        ("aidl_api/x/9/p/Gone.aidl", "package p; enum Gone { NINTH }"),
    ];

    fn names(below: &str, version: Option<u32>, name: &str) -> Result<Vec<String>, String> {
        let scratch = Scratch::new(&FILES);
        let mut roots = Roots::from(scratch.path.join(below));
        roots.version = version;
        let library = Library::open(&roots)?;
        let entry = library.find(name).ok_or("none")?;
        let names = library.enumerators(&entry)?.names.clone();
        assert!(library.take_doubts().is_empty());
        Ok(names)
    }

    #[test]
    fn current_files_come_before_frozen_ones() {
        let cases = [
            ("", None, "p.E", "NEWEST"),
            ("", Some(1), "p.E", "FIRST"),
            ("", Some(2), "p.E", "SECOND"),
            ("", Some(9), "p.E", "NEWEST"),
            ("", None, "p.Gone", "TENTH"),
            ("", Some(9), "p.Gone", "NINTH"),
            ("aidl_api", None, "p.E", "SECOND"),
            ("aidl_api/x/1", None, "p.E", "FIRST"),
            ("aidl_api/x/1/p/E.aidl", None, "p.E", "FIRST"),
        ];
        for (below, version, name, expected) in cases {
            let found = names(below, version, name);
            assert_eq!(
                found,
                Ok(vec![expected.to_string()]),
                "{below} {version:?} {name}"
            );
        }
        let error = names("", Some(3), "p.E").unwrap_err();
        assert_eq!(error, "there is no version 3: no directory aidl_api/NAME/3");
    }

    #[test]
    fn frozen_copies_are_not_looked_for_at_first() {
        let scratch = Scratch::new(&FILES);
        let sources = Sources::open(&Roots::from(scratch.path.clone())).unwrap();
        let ranks = |sources: &Sources| -> Vec<Rank> {
            sources.of("p.E").iter().map(|one| one.rank).collect()
        };
        assert_eq!(ranks(&sources), [Rank::Current]);
        let copies = sources.copies().unwrap();
        let frozen = |version| Rank::Frozen(Reverse(version));
        assert_eq!(ranks(&copies), [frozen(2), frozen(1)]);
    }

    #[test]
    fn two_that_differ_are_said() {
        let scratch = Scratch::new(&[
            ("a/p/E.aidl", "package p; enum E { A }"),
            ("b/p/E.aidl", "package p; enum E { B }"),
            ("a/p/F.aidl", "package p; enum F { A }"),
            ("b/p/F.aidl", "// The same.\npackage p;\nenum F { A }"),
        ]);
        let library = scratch.library();
        assert!(library.find("p.E").is_some() && library.find("p.F").is_some());
        let doubts = library.take_doubts();
        assert!(doubts[0].starts_with("p.E is declared in "), "{doubts:?}");
        assert!(doubts[0].contains("a/p/E.aidl and, differently, in ") && doubts.len() == 1);
    }
}
