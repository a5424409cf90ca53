// SPDX-License-Identifier: Apache-2.0
//! Calls below those that they were made to serve.
//!
//! A call is over after those that its service makes, and one-way ones may take longer than it. So
//! a call waits here until all below it are over, or until it is late.
use anybinder_events::calls::Call;
use std::collections::{BTreeSet, HashMap};

/// How long a call that is over waits for those below it.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Below so many calls, which only a forged recording has, one stands for itself.
const DEPTH_MAX: u32 = 1000;

#[derive(Default)]
struct Node {
    parent: Option<u32>,
    children: Vec<u32>,
    call: Option<Call>,
    /// Calls below this one, and itself, that are not over.
    open: u32,
    depth: u32,
}

/// A call at its depth in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leveled {
    pub depth: usize,
    pub call: Call,
    /// The part of its time that the calls below it did not take; None: there are none.
    pub own_ns: Option<u64>,
}

impl Leveled {
    pub fn alone(call: Call) -> Self {
        Leveled {
            depth: 0,
            call,
            own_ns: None,
        }
    }
}

/// The calls of a tree that are wanted, and those above them.
pub fn chosen(tree: Vec<Leveled>, wants: impl Fn(&Call) -> bool) -> Vec<Leveled> {
    let mut chosen = Vec::new();
    // From the end: the depth of what is above a chosen one, which was not met yet.
    let mut above = 0;
    for one in tree.into_iter().rev() {
        if one.depth < above || wants(&one.call) {
            above = one.depth;
            chosen.push(one);
        }
    }
    chosen.reverse();
    chosen
}

#[derive(Default)]
pub struct Tree {
    nodes: HashMap<u32, Node>,
    /// Calls that nobody made to serve another and that are over, by when they were.
    over: BTreeSet<(u64, u32)>,
}

impl Tree {
    /// A call is sent.
    pub fn sent(&mut self, id: u32, parent: Option<u32>) {
        if self.nodes.contains_key(&id) {
            return;
        }
        let depth_of = |parent: &u32| Some(self.nodes.get(parent)?.depth + 1);
        let depth = parent.as_ref().and_then(depth_of).unwrap_or(0);
        let parent = parent
            .filter(|parent| *parent != id && depth < DEPTH_MAX && self.nodes.contains_key(parent));
        let node = Node {
            parent,
            depth: parent.map_or(0, |_| depth),
            ..Node::default()
        };
        self.nodes.insert(id, node);
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children.push(id);
        }
        self.count(id, 1);
    }

    /// Adds to the open calls of a call and of those above it.
    fn count(&mut self, id: u32, change: i32) {
        let mut next = Some(id);
        while let Some(node) = next.and_then(|id| self.nodes.get_mut(&id)) {
            node.open = node.open.saturating_add_signed(change);
            next = node.parent;
        }
    }

    /// A call is over. One that was not announced stands for itself.
    pub fn over(&mut self, call: Call) -> Option<Leveled> {
        let Some(node) = self.nodes.get_mut(&call.id) else {
            return Some(Leveled::alone(call));
        };
        let id = call.id;
        if node.parent.is_none() {
            self.over.insert((call.done_ns.unwrap_or(0), id));
        }
        if node.call.replace(call).is_none() {
            self.count(id, -1);
        }
        None
    }

    /// The trees that are complete, or late at `now_ns`; None: all.
    pub fn take(&mut self, now_ns: Option<u64>) -> Vec<Vec<Leveled>> {
        let is_due = |(done_ns, id): &(u64, u32)| {
            self.nodes.get(id).is_none_or(|node| node.open == 0)
                || now_ns.is_none_or(|now_ns| now_ns.saturating_sub(*done_ns) > PATIENCE_NS)
        };
        let due: Vec<(u64, u32)> = self.over.iter().copied().filter(is_due).collect();
        let mut trees = Vec::new();
        for (done_ns, id) in due {
            self.over.remove(&(done_ns, id));
            let mut tree = Vec::new();
            self.unfold(id, 0, &mut tree);
            trees.push(tree);
        }
        trees
    }

    /// Removes a call and those below it. What is not over there stands for itself from now on.
    fn unfold(&mut self, id: u32, depth: usize, into: &mut Vec<Leveled>) {
        let Some(node) = self.nodes.remove(&id) else {
            return;
        };
        let at = into.len();
        let depth_below = depth + usize::from(node.call.is_some());
        if let Some(call) = node.call {
            into.push(Leveled {
                depth,
                call,
                own_ns: None,
            });
        }
        let mut below_ns = None;
        for child in node.children {
            match self.nodes.get_mut(&child) {
                Some(one) if one.call.is_none() => one.parent = None,
                Some(one) => {
                    let is_awaited = |call: &&Call| !call.oneway && !call.by_other_thread;
                    let call = one.call.as_ref().filter(is_awaited);
                    if let Some(time) = call.and_then(Call::duration_ns) {
                        below_ns = Some(below_ns.unwrap_or(0) + time);
                    }
                    self.unfold(child, depth_below, into);
                }
                None => {}
            }
        }
        if let Some(leveled) = into.get_mut(at).filter(|leveled| leveled.depth == depth) {
            let times = leveled.call.duration_ns().zip(below_ns);
            leveled.own_ns = times.map(|(all, below)| all.saturating_sub(below));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: u32, time_ns: u64, oneway: bool) -> Call {
        Call {
            id,
            oneway,
            sent_ns: 1000,
            done_ns: Some(1000 + time_ns),
            freed_ns: Some(1000 + time_ns),
            ..Call::default()
        }
    }

    fn shape(tree: &[Leveled]) -> Vec<(usize, u32, Option<u64>)> {
        let each = tree.iter();
        each.map(|one| (one.depth, one.call.id, one.own_ns))
            .collect()
    }

    #[test]
    fn what_is_chosen_has_those_above_it() {
        let each = [(0, 1), (1, 2), (2, 3), (1, 4), (0, 5), (1, 6), (0, 7)];
        let tree = each.map(|(depth, id)| Leveled {
            depth,
            ..Leveled::alone(call(id, 1, false))
        });
        let ids = |wanted: &[u32]| -> Vec<u32> {
            let chosen = chosen(tree.to_vec(), |call| wanted.contains(&call.id));
            chosen.iter().map(|one| one.call.id).collect()
        };
        assert_eq!(ids(&[3]), [1, 2, 3]);
        assert_eq!(ids(&[4, 7]), [1, 4, 7]);
        assert_eq!(ids(&[1, 6]), [1, 5, 6]);
        assert!(ids(&[]).is_empty());
    }

    #[test]
    fn what_is_late_stands_for_itself() {
        let mut tree = Tree::default();
        tree.sent(1, None);
        tree.sent(2, Some(1));
        tree.over(call(1, 100, false));
        let late = tree.take(Some(3 * PATIENCE_NS));
        assert_eq!(shape(&late[0]), [(0, 1, None)]);
        tree.over(call(2, 900, true));
        assert_eq!(shape(&tree.take(None)[0]), [(0, 2, None)]);
        assert!(tree.nodes.is_empty() && tree.over.is_empty());
        assert_eq!(tree.over(call(7, 1, false)).unwrap().depth, 0);
    }
}
