// SPDX-License-Identifier: Apache-2.0
//! Which calls came: numbered, with typed arguments, printed and kept in a file. A thread of its
//! own reads and writes them, so that no caller waits for that.
use crate::bus::Object;
use crate::prepared::named;
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output::harmless;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Format;
use anybinder_parcel::method;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So many calls may wait to be written; then callers wait.
const WAITING: usize = 1 << 14;

/// After calls that are answered already, others are gathered for so long.
const PAUSE: Duration = Duration::from_millis(1);

/// So many bytes of lines are printed at once.
const GATHERED: usize = 1 << 16;

/// A call that came.
pub struct Record {
    pub object: Arc<Object>,
    pub code: u32,
    /// Behind the header.
    pub data: Vec<u8>,
    pub format: Format,
    pub pid: i32,
    pub uid: u32,
    pub context: Option<String>,
    pub is_oneway: bool,
    /// The arguments, if they were read.
    pub arguments: Option<std::result::Result<Map<String, Value>, String>>,
    /// What is done; None if the controlling program is asked.
    pub answer: Option<String>,
}

enum Entry {
    Called(u64, Box<Record>),
    /// A line that is no call: as text, and as JSON.
    Line(String, Value),
    /// Told when all before is written.
    Flush(SyncSender<()>),
}

pub struct Journal {
    /// With the number of the last call.
    sender: Mutex<(u64, SyncSender<Entry>)>,
}

/// What a journal writes to.
pub struct Outputs {
    /// Lines of JSON are printed, not of text.
    pub json: bool,
    log: Option<File>,
}

impl Outputs {
    /// * `log`: where lines of JSON are added
    pub fn new(json: bool, log: Option<&Path>) -> Result<Outputs> {
        let open = |path: &Path| {
            let mut options = File::options();
            options
                .append(true)
                .create(true)
                .open(path)
                .doing(|| format!("opening {}", path.display()))
        };
        let log = log.map(open).transpose()?;
        Ok(Outputs { json, log })
    }
}

/// Reads the arguments of a call.
pub fn arguments(
    library: &Library,
    record: &Record,
) -> std::result::Result<Map<String, Value>, String> {
    let interface = &record.object.behaviour.interface;
    let called = interface
        .by_code(record.code)
        .ok_or("the interface has no such method")?;
    let mut decoder = Decoder::new(&record.data, Some(library));
    decoder.format = record.format;
    let read = method::arguments(library, &interface.entry, called, &mut decoder)?;
    Ok(read.into_iter().collect())
}

/// A call as a line of JSON, and as one of text.
#[derive(Serialize)]
struct Line<'a> {
    call: u64,
    service: &'a str,
    interface: &'a str,
    method: Option<&'a str>,
    code: u32,
    arguments: Option<Map<String, Value>>,
    pid: i32,
    uid: u32,
    context: Option<&'a str>,
    oneway: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfit: Option<String>,
    #[serde(skip)]
    bytes: usize,
}

impl<'a> Line<'a> {
    fn of(library: &Mutex<Library>, number: u64, record: &'a mut Record) -> Line<'a> {
        let read = record.arguments.take().unwrap_or_else(|| {
            let library = library.lock().unwrap_or_else(PoisonError::into_inner);
            arguments(&library, record)
        });
        let interface = &record.object.behaviour.interface;
        let called = interface.by_code(record.code);
        let (arguments, misfit) = match read {
            Ok(arguments) => (Some(arguments), None),
            Err(why) => (None, Some(why)),
        };
        Line {
            call: number,
            service: &record.object.name,
            interface: &interface.descriptor,
            method: called.map(|one| one.method.name.as_str()),
            code: record.code,
            arguments,
            pid: record.pid,
            uid: record.uid,
            context: record.context.as_deref(),
            oneway: record.is_oneway,
            answer: record.answer.as_deref(),
            asks: record.answer.is_none(),
            misfit,
            bytes: record.data.len(),
        }
    }

    fn text(&self) -> String {
        let given = match (&self.arguments, &self.misfit, self.method) {
            (Some(given), ..) => named(given),
            (None, Some(why), Some(_)) => format!("what does not fit: {why}"),
            _ => format!("{} bytes", self.bytes),
        };
        let code = || format!("code {}", self.code);
        let method = self.method.map_or_else(code, str::to_string);
        let outcome = match self.answer {
            None | Some("") => String::new(),
            Some(answer) => format!(" = {answer}"),
        };
        let (number, name, pid, uid) = (self.call, self.service, self.pid, self.uid);
        format!("{number} {name}.{method}({given}){outcome}, from process {pid}, user {uid}")
    }

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A line that controls no terminal; most have nothing that could.
fn plain(text: String) -> String {
    match text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true => text,
        false => harmless(&text),
    }
}

/// Prints whole lines, and no line of another thread between them. Without a reader the service
/// goes on.
fn print(lines: &mut Vec<u8>) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(lines).and_then(|()| stdout.flush());
    lines.clear();
}

fn write(library: &Mutex<Library>, entries: &Receiver<Entry>, outputs: Outputs) {
    let mut lines = Vec::new();
    let mut log = outputs.log.map(BufWriter::new);
    let mut next = None;
    while let Some(entry) = next.take().or_else(|| entries.recv().ok()) {
        let mut is_awaited = true;
        let text = match entry {
            Entry::Called(number, mut record) => {
                let line = Line::of(library, number, &mut record);
                is_awaited = line.asks;
                if let Some(log) = &mut log {
                    let _ = writeln!(log, "{}", line.json());
                }
                match outputs.json {
                    true => line.json(),
                    false => line.text(),
                }
            }
            Entry::Line(_, line) if outputs.json => line.to_string(),
            Entry::Line(text, _) => text,
            Entry::Flush(told) => {
                print(&mut lines);
                let _ = log.as_mut().map(Write::flush);
                let _ = told.send(());
                continue;
            }
        };
        lines.extend_from_slice(plain(text).as_bytes());
        lines.push(b'\n');
        next = entries.try_recv().ok();
        if next.is_none() || lines.len() > GATHERED {
            print(&mut lines);
        }
        if next.is_none() {
            let _ = log.as_mut().map(Write::flush);
            // Nobody waits for these lines: a caller that goes on need not wake this thread.
            if !is_awaited {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Journal {
    pub fn start(library: Arc<Mutex<Library>>, outputs: Outputs) -> Journal {
        let (sender, entries) = sync_channel(WAITING);
        std::thread::spawn(move || write(&library, &entries, outputs));
        Journal {
            sender: Mutex::new((0, sender)),
        }
    }

    /// Writes a call down; `number` is told which one it is, before anybody can read of it.
    pub fn called(&self, record: Record, number: impl FnOnce(u64)) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.0 += 1;
        number(sender.0);
        // The thread lives as long as the process.
        let _ = sender.1.send(Entry::Called(sender.0, Box::new(record)));
    }

    pub fn line(&self, text: impl Into<String>, json: Value) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = sender.1.send(Entry::Line(text.into(), json));
    }

    /// Prints a line that somebody waits for, before lines that are gathered.
    pub fn at_once(&self, line: &Value) {
        let mut text = plain(line.to_string()).into_bytes();
        text.push(b'\n');
        print(&mut text);
    }

    /// Waits until everything is written.
    pub fn flush(&self) {
        let (told, done) = sync_channel(1);
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = sender.1.send(Entry::Flush(told));
        drop(sender);
        let _ = done.recv();
    }
}
