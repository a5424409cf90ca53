// SPDX-License-Identifier: Apache-2.0
//! Files of rules, checked as `anybinder servicemanager --check` does and as the service manager
//! reads them: what they have, and what is wrong with them.
use super::contexts;
use super::mistakes::explain;
use rsbinder_tools::config::{self, SystemResolver};
use std::path::{Path, PathBuf};

/// What a file or a directory of rules has.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub rules: usize,
    pub services: usize,
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let cannot = |err| format!("{} cannot be read: {err}", path.display());
    let entries = std::fs::read_dir(path).map_err(cannot)?;
    let paths = entries.flatten().map(|entry| entry.path());
    let is_hidden = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".")
    };
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml") && !is_hidden(path))
        .collect();
    files.sort();
    Ok(files)
}

fn text_of(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|err| format!("{} cannot be read: {err}", file.display()))
}

/// The names of the services that a file or a directory of rules declares.
pub fn declared(path: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for file in files_of(path)? {
        let read = config::parse_file(&file, &text_of(&file)?, &SystemResolver);
        let read = read.map_err(|err| explain(&err))?;
        names.extend(read.services.into_iter().map(|(name, _)| name));
    }
    names.sort();
    Ok(names)
}

/// Whether the rules of a file are by security context.
fn is_by_context(text: &str) -> bool {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let rules = table.get("rule").and_then(|rules| rules.as_array());
    let mut rules = rules.into_iter().flatten();
    rules.any(|rule| rule.get("context").is_some())
}

/// Reads rules as the service manager does, of `--policy` or of `--contexts`. Fails with what is
/// wrong, and where.
pub fn check(path: &Path) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for file in files_of(path)? {
        let text = text_of(&file)?;
        if is_by_context(&text) {
            checked.rules +=
                contexts::check(&text).map_err(|why| format!("{}, {why}", file.display()))?;
            return Ok(checked);
        }
        let read = config::parse_file(&file, &text, &SystemResolver);
        let read = read.map_err(|err| explain(&err))?;
        checked.rules += read.rules.len();
        checked.services += read.services.len();
    }
    // Loading checks, too, who may change the files and the programs that they name.
    config::load(path, &SystemResolver).map_err(|err| explain(&err))?;
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let path = std::env::temp_dir().join(format!("anybinder-rules-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let error = check(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let (_, what) = error.split_once(", ").unwrap();
        what.to_string()
    }

    #[test]
    fn an_error_has_its_place_and_no_words_of_the_parser() {
        for (text, wanted) in [
            (
                "[[rule]]\nname = \"*\"\nad = \"any\"",
                "line 3, column 1: there is no key ad, but name, add, find",
            ),
            (
                "\n[[rule]]\nadd = \"any\"",
                "line 2, column 1: the key name is missing",
            ),
            (
                "[[rule]]\nname = \"*\"\nadd = 7",
                "line 3, column 7: \"any\", \"none\" or a table with uid, user or group is",
            ),
            (
                "[[rule]]\nname = 7",
                "line 2, column 8: a string is expected, not integer 7",
            ),
            (
                "rule = 7",
                "line 1, column 8: an array is expected, not integer 7",
            ),
            (
                "[[rule]]\nname = \"*\"\nadd = \"all\"",
                "line 3, column 7: unknown subject keyword \"all\" (expected \"any\" or \"none\")",
            ),
            (
                "[[service]]\nname = \"a\"",
                "line 2, column 8: service \"a\": name must be `interface/instance`",
            ),
            (
                "[[rule]]\ncontext = []",
                "line 2, column 1: a rule has no context",
            ),
        ] {
            let error = error_of(text);
            assert!(error.starts_with(wanted), "{error}\n{wanted}");
        }
    }
}
