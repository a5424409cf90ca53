// SPDX-License-Identifier: Apache-2.0
//! The values of constants (sizes of arrays, enumerators, defaults of fields) as the compiler of
//! Android 14 computes them, whose answers are a table in `constant_test`. Integers are signed and
//! have a width: that of the literal, and of an operator the wider one of its operands, but at
//! least that of an int. The type that a constant is declared with takes no part in it.
use super::syntax::{Rule, Value};
use crate::budget::Budget;
use crate::types::{Kind, Type};
use serde_json::Value as Json;

/// What an integer is computed in, narrow ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    Bool,
    Byte,
    Int,
    Long,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    Integer(Width, i64),
    /// As it is written: what it is for decides how many bits it has.
    Float(String),
    Text(String),
    Character(char),
    List(Vec<Computed>),
}

/// Why a constant has no value. Its place is that of the innermost constant.
#[derive(Clone, Debug)]
pub struct Fault {
    pub what: String,
    pub has_place: bool,
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault {
            what,
            has_place: false,
        }
    }
}

impl Fault {
    /// Adds the place, a file and a line, if none is known yet.
    pub fn at(self, place: &str) -> Fault {
        match self.has_place {
            true => self,
            false => Fault {
                what: format!("{place}: {}", self.what),
                has_place: true,
            },
        }
    }
}

type Outcome = Result<Computed, Fault>;

impl Width {
    fn bits(self) -> u32 {
        match self {
            Width::Bool => 1,
            Width::Byte => 8,
            Width::Int => 32,
            Width::Long => 64,
        }
    }

    fn lowest(self) -> i128 {
        -(1 << (self.bits() - 1))
    }

    /// A result of this width; none if it overflows.
    fn integer(self, number: i128) -> Outcome {
        let fits = number >= self.lowest() && number < -self.lowest();
        match (self, fits) {
            (Width::Bool, _) => Ok(truth(number != 0)),
            (_, true) => Ok(Computed::Integer(self, number as i64)),
            (_, false) => Err(overflow()),
        }
    }
}

fn overflow() -> Fault {
    Fault::from("a constant overflows, or divides by 0".to_string())
}

fn truth(truth: bool) -> Computed {
    Computed::Integer(Width::Bool, truth.into())
}

/// Evaluates a constant; `look_up` gives the value of another one by its name.
pub fn evaluate(value: &Value, budget: &Budget, look_up: &dyn Fn(&str) -> Outcome) -> Outcome {
    budget.step()?;
    match value {
        Value::Number(text) => Ok(number(text)?),
        Value::Float(text) => Ok(Computed::Float(text.clone())),
        Value::Text(text) => plain(text).map(|()| Computed::Text(text.clone())),
        Value::Character(one) => plain(&one.to_string()).map(|()| Computed::Character(*one)),
        Value::Truth(one) => Ok(truth(*one)),
        Value::Path(path) => {
            let _level = budget.enter()?;
            look_up(path)
        }
        Value::List(values) => {
            let _level = budget.enter()?;
            let values = values.iter().map(|one| evaluate(one, budget, look_up));
            values.collect::<Result<_, _>>().map(Computed::List)
        }
        Value::Signs(signs, inner) => {
            let value = evaluate(inner, budget, look_up)?;
            signs.chars().rev().try_fold(value, signed)
        }
        Value::Chain(first, rest) => {
            let _level = budget.enter()?;
            chain(first, rest, budget, look_up)
        }
    }
}

/// Fails for the characters that the compiler refuses.
fn plain(text: &str) -> Result<(), Fault> {
    match text
        .chars()
        .all(|one| (' '..='~').contains(&one) && one != '\\')
    {
        true => Ok(()),
        false => Err(format!("{text:?} has characters that AIDL does not allow in a text").into()),
    }
}

