// SPDX-License-Identifier: Apache-2.0
//! What the figures of a comparison cannot show: said in the table, in the JSON and in the picture.
use super::results::{Group, Results};
use crate::figures::{Figures, Rounds};

/// A quantile is that of at least ten calls above it, or it is chance.
const CALLS_ABOVE: u64 = 10;

/// The processes of a cell that can run at the same time: a client and its server take turns.
fn is_overloaded(group: &Group, cores: usize) -> bool {
    group.pairs as usize > cores
}

/// Calls whose durations are known.
fn calls(rounds: &Rounds) -> u64 {
    let of_one = |one: &Figures| match one.histogram_ns.iter().map(|(_, count)| count).sum() {
        0 => one.calls,
        measured => measured,
    };
    rounds.figures.iter().map(|(_, one)| of_one(one)).sum()
}

/// How far the figure of single rounds is from their median, in per cent of it; None below two
/// rounds.
pub fn spread_percent(rounds: &Rounds, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
    if rounds.figures.len() < 2 {
        return None;
    }
    let middle = rounds.median(|one| Some(figure(one)))?;
    let farthest = rounds
        .figures
        .iter()
        .map(|(_, one)| (figure(one) - middle).abs())
        .fold(0.0, f64::max);
    Some(farthest / middle * 100.0)
}

/// A sentence for each limit.
pub fn warnings(results: &Results, cores: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    let overloaded: Vec<String> = results
        .groups
        .iter()
        .filter(|(group, _)| is_overloaded(group, cores))
        .map(|(group, _)| group.pairs.to_string())
        .fold(Vec::new(), |mut all, pairs| {
            if !all.contains(&pairs) {
                all.push(pairs);
            }
            all
        });
    if !overloaded.is_empty() {
        warnings.push(format!(
            "{} pairs are more than the {cores} cores: their durations are mostly waiting for a \
             core",
            overloaded.join(", ")
        ));
    }
    // Client and server of one pair need two processors.
    if results.load_before > cores as f64 / 2.0 {
        warnings.push(format!(
            "the machine was busy before (load average {:.1}, {cores} cores): the durations are \
             partly those of other programs",
            results.load_before
        ));
    }
    let few = results
        .groups
        .iter()
        .flat_map(|(_, all)| all)
        .filter(|rounds| !rounds.figures.is_empty())
        .map(calls)
        .min();
    if let Some(few) = few {
        for (name, above) in [("p99", 100), ("p99.9", 1000)] {
            if few < above * CALLS_ABOVE {
                warnings.push(format!(
                    "as few as {few} calls in a line: its {name} and beyond are chance; {} are \
                     needed (--duration-ms, --rounds)",
                    above * CALLS_ABOVE
                ));
                break;
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Size;

    fn results(pairs: u32, calls: &[u64]) -> Results {
        let figures = calls.iter().enumerate().map(|(round, calls)| {
            let one = serde_json::json!({
                "calls": calls, "calls_per_s": *calls as f64, "min_us": 1.0, "avg_us": 1.0,
                "p50_us": 1.0, "p99_us": 1.0, "max_us": 1.0, "user_us": 1.0, "system_us": 1.0,
            });
            (round as u32, serde_json::from_value(one).unwrap())
        });
        let rounds = Rounds {
            figures: figures.collect(),
        };
        let size: Size = "0".parse().unwrap();
        Results {
            peers: vec!["x".to_string()],
            groups: vec![(Group { pairs, size }, vec![rounds])],
            failures: Vec::new(),
            load_before: 0.0,
        }
    }

    #[test]
    fn limits_are_named() {
        assert!(warnings(&results(2, &[9000, 9000]), 2).is_empty());
        assert!(warnings(&results(4, &[20_000]), 2)[0].starts_with("4 pairs are more"));
        assert!(warnings(&results(1, &[500]), 2)[0].contains("its p99 and"));
        let busy = Results {
            load_before: 1.5,
            ..results(2, &[20_000])
        };
        assert!(warnings(&busy, 2)[0].starts_with("the machine was busy"));
        assert!(warnings(&busy, 4).is_empty());
        assert!(warnings(&results(1, &[5000]), 2)[0].contains("its p99.9 and"));
    }

    #[test]
    fn the_spread_is_that_of_the_farthest_round() {
        let results = results(1, &[90, 100, 130]);
        let spread = spread_percent(&results.groups[0].1[0], |one| one.calls_per_s);
        assert_eq!(spread.map(f64::round), Some(30.0));
    }
}
