// SPDX-License-Identifier: Apache-2.0
//! The graph as SVG. Each box and arrow names its processes in attributes, for the page's script.
use super::layers::Layout;
use super::model::{Edge, Graph};
use anybinder_cli::error::{Error, Result};
use std::collections::HashMap;
use std::fmt::Write;

/// A picture of more cannot be read.
const MAX_PROCESSES: usize = 400;
const CHARACTER_WIDTH: f64 = 9.0;
const LINE_HEIGHT: f64 = 20.0;
/// Between boxes, and around the picture.
const MARGIN: f64 = 20.0;
/// What an arrow has beside its label.
const ARROW_WIDTH: f64 = 80.0;

/// What every picture begins with, behind its size.
const BEGINNING: &str = concat!(
    "<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"10\" refY=\"5\" markerWidth=\"9\" ",
    "markerHeight=\"9\" orient=\"auto\"><path d=\"M 0 1 L 10 5 L 0 9 z\"/></marker></defs>\n",
    "<style>text { paint-order: stroke; stroke-width: 9px; font: 14px sans-serif; ",
    "text-anchor: middle; }</style>\n",
);

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn width_of(text: &str) -> f64 {
    let longest = text.lines().map(|line| line.chars().count()).max();
    longest.unwrap_or(0) as f64 * CHARACTER_WIDTH
}

/// Lines around a place.
fn lines(text: &str, (x, y): (f64, f64), style: &str) -> String {
    let first = y - (text.lines().count() as f64 / 2.0 - 0.75) * LINE_HEIGHT;
    let mut made = format!("<text y=\"{first:.1}\"{style}>");
    for (index, line) in text.lines().enumerate() {
        let down = if index > 0 { LINE_HEIGHT } else { 0.0 };
        let line = escaped(line);
        let _ = write!(made, "<tspan x=\"{x:.1}\" dy=\"{down}\">{line}</tspan>");
    }
    made + "</text>\n"
}

/// The start and the end of an arrow: 0 and 1, with the box there and the item beside it.
fn ends_of(route: &[usize]) -> [(usize, usize, usize); 2] {
    let last = route.len() - 1;
    [(0, route[0], route[1]), (1, route[last], route[last - 1])]
}

/// Where everything stands.
struct Plan<'a> {
    /// Those between two processes that are shown.
    edges: Vec<&'a Edge>,
    layout: Layout,
    labels: Vec<String>,
    /// Of each item of the layout.
    heights: Vec<f64>,
    rows: Vec<f64>,
    column_of: Vec<usize>,
    /// Where each column begins and ends.
    columns: Vec<(f64, f64)>,
}

