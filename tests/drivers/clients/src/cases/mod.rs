// SPDX-License-Identifier: Apache-2.0
//! The test cases, one file for each topic. A case runs in a separate process.
use crate::fixture::{Fixture, Verdict};

mod binder_objects;
mod bulk;
mod calls;
mod contexts;
mod death;
mod fds;
mod frozen;
mod name_lookup;
pub mod parallel;

pub struct Case {
    pub name: &'static str,
    pub run: fn(&Fixture) -> Verdict,
}

/// `cases![a, b]` is the list of the functions `a` and `b` with their names.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub const CASES: &[crate::cases::Case] = &[
            $(crate::cases::Case { name: stringify!($name), run: $name }),*
        ];
    };
}
use cases;

/// Every case, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        calls::CASES,
        binder_objects::CASES,
        fds::CASES,
        bulk::CASES,
        death::CASES,
        name_lookup::CASES,
        frozen::CASES,
        contexts::CASES,
        parallel::CASES,
    ]
    .into_iter()
    .flatten()
}
