// SPDX-License-Identifier: Apache-2.0
//! A page of metrics, in the text format of OpenMetrics 1.0: a family of samples after the other,
//! each with its type and help, and `# EOF`.
use std::fmt::{Display, Write};

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What precedes the name of each family.
const PREFIX: &str = "anybinder_";

#[derive(Default)]
pub struct Page {
    text: String,
    family: String,
}

/// A value of a label as it stands between quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

impl Page {
    /// Begins a family; its samples follow.
    ///
    /// * `name`: without prefix and suffix, with its unit last
    /// * `kind`: counter, gauge or histogram
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.family = format!("{PREFIX}{name}");
        let name = &self.family;
        self.text += &format!("# TYPE {name} {kind}\n# HELP {name} {help}\n");
    }

    /// Adds a sample of the family.
    ///
    /// * `suffix`: `_total` of a counter; `_bucket`, `_sum` and `_count` of a histogram
    pub fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let line = writeln!(self.text, "{}{suffix}{labels} {value}", self.family);
        line.expect("a string takes everything");
    }

    pub fn finish(self) -> String {
        self.text + "# EOF\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_the_page_ends() {
        let mut page = Page::default();
        page.family("calls", "counter", "Calls.");
        page.sample("_total", &[("service", "a\"b\\c\nd")], 7);
        page.sample("_total", &[], 1.5);
        assert_eq!(
            page.finish(),
            "# TYPE anybinder_calls counter\n# HELP anybinder_calls Calls.\n\
             anybinder_calls_total{service=\"a\\\"b\\\\c\\nd\"} 7\n\
             anybinder_calls_total 1.5\n# EOF\n"
        );
    }
}