impl Plan<'_> {
    fn new(graph: &Graph) -> Plan<'_> {
        let by_pid: HashMap<u32, usize> =
            graph.processes.iter().map(|one| one.pid).zip(0..).collect();
        let ends = |edge: &Edge| Some((*by_pid.get(&edge.from)?, *by_pid.get(&edge.to)?));
        let known = graph.edges.iter().filter(|edge| edge.from != edge.to);
        let (edges, arrows): (Vec<&Edge>, Vec<_>) =
            known.filter_map(|edge| Some((edge, ends(edge)?))).unzip();
        let labels: Vec<String> = graph.processes.iter().map(|one| one.label()).collect();
        let layout = Layout::new(labels.len(), &arrows);
        let items = layout.columns.iter().map(Vec::len).sum();
        let mut column_of = vec![0; items];
        for (column, items) in layout.columns.iter().enumerate() {
            items.iter().for_each(|item| column_of[*item] = column);
        }
        // Each arrow at a side of a box has a line, for its label.
        let mut arrows_at = HashMap::new();
        for (_, at, next) in layout.routes.iter().flat_map(|route| ends_of(route)) {
            *arrows_at
                .entry((at, column_of[next] > column_of[at]))
                .or_insert(0) += 1;
        }
        let mut heights = vec![LINE_HEIGHT; items];
        for (item, (height, label)) in heights.iter_mut().zip(&labels).enumerate() {
            let sides = [true, false].map(|side| arrows_at.get(&(item, side)).copied());
            let arrows = sides.into_iter().flatten().max().unwrap_or(0);
            let count = label.lines().count().max(arrows) + 1;
            *height = count as f64 * LINE_HEIGHT + MARGIN;
        }
        let rows = layout.rows(&heights, MARGIN / 2.0);
        let mut plan = Plan {
            edges,
            layout,
            labels,
            heights,
            rows,
            column_of,
            columns: Vec::new(),
        };
        plan.place_columns();
        plan
    }

    /// Between two columns there is room for the labels of the arrows that begin there.
    fn place_columns(&mut self) {
        let mut gaps = vec![0.0_f64; self.layout.columns.len() + 1];
        for (edge, route) in self.edges.iter().zip(&self.layout.routes) {
            let right = self.column_of[route[0]].max(self.column_of[route[1]]);
            gaps[right] = gaps[right].max(width_of(&edge.label()) + ARROW_WIDTH);
        }
        let mut x = MARGIN;
        for (column, gap) in self.layout.columns.iter().zip(gaps) {
            let widths = column.iter().map(|item| self.width(*item));
            let width = widths.fold(0.0, f64::max);
            self.columns.push((x + gap, x + gap + width));
            x += gap + width;
        }
    }

    fn width(&self, item: usize) -> f64 {
        let label = self.labels.get(item);
        label.map_or(0.0, |label| width_of(label) + MARGIN)
    }

    fn middle(&self, item: usize) -> f64 {
        let (start, end) = self.columns[self.column_of[item]];
        (start + end) / 2.0
    }

    /// Of each arrow, how far down it leaves its first box and reaches its last one: arrows on one
    /// side of a box are as far apart as its height allows, in the order of where they lead.
    fn ports(&self) -> Vec<[f64; 2]> {
        let mut sides: HashMap<(usize, bool), Vec<(usize, usize, usize)>> = HashMap::new();
        for (index, route) in self.layout.routes.iter().enumerate() {
            for (end, at, next) in ends_of(route) {
                let is_right = self.column_of[next] > self.column_of[at];
                let side = sides.entry((at, is_right)).or_default();
                side.push((index, end, next));
            }
        }
        let mut ports = vec![[0.0; 2]; self.edges.len()];
        for ((item, _), mut side) in sides {
            side.sort_by(|one, other| {
                let rows = self.rows[one.2].total_cmp(&self.rows[other.2]);
                rows.then(one.0.cmp(&other.0))
            });
            let height = self.heights[item] - MARGIN;
            let step = height / (side.len() + 1) as f64;
            for (place, (index, end, _)) in (1..).zip(side) {
                ports[index][end] = self.rows[item] - height / 2.0 + step * f64::from(place);
            }
        }
        ports
    }

    /// The curves of an arrow, and where its label stands.
    fn path(&self, route: &[usize], ports: [f64; 2]) -> (String, (f64, f64)) {
        let is_right = self.column_of[route[1]] > self.column_of[route[0]];
        // Where an arrow leaves a column, and where it comes to one.
        let edges = |item: usize| match (self.columns[self.column_of[item]], is_right) {
            ((start, end), true) => (end, start),
            (column, false) => column,
        };
        let half = |item: usize| self.width(item) / if is_right { 2.0 } else { -2.0 };
        let row = |at: usize| match at {
            0 => ports[0],
            _ if at == route.len() - 1 => ports[1],
            _ => self.rows[route[at]],
        };
        let mut y = row(0);
        let mut x = self.middle(route[0]) + half(route[0]);
        let mut path = format!("M {x:.1} {y:.1}");
        let mut label = None;
        for (at, pair) in route.windows(2).enumerate() {
            let (leave, come) = (edges(pair[0]).0, edges(pair[1]).1);
            let next = row(at + 1);
            let middle = (leave + come) / 2.0;
            label.get_or_insert((middle, (y + next) / 2.0));
            let _ = write!(
                path,
                " C {x:.1} {y:.1}, {leave:.1} {y:.1}, {leave:.1} {y:.1} \
                 C {middle:.1} {y:.1}, {middle:.1} {next:.1}, {come:.1} {next:.1}"
            );
            (x, y) = (come, next);
        }
        let last = route[route.len() - 1];
        x = self.middle(last) - half(last);
        let _ = write!(path, " C {x:.1} {y:.1}, {x:.1} {y:.1}, {x:.1} {y:.1}");
        (path, label.unwrap_or((x, y)))
    }
}

