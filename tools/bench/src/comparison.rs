// SPDX-License-Identifier: Apache-2.0
//! A comparison: the same cells of several subjects, in rounds that go through all of them in turn,
//! so that other load on the machine affects each alike.
use crate::cell::{Cell, Size};
use crate::chart;
use crate::document::{self, Published};
use crate::durations::Durations;
use crate::figures::{Figures, Interval, Rounds, MIN_ROUNDS};
use crate::progress::Progress;
use crate::table::{number, Table};
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::{json, Value};
use std::time::{Duration, Instant};

/// A cell whose mean stays unknown is given up.
const MAX_ROUNDS: u32 = 80;
/// A quantile is that of at least ten calls above it, or it is chance.
const CALLS_ABOVE: u64 = 10;

/// A machine is idle if so much of its processor time is, for so long; after the limit it is taken
/// as it is.
const IDLE_SHARE: f64 = 0.9;
const IDLE_TIME: Duration = Duration::from_millis(300);
const IDLE_LIMIT: Duration = Duration::from_secs(30);

type Measure<'a> = Box<dyn Fn(&Cell) -> Result<Figures> + 'a>;

/// What is compared with others: a peer, or a driver in a machine of its own.
pub struct Subject<'a> {
    pub peer: String,
    measure: Measure<'a>,
}

impl<'a> Subject<'a> {
    pub fn new(peer: &str, measure: impl Fn(&Cell) -> Result<Figures> + 'a) -> Self {
        Subject {
            peer: peer.to_string(),
            measure: Box::new(measure),
        }
    }
}

/// One cell of several subjects.
pub struct Group {
    pub title: String,
    pub cell: Cell,
    /// Numbers of subjects with their rounds.
    pub rows: Vec<(usize, Rounds)>,
}

impl Group {
    pub fn new(title: String, cell: Cell, subjects: impl IntoIterator<Item = usize>) -> Self {
        let rows = subjects
            .into_iter()
            .map(|number| (number, Rounds::default()));
        Group {
            title,
            cell,
            rows: rows.collect(),
        }
    }

    /// Titled by its pairs and its size.
    pub fn of(cell: Cell, subjects: impl IntoIterator<Item = usize>) -> Self {
        let plural = if cell.pairs == 1 { "" } else { "s" };
        let title = format!("{} pair{plural}, {}", cell.pairs, cell.size);
        Group::new(title, cell, subjects)
    }

    /// A group for each size and number of pairs.
    ///
    /// * `subjects`: how many there are
    /// * `cell`: what else is known of the cells of so many pairs
    pub fn grid(
        sizes: &[Size],
        pairs: &[u32],
        subjects: usize,
        cell: impl Fn(u32) -> Cell,
    ) -> Vec<Group> {
        let all = sizes
            .iter()
            .flat_map(|size| pairs.iter().map(move |pairs| (*size, *pairs)));
        let group = |(size, pairs)| {
            let cell = Cell {
                size,
                pairs,
                ..cell(pairs)
            };
            Group::of(cell, 0..subjects)
        };
        all.map(group).collect()
    }

    /// Whether the calls per second of all rows are known as ratios to the first.
    fn is_known(&self) -> bool {
        let (_, first) = &self.rows[0];
        self.rows[1..].iter().all(|(_, rounds)| {
            let ratios = rounds.ratios(first, Figures::calls_per_s);
            Interval::of(&ratios).is_some_and(|one| one.is_known())
        })
    }
}

/// How often everything is measured.
#[derive(Clone, Copy)]
pub enum Repeat {
    /// This number of rounds of each cell of a subject before those of the next one; then the
    /// subject is dropped.
    Apart(u32),
    /// This number of rounds through all cells of all subjects.
    Rounds(u32),
    /// Until each mean is known to within 10 %, each round when nothing else runs.
    UntilKnown,
}

