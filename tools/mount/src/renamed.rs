// SPDX-License-Identifier: Apache-2.0
//! Options that have got another name: the old spelling is an error that names the new one.
use std::convert::Infallible;

/// The type of an option that is never accepted; the field is an `Option<Renamed>`.
pub type Renamed = Infallible;

/// A parser for the value of an option's old spelling; it refuses every value.
///
/// * `new`: the option to use instead, e.g. `--locking`
pub fn renamed_to(
    new: &'static str,
) -> impl Fn(&str) -> Result<Renamed, String> + Clone + Send + Sync + 'static {
    move |_value| Err(format!("this option is now called {new}; use that"))
}
