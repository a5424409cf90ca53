// SPDX-License-Identifier: Apache-2.0
//! Codes and times as text.
use super::methods;
use anybinder_cli::output::harmless;

/// What a call is shown as: the name of its method, or the code.
pub fn method_name(method: Option<&str>, code: u32) -> String {
    let method = method.or_else(|| methods::of_all(code));
    method.map_or_else(|| code.to_string(), harmless)
}

/// The same where a thread waits for a call or handles it: with the word for what it is.
pub fn called(method: Option<&str>, code: u32) -> String {
    let kind = match method {
        Some(_) => "method",
        None => "code",
    };
    format!("{kind} {}", method_name(method, code))
}

/// A number, if it is known.
pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".to_string(), |number| number.to_string())
}

/// A time with three digits or more.
pub fn duration(ns: u64) -> String {
    match ns {
        0..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// A time in at most five columns.
pub fn short_time(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0}us"),
        us if us < 9_950.0 => format!("{:.1}ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0}ms", us / 1e3),
        us if us < 99_500_000.0 => format!("{:.1}s", us / 1e6),
        us => format!("{:.0}s", us / 1e6),
    }
}

/// A time in milliseconds, or in seconds to a tenth.
pub fn time(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", ms as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let shown = [17.2, 1234.0, 56_789.0, 1.5e6, 120e6].map(short_time);
        assert_eq!(shown, ["17us", "1.2ms", "57ms", "1.5s", "120s"]);
    }
}
