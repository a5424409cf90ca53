// SPDX-License-Identifier: Apache-2.0
//! The screen of `anybinder top`. Samples are taken by a thread of their own, so that keys are
//! answered while a driver is not; the terminal is restored when the program ends, by a signal or
//! a panic too.
use super::arguments::{Arguments, Sort, View};
use super::columns::{self, Layout};
use super::rows::Sample;
use super::sample::Sampler;
use super::terminal::{self, Line, Look, Terminal};
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::interrupt;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::Attribute;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often signals and samples are looked for.
const TURN: Duration = Duration::from_millis(100);
/// How long the last sample may take when the program ends.
const LAST_SAMPLE: Duration = Duration::from_secs(2);
/// Lines for what is wrong, below the table.
const MARK_LINES: usize = 6;
/// For the test that a panic leaves the terminal as it was.
const PANIC: &str = "ANYBINDER_TEST_PANIC";

const HELP: &str = "q quit  Tab services  s sort  / filter  Up Down select  Enter look into  Esc";

/// What is looked into.
enum Opened {
    Nothing,
    Process(u32),
    Service(String),
}

struct Screen {
    sample: Sample,
    view: View,
    sort: Sort,
    filter: String,
    is_typing: bool,
    selected: usize,
    /// The first row, or line, that is shown.
    first: usize,
    opened: Opened,
    error: Option<String>,
    interval: Duration,
}

/// The rows of a table as text, and which of them are marked.
type Rows = Vec<(String, bool)>;

impl Screen {
    fn new(arguments: &Arguments) -> Screen {
        Screen {
            sample: Sample::default(),
            view: arguments.view,
            sort: arguments.sort,
            filter: arguments.filter.clone().unwrap_or_default(),
            is_typing: false,
            selected: 0,
            first: 0,
            opened: Opened::Nothing,
            error: None,
            interval: Duration::from_millis(arguments.interval_ms),
        }
    }

    /// Opens what --process or --service names, once it is known.
    fn open_named(&mut self, arguments: &Arguments) {
        let named = |wanted: &Option<String>| wanted.clone().unwrap_or_default();
        if let Some(row) = self.sample.process(&named(&arguments.process)) {
            self.opened = Opened::Process(row.pid);
        } else if arguments.service.is_some() {
            if let Some(row) = self.sample.service(&named(&arguments.service)) {
                self.opened = Opened::Service(row.name.clone());
            }
        }
    }

    /// How many rows there are to choose from.
    fn count(&self) -> usize {
        let word = &self.filter;
        match self.view {
            View::Processes => {
                let rows = self.sample.processes.iter();
                rows.filter(|row| row.matches(word)).count()
            }
            View::Services => {
                let rows = self.sample.services.iter();
                rows.filter(|row| row.matches(word)).count()
            }
        }
    }

    fn open_selected(&mut self) {
        let word = &self.filter;
        let opened = match self.view {
            View::Processes => {
                let mut rows = self.sample.processes.iter();
                let mut rows = rows.by_ref().filter(|row| row.matches(word));
                rows.nth(self.selected).map(|row| Opened::Process(row.pid))
            }
            View::Services => {
                let rows = self.sample.services.iter();
                let row = rows.filter(|row| row.matches(word)).nth(self.selected);
                row.map(|row| Opened::Service(row.name.clone()))
            }
        };
        self.opened = opened.unwrap_or(Opened::Nothing);
        self.first = 0;
    }

    fn type_key(&mut self, code: KeyCode) {
        self.selected = 0;
        match code {
            KeyCode::Char(one) => self.filter.push(one),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => self.is_typing = false,
        }
    }

    fn go(&mut self, by: isize) {
        match self.opened {
            Opened::Nothing => self.selected = self.selected.saturating_add_signed(by),
            _ => self.first = self.first.saturating_add_signed(by),
        }
    }

