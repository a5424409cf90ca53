// SPDX-License-Identifier: Apache-2.0
//! What is known of processes beside the driver's reports.
use super::thread_priority;
use anybinder_events::event::Priority;
use anybinder_mount::process::command_name;
use std::collections::HashMap;

pub enum Known {
    /// What `/proc` says.
    Now,
    /// What `/proc` says, but not the names of programs.
    Nameless,
    /// The names of programs, by process: all that a recording has.
    Recorded(HashMap<u32, String>),
}

impl Known {
    pub fn is_recorded(&self) -> bool {
        matches!(self, Known::Recorded(_))
    }

    /// Whether the names of programs are wanted.
    pub fn has_names(&self) -> bool {
        !matches!(self, Known::Nameless)
    }

    /// This process, which is left out; 0: there is none.
    pub fn own(&self) -> u32 {
        match self.is_recorded() {
            true => 0,
            false => std::process::id(),
        }
    }

    pub fn command(&self, pid: u32) -> String {
        match self {
            Known::Now => command_name(pid),
            Known::Nameless => String::new(),
            Known::Recorded(names) => names.get(&pid).map_or("-", String::as_str).to_string(),
        }
    }

    pub fn buffer_size(&self, pid: u32) -> Option<u64> {
        (!self.is_recorded()).then(|| buffer_size(pid))
    }

    /// Policy and priority of a thread at this moment.
    pub fn scheduling(&self, pid: u32, tid: u32) -> Option<String> {
        match self.is_recorded() {
            true => None,
            false => thread_priority::of_thread(pid, tid).map(Priority::word),
        }
    }
}

/// The buffer that libbinder maps, where a process does not show what it maps.
const USUAL_BUFFER: u64 = 1024 * 1024 - 2 * 4096;

/// How much of what a process maps is the device, whose map is its buffer.
///
/// * `maps`: its `/proc/PID/maps`
/// * `program`: the file of its program, whose name may end as a device's
fn device_bytes(maps: &str, program: &str) -> u64 {
    let size = |line: &str| -> Option<u64> {
        let (range, rest) = line.split_once(' ')?;
        let path = rest.split_whitespace().nth(4)?;
        let name = path.rsplit('/').next().filter(|_| path != program)?;
        let (start, end) = range.split_once('-')?;
        let at = |hex| u64::from_str_radix(hex, 16).ok();
        (name.ends_with("binder") && rest.starts_with("r--"))
            .then(|| Some(at(end)? - at(start)?))?
    };
    maps.lines().filter_map(size).sum()
}

fn mapped_bytes(pid: u32) -> Option<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let program = program.to_string_lossy();
    let bytes = device_bytes(&maps, program.trim_end_matches(" (deleted)"));
    (bytes > 0).then_some(bytes)
}

/// The size of the buffer of a process.
fn buffer_size(pid: u32) -> u64 {
    mapped_bytes(pid).unwrap_or(USUAL_BUFFER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_the_name_of_a_device_is_no_buffer() {
        let maps = [
            "1000-9000 r--p 00000000 fe:00 5 /usr/bin/anybinder\n",
            "9000-a000 r-xp 00008000 fe:00 5 /usr/bin/anybinder\n",
            "b000-d000 r--p 00000000 00:28 7 /dev/binderfs/hwbinder (deleted)\n",
        ];
        assert_eq!(device_bytes(&maps.concat(), "/usr/bin/anybinder"), 0x2000);
    }
}
