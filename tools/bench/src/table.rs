// SPDX-License-Identifier: Apache-2.0
//! Tables of figures in Markdown, with columns as wide as their entries: for people, and for a page
//! as they are.

/// A name in the first column, figures in the others.
pub struct Table {
    /// The headings first.
    rows: Vec<Vec<String>>,
}

/// A figure with so many decimals; None: there is none.
pub fn number(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_string(), |figure| format!("{figure:.decimals$}"))
}

impl Table {
    /// * `heads`: of all columns; the first may be empty
    pub fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Table {
            rows: vec![heads.into_iter().map(Into::into).collect()],
        }
    }

    /// A row; the columns that it has no entries for are empty.
    pub fn row(&mut self, entries: impl IntoIterator<Item = impl Into<String>>) {
        let mut row: Vec<String> = entries.into_iter().map(Into::into).collect();
        row.resize(self.rows[0].len(), String::new());
        self.rows.push(row);
    }

    /// Names at the left and figures at the right of their columns.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let entries = self.rows.iter().map(|row| row[column].chars().count());
            entries.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let mut text = format!("| {:1$} |", row[0], widths[0]);
            for (entry, width) in row.iter().zip(&widths).skip(1) {
                text += &format!(" {entry:>width$} |");
            }
            text + "\n"
        };
        let rules = widths[1..].iter().map(|width| "-".repeat(width + 1) + ":|");
        let rule = format!(
            "|{}|{}\n",
            "-".repeat(widths[0] + 2),
            rules.collect::<String>()
        );
        let rows: String = self.rows[1..].iter().map(line).collect();
        line(&self.rows[0]) + &rule + &rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_needed() {
        let mut table = Table::new(["1 pair", "p50 us"]);
        table.row(["binder".to_string(), number(Some(15.84), 1)]);
        table.row(["x"]);
        let wanted = "| 1 pair | p50 us |\n|--------|-------:|\n| binder |   15.8 |\n\
                      | x      |        |\n";
        assert_eq!(table.text(), wanted);
    }
}
