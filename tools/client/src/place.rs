// SPDX-License-Identifier: Apache-2.0
//! Where a service lives: in a process of this machine, which may be the link to another one.
use anybinder_mount::process::command_name;
use anybinder_rpc::{accessor, foreign, link};
use serde::{Deserialize, Serialize};

/// The name of a process that stands before a service, by which others recognise it.
pub const DISTURB: &str = "binder-disturb";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// 0 where the service manager does not say it.
    pub pid: i32,
    /// The address of the other machine, as `anybinder link` was given it.
    #[serde(default)]
    pub link: Option<String>,
    /// What `anybinder disturb` does to its calls: the words of its command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

/// The words behind `disturb` on the command line of a process that disturbs a service.
fn disturbance(pid: i32) -> Option<String> {
    if command_name(pid.cast_unsigned()) != DISTURB {
        return None;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let words: Vec<_> = words.skip_while(|word| word != "disturb").skip(1).collect();
    Some(words.join(" ").trim_end().to_string())
}

impl Place {
    pub fn of_process(pid: i32) -> Place {
        let link = link::address_of(pid);
        Place {
            pid,
            link,
            disturbed: disturbance(pid),
        }
    }

    /// The place of a service, as the service manager of the open device says it; unknown if
    /// rsbinder has none open.
    pub fn of_service(name: &str) -> Place {
        let is_open = rsbinder::ProcessState::is_initialized();
        let listed = is_open.then(|| foreign::list(None)).and_then(Result::ok);
        let listed = listed.unwrap_or_default();
        let of_name = |name: &str| listed.iter().find(|one| one.name == name);
        // Only an accessor may lead there.
        let found = of_name(name).or_else(|| of_name(&format!("{}{name}", accessor::PREFIX)));
        found.map_or_else(Place::default, |one| {
            Place::of_process(one.pid.unwrap_or(0))
        })
    }

    /// What follows a text about the service: nothing for one of this machine.
    pub fn suffix(&self) -> String {
        match (&self.link, &self.disturbed) {
            (Some(address), _) => format!(" over {address}"),
            (_, Some(words)) => format!(", DISTURBED: {words}"),
            _ => String::new(),
        }
    }
}
