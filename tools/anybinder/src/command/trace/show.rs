// SPDX-License-Identifier: Apache-2.0
//! Calls as lines of text or JSON.
use super::payload::Payloads;
use super::summary::Summary;
use anybinder_events::call::Call;
use anybinder_events::names::{Names, Thread};
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

/// A code as a number, or as the four characters that the standard ones are made of.
pub fn code_name(code: u32) -> String {
    let bytes = code.to_be_bytes();
    let is_text = bytes
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    match is_text {
        true => String::from_utf8_lossy(&bytes).into_owned(),
        false => code.to_string(),
    }
}

/// What is called: the service, or else the number of the object.
pub fn target(call: &Call) -> String {
    match &call.service {
        Some(name) => name.clone(),
        None if call.node == 0 => "?".to_string(),
        None => format!("object {}", call.node),
    }
}

fn party(thread: &Thread) -> String {
    let name = match (thread.process.is_empty(), thread.thread.is_empty()) {
        (false, _) => thread.process.as_str(),
        (true, false) => thread.thread.as_str(),
        (true, true) => "?",
    };
    match thread.tid {
        tid if tid == thread.pid || tid == 0 => format!("{name}[{}]", thread.pid),
        tid => format!("{name}[{}:{tid}]", thread.pid),
    }
}

/// A time with three digits or more.
pub fn duration(ns: u64) -> String {
    match ns {
        0..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

fn passed(objects: u32, files: u32) -> String {
    let count = |count: u32, what: &str| match count {
        0 => String::new(),
        1 => format!(", 1 {what}"),
        _ => format!(", {count} {what}s"),
    };
    count(objects, "object") + &count(files, "file")
}

fn outcome(call: &Call) -> String {
    if let Some(error) = &call.error {
        let reason = call.errno.map(std::io::Error::from_raw_os_error);
        return match reason {
            Some(reason) => format!("{error} ({reason})"),
            None => error.clone(),
        };
    }
    if call.unfinished {
        return "unfinished".to_string();
    }
    if call.oneway {
        return "one-way".to_string();
    }
    let objects = passed(call.reply_objects, call.reply_files);
    format!("{} B{objects}", call.reply_size)
}

/// A line without its time.
pub fn line(call: &Call) -> String {
    let interface = call.interface.as_deref().filter(|name| !name.is_empty());
    let interface = interface.map_or(String::new(), |name| format!(" {name}"));
    let to = match call.to.pid {
        0 => String::new(),
        _ => format!(" -> {}", party(&call.to)),
    };
    let time = match call.duration_ns() {
        Some(time) if call.id != 0 => format!(" in {}", duration(time)),
        _ => String::new(),
    };
    format!(
        "{}{to} {}{interface} {}({} B{}) = {}{time}",
        party(&call.from),
        target(call),
        code_name(call.code),
        call.size,
        passed(call.objects, call.files),
        outcome(call),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        let thread = |pid, tid, process: &str| Thread {
            pid,
            tid,
            process: process.to_string(),
            ..Thread::default()
        };
        Call {
            id: 1,
            from: thread(5, 5, "client"),
            to: thread(6, 7, "server"),
            service: Some("my.service".to_string()),
            interface: Some("my.IService".to_string()),
            code: 2,
            size: 100,
            files: 1,
            reply_size: 8,
            sent_ns: 1000,
            done_ns: Some(86_200),
            ..Call::default()
        }
    }

    #[test]
    fn a_line_says_who_calls_what_and_what_came_of_it() {
        assert_eq!(
            line(&call()),
            "client[5] -> server[6:7] my.service my.IService 2(100 B, 1 file) = 8 B in 85.2 us"
        );
        let failed = Call {
            error: Some("FAILED_REPLY".to_string()),
            errno: Some(28),
            code: 0x5f50_4e47,
            service: None,
            interface: None,
            node: 4,
            ..call()
        };
        let text = line(&failed);
        assert!(text.contains("object 4 _PNG(100 B"), "{text}");
        assert!(
            text.contains("= FAILED_REPLY (No space left on device"),
            "{text}"
        );
    }
}
