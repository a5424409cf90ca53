// SPDX-License-Identifier: Apache-2.0
//! What a library has computed already: constants, the items of enums, and defaults of fields.
use super::constant::{Computed, Fault};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The items of an enum.
#[derive(Debug, Default)]
pub struct Enumerators {
    /// As they are written.
    pub names: Vec<String>,
    pub by_name: HashMap<String, i64>,
    /// The first name of each value.
    pub by_value: HashMap<i64, String>,
}

/// What is computed already.
#[derive(Default)]
pub(super) struct Known {
    /// By full names; none while one is computed.
    pub constants: RefCell<HashMap<String, Option<Result<Computed, Fault>>>>,
    pub enums: RefCell<HashMap<String, Arc<Enumerators>>>,
    /// The enums whose items are computed, or were.
    pub begun: RefCell<HashSet<String>>,
    /// By the types of the fields.
    pub defaults: RefCell<HashMap<usize, Result<Json, String>>>,
}
