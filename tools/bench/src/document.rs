// SPDX-License-Identifier: Apache-2.0
//! What a measurement leaves: a table or JSON on standard output, a JSON file and a picture.
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Result};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// Prints the figures, and keeps them if `--output` was given.
///
/// * `output`: the directory for `NAME.json` and `NAME.svg`, made if there is none
/// * `draw`: draws the picture at a path
/// * `print`: prints the table for people
pub fn publish(
    context: &Context,
    output: Option<&Path>,
    name: &str,
    document: &Value,
    draw: impl FnOnce(&Path) -> std::result::Result<(), Box<dyn Error>>,
    print: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if let Some(directory) = output {
        std::fs::create_dir_all(directory).doing(|| format!("making {}", directory.display()))?;
        let path = directory.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(document).expect("own types become JSON");
        std::fs::write(&path, text + "\n").doing(|| format!("writing {}", path.display()))?;
        let path = directory.join(format!("{name}.svg"));
        draw(&path).doing(|| format!("drawing {}", path.display()))?;
    }
    if context.json {
        context.show(document, |_| {});
        return Ok(());
    }
    print()
}

/// How many processes can run at the same time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The machine and the time, in one line below a picture.
pub fn caption() -> String {
    let machine = machine();
    let text = |name: &str| machine[name].as_str().unwrap_or("unknown").to_string();
    format!(
        "{}, {} cores, Linux {}, {}; all scales are logarithmic",
        text("cpu"),
        cores(),
        text("kernel"),
        text("date")
    )
}

/// The date of today in UTC, as 2026-01-31.
fn date() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = now.map_or(0, |since| since.as_secs()) as libc::time_t;
    // SAFETY: gmtime_r writes to a structure of ours, for which zeros are valid.
    let day = unsafe {
        let mut day: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut day);
        day
    };
    format!(
        "{:04}-{:02}-{:02}",
        day.tm_year + 1900,
        day.tm_mon + 1,
        day.tm_mday
    )
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// How many processes wanted a processor, on average over the last 1, 5 and 15 minutes.
pub fn load_average() -> Vec<f64> {
    read("/proc/loadavg")
        .split(' ')
        .take(3)
        .filter_map(|field| field.parse().ok())
        .collect()
}

/// The machine that the figures were measured on.
pub fn machine() -> Value {
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_string());
    serde_json::json!({
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "cpu": model,
        "cores": cores(),
        "date": date(),
        "load_average": load_average(),
    })
}
