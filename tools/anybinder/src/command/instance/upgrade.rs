// SPDX-License-Identifier: Apache-2.0
//! `anybinder upgrade`: the daemon is replaced by the program that is installed now, while its
//! clients go on.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::generation::{self, Generation, Installed, Programs};
use anybinder_mount::mount::Mount;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only have the new program restore the state and compare; the running one goes on
    #[arg(long)]
    dry_run: bool,
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

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let mount = &context.mount;
    check_installed(mount)?;
    let now = generation::hand_over(mount, arguments.dry_run)?;
    if !matches!(now.last.as_str(), "done" | "dry-run-done") {
        let reason = now.reason.as_deref().unwrap_or("no reason was given");
        return Err(Error::with_advice(
            format!(
                "The daemon of {} was not replaced: {reason}.",
                mount.path.display()
            ),
            "It goes on as it was. Its log says more.",
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