/// A column of the table: its heading, how many decimals, which figure.
pub type Column = (&'static str, usize, fn(&Rounds, &Cell) -> Option<f64>);

/// The median over the rounds of a figure of the durations.
macro_rules! duration {
    ($name:literal, $figure:expr) => {
        ($name, 1, |rounds, _| {
            rounds.median(|one| Some($figure(&one.durations())))
        })
    };
}

/// Durations, calls per second and processor time.
pub const COLUMNS: [Column; 10] = [
    duration!("min us", Durations::min_us),
    duration!("avg us", Durations::avg_us),
    duration!("p50 us", |all: &Durations| all.quantile_us(0.5)),
    duration!("p99 us", |all: &Durations| all.quantile_us(0.99)),
    ("p99.9 us", 1, |rounds, _| {
        Some(rounds.durations().quantile_us(0.999))
    }),
    duration!("max us", Durations::max_us),
    ("calls/s", 0, |rounds, _| {
        rounds.median(|one| Some(one.calls_per_s()))
    }),
    ("ends us/call", 1, |rounds, _| {
        rounds.median(|one| Some(one.ends_us()))
    }),
    ("daemon us/call", 1, |rounds, _| {
        rounds.median(|one| one.more.get("daemon_us").copied())
    }),
    ("+- %", 0, |rounds, _| rounds.spread_percent()),
];
/// The durations of all rounds together.
pub const TOGETHER: [Column; 5] = [
    ("calls", 0, |rounds, _| {
        Some(rounds.durations().calls() as f64)
    }),
    ("avg us", 1, |rounds, _| Some(rounds.durations().avg_us())),
    ("p99 us", 1, |rounds, _| {
        Some(rounds.durations().quantile_us(0.99))
    }),
    ("p99.9 us", 1, |rounds, _| {
        Some(rounds.durations().quantile_us(0.999))
    }),
    ("max us", 1, |rounds, _| Some(rounds.durations().max_us())),
];
/// By a clock that counts a nanosecond for each; the pairs share it.
pub const INSTRUCTIONS: Column = ("instructions", 0, |rounds, cell| {
    let all = f64::from(cell.pairs * cell.parts);
    rounds.median(|one| Some((one.durations().avg_us() * 1000.0 / all).round()))
});

/// The last column: a row beside the first one of its group.
pub type Beside = fn(&Rounds, &Rounds) -> String;

/// The p50 of the first row divided by that of this one.
pub fn first_to_this(first: &Rounds, this: &Rounds) -> String {
    number(first.ratio(this, Figures::p50_us), 2)
}

/// The calls per second of this row divided by those of the first one, with the interval.
pub fn speed_to_first(first: &Rounds, this: &Rounds) -> String {
    let ratios = this.ratios(first, Figures::calls_per_s);
    Interval::of(&ratios).map_or("-".to_string(), |interval| interval.to_string())
}

/// The average duration of this row divided by that of the first one.
pub fn average_to_first(first: &Rounds, this: &Rounds) -> String {
    let ratio = this.ratio(first, |one| one.durations().avg_us());
    number(ratio, 3)
}

/// Sleeps until the machine is idle. False if it never was.
fn wait_idle() -> bool {
    let start = Instant::now();
    let mut before = document::processor_time();
    while start.elapsed() < IDLE_LIMIT {
        std::thread::sleep(IDLE_TIME);
        let after = document::processor_time();
        let [idle, all] = [after[0] - before[0], after[1] - before[1]];
        if idle as f64 >= IDLE_SHARE * all as f64 {
            return true;
        }
        before = after;
    }
    false
}

pub struct Comparison<'a> {
    pub subjects: Vec<Subject<'a>>,
    pub groups: Vec<Group>,
    /// A sentence for each measurement that did not run.
    pub failures: Vec<String>,
    /// The load average of the machine before the first measurement; None: what this machine does
    /// is not in the figures.
    load_before: Option<f64>,
}

impl<'a> Comparison<'a> {
    pub fn new(subjects: Vec<Subject<'a>>, groups: Vec<Group>) -> Self {
        Comparison {
            subjects,
            groups,
            failures: Vec::new(),
            load_before: document::load_average().first().copied(),
        }
    }

