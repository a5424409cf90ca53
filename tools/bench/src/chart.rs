// SPDX-License-Identifier: Apache-2.0
//! The picture of a comparison (SVG): bars of the same rows beside each other, a column for each
//! thing that is compared.
use std::fmt::Write;

const NAMES_WIDTH: f64 = 150.0;
const COLUMN_WIDTH: f64 = 230.0;
/// The longest bar; the rest of a column is for its figure.
const BAR_WIDTH: f64 = 160.0;
const ROW_HEIGHT: f64 = 24.0;

/// A heading, and a figure for each row, which may be missing.
pub struct Column {
    pub head: String,
    pub figures: Vec<Option<f64>>,
}

fn text(x: f64, y: f64, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x:.0}\" y=\"{y:.0}\">{words}</text>\n")
}

/// Three digits, more only before the point.
fn short(figure: f64) -> String {
    let decimals = 2_i32.saturating_sub(figure.max(1.0).log10() as i32);
    format!("{figure:.0$}", decimals.max(0) as usize)
}

/// Draws a row for each name; each column has a scale of its own, from zero.
///
/// * `notes`: lines below the bars
pub fn draw(title: &str, names: &[&str], columns: &[Column], notes: &[String]) -> String {
    let mut content = text(10.0, ROW_HEIGHT, title);
    let row_y = |row: usize| ROW_HEIGHT * (row as f64 + 3.0);
    for (row, name) in names.iter().enumerate() {
        content += &text(10.0, row_y(row), name);
    }
    let mut left = NAMES_WIDTH;
    for column in columns {
        content += &text(left, row_y(0) - ROW_HEIGHT, &column.head);
        let longest = column
            .figures
            .iter()
            .flatten()
            .fold(f64::MIN_POSITIVE, |a, b| a.max(*b));
        for (row, figure) in column.figures.iter().enumerate() {
            let Some(figure) = figure else { continue };
            let (y, width) = (row_y(row) - 13.0, figure / longest * BAR_WIDTH);
            let _ = writeln!(
                content,
                "<rect x=\"{left}\" y=\"{y}\" width=\"{width:.0}\" height=\"17\" fill=\"#8c959f\"/>"
            );
            content += &text(left + width + 6.0, row_y(row), &short(*figure));
        }
        left += COLUMN_WIDTH;
    }
    for (line, note) in notes.iter().enumerate() {
        content += &text(10.0, row_y(names.len() + line), note);
    }
    let height = row_y(names.len() + notes.len());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {left} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{content}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_bar_and_three_digits() {
        assert_eq!(
            [0.25, 15.81, 147.2, 2597.0].map(short),
            ["0.25", "15.8", "147", "2597"]
        );
        let column = Column {
            head: "a < b".to_string(),
            figures: vec![Some(10.0), None, Some(40.0)],
        };
        let picture = draw("us", &["x", "y", "z"], &[column], &["few".to_string()]);
        assert!(
            picture.contains("a &lt; b") && picture.contains(">few<"),
            "{picture}"
        );
        assert!(picture.contains("width=\"40\"") && picture.contains("width=\"160\""));
        assert_eq!(picture.matches("height=\"17\"").count(), 2, "{picture}");
    }
}
