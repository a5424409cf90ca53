// SPDX-License-Identifier: Apache-2.0
//! The test cases, one file for each matter. A case runs in a process of its own.
use crate::stage::{Stage, Verdict};

mod bulk;
mod calls;
mod contexts;
pub mod crowds;
mod death;
mod fds;
mod freeze;
mod names;
mod objects;

pub struct Case {
    pub name: &'static str,
    pub run: fn(&Stage) -> Verdict,
}

/// `cases![a, b]` is the list of the functions `a` and `b` under their own names.
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
        objects::CASES,
        fds::CASES,
        bulk::CASES,
        death::CASES,
        names::CASES,
        freeze::CASES,
        contexts::CASES,
        crowds::CASES,
    ]
    .into_iter()
    .flatten()
}