/// The picture, without an XML header.
pub fn picture(graph: &Graph) -> Result<String> {
    if graph.processes.len() > MAX_PROCESSES {
        return Err(Error::with_advice(
            format!(
                "{} processes are too many for a picture of at most {MAX_PROCESSES}.",
                graph.processes.len()
            ),
            "Choose some with --only, or use --format dot or text.",
        ));
    }
    let plan = Plan::new(graph);
    let (mut drawn, mut texts) = (String::new(), String::new());
    let arrows = plan.edges.iter().zip(&plan.layout.routes).zip(plan.ports());
    for ((edge, route), ports) in arrows {
        let waiting = if edge.waiting.is_empty() {
            ""
        } else {
            " waiting"
        };
        let (path, place) = plan.path(route, ports);
        let _ = writeln!(
            drawn,
            "<g class=\"edge{waiting}\" data-from=\"{}\" data-to=\"{}\">\
             <path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#head)\"/></g>",
            edge.from, edge.to
        );
        // With a margin, so that no arrow crosses it out.
        texts += &lines(&edge.label(), place, " style=\"stroke: #fff\"");
    }
    for (item, process) in graph.processes.iter().enumerate() {
        let marked = if process.marks().is_empty() {
            ""
        } else {
            " marked"
        };
        let (width, height) = (plan.width(item), plan.heights[item] - MARGIN);
        let (x, y) = (plan.middle(item), plan.rows[item]);
        let _ = writeln!(
            drawn,
            "<g class=\"process{marked}\" data-pid=\"{}\"><rect x=\"{:.1}\" y=\"{:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" fill=\"white\" stroke=\"black\"/>{}</g>",
            process.pid,
            x - width / 2.0,
            y - height / 2.0,
            lines(&plan.labels[item], (x, y), "").trim_end(),
        );
    }
    let width = plan.columns.last().map_or(0.0, |column| column.1) + MARGIN;
    let ends = plan.rows.iter().zip(&plan.heights);
    let height = ends
        .map(|(row, height)| row + height / 2.0)
        .fold(0.0, f64::max)
        + MARGIN / 2.0;
    Ok(format!(
        "<svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{BEGINNING}{drawn}{texts}</svg>"
    ))
}

pub fn svg(graph: &Graph) -> Result<String> {
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
    Ok(format!("{header}{}\n", picture(graph)?))
}

#[cfg(test)]
mod tests {
    use super::super::model::Process;
    use super::*;
    use fastrand::Rng;

    type Point = (f64, f64);

    /// Into so many straight pieces each curve is cut. Their number is odd: curves that mirror each
    /// other cross in the middle of one, where ends of pieces would only touch.
    const PIECES: u32 = 9;

    /// The points of a path: a start, and curves with two controls each.
    fn points(path: &str) -> Vec<Point> {
        let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
        let words = path.split(|c: char| !is_of_number(c));
        let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let given: Vec<Point> = numbers.chunks_exact(2).map(|xy| (xy[0], xy[1])).collect();
        let (mut points, mut at) = (vec![given[0]], given[0]);
        for curve in given[1..].chunks_exact(3) {
            for piece in 1..=PIECES {
                let t = f64::from(piece) / f64::from(PIECES);
                let s = 1.0 - t;
                let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
                let corners = [at, curve[0], curve[1], curve[2]];
                let sum = |of: fn(Point) -> f64| -> f64 {
                    let parts = weights.iter().zip(corners);
                    parts.map(|(weight, corner)| weight * of(corner)).sum()
                };
                points.push((sum(|one| one.0), sum(|one| one.1)));
            }
            at = curve[2];
        }
        points
    }

    /// Whether two straight lines cross, and do not only touch.
    fn cross(one: &[Point], other: &[Point]) -> bool {
        let side =
            |a: Point, b: Point, c: Point| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
        let parts =
            |a: &[Point], b: &[Point]| side(a[0], a[1], b[0]) * side(a[0], a[1], b[1]) < 0.0;
        parts(one, other) && parts(other, one)
    }

    /// The pairs of arrows that cross.
    fn crossings(picture: &str) -> usize {
        let arrows = picture.split("</defs>").last().unwrap_or_default();
        let paths = arrows.split("<path ").skip(1);
        let drawn = paths.filter_map(|path| path.split("d=\"").nth(1)?.split('"').next());
        let arrows: Vec<Vec<Point>> = drawn.map(points).collect();
        let do_cross = |one: &[Point], other: &[Point]| {
            let pieces = |piece| other.windows(2).any(|second| cross(piece, second));
            one.windows(2).any(pieces)
        };
        let pairs = arrows.iter().enumerate();
        pairs
            .map(|(index, one)| {
                arrows[..index]
                    .iter()
                    .filter(|other| do_cross(one, other))
                    .count()
            })
            .sum()
    }

