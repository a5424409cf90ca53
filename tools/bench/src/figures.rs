// SPDX-License-Identifier: Apache-2.0
//! The figures of one cell, of several rounds of it, and of two that are compared.
use crate::durations::Durations;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// How far the ends of a known interval may be from the mean.
const WITHIN: f64 = 1.10;
/// An interval of fewer rounds is not known.
pub const MIN_ROUNDS: usize = 6;

/// Clients that ran alike.
#[derive(Clone, Debug, Deserialize)]
pub struct Class {
    pub class: String,
    #[serde(flatten)]
    pub durations: Durations,
}

/// One measurement, as bench-ipc prints it.
#[derive(Clone, Debug, Deserialize)]
pub struct Figures {
    /// Of all clients, also of those whose durations do not count.
    pub calls: u64,
    pub seconds: f64,
    /// Processor time of clients and servers, per call.
    pub user_us: f64,
    pub system_us: f64,
    pub classes: Vec<Class>,
    /// What else was measured meanwhile, by name: `daemon_us`, the processor time of the daemon
    /// between them, per call.
    #[serde(skip)]
    pub more: BTreeMap<&'static str, f64>,
}

impl Figures {
    pub fn calls_per_s(&self) -> f64 {
        self.calls as f64 / self.seconds
    }

    pub fn ends_us(&self) -> f64 {
        self.user_us + self.system_us
    }

    pub fn durations(&self) -> Durations {
        Durations::sum(self.classes.iter().map(|class| &class.durations))
    }

    pub fn p50_us(&self) -> f64 {
        self.durations().quantile_us(0.5)
    }

    /// The figures of one round as a JSON object.
    fn document(&self, round: u32) -> Value {
        let durations = self.durations();
        let mut document = json!({
            "round": round,
            "calls": self.calls,
            "calls_per_s": self.calls_per_s(),
            "min_us": durations.min_us(),
            "avg_us": durations.avg_us(),
            "p50_us": durations.quantile_us(0.5),
            "p99_us": durations.quantile_us(0.99),
            "max_us": durations.max_us(),
            "user_us": self.user_us,
            "system_us": self.system_us,
        });
        for (name, figure) in &self.more {
            document[name] = json!(figure);
        }
        document
    }
}

/// All rounds of a cell.
#[derive(Default)]
pub struct Rounds {
    /// With the number of the round; a round that failed is missing.
    pub figures: Vec<(u32, Figures)>,
}

/// None of no values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
}

/// A geometric mean and its 95 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    mean: f64,
    low: f64,
    high: f64,
    count: usize,
}

impl Interval {
    /// None of no values.
    pub fn of(values: &[f64]) -> Option<Interval> {
        let count = values.len();
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / count as f64;
        let squares: f64 = logs.iter().map(|one| (one - mean).powi(2)).sum();
        let error = match count {
            0 => return None,
            1 => 0.0,
            _ => (squares / (count - 1) as f64 / count as f64).sqrt(),
        };
        Some(Interval {
            mean: mean.exp(),
            low: (mean - 2.0 * error).exp(),
            high: (mean + 2.0 * error).exp(),
            count,
        })
    }

    /// Whether there are enough rounds, and the mean is known to within 10 %.
    pub fn is_known(&self) -> bool {
        self.count >= MIN_ROUNDS && self.high <= WITHIN * self.mean
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Interval {
            mean, low, high, ..
        } = self;
        match self.is_known() {
            true => write!(f, "{mean:.2} ({low:.2} to {high:.2})"),
            false => write!(f, "not measured ({low:.2} to {high:.2})"),
        }
    }
}

impl Rounds {
    /// The median of one figure over the rounds; None if no round has it.
    pub fn median(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        median(
            self.figures
                .iter()
                .filter_map(|(_, one)| figure(one))
                .collect(),
        )
    }

    /// All rounds together.
    pub fn sum(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        self.figures.iter().map(|(_, one)| figure(one)).sum()
    }

