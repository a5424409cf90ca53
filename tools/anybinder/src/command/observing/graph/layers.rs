// SPDX-License-Identifier: Apache-2.0
//! Where the boxes of the graph stand: in columns, an arrow leading from one column to the next, in
//! an order of each column in which few arrows cross. None cross where the connections are trees.
//! Arrows lead to the right where that costs no crossing.
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// How often each column is put in order by the one beside it.
const SWEEPS: usize = 12;

/// Boxes, by their numbers, and bends of arrows that pass a column, with the numbers after those.
#[derive(Debug, Default)]
pub struct Layout {
    /// From left to right, each from top to bottom.
    pub columns: Vec<Vec<usize>>,
    /// Of each arrow, from box to box: the items that it connects.
    pub routes: Vec<Vec<usize>>,
    /// Of each item, those that are connected with it.
    neighbours: Vec<Vec<usize>>,
    /// What is connected, from top to bottom.
    parts: Vec<Vec<usize>>,
}

impl Layout {
    /// * `boxes`: how many there are
    /// * `arrows`: between two different boxes each
    pub fn new(boxes: usize, arrows: &[(usize, usize)]) -> Layout {
        let mut links = vec![BTreeSet::new(); boxes];
        for (from, to) in arrows {
            links[*from].insert(*to);
            links[*to].insert(*from);
        }
        let mut seen = vec![false; boxes];
        let mut columns = vec![0; boxes];
        // In a tree of which the arrows would cross, columns are the distances from its root.
        let mut by_distance = vec![0; boxes];
        let mut trees = Vec::new();
        for start in 0..boxes {
            let part = walk(start, &links, &mut seen);
            let count: usize = part.iter().map(|one| links[*one].len()).sum();
            if count != 2 * part.len().saturating_sub(1) {
                longest_paths(&part, arrows, &mut columns);
            } else if let Some(root) = part.iter().max_by_key(|one| links[**one].len()) {
                let forward: BTreeSet<_> = arrows.iter().copied().collect();
                let step = |from, to| if forward.contains(&(from, to)) { 1 } else { -1 };
                spread(*root, &links, step, &mut columns);
                spread(*root, &links, |_, _| 1, &mut by_distance);
                trees.push(part);
            }
        }
        for tree in &trees {
            let of_tree =
                |columns: &[i64]| -> Vec<i64> { tree.iter().map(|one| columns[*one]).collect() };
            let number: HashMap<usize, usize> = tree.iter().copied().zip(0..).collect();
            let own: Vec<_> = arrows
                .iter()
                .filter_map(|(from, to)| Some((*number.get(from)?, *number.get(to)?)))
                .collect();
            if Layout::of(&of_tree(&columns), &own).crossings() > 0 {
                tree.iter()
                    .for_each(|one| columns[*one] = by_distance[*one]);
            }
        }
        Layout::of(&columns, arrows)
    }

    /// Boxes in given columns.
    fn of(columns: &[i64], arrows: &[(usize, usize)]) -> Layout {
        let mut column_of = columns.to_vec();
        let mut layout = Layout::default();
        for (from, to) in arrows {
            let (start, end) = (columns[*from], columns[*to]);
            let step = (end - start).signum();
            let mut route = vec![*from];
            for between in 1..(end - start).abs() {
                route.push(column_of.len());
                column_of.push(start + step * between);
            }
            route.push(*to);
            layout.routes.push(route);
        }
        let mut linked = vec![BTreeSet::new(); column_of.len()];
        for pair in layout.routes.iter().flat_map(|route| route.windows(2)) {
            linked[pair[0]].insert(pair[1]);
            linked[pair[1]].insert(pair[0]);
        }
        let mut seen = vec![false; column_of.len()];
        layout.parts = (0..columns.len())
            .map(|start| walk(start, &linked, &mut seen))
            .filter(|part| !part.is_empty())
            .collect();
        layout.neighbours = linked
            .into_iter()
            .map(|one| one.into_iter().collect())
            .collect();
        // Each part begins at the left, below those before it.
        for part in &layout.parts {
            let first = part.iter().map(|one| column_of[*one]).min().unwrap_or(0);
            let mut made = Vec::new();
            for item in part {
                let column = (column_of[*item] - first) as usize;
                made.resize_with(made.len().max(column + 1), Vec::new);
                made[column].push(*item);
            }
            let made = layout.in_order(made);
            let count = layout.columns.len().max(made.len());
            layout.columns.resize_with(count, Vec::new);
            for (column, items) in layout.columns.iter_mut().zip(made) {
                column.extend(items);
            }
        }
        layout
    }

