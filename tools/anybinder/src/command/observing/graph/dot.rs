// SPDX-License-Identifier: Apache-2.0
//! The graph in the language of Graphviz.
use super::model::Graph;

/// A text in double quotes, for DOT.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

pub fn dot(graph: &Graph) -> String {
    let mut lines = vec![
        "digraph binder {".to_string(),
        "  rankdir=LR; node [shape=box];".into(),
    ];
    let note = graph.notes().join("\n");
    if !note.is_empty() {
        lines.push(format!("  label={};", quoted(&note)));
    }
    for process in &graph.processes {
        let label = process.label();
        lines.push(format!("  p{} [label={}];", process.pid, quoted(&label)));
    }
    for edge in &graph.edges {
        let label = quoted(&edge.facts().join("\n"));
        let style = if edge.waiting.is_empty() {
            ""
        } else {
            ", color=red"
        };
        lines.push(format!(
            "  p{} -> p{} [label={label}{style}];",
            edge.from, edge.to
        ));
    }
    lines.push("}\n".to_string());
    lines.join("\n")
}