    #[test]
    fn arrows_that_cross_are_counted() {
        let path = |d: &str| format!("<path d=\"{d}\" />");
        let falling = path("M 0 0 C 10 0, 20 100, 30 100");
        let rising = path("M 0 100 C 10 100, 20 0, 30 0");
        let apart = path("M 0 200 C 10 200, 20 200, 30 200 C 40 200, 50 210, 60 210");
        assert_eq!(crossings(&[falling.as_str(), &apart].concat()), 0);
        assert_eq!(crossings(&[falling.as_str(), &apart, &rising].concat()), 1);
        // From one point.
        let fork = path("M 0 0 C 10 0, 20 -100, 30 -100");
        assert_eq!(crossings(&[falling, fork].concat()), 0);
    }

    fn graph(count: u32, arrows: &[(u32, u32)]) -> Graph {
        let processes = (1..=count).map(|pid| Process {
            pid,
            command: "x".repeat(pid as usize * 7 % 30),
            services: vec!["s".to_string(); pid as usize % 4],
            ..Process::default()
        });
        let edges = arrows.iter().map(|(from, to)| Edge {
            from: *from,
            to: *to,
            objects: Some(1),
            ..Edge::default()
        });
        Graph {
            processes: processes.collect(),
            edges: edges.collect(),
            ..Graph::default()
        }
    }

    /// Forests can be drawn without crossings, however their arrows point, and though some
    /// connections are arrows both ways.
    #[test]
    fn arrows_of_a_forest_do_not_cross() {
        let mut random = Rng::with_seed(7);
        for count in 1..=48 {
            let mut arrows = Vec::new();
            for pid in 2..=count {
                let other = 1 + random.usize(..pid as usize - 1) as u32;
                let both = [(pid, other), (other, pid)];
                match random.usize(..9) {
                    0 => {}
                    1 => arrows.extend(both),
                    _ => arrows.push(both[random.usize(..2)]),
                }
            }
            let picture = picture(&graph(count, &arrows)).unwrap();
            assert_eq!(crossings(&picture), 0, "{arrows:?}");
        }
    }

    #[test]
    fn what_is_not_connected_stands_below_without_a_gap() {
        let graph = graph(8, &[(1, 2), (3, 4), (5, 4), (6, 4), (3, 7), (8, 7), (4, 7)]);
        let plan = Plan::new(&graph);
        let end = |item: usize, side: f64| plan.rows[item] + side * plan.heights[item] / 2.0;
        let bottom = f64::max(end(0, 1.0), end(1, 1.0));
        let top = (2..8).map(|item| end(item, -1.0)).reduce(f64::min);
        assert_eq!(top, Some(bottom));
    }

    #[test]
    fn a_graph_of_as_many_as_are_drawn_is_drawn_at_once() {
        let mut random = Rng::with_seed(3);
        let mut pid = || 1 + random.usize(..MAX_PROCESSES) as u32;
        let arrows: Vec<(u32, u32)> = (0..600).map(|_| (pid(), pid())).collect();
        let picture = picture(&graph(MAX_PROCESSES as u32, &arrows)).unwrap();
        assert_eq!(picture.matches("<rect").count(), MAX_PROCESSES);
    }

    /// What can be drawn without crossings and is no tree.
    #[test]
    fn arrows_lead_to_the_right_and_do_not_cross() {
        let arrows = [
            (1, 2),
            (1, 3),
            (2, 4),
            (3, 4),
            (5, 4),
            (6, 5),
            (4, 7),
            (1, 4),
            (7, 8),
            (8, 7),
        ];
        let picture = picture(&graph(9, &arrows)).unwrap();
        assert_eq!(crossings(&picture), 0, "{picture}");
        let paths = picture.split(" d=\"M ").skip(2);
        let ends = paths.filter_map(|path| {
            let numbers = path.split('"').next()?.split([' ', ',']);
            let numbers: Vec<f64> = numbers.filter_map(|word| word.parse().ok()).collect();
            Some((numbers[0], numbers[numbers.len() - 2]))
        });
        // The last one closes a circle.
        let leads_on: Vec<bool> = ends.map(|(start, end)| start < end).collect();
        assert_eq!(leads_on, [vec![true; 9], vec![false]].concat());
    }
}