    /// Of emulated machines.
    pub fn emulated(subjects: Vec<Subject<'a>>, groups: Vec<Group>) -> Self {
        Comparison {
            load_before: None,
            ..Comparison::new(subjects, groups)
        }
    }

    /// Measures one subject in a group.
    fn measure_one(
        &mut self,
        group: usize,
        row: usize,
        round: u32,
        progress: &mut Progress,
    ) -> Result<()> {
        interrupt::check()?;
        let group = &mut self.groups[group];
        let (number, all) = &mut group.rows[row];
        let subject = &self.subjects[*number];
        let what = format!("{}, {}", group.title, subject.peer);
        progress.at(&format!("round {}: {what}", round + 1));
        match (subject.measure)(&group.cell) {
            Ok(figures) => all.figures.push((round, figures)),
            Err(error) => {
                interrupt::check()?;
                eprintln!("{what}: {error}");
                self.failures.push(format!("{what}: {error}"));
            }
        }
        progress.step();
        Ok(())
    }

    fn measure_apart(&mut self, rounds: u32, progress: &mut Progress) -> Result<()> {
        for subject in 0..self.subjects.len() {
            for group in 0..self.groups.len() {
                let mut rows = self.groups[group].rows.iter();
                let row = rows.position(|(number, _)| *number == subject);
                let Some(row) = row else { continue };
                for round in 0..rounds {
                    self.measure_one(group, row, round, progress)?;
                }
            }
            let done = Subject::new("", |_| Err(Error::new("It was measured before.")));
            self.subjects[subject].measure = done.measure;
        }
        Ok(())
    }

    /// Measures everything; what fails is kept as a sentence. Fails when it is interrupted.
    pub fn measure(&mut self, repeat: Repeat) -> Result<()> {
        let (rounds, expected, is_adaptive) = match repeat {
            Repeat::Apart(rounds) | Repeat::Rounds(rounds) => (rounds, rounds as usize, false),
            Repeat::UntilKnown => (MAX_ROUNDS, MIN_ROUNDS, true),
        };
        let cells: usize = self.groups.iter().map(|group| group.rows.len()).sum();
        let mut progress = Progress::new((cells * expected) as u64);
        if matches!(repeat, Repeat::Apart(_)) {
            return self.measure_apart(rounds, &mut progress);
        }
        for round in 0..rounds {
            for group in 0..self.groups.len() {
                if is_adaptive && self.groups[group].is_known() {
                    continue;
                }
                if is_adaptive && !wait_idle() {
                    eprintln!("another program keeps the machine busy");
                }
                let mut order: Vec<usize> = (0..self.groups[group].rows.len()).collect();
                // Who goes first goes last the next time.
                if round % 2 == 1 {
                    order.reverse();
                }
                for row in order {
                    self.measure_one(group, row, round, &mut progress)?;
                }
            }
        }
        Ok(())
    }

    /// Fails if a measurement did not run.
    pub fn check(&self) -> Result<()> {
        match self.failures.len() {
            0 => Ok(()),
            1 => Err(Error::new("One measurement failed.")),
            count => Err(Error::new(format!("{count} measurements failed."))),
        }
    }

    /// Makes of each row one for each class of clients.
    ///
    /// * `classes`: how many there are
    pub fn split_classes(&mut self, classes: usize) {
        let mut subjects = Vec::new();
        for (number, subject) in self.subjects.iter().enumerate() {
            let rows = self.groups.iter().flat_map(|group| &group.rows);
            let mut rounds = rows
                .filter(|(of, _)| *of == number)
                .map(|(_, rounds)| rounds);
            let first = rounds.find_map(|rounds| rounds.figures.first());
            for class in 0..classes {
                let name = first.map_or("", |(_, one)| one.classes[class].class.as_str());
                let name = format!("{} {name}", subject.peer);
                subjects.push(Subject::new(&name, |_| {
                    Err(Error::new("It was measured before."))
                }));
            }
        }
        for group in &mut self.groups {
            let rows = group.rows.iter();
            let split = rows.flat_map(|(number, rounds)| {
                (0..classes).map(move |class| (number * classes + class, rounds.of_class(class)))
            });
            group.rows = split.collect();
        }
        self.subjects = subjects;
    }

