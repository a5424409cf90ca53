// SPDX-License-Identifier: Apache-2.0
//! `anybinder graph`: which process calls which, and who has handles of whose objects, from the
//! driver's own reports: as text, DOT, SVG, JSON, or a page for a browser.
mod drawing;
mod gone;
mod layers;
mod live;
pub mod model;
mod page;
mod successors;

use crate::command::observing::system::methods;
use crate::command::observing::system::past::Past;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_cli::new_file::{self, Readers};
use anybinder_client::device::DeviceOption;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use clap::ValueEnum;
use model::Graph;
use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[value(alias = "txt")]
    Text,
    /// For Graphviz
    #[value(alias = "gv")]
    Dot,
    Svg,
    /// One page that needs no network
    Html,
    Json,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How to show it [default: by the ending of --output, else text]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Only what has to do with these processes: pids, commands or services
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,

    /// Count calls for so many seconds, and show rates and latencies
    #[arg(long = "for", value_name = "SECONDS",
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: Option<u32>,

    /// Show the service manager too, of which every process has a handle
    #[arg(long)]
    manager: bool,

    /// Show what a recording of `anybinder trace` has, instead of what is there now: calls with
    /// their rates and latencies, and those that were under way at its end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "device"])]
    pub from: Option<PathBuf>,

    /// Serve the page for a browser, which shows what is there as long as it is open, on an address
    /// of this machine itself; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1,
        default_missing_value = "127.0.0.1:0",
        conflicts_with_all = ["format", "output", "seconds", "from"])]
    pub serve: Option<SocketAddr>,

    #[command(flatten)]
    aidl: Roots,

    #[command(flatten)]
    device: DeviceOption,
}

impl Arguments {
    fn format(&self, json: bool) -> Result<Format> {
        let path = self.output.as_deref().unwrap_or(Path::new(""));
        match (self.format, json, path.extension()) {
            (Some(format), _, _) => Ok(format),
            (None, true, _) => Ok(Format::Json),
            (None, _, None) => Ok(Format::Text),
            (None, _, Some(ending)) => {
                let known = Format::from_str(&ending.to_string_lossy(), true);
                known.map_err(|_| unknown_ending(path))
            }
        }
    }
}

/// The error of a file whose name does not say how to write it.
fn unknown_ending(path: &Path) -> Error {
    let what = format!("No format has the ending of {}.", path.display());
    let advice = "Endings are .txt, .dot, .gv, .svg, .html and .json; with another, say --format.";
    Error::with_advice(what, advice).of(Kind::Usage)
}

fn text(graph: &Graph) -> String {
    let mut lines = graph.notes();
    let by_pid = graph.by_pid();
    let mut edges: HashMap<u32, Vec<&model::Edge>> = HashMap::new();
    for edge in &graph.edges {
        edges.entry(edge.from).or_default().push(edge);
    }
    for process in &graph.processes {
        lines.push(process.title());
        lines.extend(process.marks().iter().map(|mark| format!("  {mark}")));
        for edge in edges.remove(&process.pid).unwrap_or_default() {
            let to = by_pid.get(&edge.to).map(|one| one.title());
            let facts = edge.facts().join("; ");
            lines.push(format!("  -> {}: {facts}", to.unwrap_or_default()));
        }
    }
    for cycle in &graph.cycles {
        let pids: Vec<String> = cycle.iter().map(u32::to_string).collect();
        lines.push(format!(
            "processes wait for each other in a circle: {}",
            pids.join(" -> ")
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    if let Some(address) = arguments.serve {
        return live::serve(context, arguments, address);
    }
    let format = arguments.format(context.json)?;
    let past = arguments.from.as_deref().map(Past::read).transpose()?;
    let time = arguments.seconds.map(|one| Duration::from_secs(one.into()));
    let mut graph = match &past {
        Some(past) => model::of_past(past, methods::library_or(&arguments.aidl, &past.aidl)?)?,
        None => {
            let library = methods::library(&arguments.aidl)?;
            model::collect(context, &arguments.device.device, time, library)?
        }
    };
    if !arguments.manager {
        graph.without_manager();
    }
    if !arguments.only.is_empty() {
        graph.only(&arguments.only)?;
    }
    let made = match format {
        Format::Text => text(&graph),
        Format::Dot => dot(&graph),
        Format::Svg => drawing::svg(&graph)?,
        Format::Html => page::html(&graph)?,
        Format::Json => {
            let json = serde_json::to_string_pretty(&graph);
            json.doing(|| "making JSON".to_string())? + "\n"
        }
    };
    match &arguments.output {
        Some(path) => new_file::write(path, Readers::Usual, made.as_bytes())?,
        None => {
            let _ = std::io::stdout().write_all(made.as_bytes());
        }
    }
    past.map_or(Ok(()), |past| past.check_whole())?;
    Ok(ExitCode::SUCCESS)
}

/// A text in double quotes, for DOT.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

fn dot(graph: &Graph) -> String {
    let mut lines = vec![
        "digraph binder {".to_string(),
        "  rankdir=LR; node [shape=box];".into(),
    ];
    let note = graph.notes().join("\n");
    if !note.is_empty() {
        lines.push(format!("  label={};", quoted(&note)));
    }
    for process in &graph.processes {
        let label = process.label();
        lines.push(format!("  p{} [label={}];", process.pid, quoted(&label)));
    }
    for edge in &graph.edges {
        let label = quoted(&edge.facts().join("\n"));
        let style = if edge.waiting.is_empty() {
            ""
        } else {
            ", color=red"
        };
        lines.push(format!(
            "  p{} -> p{} [label={label}{style}];",
            edge.from, edge.to
        ));
    }
    lines.push("}\n".to_string());
    lines.join("\n")
}