    /// An order of columns with few crossings.
    fn in_order(&self, mut columns: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let mut best = (self.crossings_of(&columns), columns.clone());
        for sweep in 0..SWEEPS {
            if best.0 == 0 {
                break;
            }
            for step in 1..columns.len() {
                let (fixed, moved) = match sweep % 2 {
                    0 => (step - 1, step),
                    _ => (columns.len() - step, columns.len() - 1 - step),
                };
                let places = places(&columns[fixed]);
                self.sort(&mut columns[moved], &places);
            }
            let crossings = self.crossings_of(&columns);
            if crossings < best.0 {
                best = (crossings, columns.clone());
            }
        }
        best.1
    }

    /// Sorts a column by the mean place of each item's neighbours in another one, then exchanges
    /// what stands side by side where fewer arrows cross then.
    fn sort(&self, column: &mut [usize], places: &HashMap<usize, usize>) {
        let of = |item: usize| -> Vec<usize> {
            let all = self.neighbours[item].iter();
            all.filter_map(|other| places.get(other).copied()).collect()
        };
        let key: HashMap<usize, f64> = (0..)
            .zip(column.iter())
            .map(|(at, item)| {
                let others = of(*item);
                let mean = others.iter().sum::<usize>() as f64 / others.len() as f64;
                (
                    *item,
                    if others.is_empty() {
                        f64::from(at)
                    } else {
                        mean
                    },
                )
            })
            .collect();
        column.sort_by(|one, other| key[one].total_cmp(&key[other]));
        let inverted = |above: &[usize], below: &[usize]| -> usize {
            let pairs = above.iter();
            pairs
                .map(|one| below.iter().filter(|two| *two < one).count())
                .sum()
        };
        for at in 1..column.len() {
            let (above, below) = (of(column[at - 1]), of(column[at]));
            if inverted(&above, &below) > inverted(&below, &above) {
                column.swap(at - 1, at);
            }
        }
    }

    fn crossings(&self) -> usize {
        self.crossings_of(&self.columns)
    }

