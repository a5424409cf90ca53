// SPDX-License-Identifier: Apache-2.0
//! Pictures of figures (SVG): rows of charts.
use crate::document;
use plotters::coord::combinators::{LogCoord, WithKeyPoints};
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// What drawing returns; its errors are those of the drawing library.
pub type Outcome = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Axis = WithKeyPoints<LogCoord<f64>>;
type Context<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

const CHART: (u32, u32) = (460, 340);
const NOTE_HEIGHT: u32 = 18;
/// The room right of a chart for the names of its lines.
const NAMES_WIDTH: u32 = 90;
const NAME_HEIGHT: i32 = 13;
/// Those of Okabe and Ito, which people who cannot tell some colours apart can tell apart, without
/// their yellow, which is hard to see on white; greys in its place.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 150, 150),
    RGBColor(90, 60, 40),
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

fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// A range a little wider than the positive values; None if there are none.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::MAX, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    (high > 0.0).then_some((low / 1.15, high * 1.15))
}

/// Round values between `low` and `high`, few enough that their labels do not overlap.
fn round_values((low, high): (f64, f64)) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let values =
        decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(decade)));
    values
        .filter(|value| (low..=high).contains(value))
        .collect()
}

fn short(value: f64) -> String {
    match value {
        big if big >= 1e6 => format!("{}M", big / 1e6),
        big if big >= 1e3 => format!("{}k", big / 1e3),
        small => format!("{small}"),
    }
}

fn draw_chart(area: &Area, chart: &Chart, names: &[String]) -> Outcome {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let (Some(x), Some(y)) = (
        range(points().map(|point| point.0)),
        range(points().map(|point| point.1)),
    ) else {
        return Ok(());
    };
    let xs: LogCoord<f64> = (x.0..x.1).log_scale().into();
    let ys: LogCoord<f64> = (y.0..y.1).log_scale().into();
    let labelled = chart.ticks.iter().map(|tick| tick.0);
    let labelled = labelled.filter(|value| (x.0..=x.1).contains(value));
    let mut context = ChartBuilder::on(area)
        .caption(&chart.title, ("sans-serif", 15))
        .margin(10)
        .margin_right(10 + NAMES_WIDTH)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(
            xs.with_key_points(labelled.collect()),
            ys.with_key_points(round_values(y)),
        )?;
    let label = |value: &f64| {
        let matches = |tick: &&(f64, String)| (tick.0 / value - 1.0).abs() < 1e-6;
        chart
            .ticks
            .iter()
            .find(matches)
            .map_or(String::new(), |tick| tick.1.clone())
    };
    context
        .configure_mesh()
        .x_desc(chart.x)
        .y_desc(chart.y)
        .x_label_formatter(&label)
        .y_label_formatter(&|value| short(*value))
        .light_line_style(WHITE)
        .draw()?;
    for line in &chart.lines {
        let number = names.iter().position(|name| *name == line.name);
        let style = colour(number.unwrap_or(0)).stroke_width(2);
        context.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
        let bars = line.bars.iter().filter(|bar| bar.1 > 0.0);
        let bars = bars.map(|(x, low, high)| {
            PathElement::new(vec![(*x, *low), (*x, *high)], style.stroke_width(1))
        });
        context.draw_series(bars)?;
        if line.points.len() <= chart.ticks.len() {
            let dots = line
                .points
                .iter()
                .map(|point| Circle::new(*point, 3, style.filled()));
            context.draw_series(dots)?;
        }
    }
    draw_names(area, &context, chart, names)
}

/// The places of the names of lines that end at the heights `ends`, none over another.
///
/// * `lowest`: the last place, near the lower edge
fn apart(ends: &[i32], lowest: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|number| ends[*number]);
    let mut places = ends.to_vec();
    for pair in order.windows(2) {
        places[pair[1]] = places[pair[1]].max(places[pair[0]] + NAME_HEIGHT);
    }
    let mut limit = lowest;
    for number in order.into_iter().rev() {
        places[number] = places[number].min(limit);
        limit = places[number] - NAME_HEIGHT;
    }
    places
}

/// The name of each line, right of where it ends.
fn draw_names(area: &Area, context: &Context, chart: &Chart, names: &[String]) -> Outcome {
    let with_end = |line: &'_ &Line| !line.points.is_empty();
    let lines: Vec<&Line> = chart.lines.iter().filter(with_end).collect();
    let (left, top) = area.get_base_pixel();
    let ends = lines.iter().filter_map(|line| line.points.last());
    let ends: Vec<i32> = ends.map(|end| context.backend_coord(end).1 - top).collect();
    let (x_range, y_range) = context.plotting_area().get_pixel_range();
    let places = apart(&ends, y_range.end - top);
    for ((line, end), place) in lines.iter().zip(ends).zip(places) {
        let number = names.iter().position(|name| *name == line.name);
        let style = colour(number.unwrap_or(0));
        let from = context.backend_coord(line.points.last().expect("lines with an end"));
        let right = x_range.end - left + 4;
        let leader = vec![(from.0 - left, end), (right, place)];
        area.draw(&PathElement::new(leader, style.mix(0.4)))?;
        let text = TextStyle::from(("sans-serif", 12)).color(&style);
        let at = (right + 3, place - NAME_HEIGHT / 2);
        area.draw(&Text::new(line.name.clone(), at, text))?;
    }
    Ok(())
}

/// Draws charts in rows, each line with its name at its end.
///
/// * `columns`: charts in a row
/// * `names`: all lines, in the order of their colours
/// * `notes`: what the figures cannot show, below the charts with the machine and the date
pub fn draw(
    path: &Path,
    charts: &[Chart],
    columns: usize,
    names: &[String],
    notes: &[String],
) -> Outcome {
    let mut below = vec![document::caption()];
    below.extend(notes.iter().map(|note| format!("Note: {note}")));
    let columns = columns.max(1);
    let rows = charts.len().div_ceil(columns) as u32;
    let charts_end = CHART.1 * rows;
    let size = (
        CHART.0 * columns as u32,
        charts_end + NOTE_HEIGHT * below.len() as u32 + 8,
    );
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (body, notes_area) = root.split_vertically(charts_end);
    let areas = body.split_evenly((rows as usize, columns));
    for (area, chart) in areas.iter().zip(charts) {
        draw_chart(area, chart, names)?;
    }
    for (number, note) in below.iter().enumerate() {
        let at = (20, number as i32 * NOTE_HEIGHT as i32);
        notes_area.draw(&Text::new(note.clone(), at, ("sans-serif", 12)))?;
    }
    root.present()?;
    Ok(())
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

/// The labels for `tail_points`.
pub fn tail_ticks() -> Vec<(f64, String)> {
    let shares: [(f64, &str); 6] = [
        (2.0, "50 %"),
        (10.0, "90 %"),
        (100.0, "99 %"),
        (1e3, "99.9 %"),
        (1e4, "99.99 %"),
        (1e5, "99.999 %"),
    ];
    let named = shares.map(|(x, name)| (x, name.to_string()));
    named.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_over_each_other() {
        assert_eq!(apart(&[10, 100, 12], 200), [10, 100, 23]);
        assert_eq!(apart(&[95, 96, 97], 100), [74, 87, 100]);
    }

    #[test]
    fn labels_are_round_and_inside() {
        assert_eq!(round_values((9.0, 210.0)), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert!(round_values((3.0, 4.0)).is_empty());
    }
}
