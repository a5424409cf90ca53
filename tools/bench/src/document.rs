// SPDX-License-Identifier: Apache-2.0
//! What a measurement leaves: tables or JSON on standard output, a JSON file and a picture.
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Command-line options: where the figures go.
#[derive(Debug, clap::Args)]
pub struct Output {
    /// Directory for the figures (JSON) and their picture (SVG)
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The figures of one measurement.
pub struct Published {
    /// Of its files.
    pub name: &'static str,
    pub document: Value,
    /// None: there is nothing to draw.
    pub picture: Option<String>,
    /// For people.
    pub text: String,
}

impl Published {
    /// Prints the figures, and keeps them if `--output` was given.
    pub fn publish(&self, context: &Context, options: &Output) -> Result<()> {
        if let Some(directory) = &options.output {
            std::fs::create_dir_all(directory)
                .doing(|| format!("making {}", directory.display()))?;
            let text = serde_json::to_string_pretty(&self.document);
            let text = text.expect("own types become JSON") + "\n";
            let files = [("json", Some(&text)), ("svg", self.picture.as_ref())];
            for (kind, text) in files {
                let path = directory.join(format!("{}.{kind}", self.name));
                if let Some(text) = text {
                    std::fs::write(&path, text).doing(|| format!("writing {}", path.display()))?;
                }
            }
        }
        if context.json {
            context.show(&self.document, |_| {});
            return Ok(());
        }
        print!("{}", self.text);
        Ok(())
    }
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
        "{}, {} cores, Linux {}, {}",
        text("cpu"),
        cores(),
        text("kernel"),
        text("date")
    )
}

/// The date of today in UTC, as 2026-01-31.
fn date() -> String {
    let said = Command::new("date").args(["-u", "+%F"]).output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    text.unwrap_or_default().trim().to_string()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// What the processors have done since the boot, in ticks: idle time, and all.
pub fn processor_time() -> [u64; 2] {
    // user nice system idle iowait irq softirq steal; what follows is part of user
    let text = read("/proc/stat");
    let words = text.lines().next().unwrap_or_default().split_whitespace();
    let times: Vec<u64> = words
        .skip(1)
        .take(8)
        .filter_map(|word| word.parse().ok())
        .collect();
    [times.iter().skip(3).take(2).sum(), times.iter().sum()]
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
