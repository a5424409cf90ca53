// SPDX-License-Identifier: Apache-2.0
//! Pictures of figures (SVG): one chart with logarithmic axes, or one of bars.
use crate::document;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
/// The room right of a chart for the names of its lines.
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const LINE_HEIGHT: f64 = 16.0;
/// The colours of Okabe and Ito, which people who cannot tell some colours apart can tell apart,
/// without their yellow, which is hard to see on white; greys in its place.
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000", "#56b4e9", "#969696",
    "#5a3c28",
];

/// A named line.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// The lowest and the highest y over the rounds, for each x that has a bar.
    pub bars: Vec<(f64, f64, f64)>,
}

/// One chart: its axes are logarithmic.
pub struct Chart {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// The x values that have a label, and the label.
    pub ticks: Vec<(f64, String)>,
    pub lines: Vec<Line>,
}

/// The values of an axis and where they are drawn.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// A range a little wider than the positive values; None if there are none.
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Axis> {
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((f64::MAX, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        (high > 0.0).then_some(Axis {
            low: low / 1.15,
            high: high * 1.15,
            from,
            to,
        })
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    fn has(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values, few enough that their labels do not overlap.
    fn round_values(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let values =
            decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(decade)));
        values.filter(|value| self.has(*value)).collect()
    }
}

fn short(value: f64) -> String {
    match value {
        big if big >= 1e6 => format!("{}M", big / 1e6),
        big if big >= 1e3 => format!("{}k", big / 1e3),
        small => format!("{small}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A text at a place; `more` are attributes.
fn text(x: f64, y: f64, more: &str, words: &str) -> String {
    let words = escaped(words);
    format!("<text x=\"{x:.0}\" y=\"{y:.0}\" {more}>{words}</text>\n")
}

/// A picture of this height: its content, and below it some lines.
fn picture(height: f64, content: &str, below: &[String]) -> String {
    let lines = below.iter().zip(1..);
    let lines: String = lines
        .map(|(line, number)| text(10.0, height + LINE_HEIGHT * f64::from(number), "", line))
        .collect();
    let height = height + LINE_HEIGHT * (below.len() as f64 + 1.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{content}{lines}</svg>\n"
    )
}

fn draw_axes(chart: &Chart, xs: &Axis, ys: &Axis) -> String {
    let mut content = text(
        WIDTH / 2.0,
        22.0,
        "text-anchor=\"middle\" font-size=\"15\"",
        &chart.title,
    );
    let mut grid = String::new();
    for (value, label) in chart.ticks.iter().filter(|tick| xs.has(tick.0)) {
        let _ = write!(grid, "M{:.0} {TOP}V{}", xs.at(*value), HEIGHT - BOTTOM);
        let below = HEIGHT - BOTTOM + LINE_HEIGHT;
        content += &text(xs.at(*value), below, "text-anchor=\"middle\"", label);
    }
    for value in ys.round_values() {
        let _ = write!(grid, "M{LEFT} {:.0}H{}", ys.at(value), WIDTH - RIGHT);
        let y = ys.at(value) + 4.0;
        content += &text(LEFT - 6.0, y, "text-anchor=\"end\"", &short(value));
    }
    content += &format!("<path d=\"{grid}\" stroke=\"#ddd\"/>\n");
    content += &text(
        WIDTH / 2.0,
        HEIGHT - 12.0,
        "text-anchor=\"middle\"",
        chart.x,
    );
    content + &text(8.0, TOP - 10.0, "", chart.y)
}

/// The picture of a chart; empty if there is nothing to draw.
///
/// * `notes`: what the figures cannot show, below the chart with the machine and the date
pub fn draw(chart: &Chart, notes: &[String]) -> String {
    let mut below = vec![document::caption() + "; all scales are logarithmic"];
    below.extend(notes.iter().map(|note| format!("Note: {note}")));
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let (Some(xs), Some(ys)) = (
        Axis::new(points().map(|point| point.0), LEFT, WIDTH - RIGHT),
        Axis::new(points().map(|point| point.1), HEIGHT - BOTTOM, TOP),
    ) else {
        return picture(HEIGHT, "", &below);
    };
    let mut content = draw_axes(chart, &xs, &ys);
    // The names in the order in which the lines end, from above.
    let mut order: Vec<&Line> = chart
        .lines
        .iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    let end = |line: &Line| line.points.last().map_or(0.0, |end| end.1);
    order.sort_by(|a, b| end(b).total_cmp(&end(a)));
    for (number, line) in order.into_iter().enumerate() {
        let place = TOP + LINE_HEIGHT * (number + 1) as f64;
        let colour = COLOURS[number % COLOURS.len()];
        let mut path = String::new();
        for (x, y) in &line.points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.0} {:.0}", xs.at(*x), ys.at(*y));
        }
        for (x, low, high) in line.bars.iter().filter(|bar| bar.1 > 0.0) {
            let _ = write!(
                path,
                "M{:.0} {:.0}V{:.0}",
                xs.at(*x),
                ys.at(*low),
                ys.at(*high)
            );
        }
        content += &format!("<path d=\"{path}\" stroke=\"{colour}\" fill=\"none\"/>\n");
        let style = format!("fill=\"{colour}\"");
        content += &text(WIDTH - RIGHT + 6.0, place, &style, &line.name);
    }
    picture(HEIGHT, &content, &below)
}

/// A bar of a picture in which each begins where the one before ends.
pub struct Bar {
    pub name: String,
    pub length: f64,
    /// What is written at its end.
    pub words: String,
    /// The number of its colour.
    pub colour: usize,
}

/// The picture of bars below each other.
///
/// * `legend`: what each colour stands for
pub fn draw_bars(title: &str, bars: &[Bar], legend: &[&str]) -> String {
    let total: f64 = bars.iter().map(|bar| bar.length).sum();
    let scale = (WIDTH - LEFT - 2.0 * RIGHT) / total.max(f64::MIN_POSITIVE);
    let mut content = text(
        WIDTH / 2.0,
        22.0,
        "text-anchor=\"middle\" font-size=\"15\"",
        title,
    );
    let (mut left, mut y) = (LEFT + RIGHT / 2.0, TOP);
    for bar in bars {
        let width = (bar.length * scale).max(1.0);
        let colour = COLOURS[bar.colour];
        content += &format!(
            "<rect x=\"{left:.0}\" y=\"{y}\" width=\"{width:.0}\" height=\"12\" \
             fill=\"{colour}\"/>\n"
        );
        content += &text(10.0, y + 11.0, "", &bar.name);
        content += &text(left + width + 5.0, y + 11.0, "", &bar.words);
        left += bar.length * scale;
        y += LINE_HEIGHT + 4.0;
    }
    for (number, words) in legend.iter().enumerate() {
        let style = format!("fill=\"{}\"", COLOURS[number]);
        y += LINE_HEIGHT;
        content += &text(10.0, y, &style, words);
    }
    picture(y + 10.0, &content, &[document::caption()])
}

/// A latency distribution on a logarithmic axis: the x value of a share is 1 / (1 - share). The
/// last point, whose share is 1, is left out.
pub fn tail_points(curve: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    curve
        .into_iter()
        .filter(|(share, _)| *share < 1.0)
        .map(|(share, us)| (1.0 / (1.0 - share), us))
        .collect()
}

/// The distributions of durations, with their names.
pub fn tails(title: String, curves: impl Iterator<Item = (String, Vec<(f64, f64)>)>) -> Chart {
    let shares: [(f64, &str); 6] = [
        (2.0, "50 %"),
        (10.0, "90 %"),
        (100.0, "99 %"),
        (1e3, "99.9 %"),
        (1e4, "99.99 %"),
        (1e5, "99.999 %"),
    ];
    let lines = curves.map(|(name, curve)| Line {
        name,
        points: tail_points(curve),
        bars: Vec::new(),
    });
    Chart {
        title,
        x: "share of calls",
        y: "us",
        ticks: shares.map(|(x, name)| (x, name.to_string())).to_vec(),
        lines: lines.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round_and_inside() {
        let axis = |low, high| Axis::new([low, high].into_iter(), 0.0, 1.0).unwrap();
        assert_eq!(
            axis(10.0, 200.0).round_values(),
            [10.0, 20.0, 50.0, 100.0, 200.0]
        );
        assert!(axis(3.0, 4.0).round_values().is_empty());
        assert!(Axis::new([0.0].into_iter(), 0.0, 1.0).is_none());
    }

    #[test]
    fn a_line_is_one_element() {
        let tail = vec![(0.5, 10.0), (0.75, 20.0), (1.0, 30.0)];
        let chart = tails("a < b".to_string(), [("x".to_string(), tail)].into_iter());
        let picture = draw(&chart, &["few".to_string()]);
        assert!(
            picture.contains("a &lt; b") && picture.contains("Note: few"),
            "{picture}"
        );
        assert_eq!(picture.matches("<path").count(), 2, "{picture}");
    }
}