    /// Our figure divided by that of `other` in each round that both have.
    pub fn ratios(&self, other: &Rounds, figure: impl Fn(&Figures) -> f64) -> Vec<f64> {
        let ratios = self.figures.iter().filter_map(|(round, ours)| {
            let (_, theirs) = other.figures.iter().find(|(number, _)| number == round)?;
            Some(figure(ours) / figure(theirs))
        });
        ratios.collect()
    }

    /// The median of the ratios; None if no round has both.
    pub fn ratio(&self, other: &Rounds, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
        median(self.ratios(other, figure))
    }

    /// How far the calls per second of the farthest round are from the median, in per cent of it;
    /// None below two rounds.
    pub fn spread_percent(&self) -> Option<f64> {
        let middle = self.median(|one| Some(one.calls_per_s()))?;
        let rounds = self.figures.iter();
        let distances = rounds.map(|(_, one)| (one.calls_per_s() - middle).abs());
        let farthest = distances.fold(0.0, f64::max);
        (self.figures.len() > 1).then_some(farthest / middle * 100.0)
    }

    /// These rounds, of the clients of one class only.
    pub fn of_class(&self, class: usize) -> Rounds {
        let only = |one: &Figures| Figures {
            classes: one.classes.get(class).cloned().into_iter().collect(),
            ..one.clone()
        };
        let rounds = self.figures.iter();
        Rounds {
            figures: rounds.map(|(round, one)| (*round, only(one))).collect(),
        }
    }

    /// The durations of all rounds together.
    pub fn durations(&self) -> Durations {
        let all = self.figures.iter().flat_map(|(_, one)| &one.classes);
        Durations::sum(all.map(|class| &class.durations))
    }

    /// Adds the figures to the JSON object of a cell.
    pub fn complete(&self, cell: &mut Value) {
        let durations = self.durations();
        cell["quantiles"] = durations.quantiles();
        cell["spread_percent"] = json!(self.spread_percent());
        let rounds = self.figures.iter();
        cell["rounds"] = rounds.map(|(round, one)| one.document(*round)).collect();
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A round of so many calls a second, each of `ns`.
    pub fn figures(calls: u64, ns: u64) -> Figures {
        let text = format!(
            r#"{{"calls": {calls}, "seconds": 1, "user_us": 1, "system_us": 1, "classes":
                [{{"class": "", "total_ns": {}, "histogram_ns": [[{ns}, {calls}]]}}]}}"#,
            calls * ns
        );
        serde_json::from_str(&text).unwrap()
    }

    fn rounds(values: &[(u32, u64)]) -> Rounds {
        let figures = values.iter().map(|(round, ns)| (*round, figures(4, *ns)));
        Rounds {
            figures: figures.collect(),
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_in_between() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ours = rounds(&[(0, 1000), (1, 800), (2, 300)]);
        let theirs = rounds(&[(1, 400), (2, 200)]);
        let average = |one: &Figures| one.durations().avg_us();
        assert_eq!(ours.ratio(&theirs, average), Some(1.75));
        assert_eq!(ours.ratio(&rounds(&[(9, 100)]), average), None);
        assert_eq!(ours.durations().calls(), 12);
    }

    #[test]
    fn the_spread_is_that_of_the_farthest_round() {
        let figures = [90, 100, 130].map(|calls| (calls as u32, figures(calls, 1)));
        let rounds = Rounds {
            figures: figures.into(),
        };
        assert_eq!(rounds.spread_percent().map(f64::round), Some(30.0));
    }

    #[test]
    fn an_interval_is_known_or_not() {
        // The logarithms have the standard deviation ln(1.2); their mean, of nine, a third of it.
        let even = [1.0, 1.44, 1.0, 1.44, 1.0, 1.44, 1.0, 1.44, 1.2];
        let text = |values: &[f64]| Interval::of(values).unwrap().to_string();
        assert_eq!(text(&even), "not measured (1.06 to 1.36)");
        assert_eq!(text(&[1.3; 6]), "1.30 (1.30 to 1.30)");
        assert_eq!(text(&[1.3; 5]), "not measured (1.30 to 1.30)");
        assert!(!Interval::of(&[1.3, 1.3, 1.3, 1.3, 1.3, 2.6])
            .unwrap()
            .is_known());
        assert!(Interval::of(&[]).is_none());
    }
}
