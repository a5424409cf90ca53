// SPDX-License-Identifier: Apache-2.0
//! Tables of figures: for people as columns, for a page as Markdown.
use std::fmt::Write;

enum Line {
    /// What the following rows are of.
    Title(String),
    Row(Vec<String>),
}

/// A name in the first column, figures in the others.
pub struct Table {
    heads: Vec<String>,
    lines: Vec<Line>,
}

/// A figure with so many decimals; None: there is none.
pub fn number(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_string(), |figure| format!("{figure:.decimals$}"))
}

impl Table {
    /// * `heads`: of all columns; the first may be empty
    pub fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Table {
            heads: heads.into_iter().map(Into::into).collect(),
            lines: Vec::new(),
        }
    }

    pub fn title(&mut self, title: String) {
        self.lines.push(Line::Title(title));
    }

    pub fn row(&mut self, entries: impl IntoIterator<Item = impl Into<String>>) {
        let entries = entries.into_iter().map(Into::into);
        self.lines.push(Line::Row(entries.collect()));
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.lines.iter().filter_map(|line| match line {
            Line::Title(_) => None,
            Line::Row(row) => Some(row),
        })
    }

    /// Columns as wide as their entries, names at the left and figures at the right of theirs.
    pub fn text(&self) -> String {
        let mut widths = vec![0; self.heads.len()];
        for row in std::iter::once(&self.heads).chain(self.rows()) {
            for (width, entry) in widths.iter_mut().zip(row) {
                *width = entry.chars().count().max(*width);
            }
        }
        let columns = |entries: &[String]| {
            let mut text = format!("  {:1$}", entries[0], widths[0]);
            for (entry, width) in entries.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {entry:>width$}");
            }
            text.trim_end().to_string() + "\n"
        };
        let mut text = columns(&self.heads);
        for line in &self.lines {
            match line {
                Line::Title(title) => text += &format!("{title}\n"),
                Line::Row(row) => text += &columns(row),
            }
        }
        text
    }

    /// A table for each title.
    pub fn markdown(&self) -> String {
        let row = |entries: &[String]| format!("| {} |\n", entries.join(" | "));
        let head = row(&self.heads) + &"|---".repeat(self.heads.len()) + "|\n";
        let mut text = String::new();
        if !matches!(self.lines.first(), Some(Line::Title(_))) {
            text += &head;
        }
        for line in &self.lines {
            match line {
                Line::Title(title) => text += &format!("\n{title}:\n\n{head}"),
                Line::Row(entries) => text += &row(entries),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["", "p50 us"]);
        table.title("1 pair".to_string());
        table.row(["binder".to_string(), number(Some(15.84), 1)]);
        table.row(["x", "-"]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_needed() {
        let wanted = "          p50 us\n1 pair\n  binder    15.8\n  x            -\n";
        assert_eq!(table().text(), wanted);
    }

    #[test]
    fn a_page_has_a_table_for_each_title() {
        let wanted = "\n1 pair:\n\n|  | p50 us |\n|---|---|\n| binder | 15.8 |\n| x | - |\n";
        assert_eq!(table().markdown(), wanted);
    }
}