/// An integer literal. Hexadecimal digits are an int where 32 bits are enough for them, even with
/// the suffixes u32 and u64.
fn number(text: &str) -> Result<Computed, String> {
    let bad = || format!("{text} is no number of AIDL");
    let lower = text.to_lowercase();
    let suffixes = ["u8", "u32", "u64", "l"].into_iter();
    let suffix = suffixes
        .clone()
        .find(|one| lower.ends_with(one))
        .unwrap_or("");
    let digits = &lower[..lower.len() - suffix.len()];
    if digits.contains("__") || digits.ends_with('_') {
        return Err(bad());
    }
    let digits = digits.replace('_', "");
    let hex = digits.strip_prefix("0x");
    let bits = match hex {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let bits = bits.map_err(|_| bad())?;
    let is_int = u32::try_from(bits).is_ok();
    let (width, number) = match (suffix, hex.is_some()) {
        ("u8", _) if bits <= 0xff => (Width::Byte, i64::from(bits as i8)),
        ("u8", _) => return Err(bad()),
        ("l", true) => (Width::Long, bits as i64),
        (_, true) | ("u32", _) if is_int => (Width::Int, i64::from(bits as i32)),
        ("u64", _) | (_, true) => (Width::Long, bits as i64),
        ("u32", _) => return Err(bad()),
        _ => {
            let number = i64::try_from(bits).map_err(|_| bad())?;
            let widths = [Width::Byte, Width::Int].into_iter();
            let fitting = widths.filter(|one| i128::from(number) < -one.lowest());
            let guessed = fitting.min().filter(|_| suffix.is_empty());
            (guessed.unwrap_or(Width::Long), number)
        }
    };
    Ok(Computed::Integer(width, number))
}

fn signed(value: Computed, sign: char) -> Outcome {
    match (value, sign) {
        (Computed::Float(text), '-') if !text.starts_with('-') => {
            Ok(Computed::Float(format!("-{text}")))
        }
        (Computed::Float(text), '+') => Ok(Computed::Float(text)),
        (Computed::Integer(width, number), '+') => Ok(Computed::Integer(width, number)),
        (Computed::Integer(width, number), '-') => width.integer(-i128::from(number)),
        (Computed::Integer(width, number), '!') => {
            Ok(Computed::Integer(width, i64::from(number == 0)))
        }
        (Computed::Integer(width, number), '~') if width != Width::Bool => {
            Ok(Computed::Integer(width, !number))
        }
        (value, sign) => Err(format!("{sign} has no meaning before {}", value.describe()).into()),
    }
}

/// How strongly an operator binds, as in C.
fn precedence(operator: Rule) -> u8 {
    match operator {
        Rule::times | Rule::divide | Rule::modulo => 9,
        Rule::plus | Rule::minus => 8,
        Rule::left | Rule::right => 7,
        Rule::below | Rule::above | Rule::at_most | Rule::at_least => 6,
        Rule::equal | Rule::unequal => 5,
        Rule::bit_and => 4,
        Rule::bit_xor => 3,
        Rule::bit_or => 2,
        Rule::and => 1,
        _ => 0,
    }
}

/// Operands with operators between them: an operator waits until one behind it binds less.
fn chain(
    first: &Value,
    rest: &[(Rule, Value)],
    budget: &Budget,
    look_up: &dyn Fn(&str) -> Outcome,
) -> Outcome {
    let mut waiting: Vec<(Computed, Rule)> = Vec::new();
    let mut value = evaluate(first, budget, look_up)?;
    for (operator, operand) in rest {
        value = apply_waiting(&mut waiting, value, precedence(*operator), budget)?;
        waiting.push((value, *operator));
        value = evaluate(operand, budget, look_up)?;
    }
    apply_waiting(&mut waiting, value, 0, budget)
}

/// Applies the operators before a value that bind at least so strongly.
fn apply_waiting(
    waiting: &mut Vec<(Computed, Rule)>,
    mut value: Computed,
    least: u8,
    budget: &Budget,
) -> Outcome {
    while let Some((left, operator)) = waiting.pop_if(|(_, one)| precedence(*one) >= least) {
        value = apply(operator, left, value)?;
        if let Computed::Text(text) = &value {
            budget.output(text.len())?;
        }
    }
    Ok(value)
}

/// The value of an operator between two others.
pub fn apply(operator: Rule, left: Computed, right: Computed) -> Outcome {
    let (left_width, a, right_width, b) = match (left, right) {
        (Computed::Integer(left_width, a), Computed::Integer(right_width, b)) => {
            (left_width, a, right_width, b)
        }
        (Computed::Text(left), Computed::Text(right)) if operator == Rule::plus => {
            return Ok(Computed::Text(left + &right));
        }
        (left, right) => {
            let (left, right) = (left.describe(), right.describe());
            return Err(format!("{left} and {right} have no such operator").into());
        }
    };
    let width = left_width.max(right_width).max(Width::Int);
    let (a, b) = (i128::from(a), i128::from(b));
    match operator {
        Rule::left if b < 0 => return shift_right(width, a, -b),
        Rule::left => return shift_left(width, a, b),
        Rule::right if b < 0 => return shift_left(width, a, -b),
        Rule::right => return shift_right(width, a, b),
        _ => {}
    }
    let is_division = matches!(operator, Rule::divide | Rule::modulo);
    if is_division && (b == 0 || (a, b) == (width.lowest(), -1)) {
        return Err(overflow());
    }
    width.integer(match operator {
        Rule::times => a * b,
        Rule::divide => a / b,
        Rule::modulo => a % b,
        Rule::plus => a + b,
        Rule::minus => a - b,
        Rule::bit_and => a & b,
        Rule::bit_xor => a ^ b,
        Rule::bit_or => a | b,
        _ => return Ok(truth(compare(operator, a, b))),
    })
}

/// Bits may be shifted into that of the sign, and not beyond it.
fn shift_left(width: Width, number: i128, distance: i128) -> Outcome {
    if number < 0 || distance >= i128::from(width.bits()) {
        return Err(overflow());
    }
    let shifted = number << distance;
    match shifted >> width.bits() {
        0 if shifted >= -width.lowest() => width.integer(shifted + 2 * width.lowest()),
        0 => width.integer(shifted),
        _ => Err(overflow()),
    }
}

fn shift_right(width: Width, number: i128, distance: i128) -> Outcome {
    match number < 0 || distance >= i128::from(width.bits()) {
        true => Err(overflow()),
        false => width.integer(number >> distance),
    }
}

fn compare(operator: Rule, a: i128, b: i128) -> bool {
    match operator {
        Rule::below => a < b,
        Rule::above => a > b,
        Rule::at_most => a <= b,
        Rule::at_least => a >= b,
        Rule::equal => a == b,
        Rule::unequal => a != b,
        Rule::and => a != 0 && b != 0,
        _ => a != 0 || b != 0,
    }
}

impl Computed {
    fn describe(&self) -> String {
        match self {
            Computed::Integer(Width::Bool, number) => (*number != 0).to_string(),
            Computed::Integer(_, number) => number.to_string(),
            Computed::Float(text) => text.clone(),
            Computed::Text(_) => "a text".to_string(),
            Computed::Character(one) => format!("'{one}'"),
            Computed::List(_) => "an array".to_string(),
        }
    }

    /// An integer of at most 32 bits, as the size of an array is.
    pub fn size(&self) -> Option<usize> {
        match self {
            Computed::Integer(width, number) if *width <= Width::Int => {
                usize::try_from(*number).ok()
            }
            _ => None,
        }
    }

    /// The value of a constant that is declared with a type.
    pub fn of_type(&self, kind: &Type) -> Result<Json, Fault> {
        let misfit = || Fault::from(format!("{} does not fit its type", self.describe()));
        if let Some(wanted) = kind.dimensions.first() {
            let element = kind.element();
            return match self {
                Computed::List(values) if wanted.is_none_or(|wanted| wanted == values.len()) => {
                    values.iter().map(|one| one.of_type(&element)).collect()
                }
                _ => Err(misfit()),
            };
        }
        let within = |width: Width, number: i64| match width.integer(number.into()) {
            Ok(_) => Ok(Json::from(number)),
            Err(_) => Err(misfit()),
        };
        match (self, &kind.kind) {
            (Computed::Integer(_, number), Kind::Bool) => Ok(Json::from(*number != 0)),
            (Computed::Integer(_, number), Kind::Byte) => within(Width::Byte, *number),
            (Computed::Integer(_, number), Kind::Int) => within(Width::Int, *number),
            (Computed::Integer(_, number), Kind::Long | Kind::Declared(_)) => {
                Ok(Json::from(*number))
            }
            (Computed::Character(one), Kind::Char) => Ok(Json::from(u32::from(*one))),
            (Computed::Text(text), Kind::String16) => Ok(Json::from(text.as_str())),
            (Computed::Float(text), Kind::Float) => {
                let digits = text.strip_suffix('f').ok_or_else(misfit)?;
                let number = digits.parse::<f32>().ok().filter(|one| one.is_finite());
                number.map(Json::from).ok_or_else(misfit)
            }
            (Computed::Float(text), Kind::Double) => {
                let number = text.trim_end_matches('f').parse::<f64>();
                let number = number.ok().filter(|one| one.is_finite());
                number.map(Json::from).ok_or_else(misfit)
            }
            _ => Err(misfit()),
        }
    }
}
