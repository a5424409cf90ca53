// SPDX-License-Identifier: Apache-2.0
//! The graph as SVG. Each box and arrow names its processes in attributes, for the page's script.
use super::model::Graph;
use anybinder_mount::error::{Error, Result};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use std::collections::HashMap;

/// The time that the layout takes grows faster than the graph.
const MAX_PROCESSES: usize = 400;
const CHARACTER_WIDTH: f64 = 9.0;
const LINE_HEIGHT: f64 = 20.0;

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
    let mut drawing = VisualGraph::new(Orientation::LeftToRight);
    let mut boxes = HashMap::new();
    for process in &graph.processes {
        let label = process.label();
        let longest = label.lines().map(|line| line.chars().count()).max();
        let size = Point::new(
            longest.unwrap_or(1) as f64 * CHARACTER_WIDTH + 20.0,
            (label.lines().count() + 1) as f64 * LINE_HEIGHT,
        );
        let shape = ShapeKind::new_box(&label);
        let marks = format!("class=\"process\" data-pid=\"{}\"", process.pid);
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
    Ok(text[start..].to_string())
}

pub fn svg(graph: &Graph) -> Result<String> {
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
    Ok(format!("{header}{}\n", picture(graph)?))
}
