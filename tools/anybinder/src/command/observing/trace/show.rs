// SPDX-License-Identifier: Apache-2.0
//! Calls as lines of text or JSON.
use super::line::line;
use super::summary::{By, Summary};
use super::tree::Leveled;
use super::typed_payload::Payloads;
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output::{harmless, harmless_lines};
use anybinder_events::calls::Call;
use anybinder_events::thread_names::Names;
use serde_json::Value;
use std::io::Write;

/// How calls are shown.
pub struct Shown {
    pub json: bool,
    /// A program of the user's has standard output.
    pub beside: bool,
    /// A table, of so many rows if that is limited, and of what.
    pub summary: Option<(Option<usize>, Option<By>)>,
    /// Nothing is shown.
    pub quiet: bool,
    /// What is passed, too.
    pub data: bool,
    pub payloads: Payloads,
}

pub struct Show {
    shown: Shown,
    summary: Option<Summary>,
    output: Box<dyn Write>,
    /// When the first call was sent.
    start_ns: Option<u64>,
}

impl Show {
    pub fn new(shown: Shown) -> Self {
        let output: Box<dyn Write> = match shown.beside {
            true => Box::new(std::io::stderr()),
            false => Box::new(std::io::BufWriter::new(std::io::stdout())),
        };
        Show {
            summary: shown.summary.map(|(top, by)| Summary::new(top, by)),
            shown,
            output,
            start_ns: None,
        }
    }

    /// The name of the method that a call calls, by the .aidl files.
    pub fn method(&self, call: &Call) -> Option<String> {
        self.shown.payloads.method(call)
    }

    /// The `.aidl` files that were used, and those of some interfaces.
    pub fn aidl<'a>(&self, interfaces: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        self.shown.payloads.aidl(interfaces)
    }

    fn print(&mut self, text: &str) -> Result<()> {
        // At once: what it is beside may write to the same terminal.
        let line = format!("{}\n", harmless_lines(text));
        let written = self.output.write_all(line.as_bytes());
        written.doing(|| "printing calls".to_string())
    }

    /// `now_ns`: the time.
    pub fn call(&mut self, one: &Leveled, names: &Names, now_ns: u64) -> Result<()> {
        let payloads = &self.shown.payloads;
        let call = &one.call;
        if self.shown.quiet {
            return Ok(());
        }
        if let Some(summary) = &mut self.summary {
            summary.add(call, now_ns, || payloads.method(call));
            return Ok(());
        }
        let method = payloads.method(call);
        if self.shown.json {
            let mut document = serde_json::to_value(call).expect("own types become JSON");
            match self.shown.data {
                true => payloads.add_json(&mut document, call, names),
                false => document["method"] = Value::from(method),
            }
            return self.print(&document.to_string());
        }
        let start_ns = *self.start_ns.get_or_insert(call.sent_ns);
        let seconds = (call.sent_ns as f64 - start_ns as f64) / 1e9;
        let indent = "  ".repeat(one.depth);
        let text = line(call, method.as_deref(), one.own_ns);
        let by = match call.by_other_thread && one.depth > 0 {
            true => ", by another thread",
            false => "",
        };
        let mut lines = vec![format!("{seconds:>11.6} {indent}{text}{by}")];
        if self.shown.data {
            let told = payloads.lines(call, names);
            lines.extend(told.iter().map(|line| format!("{indent}{line}")));
        }
        lines
            .iter()
            .try_for_each(|line| self.print(&harmless(line)))
    }

    pub fn flush(&mut self) -> Result<()> {
        self.output.flush().doing(|| "printing calls".to_string())
    }

    /// The end; `lost`: events that the driver had no room for.
    pub fn finish(mut self, lost: u64) -> Result<()> {
        if let Some(summary) = self.summary.take() {
            let text = match self.shown.json {
                true => summary.json(lost),
                false => summary.text(),
            };
            self.print(text.trim_end())?;
        }
        self.shown.payloads.finish();
        self.flush()
    }
}