    /// All rows that were measured, with their subject and group.
    pub fn rows(&self) -> impl Iterator<Item = (&Group, &Subject<'a>, &Rounds)> {
        self.groups.iter().flat_map(move |group| {
            let rows = group
                .rows
                .iter()
                .filter(|(_, rounds)| !rounds.figures.is_empty());
            rows.map(move |(number, rounds)| (group, &self.subjects[*number], rounds))
        })
    }

    fn cells(&self) -> Vec<Value> {
        let cells = self.rows().map(|(group, subject, rounds)| {
            let mut cell = json!({
                "peer": subject.peer,
                "group": group.title,
                "pairs": group.cell.pairs,
                "request_bytes": group.cell.size.request_bytes,
                "reply_bytes": group.cell.size.reply_bytes,
            });
            rounds.complete(&mut cell);
            cell
        });
        cells.collect()
    }

    /// The figures, a row for each subject in each group.
    ///
    /// * `beside`: heading and entry of the last column
    pub fn table(&self, columns: &[Column], beside: Option<(String, Beside)>) -> Table {
        let mut heads = vec![String::new()];
        heads.extend(columns.iter().map(|column| column.0.to_string()));
        heads.extend(beside.iter().map(|(head, _)| head.clone()));
        let mut table = Table::new(heads);
        for group in &self.groups {
            table.row([group.title.clone()]);
            for (number_in_group, (subject, rounds)) in group.rows.iter().enumerate() {
                let subject = &self.subjects[*subject];
                let mut row = vec![subject.peer.clone()];
                if rounds.figures.is_empty() {
                    row.push("did not run".to_string());
                } else {
                    let figures = columns.iter();
                    row.extend(
                        figures.map(|(_, decimals, of)| number(of(rounds, &group.cell), *decimals)),
                    );
                    row.extend(beside.iter().map(|(_, entry)| match number_in_group {
                        0 => String::new(),
                        _ => entry(&group.rows[0].1, rounds),
                    }));
                }
                table.row(row);
            }
        }
        table
    }

    /// Round trips of as many pairs as in the first group, by size or operation.
    fn picture(&self, notes: &[String]) -> String {
        let names: Vec<&str> = self.subjects.iter().map(|one| one.peer.as_str()).collect();
        let pairs = self.groups[0].cell.pairs;
        let drawn = self.groups.iter().filter(|group| group.cell.pairs == pairs);
        let column = |group: &Group| {
            let mut figures = vec![None; names.len()];
            for (number, rounds) in &group.rows {
                figures[*number] = rounds.median(|one| Some(one.p50_us()));
            }
            let head = group.title.clone();
            chart::Column { head, figures }
        };
        let columns: Vec<chart::Column> = drawn.map(column).collect();
        let title = "duration of a call (p50), us";
        let mut below = vec![document::caption()];
        below.extend(notes.iter().map(|note| format!("Note: {note}")));
        chart::draw(title, &names, &columns, &below)
    }

    /// A sentence for each limit of the figures.
    fn warnings(&self, cores: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let Some(load_before) = self.load_before else {
            return warnings;
        };
        // A client and its server take turns.
        let pairs = self.groups.iter().map(|group| group.cell.pairs);
        let mut overloaded: Vec<u32> = pairs.filter(|pairs| *pairs as usize > cores).collect();
        overloaded.dedup();
        if !overloaded.is_empty() {
            let pairs: Vec<String> = overloaded.iter().map(u32::to_string).collect();
            warnings.push(format!(
                "{} pairs are more than the {cores} cores: their durations are mostly waiting for \
                 a core",
                pairs.join(", ")
            ));
        }
        // Client and server of one pair need two processors.
        if load_before > cores as f64 / 2.0 {
            warnings.push(format!(
                "the machine was busy before (load average {load_before:.1}, {cores} cores): the \
                 durations are partly those of other programs"
            ));
        }
        let calls = self.rows().map(|(.., rounds)| rounds.durations().calls());
        let few = calls.min().unwrap_or(u64::MAX);
        let chance = [("p99", 100), ("p99.9", 1000)]
            .into_iter()
            .find(|(_, above)| few < above * CALLS_ABOVE);
        if let Some((name, above)) = chance {
            warnings.push(format!(
                "as few as {few} calls in a line: its {name} and beyond are chance; {} are needed \
                 (--duration-ms, --rounds)",
                above * CALLS_ABOVE
            ));
        }
        warnings
    }

