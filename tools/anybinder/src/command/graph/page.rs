// SPDX-License-Identifier: Apache-2.0
//! The graph as one page: the picture, and a table that a search narrows. It loads nothing.
use super::drawing;
use super::model::Graph;
use anybinder_mount::error::{Doing, Result};
use serde_json::json;

const PAGE: &str = include_str!("page.html");

pub fn html(graph: &Graph) -> Result<String> {
    let by_pid = graph.by_pid();
    let rows: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| {
            let title = |pid| by_pid.get(&pid).map(|process| process.title());
            json!({
                "from": edge.from, "to": edge.to,
                "from_title": title(edge.from), "to_title": title(edge.to),
                "waiting": !edge.waiting.is_empty(),
                "facts": edge.facts(),
                "calls_per_s": edge.rate.as_ref().map(|rate| rate.calls_per_s),
            })
        })
        .collect();
    let data = json!({
        "processes": graph.processes, "edges": rows, "cycles": graph.cycles,
        "notes": super::notes(graph),
    });
    let data = serde_json::to_string(&data).doing(|| "making JSON".to_string())?;
    // Nothing in a string can end the script.
    let data = data.replace('<', "\\u003c");
    Ok(PAGE
        .replace("@PICTURE@", &drawing::picture(graph)?)
        .replace("@DATA@", &data))
}
