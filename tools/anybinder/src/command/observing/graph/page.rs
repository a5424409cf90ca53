// SPDX-License-Identifier: Apache-2.0
//! The graph as one page: the picture, and a table that a search narrows. It loads nothing.
use super::drawing;
use super::model::Graph;
use anybinder_cli::error::{Doing, Result};
use serde_json::json;

const PAGE: &str = include_str!("page.html");

/// What the page shows beside the picture.
fn data(graph: &Graph) -> Result<String> {
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
    let marked = graph.processes.iter().flat_map(|process| {
        let marks = process.marks().into_iter();
        marks.map(|mark| format!("{}: {mark}", process.title()))
    });
    let data = json!({
        "processes": graph.processes, "edges": rows, "cycles": graph.cycles,
        "marks": marked.collect::<Vec<_>>(), "notes": graph.notes(),
    });
    let data = serde_json::to_string(&data).doing(|| "making JSON".to_string())?;
    // Nothing in a string can end the script.
    Ok(data.replace('<', "\\u003c"))
}

pub fn html(graph: &Graph) -> Result<String> {
    Ok(fill(&drawing::picture(graph)?, &data(graph)?))
}

/// The page as it is served: its script may ask for more.
pub fn live_html(graph: &Graph) -> Result<String> {
    let nothing = "default-src 'none';";
    let from_here = format!("{nothing} connect-src 'self';");
    Ok(html(graph)?.replacen(nothing, &from_here, 1))
}

/// What the script of a page that is served asks for.
pub fn update(graph: &Graph) -> Result<String> {
    let picture = serde_json::to_string(&drawing::picture(graph)?);
    let picture = picture.doing(|| "making JSON".to_string())?;
    Ok(format!(
        "{{\"picture\":{picture},\"data\":{}}}",
        data(graph)?
    ))
}

/// Puts both into the page. A name in one of them may be that of a place in the page.
fn fill(picture: &str, data: &str) -> String {
    let (start, rest) = PAGE.split_once("@PICTURE@").expect("the page has a place");
    let (middle, end) = rest.split_once("@DATA@").expect("the page has a place");
    [start, picture, middle, data, end].concat()
}

#[cfg(test)]
mod tests {
    use super::super::model::Process;
    use super::*;

    #[test]
    fn names_stay_text() {
        let name = "</script><img src=x onerror=alert(1)>@DATA@\"];\u{1b}\u{2028}".to_string();
        let graph = Graph {
            processes: vec![Process {
                pid: 7,
                command: name.clone(),
                contexts: Vec::new(),
                services: vec![name.clone()],
                threads: Some(1),
                buffer_bytes: Some(0),
                queued: 0,
                backlogs: Vec::new(),
                restarts: None,
                wrong: Vec::new(),
            }],
            ..Graph::default()
        };
        let page = html(&graph).unwrap();
        assert_eq!(
            page.matches("</script").count(),
            PAGE.matches("</script").count()
        );
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        let start = page.find("let data = ").unwrap() + "let data = ".len();
        let end = start + page[start..].find(";\n").unwrap();
        let data: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(data["processes"][0]["command"], name);
        let picture = drawing::picture(&graph).unwrap();
        assert!(picture.contains("&lt;/script&gt;") && !picture.contains('\u{1b}'));
        let dot = super::super::dot(&graph);
        assert!(dot.contains("@DATA@\\\"];\\\\u001b"), "{dot}");
    }
}