    /// The document, the picture, and the limits of the figures.
    ///
    /// * `arguments`: further members of the document
    /// * `words`, `table`: printed before the limits
    pub fn published(
        &self,
        name: &'static str,
        arguments: Value,
        words: String,
        table: Table,
    ) -> Published {
        let warnings = self.warnings(document::cores());
        let mut document = json!({ "bench": name, "machine": document::machine() });
        for (key, value) in arguments.as_object().into_iter().flatten() {
            document[key] = value.clone();
        }
        document["cells"] = json!(self.cells());
        document["failures"] = json!(self.failures);
        document["warnings"] = json!(warnings);
        let notes = warnings.iter().map(|warning| format!("NOTE: {warning}\n"));
        Published {
            name,
            document,
            picture: Some(self.picture(&warnings)),
            text: words + "\n" + &table.text() + "\n" + &notes.collect::<String>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;

    fn comparison(pairs: u32, calls: &[u64]) -> Comparison<'static> {
        let subjects = ["x", "y"].map(|name| Subject::new(name, |_| Ok(figures(9, 9))));
        let cell = Cell {
            pairs,
            ..Cell::default()
        };
        let mut all = Comparison::new(subjects.into(), vec![Group::of(cell, 0..2)]);
        for (_, rounds) in &mut all.groups[0].rows {
            let measured = calls.iter().zip(0..);
            rounds.figures = measured
                .map(|(calls, round)| (round, figures(*calls, 1000)))
                .collect();
        }
        all.load_before = Some(0.0);
        all
    }

    #[test]
    fn limits_are_named() {
        let warnings = |pairs, calls: &[u64], cores| comparison(pairs, calls).warnings(cores);
        assert!(warnings(2, &[9000, 9000], 2).is_empty());
        assert!(warnings(4, &[20_000], 2)[0].starts_with("4 pairs are more"));
        assert!(warnings(1, &[500], 2)[0].contains("its p99 and"));
        assert!(warnings(1, &[5000], 2)[0].contains("its p99.9 and"));
        let busy = Comparison {
            load_before: Some(1.5),
            ..comparison(2, &[20_000])
        };
        assert!(busy.warnings(2)[0].starts_with("the machine was busy"));
        assert!(busy.warnings(4).is_empty());
    }

    #[test]
    fn every_round_measures_every_subject() {
        let mut all = comparison(1, &[]);
        all.subjects[1].measure = Box::new(|_| Err(Error::new("It broke.")));
        all.measure(Repeat::Rounds(3)).unwrap();
        let counts: Vec<usize> = all.groups[0]
            .rows
            .iter()
            .map(|row| row.1.figures.len())
            .collect();
        assert_eq!((counts, all.failures.len()), (vec![3, 0], 3));
        assert!(all
            .check()
            .unwrap_err()
            .to_string()
            .contains("3 measurements"));
        let text = all.table(&COLUMNS, None).text();
        assert!(
            text.contains("did not run") && text.contains("1 pair, 0 B"),
            "{text}"
        );
    }

    #[test]
    fn a_cell_is_known_after_some_steady_rounds() {
        assert!(comparison(1, &[10; 6]).groups[0].is_known());
        assert!(!comparison(1, &[10; 5]).groups[0].is_known());
        let mut uneven = comparison(1, &[10; 6]);
        uneven.groups[0].rows[1].1.figures[5].1 = figures(30, 1000);
        assert!(!uneven.groups[0].is_known());
    }
}
