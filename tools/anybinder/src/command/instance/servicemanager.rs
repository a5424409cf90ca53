// SPDX-License-Identifier: Apache-2.0
//! `anybinder servicemanager`: started by `up` or by a unit file, for one device or several.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::note;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::keeper;
use anybinder_mount::manager_process::ManagerOptions;
use anybinder_mount::process::SERVICE_MANAGER;
use anybinder_servicemanager::rule_files;
use anybinder_servicemanager::{serve, Cause, Options, Protocol, DEFAULT_PER_USER};
use serde::Serialize;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The binder devices to serve, separated by commas [default: binder]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    device: Vec<String>,

    /// Only check files of --policy or --contexts: say what is wrong in them, and where, and start
    /// nothing
    #[arg(long, value_name = "PATH")]
    check: Vec<PathBuf>,

    /// Start it in a child process, and again when that dies: what `up` runs
    #[arg(long, hide = true)]
    keep: bool,

    #[command(flatten)]
    options: ManagerOptions,
}

/// What is spoken on a device: the last `--level` that names it; else, unless it is HIDL's, the
/// last for every device.
fn protocol_of(device: &str, options: &[String]) -> Result<Protocol> {
    let mut protocol = Protocol::of_device(device);
    let is_hidl = protocol == Protocol::Hidl;
    let mut is_own = false;
    for option in options {
        let (name, text) = match option.split_once('=') {
            Some((name, text)) => (Some(name), text),
            None => (None, option.as_str()),
        };
        let parsed: Protocol = text.parse().map_err(|why| {
            Error::with_advice(
                format!("--level {option}: {why}."),
                "Give the API level of the clients whose calls could be of several levels.",
            )
        })?;
        match name {
            Some(name) if name == device => (protocol, is_own) = (parsed, true),
            None if !is_own && !is_hidl => protocol = parsed,
            _ => {}
        }
    }
    Ok(protocol)
}

#[derive(Serialize)]
struct Checked {
    path: PathBuf,
    rules: usize,
    services: usize,
}

/// Checks files of rules.
fn check(context: &Context, paths: &[PathBuf]) -> Result<ExitCode> {
    let mut all = Vec::new();
    for path in paths {
        let found = rule_files::check(path).map_err(|why| Error::new(format!("{why}.")))?;
        all.push(Checked {
            path: path.clone(),
            rules: found.rules,
            services: found.services,
        });
    }
    context.show(&all, |all| {
        for one in all {
            let path = one.path.display();
            say(format_args!(
                "{path}: {} rules, {} declared services",
                one.rules, one.services
            ));
        }
    });
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    if !arguments.check.is_empty() {
        return check(context, &arguments.check);
    }
    let mount = &context.mount;
    let options = &arguments.options;
    let mut devices = arguments.device.clone();
    if devices.is_empty() {
        devices.push("binder".to_string());
    }
    devices.sort();
    devices.dedup();
    mount.check_served()?;
    for device in &devices {
        mount.check_device(device)?;
    }
    if arguments.keep {
        take_name();
        return keeper::run(mount, &devices, options);
    }
    let devices = devices
        .into_iter()
        .map(|device| {
            let protocol = protocol_of(&device, &options.level)?;
            let path = mount.file(&device);
            Ok((device, path, protocol))
        })
        .collect::<Result<Vec<_>>>()?;
    take_name();
    let end = serve(&Options {
        devices,
        policy: options.policy.clone(),
        contexts: options.contexts.clone(),
        has_android_uids: options.android_uids,
        allow_replacing_others: options.allow_replacing_others,
        accept_files: options.accept_files,
        per_user: options.max_per_user.unwrap_or(DEFAULT_PER_USER),
    });
    let what = format!("The service manager ends: {}.", end.why);
    Err(match end.cause {
        Cause::Driver => {
            note(format_args!("servicemanager: {}; it begins anew", end.why));
            begin_anew();
            Error::new(what)
        }
        Cause::Taken => Error::with_advice(
            what,
            "Use that one, which `anybinder status` shows, or end it before.",
        )
        .of(Kind::Taken),
        Cause::Other => Error::new(what),
    })
}

/// What `ps` and `anybinder status` show, and what `down` looks for.
fn take_name() {
    let _ = rustix::thread::set_name(&std::ffi::CString::new(SERVICE_MANAGER).unwrap_or_default());
}

/// The server process of the daemon has crashed, and another one serves the devices: this process
/// executes itself again, with nothing registered. If nobody serves them, it fails then. Returns
/// only if that is impossible.
fn begin_anew() {
    let mut arguments = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let error = command.args(arguments).exec();
    note(format_args!(
        "servicemanager: it cannot be executed again: {error}"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_driver::level::Level;

    #[test]
    fn a_level_for_one_device_counts_more_than_one_for_all() {
        let options = ["vndbinder=30", "34"].map(String::from);
        let of = |device| protocol_of(device, &options).unwrap();
        assert_eq!(of("vndbinder"), Protocol::Aidl(Level::A11));
        assert_eq!(of("binder"), Protocol::Aidl(Level::A14));
        assert_eq!(of("hwbinder"), Protocol::Hidl);
        assert!(protocol_of("binder", &["x=27".to_string()]).is_err());
        let none = protocol_of("binder", &[]).unwrap();
        assert_eq!(none, Protocol::Aidl(Level::A16));
        let own = ["hwbinder=34".to_string(), "binder=hidl".to_string()];
        assert_eq!(
            protocol_of("hwbinder", &own).unwrap(),
            Protocol::Aidl(Level::A14)
        );
        assert_eq!(protocol_of("binder", &own).unwrap(), Protocol::Hidl);
    }
}
