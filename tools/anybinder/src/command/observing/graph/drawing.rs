// SPDX-License-Identifier: Apache-2.0
//! The graph as SVG. Each box and arrow names its processes in attributes, for the page's script.
use super::crossings;
use super::model::{Graph, Process};
use crate::command::testing::random::Random;
use anybinder_cli::error::{Error, Result};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use std::collections::HashMap;

/// The time that the layout takes grows faster than the graph.
const MAX_PROCESSES: usize = 400;
/// The layout begins with the order in which it gets the processes, and often ends with arrows that
/// cross though they need not: orders are tried, as many as are drawn in a moment.
const TRIED_PROCESSES: usize = 1200;
const CHARACTER_WIDTH: f64 = 9.0;
const LINE_HEIGHT: f64 = 20.0;

/// The picture, without an XML header; of those that are tried, one in which fewest arrows cross.
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
    let mut order: Vec<&Process> = graph.processes.iter().collect();
    let mut random = Random::new(1);
    let mut best: Option<(usize, String)> = None;
    for _ in 0..(TRIED_PROCESSES / order.len().max(1)).max(1) {
        let drawn = draw(graph, &order);
        let crossings = crossings::count(&drawn);
        if best.as_ref().is_none_or(|(fewest, _)| crossings < *fewest) {
            best = Some((crossings, drawn));
        }
        if crossings == 0 {
            break;
        }
        let count = order.len();
        (0..count).for_each(|at| order.swap(at, random.below(count)));
    }
    Ok(best
        .map(|(_, drawn)| with_labels_last(&drawn))
        .unwrap_or_default())
}

fn draw(graph: &Graph, order: &[&Process]) -> String {
    let mut drawing = VisualGraph::new(Orientation::LeftToRight);
    let mut boxes = HashMap::new();
    for process in order {
        let label = process.label();
        let longest = label.lines().map(|line| line.chars().count()).max();
        let size = Point::new(
            longest.unwrap_or(1) as f64 * CHARACTER_WIDTH + 20.0,
            (label.lines().count() + 1) as f64 * LINE_HEIGHT,
        );
        let shape = ShapeKind::new_box(&label);
        let marked = match process.marks().is_empty() {
            true => "",
            false => " marked",
        };
        let marks = format!("class=\"process{marked}\" data-pid=\"{}\"", process.pid);
        let element = Element::create_with_properties(
            shape,
            StyleAttr::simple(),
            Orientation::LeftToRight,
            size,
            marks,
        );
        boxes.insert(process.pid, drawing.add_node(element));
    }
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (boxes.get(&edge.from), boxes.get(&edge.to)) else {
            continue;
        };
        let class = if edge.waiting.is_empty() {
            "edge"
        } else {
            "edge waiting"
        };
        let marks = format!(
            "class=\"{class}\" data-from=\"{}\" data-to=\"{}\"",
            edge.from, edge.to
        );
        if edge.from != edge.to {
            let arrow = Arrow::simple_with_properties(&edge.label(), marks);
            drawing.add_edge(arrow, *from, *to);
        }
    }
    let mut writer = SVGWriter::new();
    drawing.do_it(false, false, false, &mut writer);
    let text = writer.finalize();
    let start = text.find("<svg").unwrap_or(0);
    text[start..].to_string()
}

/// Each arrow is drawn behind its label, which it would cross out: labels come last, with a margin.
fn with_labels_last(picture: &str) -> String {
    let (mut drawn, mut labels) = (String::new(), String::new());
    let mut rest = picture;
    while let Some((before, text)) = rest.split_once("<text") {
        let (text, after) = text.split_once("</text>").unwrap_or((text, ""));
        drawn += before;
        rest = after;
        // What follows an arrow has no characters.
        if !text.contains("<textPath") {
            // The name of a process follows its box.
            let style = match before.contains("class=\"process") {
                true => "",
                false => " style=\"stroke: #fff\"",
            };
            labels += &format!("<text{style}{text}</text>\n");
        }
    }
    drawn += rest.trim_end().strip_suffix("</svg>").unwrap_or(rest);
    let style = "<style>text { paint-order: stroke; stroke-width: 9px; }</style>";
    let picture = format!("{drawn}{style}\n{labels}</svg>");
    picture.replace("font-family: Times, serif", "font-family: sans-serif")
}

pub fn svg(graph: &Graph) -> Result<String> {
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
    Ok(format!("{header}{}\n", picture(graph)?))
}

#[cfg(test)]
mod tests {
    use super::super::model::Edge;
    use super::*;

    /// A tree can be drawn without crossings, however its edges point; the layout alone does not
    /// always.
    #[test]
    fn arrows_of_a_tree_do_not_cross() {
        let mut random = Random::new(7);
        let (mut before, mut after) = (0, 0);
        for _ in 0..10 {
            let mut graph = Graph::default();
            for pid in 1..=12 {
                graph.processes.push(Process {
                    pid,
                    ..Process::default()
                });
                if pid > 1 {
                    let other = 1 + random.below(pid as usize - 1) as u32;
                    let ends = [(pid, other), (other, pid)][random.below(2)];
                    graph.edges.push(Edge {
                        from: ends.0,
                        to: ends.1,
                        objects: Some(1),
                        ..Edge::default()
                    });
                }
            }
            let order: Vec<&Process> = graph.processes.iter().collect();
            before += crossings::count(&draw(&graph, &order));
            after += crossings::count(&picture(&graph).unwrap());
        }
        assert!(before > 0 && after == 0, "{before} {after}");
    }

    #[test]
    fn labels_come_last_and_have_a_margin() {
        let picture = "<svg><g class=\"process\"></g><text x=\"1\">a</text>\
                       <text x=\"2\">1 object</text><g class=\"edge\"><path/></g>\n\
                       <text><textPath></textPath></text></svg>";
        let style = "<style>text { paint-order: stroke; stroke-width: 9px; }</style>";
        let expected = format!(
            "<svg><g class=\"process\"></g><g class=\"edge\"><path/></g>\n{style}\n\
             <text x=\"1\">a</text>\n<text style=\"stroke: #fff\" x=\"2\">1 object</text>\n</svg>"
        );
        assert_eq!(with_labels_last(picture), expected);
    }
}
