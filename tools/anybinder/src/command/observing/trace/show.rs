// SPDX-License-Identifier: Apache-2.0
//! Calls as lines of text or JSON.
use super::line::line;
use super::payload::Payloads;
use super::summary::Summary;
use anybinder_events::call::Call;
use anybinder_events::names::Names;
use anybinder_mount::error::{Doing, Result};
use anybinder_mount::harmless::{harmless, harmless_lines};
use std::io::Write;

pub struct Show {
    json: bool,
    summary: Option<Summary>,
    payloads: Option<Payloads>,
    output: Box<dyn Write>,
    /// When the first call was sent.
    start_ns: Option<u64>,
}

impl Show {
    /// `beside`: a program of the user's has standard output.
    pub fn new(json: bool, summary: bool, beside: bool, payloads: Option<Payloads>) -> Self {
        let output: Box<dyn Write> = match beside {
            true => Box::new(std::io::stderr()),
            false => Box::new(std::io::BufWriter::new(std::io::stdout())),
        };
        Show {
            json,
            summary: summary.then(Summary::default),
            payloads,
            output,
            start_ns: None,
        }
    }

    fn print(&mut self, text: &str) -> Result<()> {
        let written = writeln!(self.output, "{}", harmless_lines(text));
        written.doing(|| "printing calls".to_string())
    }

    pub fn call(&mut self, call: &Call, names: &Names) -> Result<()> {
        if let Some(summary) = &mut self.summary {
            summary.add(call);
            return Ok(());
        }
        if self.json {
            let become_json = "own types become JSON";
            let Some(payloads) = &self.payloads else {
                return self.print(&serde_json::to_string(call).expect(become_json));
            };
            let mut document = serde_json::to_value(call).expect(become_json);
            payloads.add_json(&mut document, call, names);
            return self.print(&document.to_string());
        }
        let start_ns = *self.start_ns.get_or_insert(call.sent_ns);
        let seconds = (call.sent_ns as f64 - start_ns as f64) / 1e9;
        self.print(&harmless(&format!("{seconds:>11.6} {}", line(call))))?;
        let payloads = self.payloads.as_ref();
        for line in payloads.map_or(Vec::new(), |payloads| payloads.lines(call, names)) {
            self.print(&harmless(&line))?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<()> {
        self.output.flush().doing(|| "printing calls".to_string())
    }

    /// The end; `lost`: events that the driver had no room for.
    pub fn finish(mut self, lost: u64) -> Result<()> {
        if let Some(summary) = self.summary.take() {
            let text = match self.json {
                true => summary.json(lost),
                false => summary.text(),
            };
            self.print(text.trim_end())?;
        }
        if lost > 0 {
            eprintln!("anybinder: {lost} events are missing: there were more than could be read.");
        }
        if let Some(payloads) = &self.payloads {
            payloads.finish();
        }
        self.flush()
    }
}
