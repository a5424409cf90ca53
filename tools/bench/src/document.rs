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

/// The machine that the figures were measured on.
pub fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_string());
    let load: Vec<f64> = read("/proc/loadavg")
        .split(' ')
        .take(3)
        .filter_map(|field| field.parse().ok())
        .collect();
    serde_json::json!({
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "cpu": model,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load_average": load,
    })
}