    /// Handles a key; false to end.
    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) -> bool {
        if code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL) {
            return false;
        }
        if self.is_typing {
            self.type_key(code);
            return true;
        }
        match code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                columns::sort(&mut self.sample, self.sort);
            }
            KeyCode::Tab => {
                self.view = match self.view {
                    View::Processes => View::Services,
                    View::Services => View::Processes,
                };
                (self.selected, self.first) = (0, 0);
                self.opened = Opened::Nothing;
            }
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::PageDown => self.go(10),
            KeyCode::PageUp => self.go(-10),
            KeyCode::Enter => self.open_selected(),
            KeyCode::Esc | KeyCode::Backspace => {
                self.opened = Opened::Nothing;
                self.first = 0;
            }
            _ => {}
        }
        true
    }

    fn take(&mut self, sample: Result<Sample>) {
        match sample {
            Ok(sample) => {
                self.sample = sample;
                columns::sort(&mut self.sample, self.sort);
                self.error = None;
            }
            Err(err) => self.error = Some(err.line()),
        }
    }

    fn title(&self) -> String {
        let filter = match (self.is_typing, self.filter.is_empty()) {
            (true, _) => format!("  filter: {}_", self.filter),
            (false, false) => format!("  filter: {}", self.filter),
            (false, true) => String::new(),
        };
        let what = match self.view {
            View::Processes => format!("{} processes", self.sample.processes.len()),
            View::Services => format!("{} services", self.sample.services.len()),
        };
        format!(
            "anybinder top: {what} by {}, per second, of {} ms{filter}",
            self.sort.name(),
            self.interval.as_millis()
        )
    }

    /// The rows from `first` on, as many as fit.
    fn rows(&self, height: usize, layout: Layout) -> Rows {
        let word = &self.filter;
        match self.view {
            View::Processes => {
                let rows = self.sample.processes.iter();
                let rows = rows.filter(|row| row.matches(word));
                let shown = rows.skip(self.first).take(height);
                shown
                    .map(|row| (columns::process(row, layout), !row.marks.is_empty()))
                    .collect()
            }
            View::Services => {
                let rows = self.sample.services.iter();
                let rows = rows.filter(|row| row.matches(word));
                let shown = rows.skip(self.first).take(height);
                shown
                    .map(|row| (columns::service(row, layout), row.waiting > 0))
                    .collect()
            }
        }
    }

    fn table(&mut self, columns: usize, height: usize) -> Vec<Line> {
        let height = height.saturating_sub(1).max(1);
        self.selected = self.selected.min(self.count().saturating_sub(1));
        let least = (self.selected + 1).saturating_sub(height);
        self.first = self.first.clamp(least, self.selected);
        let layout = Layout::of(&self.sample, columns);
        let heading = match self.view {
            View::Processes => layout.processes(),
            View::Services => layout.services(),
        };
        let bold = Look::default().with(Attribute::Bold);
        let mut lines = vec![(heading, bold.with(Attribute::Underlined))];
        for (at, (text, is_marked)) in self.rows(height, layout).into_iter().enumerate() {
            let look = match is_marked {
                true => Look::red(),
                false => Look::default(),
            };
            let is_selected = self.first + at == self.selected;
            lines.push(match is_selected {
                true => (text, look.with(Attribute::Reverse)),
                false => (text, look),
            });
        }
        lines
    }

    fn details(&mut self, columns: usize, height: usize) -> Vec<Line> {
        let layout = Layout::of(&self.sample, columns);
        let lines = match &self.opened {
            Opened::Process(pid) => match self.sample.process(&pid.to_string()) {
                Some(row) => columns::process_details(&self.sample, row, layout),
                None => vec![format!("process {pid} has no device open any more")],
            },
            Opened::Service(name) => match self.sample.service(name) {
                Some(row) => columns::service_details(row, layout),
                None => vec![format!("{name} is not registered any more")],
            },
            Opened::Nothing => Vec::new(),
        };
        self.first = self.first.min(lines.len().saturating_sub(height));
        let shown = lines.into_iter().skip(self.first);
        shown.map(plain).collect()
    }

    /// A title, the table or what is looked into, what is wrong, and the keys.
    fn lines(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let mut below = match self.opened {
            Opened::Nothing => {
                let layout = Layout::of(&self.sample, columns);
                columns::marks(self.sample.marks.iter(), layout)
            }
            _ => Vec::new(),
        };
        if below.len() > MARK_LINES {
            below.truncate(MARK_LINES - 1);
            below.push(format!("{} marks in all", self.sample.marks.len()));
        }
        below.extend(columns::notes(&self.sample));
        let height = rows.saturating_sub(below.len() + 2);
        let mut middle = match self.opened {
            Opened::Nothing => self.table(columns, height),
            _ => self.details(columns, height),
        };
        middle.resize_with(height, Line::default);
        let mut lines = vec![plain(self.title())];
        lines.extend(middle);
        lines.extend(below.into_iter().map(|text| (text, Look::red())));
        lines.push(match &self.error {
            Some(error) => (error.clone(), Look::red()),
            None => plain(HELP.to_string()),
        });
        lines
    }
}

