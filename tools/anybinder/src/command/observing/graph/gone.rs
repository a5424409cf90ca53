// SPDX-License-Identifier: Apache-2.0
//! A service that is started again and again keeps its place in the page that is served: when it is
//! gone it stays for a while.
use super::model::{Graph, Process};
use crate::command::observing::top::rows::Mark;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// How long a service that is gone is shown.
const SHOWN: Duration = Duration::from_secs(60);

/// The services that there were, by their names.
#[derive(Default)]
pub struct Gone(HashMap<Vec<String>, (Process, Instant)>);

impl Gone {
    /// Adds to a graph the services that were there in the last minute and are not.
    pub fn look(&mut self, graph: &mut Graph) {
        let now = Instant::now();
        for process in graph
            .processes
            .iter()
            .filter(|one| !one.services.is_empty())
        {
            self.0
                .insert(process.services.clone(), (process.clone(), now));
        }
        self.0.retain(|_, (_, seen)| seen.elapsed() < SHOWN);
        let there = graph.processes.iter().flat_map(|one| &one.services);
        let there: BTreeSet<String> = there.cloned().collect();
        let gone = self.0.values().filter(|(one, seen)| {
            *seen < now && !one.services.iter().any(|name| there.contains(name))
        });
        for (one, seen) in gone {
            let why = format!("it is gone, since {} s", seen.elapsed().as_secs());
            graph.processes.push(Process {
                threads: None,
                buffer_bytes: None,
                queued: 0,
                backlogs: Vec::new(),
                wrong: vec![Mark {
                    mark: "GONE",
                    pid: one.pid,
                    command: one.command.clone(),
                    why,
                }],
                ..one.clone()
            });
        }
    }
}
