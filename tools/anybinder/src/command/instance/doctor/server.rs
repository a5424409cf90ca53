// SPDX-License-Identifier: Apache-2.0
//! Questions about a daemon that serves: whether the installed program serves, how the last
//! hand-over to another server ended, and which program supervises.
use super::finding::Check;
use anybinder_mount::generation::{Generation, Installed, Programs};
use anybinder_mount::mount::{Backend, Mount};

const RESTART_ADVICE: &str =
    "nothing to do for calls; it is replaced when the daemon is restarted \
     (`systemctl restart anybinderd`, `anybinder down` and `up`), which ends its clients";

/// What is wrong with the program that serves, and what to do.
fn program_problem(programs: &Programs) -> Option<(String, &'static str)> {
    let path = programs.path.display();
    match programs.installed {
        Installed::TheSame => None,
        Installed::Another => Some((
            format!("{path} was replaced since it was started"),
            "run `anybinder upgrade`: clients go on",
        )),
        Installed::None => Some((
            format!("{path} was removed since it was started"),
            "install it again, then run `anybinder upgrade`: clients go on",
        )),
    }
}

fn hand_over_problem(now: &Generation) -> Option<(String, &'static str)> {
    let reason = now.reason.as_ref()?;
    matches!(now.last.as_str(), "refused" | "too-long" | "failed").then(|| {
        (
            format!(
                "the last hand-over to another server {}: {reason}",
                now.last
            ),
            "the daemon's log says more",
        )
    })
}

fn server_check(now: &Generation, programs: Option<&Programs>) -> Check {
    let name = "server";
    let mut text = format!(
        "process {}, version {}, number {} since the daemon was started, {} crashes",
        now.server, now.version, now.generation, now.crashes
    );
    let program = programs.and_then(program_problem);
    let mut advice = Vec::new();
    for (problem, what) in program.into_iter().chain(hand_over_problem(now)) {
        text = format!("{text}; {problem}");
        advice.push(what);
    }
    match advice.is_empty() {
        true => Check::ok(name, text),
        false => Check::limited(name, text, advice.join("; ")),
    }
}

fn supervisor_check(now: &Generation, programs: &Programs) -> Option<Check> {
    (!programs.supervisor_is_same).then(|| {
        Check::limited(
            "supervisor",
            format!(
                "process {} is another program than the server: that with which the daemon was \
                 started",
                now.supervisor
            ),
            RESTART_ADVICE,
        )
    })
}

/// Nothing if no daemon serves that can be replaced, or if this user may not read what it says.
pub fn server(mount: &Mount) -> Vec<Check> {
    let now = match mount.backend() {
        Backend::Daemon => Generation::load(mount).unwrap_or_default(),
        _ => None,
    };
    let Some(now) = now else {
        return Vec::new();
    };
    let programs = Programs::of(&now);
    let supervisor = programs
        .as_ref()
        .and_then(|all| supervisor_check(&now, all));
    let mut checks = vec![server_check(&now, programs.as_ref())];
    checks.extend(supervisor);
    checks
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;
    use std::path::PathBuf;

    fn programs(installed: Installed, supervisor_is_same: bool) -> Programs {
        Programs {
            path: PathBuf::from("/usr/bin/anybinderd"),
            installed,
            supervisor_is_same,
        }
    }

    fn generation(last: &str, reason: Option<&str>) -> Generation {
        Generation {
            version: "1.2.3".to_string(),
            server: 9,
            supervisor: 7,
            generation: 4,
            crashes: 1,
            last: last.to_string(),
            reason: reason.map(str::to_string),
            ..Generation::default()
        }
    }

    #[test]
    fn a_server_of_the_installed_program_is_in_order() {
        let now = generation("done", None);
        let check = server_check(&now, Some(&programs(Installed::TheSame, true)));
        assert_eq!(check.state, State::Ok);
        assert_eq!(
            check.text,
            "process 9, version 1.2.3, number 4 since the daemon was started, 1 crashes"
        );
        assert_eq!(server_check(&now, None).state, State::Ok);
    }

    #[test]
    fn a_replaced_program_and_a_refusal_are_told_with_what_to_do() {
        let now = generation("refused", Some("the state has version 2"));
        let check = server_check(&now, Some(&programs(Installed::Another, true)));
        assert_eq!(check.state, State::Limited);
        assert!(check
            .text
            .contains("; /usr/bin/anybinderd was replaced since"));
        assert!(check
            .text
            .ends_with("server refused: the state has version 2"));
        assert_eq!(
            check.advice.as_deref(),
            Some("run `anybinder upgrade`: clients go on; the daemon's log says more")
        );
        let removed = server_check(&now, Some(&programs(Installed::None, true)));
        assert!(removed.advice.unwrap().starts_with("install it again"));
    }

    #[test]
    fn a_supervisor_of_another_program_has_a_line() {
        let now = generation("done", None);
        assert!(supervisor_check(&now, &programs(Installed::TheSame, true)).is_none());
        let check = supervisor_check(&now, &programs(Installed::TheSame, false)).unwrap();
        assert!(check.text.starts_with("process 7 "));
        assert_eq!(check.advice.as_deref(), Some(RESTART_ADVICE));
    }
}
