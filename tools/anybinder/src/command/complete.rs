// SPDX-License-Identifier: Apache-2.0
//! `anybinder complete -- [WORD]...`: what the last word of a command line may be, where that is
//! the name of a service, a method or a device. The completions of shells ask for it; all else is
//! in their scripts. Errors are of no interest there.
use super::services::interface_files;
use super::services::list;
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_client::device;
use anybinder_mount::instance;
use anybinder_mount::mount::Mount;
use anybinder_parcel::aidl::Roots;
use anybinder_rpc::relay::descriptor_of;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The words behind the name of the program; the last one is completed
    #[arg(last = true)]
    words: Vec<String>,
}

/// What a word may be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Services,
    Methods,
    Devices,
}

/// A word that is to be completed.
#[derive(Debug)]
struct Word {
    /// `--OPTION=` in the same word.
    before: String,
    start: String,
    names: Names,
    /// The options of the command.
    options: ArgMatches,
}

fn of_option(name: &str) -> Option<Names> {
    match name.strip_prefix("--")? {
        "device" => Some(Names::Devices),
        "service" | "only" => Some(Names::Services),
        _ => None,
    }
}

/// Whether the value of an option is a name that is asked for; without the dashes.
pub fn takes_a_name(option: &str) -> bool {
    of_option(&format!("--{option}")).is_some()
}

fn of_positional(command: &Command, options: &ArgMatches) -> Option<Names> {
    let is_open = |one: &&Arg| {
        let is_given =
            options.value_source(one.get_id().as_str()) == Some(ValueSource::CommandLine);
        !is_given || (matches!(one.get_action(), ArgAction::Append) && one.get_id() == "names")
    };
    let name = command.get_positionals().find(is_open)?;
    let is_of = |id: &str| name.get_value_names().is_some_and(|names| names == [id]);
    match command.get_name() {
        // The name is that of a service elsewhere.
        "link" => None,
        _ if is_of("NAME") || is_of("SERVICE") => Some(Names::Services),
        _ if is_of("METHOD") => Some(Names::Methods),
        _ => None,
    }
}

/// None: the last word is no name.
fn word(mut command_line: Command, words: &[String]) -> Option<Word> {
    let (last, before) = words.split_last()?;
    let program = command_line.get_name().to_string();
    let typed = std::iter::once(&program).chain(before);
    let ignoring = command_line.clone().ignore_errors(true);
    let mut options = ignoring.try_get_matches_from(typed).ok()?;
    command_line.build();
    let mut command = &command_line;
    while let Some((name, of_command)) = options.remove_subcommand() {
        command = command.find_subcommand(&name)?;
        options = of_command;
    }
    let inside = last
        .split_once('=')
        .filter(|(name, _)| name.starts_with("--"));
    let (option, start) = match inside {
        Some((name, start)) => (Some(name), start),
        None => (before.last().map(String::as_str), last.as_str()),
    };
    let names = match option.and_then(of_option) {
        Some(names) => Some(names),
        None if last.starts_with('-') => None,
        None => of_positional(command, &options),
    };
    Some(Word {
        before: inside.map_or_else(String::new, |(name, _)| format!("{name}=")),
        start: start.to_string(),
        names: names?,
        options,
    })
}

impl Word {
    fn option<T: Clone + Send + Sync + 'static>(&self, id: &str) -> Vec<T> {
        let values = self.options.try_get_many::<T>(id).ok().flatten();
        values.into_iter().flatten().cloned().collect()
    }

    fn services(&self, mount: &Mount, device: &str) -> Result<Vec<String>> {
        device::open(mount, device, 0)?;
        device::service_manager(mount, device)?;
        let services = list::services()?;
        Ok(services.into_iter().map(|one| one.name).collect())
    }

    fn methods(&self, mount: &Mount, device: &str) -> Result<Vec<String>> {
        let service = self.option::<String>("name");
        let roots = Roots {
            paths: self.option("aidl"),
            version: self.option("version").into_iter().next(),
        };
        let (Some(service), false) = (service.first(), roots.paths.is_empty()) else {
            return Ok(Vec::new());
        };
        let library = interface_files::open(&roots)?;
        let service = device::find(mount, device, service)?;
        let descriptor = descriptor_of(&service).unwrap_or_default();
        let entry = interface_files::interface(&library, &descriptor, &descriptor)?;
        let methods = library.methods(&entry).unwrap_or_default();
        Ok(methods.into_iter().map(|one| one.method.name).collect())
    }

    fn candidates(&self) -> Result<Vec<String>> {
        let path = |id| self.option::<PathBuf>(id).into_iter().next();
        let mount = Mount::existing(path("mount"), path("state_dir"))?;
        instance::join(&mount)?;
        let device = self.option::<String>("device").into_iter().next();
        let device = device.as_deref().unwrap_or("binder");
        let mut names = match self.names {
            Names::Services => self.services(&mount, device)?,
            Names::Methods => self.methods(&mount, device)?,
            Names::Devices => mount.devices(),
        };
        names.retain(|name| name.starts_with(&self.start) && is_plain(name));
        Ok(names)
    }
}

/// The shell puts a name into the command line as it is, and anybody can register one.
fn is_plain(name: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-/:@".contains(one);
    name.chars().all(is_plain)
}

pub fn run(command_line: Command, arguments: &Arguments) -> Result<ExitCode> {
    if let Some(word) = word(command_line, &arguments.words) {
        for name in word.candidates()? {
            say(format_args!("{}{name}", word.before));
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_run_is_no_candidate() {
        assert!(is_plain(
            "android.hidl.manager@1.2::IServiceManager/default"
        ));
        assert!(!["a b", "$(reboot)", "a;b", "`x`", "a\nb", "~x", "a*"]
            .map(is_plain)
            .contains(&true));
    }
}
