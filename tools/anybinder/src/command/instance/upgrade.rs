// SPDX-License-Identifier: Apache-2.0
//! `anybinder upgrade`: the daemon is replaced by the program that is installed now, while its
//! clients go on.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::generation::{self, Generation, HandOver, Installed, Programs};
use anybinder_mount::mount::Mount;
use serde::Serialize;
use std::io::{stderr, stdin, IsTerminal, Write};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only have the new program restore the state and compare; the running one goes on
    #[arg(long)]
    dry_run: bool,

    /// The longest pause of calls that is not asked about; without a terminal, the longest
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    max_pause: u16,

    /// Do not ask: pause calls for up to 8 s, as packages do
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct Upgrade {
    mount: String,
    dry_run: bool,
    /// The supervisor executes the same program; None: not known.
    supervisor_is_same: Option<bool>,
    #[serde(flatten)]
    now: Generation,
}

fn print(upgrade: &Upgrade) {
    let now = &upgrade.now;
    let pause_ms = now.pause_us.unwrap_or(0) as f64 / 1000.0;
    let mount = &upgrade.mount;
    match upgrade.dry_run {
        true => say(format_args!(
            "{mount}: the installed program can take over; a hand-over would pause calls for some \
             {pause_ms:.1} ms"
        )),
        false => say(format_args!(
            "{mount}: process {}, version {}, has taken over; calls paused for {pause_ms:.1} ms",
            now.server, now.version
        )),
    }
    match now.left_behind {
        Some(1) => say("1 call waited for its client's memory and ended with an error"),
        Some(count) if count > 1 => say(format_args!(
            "{count} calls waited for their clients' memory and ended with an error"
        )),
        _ => {}
    }
    if upgrade.supervisor_is_same == Some(false) {
        say(format_args!(
            "its supervisor, process {}, stays the program with which the daemon was started, \
             until that is restarted",
            now.supervisor
        ));
    }
}

/// Without it, the program that serves would be started again.
fn check_installed(mount: &Mount) -> Result<()> {
    let now = Generation::load(mount).unwrap_or_default();
    match now.as_ref().and_then(Programs::of) {
        Some(programs) if programs.installed == Installed::None => Err(Error::with_advice(
            format!(
                "{} is not installed any more: there is no program to take over.",
                programs.path.display()
            ),
            "Install it again.",
        )),
        _ => Ok(()),
    }
}

/// Whether the person at the terminal lets calls wait for longer. The time limit of the command
/// bounds how long an answer is waited for.
fn is_longer_allowed(reason: &str) -> bool {
    let mut answer = String::new();
    stdin().is_terminal()
        && write!(stderr(), "{reason}.\nPause them for up to 8 s? [y/N] ").is_ok()
        && stdin().read_line(&mut answer).is_ok()
        && answer.trim() == "y"
}

const TOO_LONG: &str = "too-long";

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let mount = &context.mount;
    check_installed(mount)?;
    let max_pause_ms = if arguments.yes {
        0
    } else {
        arguments.max_pause
    };
    let mut how = HandOver {
        rehearse: arguments.dry_run,
        max_pause_ms,
    };
    let mut now = generation::hand_over(mount, how)?;
    if now.last == TOO_LONG && is_longer_allowed(now.reason.as_deref().unwrap_or_default()) {
        how.max_pause_ms = 0;
        now = generation::hand_over(mount, how)?;
    }
    if !matches!(now.last.as_str(), "done" | "dry-run-done") {
        let reason = now.reason.as_deref().unwrap_or("no reason was given");
        return Err(Error::with_advice(
            format!(
                "The daemon of {} was not replaced: {reason}.",
                mount.path.display()
            ),
            match now.last.as_str() {
                TOO_LONG => "It goes on as it was; with --yes, calls pause for up to 8 s.",
                _ => "It goes on as it was. Its log says more.",
            },
        )
        .of(Kind::NotWorking));
    }
    let upgrade = Upgrade {
        mount: mount.path.display().to_string(),
        dry_run: arguments.dry_run,
        supervisor_is_same: Programs::of(&now).map(|programs| programs.supervisor_is_same),
        now,
    };
    context.show(&upgrade, print);
    Ok(ExitCode::SUCCESS)
}
