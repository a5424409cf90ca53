// SPDX-License-Identifier: Apache-2.0
//! How much of their time processors were idle.

/// The processors and what they had done when the measurement began.
pub struct Idle {
    cpus: Vec<usize>,
    before: (u64, u64),
}

/// Idle time and all time of these processors, in ticks, from the text of /proc/stat.
fn ticks(text: &str, cpus: &[usize]) -> (u64, u64) {
    let mut sum = (0, 0);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu"));
        let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) else {
            continue;
        };
        if cpus.contains(&number) {
            // user nice system idle iowait irq softirq steal; what follows is part of user
            let times: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
            sum.0 += times.iter().skip(3).take(2).sum::<u64>();
            sum.1 += times.iter().sum::<u64>();
        }
    }
    sum
}

fn read(cpus: &[usize]) -> (u64, u64) {
    ticks(
        &std::fs::read_to_string("/proc/stat").unwrap_or_default(),
        cpus,
    )
}

impl Idle {
    pub fn begin(cpus: &[usize]) -> Self {
        Idle {
            cpus: cpus.to_vec(),
            before: read(cpus),
        }
    }

    /// The share of the time since then.
    pub fn percent(&self) -> f64 {
        let after = read(&self.cpus);
        let all = after.1.saturating_sub(self.before.1).max(1);
        after.0.saturating_sub(self.before.0) as f64 / all as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_processors_count() {
        let text = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 0 5 80 5 0 0 0 9 9\n\
                    cpu1 1 2 3 4 5 6 7 8 0 0\nintr 5\n";
        assert_eq!(ticks(text, &[0]), (85, 100));
        assert_eq!(ticks(text, &[0, 1]), (94, 136));
        assert_eq!(ticks("", &[0]), (0, 0));
    }
}
