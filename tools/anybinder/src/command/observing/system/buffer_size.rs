// SPDX-License-Identifier: Apache-2.0
//! The size of the buffer that a process maps of a device, from `/proc/PID/maps`.

/// The buffer that libbinder maps, where a process does not show what it maps.
const USUAL_BUFFER: u64 = 1024 * 1024 - 2 * 4096;

/// How much of what a process maps is the device.
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
pub fn buffer_size(pid: u32) -> u64 {
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
