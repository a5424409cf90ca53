// SPDX-License-Identifier: Apache-2.0
//! The screen of `anybinder top`. Samples are taken by a thread of their own, so that keys are
//! answered while a driver is not; the terminal is restored when the program ends, by a signal too.
use super::sample::{Row, Sampler};
use super::{line, Sort, HEADING};
use anybinder_mount::error::{Doing, Error, Result};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{List, ListItem, ListState, Paragraph};
use ratatui::Frame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

/// How often signals and samples are looked for.
const TURN: Duration = Duration::from_millis(100);

static ENDED: AtomicBool = AtomicBool::new(false);

extern "C" fn end(_signal: libc::c_int) {
    ENDED.store(true, Ordering::Relaxed);
}

struct Screen {
    rows: Vec<Row>,
    sort: Sort,
    filter: String,
    is_typing: bool,
    selected: ListState,
    /// The process that is looked into.
    opened: Option<u32>,
    error: Option<String>,
}

impl Screen {
    fn shown(&self) -> Vec<&Row> {
        self.rows
            .iter()
            .filter(|row| row.matches(&self.filter))
            .collect()
    }

    /// Handles a key; false to end.
    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) -> bool {
        if code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL) {
            return false;
        }
        if self.is_typing {
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
            return true;
        }
        match code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                self.sort.apply(&mut self.rows);
            }
            KeyCode::Down | KeyCode::Char('j') => self.selected.select_next(),
            KeyCode::Up | KeyCode::Char('k') => self.selected.select_previous(),
            KeyCode::Enter => {
                let at = self.selected.selected().unwrap_or(0);
                self.opened = self.shown().get(at).map(|row| row.pid);
            }
            KeyCode::Esc | KeyCode::Backspace => self.opened = None,
            _ => {}
        }
        true
    }

    fn take(&mut self, sample: Result<Vec<Row>>) {
        match sample {
            Ok(rows) => {
                self.rows = rows;
                self.sort.apply(&mut self.rows);
                self.error = None;
            }
            Err(err) => self.error = Some(err.to_string()),
        }
    }

    fn draw(&mut self, frame: &mut Frame) {
        let parts = [
            Constraint::Length(2),
            Constraint::Fill(1),
            Constraint::Length(1),
        ];
        let [top, middle, bottom] = Layout::vertical(parts).areas(frame.area());
        let filter = match (self.is_typing, self.filter.is_empty()) {
            (true, _) => format!("  filter: {}_", self.filter),
            (false, false) => format!("  filter: {}", self.filter),
            (false, true) => String::new(),
        };
        let title = format!(
            "anybinder top: {} processes, sorted by {}{filter}",
            self.rows.len(),
            self.sort.name()
        );
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let heading = Line::styled(HEADING, bold.add_modifier(Modifier::REVERSED));
        frame.render_widget(Paragraph::new(vec![Line::raw(title), heading]), top);
        match self.opened {
            Some(pid) => frame.render_widget(Paragraph::new(self.details(pid)), middle),
            None => {
                let items: Vec<ListItem> = self.shown().into_iter().map(item).collect();
                let list =
                    List::new(items).highlight_style(Style::new().add_modifier(Modifier::REVERSED));
                frame.render_stateful_widget(list, middle, &mut self.selected);
            }
        }
        let help = match &self.error {
            Some(error) => Line::styled(error.replace('\n', " "), Style::new().fg(Color::Red)),
            None => {
                Line::raw("q quit  s sort  / filter  Up Down select  Enter look into  Esc back")
            }
        };
        frame.render_widget(Paragraph::new(help), bottom);
    }

    fn details(&self, pid: u32) -> Vec<Line<'static>> {
        let Some(row) = self.rows.iter().find(|row| row.pid == pid) else {
            return vec![Line::raw(format!("process {pid} has ended"))];
        };
        let mut lines = vec![Line::raw(line(row)), Line::raw("")];
        lines.extend(
            row.services
                .iter()
                .map(|name| Line::raw(format!("  service {name}"))),
        );
        let busy = row.activities.iter();
        lines.extend(busy.map(|one| Line::raw(format!("  thread {} {}", one.tid, one.text))));
        if row.activities.is_empty() {
            lines.push(Line::raw("  no thread is in a call"));
        }
        lines
    }
}

fn item(row: &Row) -> ListItem<'static> {
    let style = match row.marks.is_empty() {
        true => Style::new(),
        false => Style::new().fg(Color::Red),
    };
    ListItem::new(Span::styled(line(row), style))
}

/// Takes samples until the screen is gone.
fn start(mut sampler: Sampler, interval: Duration) -> Receiver<Result<Vec<Row>>> {
    let (sender, samples) = channel();
    std::thread::spawn(move || loop {
        if sender.send(sampler.sample()).is_err() {
            return;
        }
        std::thread::sleep(interval);
    });
    samples
}

pub fn run(sampler: Sampler, interval: Duration, sort: Sort, filter: Option<String>) -> Result<()> {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) };
    }
    let mut screen = Screen {
        rows: Vec::new(),
        sort,
        filter: filter.unwrap_or_default(),
        is_typing: false,
        selected: ListState::default().with_selected(Some(0)),
        opened: None,
        error: None,
    };
    let samples = start(sampler, interval);
    let mut terminal = ratatui::try_init().doing(|| "preparing the terminal".to_string())?;
    let outcome = loop {
        while let Ok(sample) = samples.try_recv() {
            screen.take(sample);
        }
        if let Err(err) = terminal.draw(|frame| screen.draw(frame)) {
            break Err(Error::new(format!("Error while drawing: {err}.")));
        }
        if ENDED.load(Ordering::Relaxed) {
            break Ok(());
        }
        match event::poll(TURN) {
            Ok(false) => {}
            // A signal.
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
            Err(err) => break Err(Error::new(format!("Error while reading keys: {err}."))),
            Ok(true) => match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if !screen.key(key.code, key.modifiers) {
                        break Ok(());
                    }
                }
                Ok(_) => {}
                Err(err) => break Err(Error::new(format!("Error while reading keys: {err}."))),
            },
        }
    };
    ratatui::restore();
    outcome
}
