// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench paths`: what a call costs on each way to the daemon.
//!
//! The first is the fastest: root starts the daemon, a raw client opens a device in the directory
//! of the mount. On the others something is added: a bound device file, as containers have it; a
//! daemon that no root started, for which the kernel maps no buffers; an option; a library at both
//! ends; a file in the call; and the call by which a client finds a service.
use crate::cell::{Cell, Length, Size};
use crate::comparison::{Beside, Comparison, Group, Repeat, COLUMNS};
use crate::daemon::{self, anybinderd_by, machines, Scratch, FULL, PLAIN};
use crate::document::{self, Output, Published};
use crate::figures::{Figures, Rounds};
use crate::peer::{self, Peer};
use crate::table::number;
use crate::targets::Setting;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use anybinder_mount::process::find_program;
use rustix::thread::sched_getaffinity;
use serde_json::{json, Value};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

const SIZES: [&str; 3] = ["0", "4k", "64k"];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 200)]
    duration_ms: u64,

    /// How often each measurement is made, in turn with all others
    #[arg(long, value_name = "COUNT", default_value_t = 7,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

/// A way: its name, its peer in a measuring program, how that is started in a directory, and
/// whether its calls carry data.
type Way = (&'static str, &'static str, Start, bool);
type Start = fn(&str, &str, &Path) -> Result<Peer>;

const WAYS: [Way; 8] = [
    ("directory", "binder", of_root, true),
    ("bound file", "binder", bound, true),
    ("ordinary user", "binder", of_user, true),
    ("--limit-containers", "binder", of_root, true),
    ("--selinux", "binder", of_root, true),
    ("rsbinder", "framework", managed, true),
    ("a file in it", "file", of_root, false),
    ("look-up", "lookup", managed, false),
];

/// A name may be an option of the daemon.
fn of_root(name: &str, kind: &str, directory: &Path) -> Result<Peer> {
    let options: Vec<&str> = Some(name)
        .filter(|name| name.starts_with("--"))
        .into_iter()
        .collect();
    if name == "--selinux" && !Path::new("/sys/fs/selinux/enforce").exists() {
        return Err(Error::new("This kernel has no SELinux."));
    }
    let command = Command::new(find_program("anybinderd")?);
    let daemon = anybinderd_by(command, directory, &options)?;
    Peer::with(name, kind, PLAIN, Some(daemon))
}

/// The file is bound for all processes of a measurement, as for those of a container.
fn bound(name: &str, kind: &str, directory: &Path) -> Result<Peer> {
    let file = directory.join("device").display().to_string();
    std::fs::write(&file, "").doing(|| format!("making {file}"))?;
    let device = directory.join("binderfs/binder").display().to_string();
    let script = "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"";
    let before = ["unshare", "--mount", "sh", "-c", script, &device, &file];
    Ok(of_root(name, kind, directory)?.by(&file, &before))
}

/// Root of a user namespace has no more rights over others than any user, who needs one anyway.
fn of_user(name: &str, kind: &str, directory: &Path) -> Result<Peer> {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]);
    command.arg(find_program("anybinderd")?);
    let daemon = anybinderd_by(command, directory, &[])?;
    let (device, pid) = (daemon.address.clone(), daemon.pid().to_string());
    let enter = [
        "nsenter",
        "--user",
        "--mount",
        "--preserve-credentials",
        "--target",
        &pid,
    ];
    Ok(Peer::with(name, kind, PLAIN, Some(daemon))?.by(&device, &enter))
}

/// With a service manager.
fn managed(name: &str, kind: &str, directory: &Path) -> Result<Peer> {
    Peer::with(name, kind, FULL, Some(machines(directory)?))
}

/// The p50 of this row divided by that of the first one.
fn this_to_first(first: &Rounds, this: &Rounds) -> String {
    number(this.ratio(first, Figures::p50_us), 2)
}

/// The figures of one setting, for programs and for people.
fn measure(arguments: &Arguments, setting: Setting) -> Result<(Value, String)> {
    let scratch = Scratch::new()?;
    let (mut peers, mut carry) = (Vec::new(), Vec::new());
    for (number, (name, kind, start, carries_data)) in WAYS.iter().enumerate() {
        let directory = scratch.subdirectory(&number.to_string())?;
        match start(name, kind, &directory) {
            Ok(peer) => {
                peers.push(peer);
                carry.push(*carries_data);
            }
            Err(error) => eprintln!("{name} is left out: {error}"),
        }
    }
    let groups = SIZES.map(|size| {
        let size: Size = size.parse().expect("a size of this file");
        let cell = Cell {
            size,
            length: Length::Duration(Duration::from_millis(arguments.duration_ms)),
            ..Cell::default()
        };
        let has_data = size.request_bytes + size.reply_bytes > 0;
        let rows = (0..peers.len()).filter(|peer| carry[*peer] || !has_data);
        Group::of(cell, rows)
    });
    let mut all = Comparison::new(peer::subjects(&peers), groups.into());
    all.measure(Repeat::Rounds(arguments.rounds))?;
    let columns = [2, 3, 7, 8, 9].map(|column| COLUMNS[column]);
    let beside: Beside = this_to_first;
    let table = all.table(&columns, Some(("p50 to first".to_string(), beside)));
    let words = format!(
        "{}, medians of {} rounds:\n",
        setting.name(),
        arguments.rounds
    );
    let document = json!({ "setting": setting.name(), "rounds": arguments.rounds });
    let figures = all.published("paths", document, words, table);
    all.check()?;
    Ok((figures.document, figures.text))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let usable = sched_getaffinity(None).doing(|| "asking for the CPUs".to_string())?;
    let (mut comparisons, mut text) = (Vec::new(), String::new());
    for setting in [Setting::OneCore, Setting::Unpinned] {
        setting.apply(&usable)?;
        let (document, words) = measure(arguments, setting)?;
        comparisons.push(document);
        text += &words;
    }
    let figures = Published {
        name: "paths",
        document: json!({
            "bench": "paths",
            "machine": document::machine(),
            "comparisons": comparisons,
        }),
        picture: None,
        text,
    };
    figures.publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
