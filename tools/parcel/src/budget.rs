// SPDX-License-Identifier: Apache-2.0
//! How much work, depth and output other people's `.aidl` files and parcels may cause. Every limit
//! of this crate is here; what exceeds one is refused with a sentence.
use std::cell::Cell;

/// The depth of brackets in a file, of constants that refer to others, and of values.
pub const MAX_DEPTH: usize = 64;
/// The bytes of a file.
pub const MAX_FILE: usize = 1 << 20;
/// The elements of an array of a fixed size, those of its arrays counted.
pub const MAX_ARRAY: usize = 1 << 20;
/// The operands of the constants of a library: each is computed once.
pub const MAX_STEPS: usize = 1 << 24;
/// The bytes of a parcel that is made: drivers take less.
pub const MAX_PARCEL: usize = 1 << 23;
/// The bytes of the texts of constants, and of what is read of a parcel.
pub const MAX_OUTPUT: usize = 1 << 26;

/// What was taken of the limits.
#[derive(Debug, Default)]
pub struct Budget {
    steps: Cell<usize>,
    output: Cell<usize>,
    depth: Cell<usize>,
}

/// A level of depth, until it is dropped.
pub struct Level<'a>(&'a Budget);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

impl Budget {
    /// Takes one step.
    pub fn step(&self) -> Result<(), String> {
        self.steps.set(self.steps.get() + 1);
        match self.steps.get() {
            0..=MAX_STEPS => Ok(()),
            _ => Err(format!("the constants have more than {MAX_STEPS} operands")),
        }
    }

    /// Takes bytes of output.
    pub fn output(&self, bytes: usize) -> Result<(), String> {
        self.output.set(self.output.get().saturating_add(bytes));
        match self.output.get() {
            0..=MAX_OUTPUT => Ok(()),
            _ => Err(format!("the values have more than {MAX_OUTPUT} bytes")),
        }
    }

    /// Goes one level deeper.
    pub fn enter(&self) -> Result<Level<'_>, String> {
        if self.depth.get() >= MAX_DEPTH {
            return Err(format!("constants are nested deeper than {MAX_DEPTH}"));
        }
        self.depth.set(self.depth.get() + 1);
        Ok(Level(self))
    }
}