fn plain(text: String) -> Line {
    (text, Look::default())
}

/// The thread that takes samples, until `stop` is dropped.
struct Sampling {
    samples: Receiver<Result<Sample>>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

fn start(mut sampler: Sampler, interval: Duration) -> Sampling {
    let (sender, samples) = channel();
    let (stop, stopped) = channel();
    let thread = std::thread::spawn(move || loop {
        if sender.send(sampler.sample()).is_err() {
            return;
        }
        assert!(std::env::var_os(PANIC).is_none(), "{PANIC} is set");
        if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    });
    Sampling {
        samples,
        stop,
        thread,
    }
}

impl Sampling {
    /// Lets the thread put away what it has, unless the driver does not answer.
    fn end(self) {
        drop((self.stop, self.samples));
        let deadline = Instant::now() + LAST_SAMPLE;
        while !self.thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Where a thread other than the one that draws panicked.
static FAILED: Mutex<Option<String>> = Mutex::new(None);

/// Has a panic of another thread told after the terminal is restored: the screen may be drawn at
/// that moment.
fn keep_panics() {
    let drawing = std::thread::current().id();
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == drawing {
            terminal::restore();
            tell(panic);
        } else {
            *FAILED.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
        }
    }));
}

fn failure() -> Error {
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    let why = failed.as_deref().unwrap_or("for no known reason");
    Error::new(format!("The samples ended: {why}."))
}

/// What happened in a turn.
enum Turn {
    Nothing,
    Changed,
    End,
}

/// Waits for a key; true if the terminal is gone, which crossterm would read without an end.
fn is_hung_up() -> std::io::Result<bool> {
    let stdin = std::io::stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let turn = Timespec::try_from(TURN).expect("a turn is short");
    match poll(&mut waited, Some(&turn)) {
        // A signal, such as that of another size of the terminal.
        Err(Errno::INTR) => Ok(false),
        Err(err) => Err(err.into()),
        Ok(_) => Ok(waited[0].revents().contains(PollFlags::HUP)),
    }
}

fn keys(screen: &mut Screen) -> std::io::Result<Turn> {
    if is_hung_up()? {
        return Ok(Turn::End);
    }
    match event::poll(Duration::ZERO) {
        Ok(false) => return Ok(Turn::Nothing),
        Ok(true) => {}
        // A signal.
        Err(err) if err.kind() == std::io::ErrorKind::Interrupted => return Ok(Turn::Nothing),
        Err(err) => return Err(err),
    }
    match event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            match screen.key(key.code, key.modifiers) {
                true => Ok(Turn::Changed),
                false => Ok(Turn::End),
            }
        }
        _ => Ok(Turn::Changed),
    }
}

fn show(
    terminal: &Terminal,
    screen: &mut Screen,
    sampling: &Sampling,
    arguments: &Arguments,
) -> Result<()> {
    let (mut is_changed, mut is_first) = (true, true);
    loop {
        match sampling.samples.try_recv() {
            Ok(sample) => {
                screen.take(sample);
                if is_first {
                    screen.open_named(arguments);
                }
                (is_changed, is_first) = (true, false);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(failure()),
        }
        if is_changed {
            let drawn = terminal.draw(|columns, rows| screen.lines(columns, rows));
            drawn.doing(|| "drawing".to_string())?;
        }
        if interrupt::check().is_err() {
            return Ok(());
        }
        is_changed = match keys(screen).doing(|| "reading keys".to_string())? {
            Turn::Nothing => false,
            Turn::Changed => true,
            Turn::End => return Ok(()),
        };
    }
}

pub fn run(sampler: Sampler, arguments: &Arguments) -> Result<()> {
    interrupt::defer();
    let mut screen = Screen::new(arguments);
    let terminal = Terminal::begin().doing(|| "preparing the terminal".to_string())?;
    // Before there is a thread that may panic.
    keep_panics();
    let sampling = start(sampler, screen.interval);
    let outcome = show(&terminal, &mut screen, &sampling, arguments);
    drop(terminal);
    sampling.end();
    outcome
}
