// SPDX-License-Identifier: Apache-2.0
//! The constants of a library by their names, the items of its enums, and the defaults of fields.
//! Each is computed once.
use super::computed::Enumerators;
use super::constant::{self, Computed, Fault, Width};
use super::entry::Entry;
use super::library::Library;
use super::syntax::{Body, Enumerator, Field, Rule, Value};
use crate::types::{Kind, Type};
use serde_json::Value as Json;
use std::sync::Arc;

fn is_name(value: &Value) -> bool {
    match value {
        Value::Path(_) => true,
        Value::List(values) => values.iter().all(is_name),
        _ => false,
    }
}

impl Library {
    pub(super) fn evaluate(&self, within: &Entry, value: &Value) -> Result<Computed, Fault> {
        let look_up = |path: &str| self.named_constant(within, path);
        constant::evaluate(value, &self.budget, &look_up)
    }

    /// The default of a field of this type that is written inside a declaration.
    pub fn default_of(
        &self,
        within: &Entry,
        field: &Field,
        kind: &Type,
    ) -> Result<Option<Json>, String> {
        let Some(value) = &field.default else {
            return Ok(None);
        };
        if let Some(known) = self.known.defaults.borrow().get(&field.kind.id) {
            return known.clone().map(Some);
        }
        let made = match &kind.kind {
            Kind::Declared(_) if !is_name(value) => Err(Fault::from(
                "the default of an enum has to be the name of an item".to_string(),
            )),
            _ => self
                .evaluate(within, value)
                .and_then(|made| made.of_type(kind)),
        };
        let made = made.map_err(|fault| fault.at(&within.place(field.kind.at)).what);
        let mut defaults = self.known.defaults.borrow_mut();
        defaults.insert(field.kind.id, made.clone());
        made.map(Some)
    }

    /// A constant of a type that is named, of this declaration, or of one around it.
    fn named_constant(&self, within: &Entry, path: &str) -> Result<Computed, Fault> {
        let unknown = || Fault::from(format!("the constant {path} is not known"));
        if let Some((holder, name)) = path.rsplit_once('.') {
            let holder = self.resolve(within, holder).ok_or_else(unknown)?;
            return self.own_constant(&holder, name)?.ok_or_else(unknown);
        }
        for scope in within.scopes() {
            if let Some(holder) = self.find(scope) {
                if let Some(value) = self.own_constant(&holder, path)? {
                    return Ok(value);
                }
            }
        }
        Err(unknown())
    }

    fn own_constant(&self, holder: &Entry, name: &str) -> Result<Option<Computed>, Fault> {
        if let Some(one) = holder.declaration.constants.get(name) {
            let compute = || {
                let kind = self.type_of(holder, &one.kind)?;
                let is_number = matches!(kind.kind, Kind::Byte | Kind::Int | Kind::Long);
                let is_allowed =
                    is_number || matches!(kind.kind, Kind::Float | Kind::Double | Kind::String16);
                if !kind.dimensions.is_empty() || !is_allowed {
                    return Err(format!("{name} is of a type that constants do not have").into());
                }
                let value = self.evaluate(holder, &one.value)?;
                value.of_type(&kind).map(|_| value)
            };
            let value = self.once(format!("{}.{name}", holder.name), compute);
            return match value {
                Ok(value) => Ok(Some(value)),
                Err(fault) => Err(fault.at(&holder.place(one.kind.at))),
            };
        }
        match &holder.declaration.body {
            Body::Enum { items, places } => {
                // In their order at first: an item may refer to the one before, and so on.
                let is_first = !self.known.begun.borrow().contains(&holder.name);
                if is_first {
                    let mut begun = self.known.begun.borrow_mut();
                    begun.insert(holder.name.clone());
                    drop(begun);
                    let all = 0..items.len();
                    all.for_each(|at| drop(self.item(holder, items, at)));
                }
                let place = places.get(name);
                place.map(|at| self.item(holder, items, *at)).transpose()
            }
            _ => Ok(None),
        }
    }

    fn once(
        &self,
        name: String,
        compute: impl FnOnce() -> Result<Computed, Fault>,
    ) -> Result<Computed, Fault> {
        match self.known.constants.borrow().get(&name) {
            Some(Some(known)) => return known.clone(),
            Some(None) => return Err(format!("{name} refers to itself").into()),
            None => {}
        }
        let mut constants = self.known.constants.borrow_mut();
        constants.insert(name.clone(), None);
        drop(constants);
        let made = compute();
        let mut constants = self.known.constants.borrow_mut();
        constants.insert(name, Some(made.clone()));
        made
    }

    /// An item of an enum: its own value, or one more than the item before.
    fn item(&self, holder: &Entry, items: &[Enumerator], at: usize) -> Result<Computed, Fault> {
        let full = |at: usize| format!("{}.{}", holder.name, items[at].name);
        let kind = Type::of(Kind::of_enum(holder));
        let is_known = |at: usize| self.known.constants.borrow().contains_key(&full(at));
        let mut before = (0..at).rev();
        let start = match items[at].value {
            Some(_) => at,
            None => before
                .find(|at| items[*at].value.is_some() || is_known(*at))
                .unwrap_or(0),
        };
        let mut value = Computed::Integer(Width::Byte, 0);
        for (at, item) in items.iter().enumerate().take(at + 1).skip(start) {
            let compute = || {
                let one = Computed::Integer(Width::Byte, 1);
                let made = match &item.value {
                    Some(own) => self.evaluate(holder, own)?,
                    None if at == 0 => value.clone(),
                    None => constant::apply(Rule::plus, value.clone(), one)?,
                };
                made.of_type(&kind).map(|_| made)
            };
            let made = self.once(full(at), compute);
            value = made.map_err(|fault| fault.at(&holder.place(item.at)))?;
        }
        Ok(value)
    }

    /// The items of an enum; none for another declaration.
    pub fn enumerators(&self, entry: &Entry) -> Result<Arc<Enumerators>, String> {
        if let Some(known) = self.known.enums.borrow().get(&entry.name) {
            return Ok(known.clone());
        }
        let mut made = Enumerators::default();
        if let Body::Enum { items, .. } = &entry.declaration.body {
            for (at, item) in items.iter().enumerate() {
                let value = self.item(entry, items, at).map_err(|fault| fault.what)?;
                let Computed::Integer(_, number) = value else {
                    continue;
                };
                made.names.push(item.name.clone());
                made.by_name.insert(item.name.clone(), number);
                let first = made.by_value.entry(number);
                first.or_insert_with(|| item.name.clone());
            }
        }
        let made = Arc::new(made);
        let mut enums = self.known.enums.borrow_mut();
        enums.insert(entry.name.clone(), made.clone());
        Ok(made)
    }
}
