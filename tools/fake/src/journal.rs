// SPDX-License-Identifier: Apache-2.0
//! Which calls came: numbered, with typed arguments, printed and kept in a file. A thread of its
//! own reads and writes them, so that no caller waits for that.
use crate::lock;
use crate::prepared::named;
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output::harmless;
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::Format;
use anybinder_parcel::interface_methods::Interface;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So many calls may wait to be written; then callers wait.
const WAITING: usize = 1 << 14;

/// After calls that are answered already, others are gathered for so long.
const PAUSE: Duration = Duration::from_millis(1);

/// So many bytes of lines are printed at once.
const GATHERED: usize = 1 << 16;

/// A call that came, as its line of JSON.
#[derive(Serialize)]
pub struct Record {
    /// The number, which the journal gives.
    pub call: u64,
    /// The name of the object.
    pub service: String,
    #[serde(serialize_with = "descriptor")]
    pub interface: Arc<Interface>,
    pub method: Option<String>,
    pub code: u32,
    pub arguments: Option<Map<String, Value>>,
    pub pid: i32,
    pub uid: u32,
    pub context: Option<String>,
    pub oneway: bool,
    /// What is done; None if the controlling program is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Why there are no arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<String>,
    /// Behind the header.
    #[serde(skip)]
    pub data: Vec<u8>,
    #[serde(skip)]
    pub format: Format,
}

fn descriptor<S: Serializer>(of: &Arc<Interface>, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(&of.descriptor)
}

impl Record {
    /// Reads the arguments, if that was not done.
    pub fn read(&mut self, library: &Library) {
        if self.arguments.is_some() || self.misfit.is_some() {
            return;
        }
        let called = self.interface.by_code(self.code);
        let called = called.ok_or("the interface has no such method".to_string());
        let method = called.map(|called| self.interface.method(library, called));
        match method.and_then(|method| method.read_request(&self.data, self.format)) {
            Ok(arguments) => self.arguments = Some(arguments),
            Err(why) => self.misfit = Some(why),
        }
    }

    fn text(&self) -> String {
        let given = match (&self.arguments, &self.misfit, &self.method) {
            (Some(given), ..) => named(given),
            (None, Some(why), Some(_)) => format!("what does not fit: {why}"),
            _ => format!("{} bytes", self.data.len()),
        };
        let code = || format!("code {}", self.code);
        let method = self.method.clone().unwrap_or_else(code);
        let outcome = match self.answer.as_deref() {
            None | Some("") => String::new(),
            Some(answer) => format!(" = {answer}"),
        };
        let (number, name, pid, uid) = (self.call, &self.service, self.pid, self.uid);
        format!("{number} {name}.{method}({given}){outcome}, from process {pid}, user {uid}")
    }

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

enum Entry {
    Called(Box<Record>),
    /// A line that is no call: as text, and as JSON.
    Line(String, Value),
    /// Told when all before is written.
    Flush(SyncSender<()>),
}

pub struct Journal {
    /// With the number of the last call.
    sender: Mutex<(u64, SyncSender<Entry>)>,
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

fn write(library: &Mutex<Library>, entries: &Receiver<Entry>, json: bool, log: Option<File>) {
    let mut lines = Vec::new();
    let mut log = log.map(BufWriter::new);
    let mut next = None;
    while let Some(entry) = next.take().or_else(|| entries.recv().ok()) {
        let mut is_awaited = true;
        let text = match entry {
            Entry::Called(mut line) => {
                line.read(&lock(library));
                is_awaited = line.asks;
                if let Some(log) = &mut log {
                    let _ = writeln!(log, "{}", line.json());
                }
                match json {
                    true => line.json(),
                    false => line.text(),
                }
            }
            Entry::Line(_, line) if json => line.to_string(),
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
    /// * `json`: lines of JSON are printed, not of text
    /// * `log`: where lines of JSON are added
    pub fn start(library: &Arc<Mutex<Library>>, json: bool, log: Option<&Path>) -> Result<Journal> {
        let mut options = File::options();
        let options = options.append(true).create(true);
        let open = |path: &Path| {
            let opened = options.open(path);
            opened.doing(|| format!("opening {}", path.display()))
        };
        let log = log.map(open).transpose()?;
        let (sender, entries) = sync_channel(WAITING);
        let library = library.clone();
        std::thread::spawn(move || write(&library, &entries, json, log));
        Ok(Journal {
            sender: Mutex::new((0, sender)),
        })
    }

    /// Writes a call down; `number` is told which one it is, before anybody can read of it.
    pub fn called(&self, mut record: Record, number: impl FnOnce(u64)) {
        let mut sender = lock(&self.sender);
        sender.0 += 1;
        record.call = sender.0;
        number(sender.0);
        // The thread lives as long as the process.
        let _ = sender.1.send(Entry::Called(Box::new(record)));
    }

    pub fn line(&self, text: impl Into<String>, json: Value) {
        let sender = lock(&self.sender);
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
        let sender = lock(&self.sender);
        let _ = sender.1.send(Entry::Flush(told));
        drop(sender);
        let _ = done.recv();
    }
}