    /// The pairs of connections between neighbouring columns that cross.
    fn crossings_of(&self, columns: &[Vec<usize>]) -> usize {
        let between = columns.windows(2).map(|pair| {
            let right = places(&pair[1]);
            // How many connections end at each place, as a tree of sums.
            let mut sums = vec![0; pair[1].len() + 1];
            let (mut crossings, mut count) = (0, 0);
            for item in &pair[0] {
                let others = self.neighbours[*item].iter();
                let ends: Vec<usize> = others.filter_map(|one| right.get(one).copied()).collect();
                for end in &ends {
                    let (mut at, mut not_below) = (end + 1, 0);
                    while at > 0 {
                        not_below += sums[at];
                        at &= at - 1;
                    }
                    crossings += count - not_below;
                }
                for end in &ends {
                    let mut at = end + 1;
                    while at < sums.len() {
                        sums[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                }
                count += ends.len();
            }
            crossings
        });
        between.sum()
    }

    /// How far down the middle of each item is: near the middle of its neighbours, with room for
    /// its height, and each part below those before it.
    ///
    /// * `top`: where the first part begins
    pub fn rows(&self, heights: &[f64], top: f64) -> Vec<f64> {
        let mut rows = vec![0.0; heights.len()];
        let mut bottom = top;
        for part in &self.parts {
            let own: BTreeSet<usize> = part.iter().copied().collect();
            let of_part = |column: &Vec<usize>| -> Vec<usize> {
                let items = column.iter().copied();
                items.filter(|item| own.contains(item)).collect()
            };
            let columns: Vec<_> = self.columns.iter().map(of_part).collect();
            for _ in 0..2 * SWEEPS {
                for column in &columns {
                    self.settle(column, heights, &mut rows);
                }
            }
            let tops = part.iter().map(|item| rows[*item] - heights[*item] / 2.0);
            let down = bottom - tops.fold(f64::INFINITY, f64::min);
            for item in part {
                rows[*item] += down;
                bottom = bottom.max(rows[*item] + heights[*item] / 2.0);
            }
        }
        rows
    }

    /// Moves each item of a column to the middle of its neighbours, as far as there is room.
    fn settle(&self, column: &[usize], heights: &[f64], rows: &mut [f64]) {
        let mut wanted = Vec::new();
        for item in column {
            let others = &self.neighbours[*item];
            let sum: f64 = others.iter().map(|one| rows[*one]).sum();
            wanted.push(match others.len() {
                0 => rows[*item],
                count => sum / count as f64,
            });
        }
        let apart = |at: usize| (heights[column[at - 1]] + heights[column[at]]) / 2.0;
        let (mut down, mut up) = (wanted.clone(), wanted);
        for at in 1..column.len() {
            down[at] = down[at].max(down[at - 1] + apart(at));
            let at = column.len() - at;
            up[at - 1] = up[at - 1].min(up[at] - apart(at));
        }
        for (at, item) in column.iter().enumerate() {
            rows[*item] = (down[at] + up[at]) / 2.0;
        }
    }
}

fn places(column: &[usize]) -> HashMap<usize, usize> {
    column.iter().copied().zip(0..).collect()
}

/// What is connected with an item and was not seen, each followed by what is behind it: children of
/// a tree are side by side.
fn walk(start: usize, links: &[BTreeSet<usize>], seen: &mut [bool]) -> Vec<usize> {
    let (mut found, mut waiting) = (Vec::new(), vec![start]);
    while let Some(item) = waiting.pop() {
        if !std::mem::replace(&mut seen[item], true) {
            found.push(item);
            waiting.extend(links[item].iter().rev());
        }
    }
    found
}

/// Puts a tree into columns, from its root on.
///
/// * `step`: from a box to its neighbour
fn spread(
    root: usize,
    links: &[BTreeSet<usize>],
    step: impl Fn(usize, usize) -> i64,
    columns: &mut [i64],
) {
    let mut waiting = vec![(root, root)];
    columns[root] = 0;
    while let Some((before, item)) = waiting.pop() {
        for next in links[item].iter().filter(|next| **next != before) {
            columns[*next] = columns[item] + step(item, *next);
            waiting.push((item, *next));
        }
    }
}

/// Puts boxes into columns behind all that lead to them, but for few arrows of circles, which lead
/// back: taken first is what nothing leads to that is left, else what leads to most and is led to
/// least.
fn longest_paths(part: &[usize], arrows: &[(usize, usize)], columns: &mut [i64]) {
    let mut led: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut counts = vec![(0_i64, 0_i64); columns.len()];
    for (from, to) in arrows {
        led.entry(*from).or_default().push(*to);
        counts[*to].0 += 1;
        counts[*from].1 += 1;
    }
    let mut sources: HashMap<usize, Vec<usize>> = HashMap::new();
    for (from, to) in arrows {
        sources.entry(*to).or_default().push(*from);
    }
    let mut left: BTreeSet<usize> = part.iter().copied().collect();
    let first = |left: &BTreeSet<usize>, counts: &[(i64, i64)]| {
        let key = |one: &&usize| {
            let (sources, targets) = counts[**one];
            (sources == 0, targets - sources, Reverse(**one))
        };
        left.iter().max_by_key(key).copied()
    };
    while let Some(item) = first(&left, &counts) {
        left.remove(&item);
        for to in led.get(&item).into_iter().flatten() {
            counts[*to].0 -= 1;
            if left.contains(to) {
                columns[*to] = columns[*to].max(columns[item] + 1);
            }
        }
        for from in sources.get(&item).into_iter().flatten() {
            counts[*from].1 -= 1;
        }
    }
    // What nothing leads to stands beside what it leads to.
    let reached: BTreeSet<usize> = arrows.iter().map(|(_, to)| *to).collect();
    for item in part.iter().filter(|one| !reached.contains(one)) {
        let next = led.get(item).into_iter().flatten();
        if let Some(first) = next.map(|one| columns[*one]).min() {
            columns[*item] = first - 1;
        }
    }
}
