// SPDX-License-Identifier: Apache-2.0
//! The terminal as lines with a look each. It is as it was before once `Terminal` is dropped, and
//! before the text of a panic.
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Attributes, Color, Print, ResetColor, SetAttributes};
use crossterm::style::{SetAttribute, SetForegroundColor};
use crossterm::terminal::{self, Clear, ClearType, DisableLineWrap, EnableLineWrap};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};
use std::io::{self, Write};

/// How a line looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    pub is_red: bool,
    pub attributes: Attributes,
}

impl Look {
    pub fn red() -> Look {
        Look {
            is_red: true,
            ..Look::default()
        }
    }

    pub fn with(self, attribute: Attribute) -> Look {
        Look {
            attributes: self.attributes.with(attribute),
            ..self
        }
    }
}

pub type Line = (String, Look);

pub struct Terminal;

impl Terminal {
    pub fn begin() -> io::Result<Terminal> {
        terminal::enable_raw_mode()?;
        let begun = Terminal;
        execute!(io::stdout(), EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(begun)
    }

    /// Shows lines from the top on; what does not fit is cut.
    ///
    /// * `lines`: makes them for so many columns and rows
    pub fn draw(&self, lines: impl FnOnce(usize, usize) -> Vec<Line>) -> io::Result<()> {
        let (columns, rows) = terminal::size()?;
        let lines = lines(columns.into(), rows.into());
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate)?;
        let mut lines = lines.into_iter();
        for row in 0..rows {
            let (text, look) = lines.next().unwrap_or_default();
            let text: String = text.chars().take(columns.into()).collect();
            queue!(out, MoveTo(0, row), SetAttributes(look.attributes))?;
            if look.is_red {
                queue!(out, SetForegroundColor(Color::Red))?;
            }
            queue!(out, Print(text), SetAttribute(Attribute::Reset), ResetColor)?;
            queue!(out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        out.flush()
    }
}

/// Makes the terminal what it was; errors cannot be told.
pub fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, EnableLineWrap, Show);
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}
