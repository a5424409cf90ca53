// SPDX-License-Identifier: Apache-2.0
//! The values of constants: sizes of arrays, enumerators, defaults of fields.
use super::syntax::{Rule, Value};
use serde_json::Value as Json;

/// How deep constants may refer to others.
pub const MAX_REFERENCES: usize = 32;

/// Evaluates a constant; `look_up` gives the value of another one by its name.
pub fn evaluate(
    value: &Value,
    look_up: &dyn Fn(&str) -> Result<Json, String>,
) -> Result<Json, String> {
    match value {
        Value::Number(text) => number(text).map(Json::from),
        Value::Float(text) => text
            .parse::<f64>()
            .map(Json::from)
            .map_err(|err| format!("{text}: {err}")),
        Value::Text(text) => Ok(Json::from(text.as_str())),
        Value::Character(one) => Ok(Json::from(u32::from(*one))),
        Value::Truth(truth) => Ok(Json::from(*truth)),
        Value::Path(path) => look_up(path),
        Value::List(values) => values.iter().map(|one| evaluate(one, look_up)).collect(),
        Value::Sign(sign, inner) => signed(*sign, &evaluate(inner, look_up)?),
        Value::Chain(operands, operators) => {
            let operands: Result<Vec<Json>, String> =
                operands.iter().map(|one| evaluate(one, look_up)).collect();
            chain(operands?, operators)
        }
    }
}

/// Evaluates to an integer.
pub fn integer(
    value: &Value,
    look_up: &dyn Fn(&str) -> Result<Json, String>,
) -> Result<i64, String> {
    as_integer(&evaluate(value, look_up)?)
}

fn as_integer(value: &Json) -> Result<i64, String> {
    match value {
        Json::Bool(truth) => Ok(i64::from(*truth)),
        other => other
            .as_i64()
            .ok_or_else(|| format!("{other} is no integer")),
    }
}

/// Hexadecimal numbers of 32 bits may have the sign bit, as in AIDL.
fn number(text: &str) -> Result<i64, String> {
    let lower = text.to_lowercase();
    let digits = ["u8", "u32", "u64", "l"]
        .into_iter()
        .find_map(|suffix| lower.strip_suffix(suffix))
        .unwrap_or(&lower);
    let bad = |_| format!("{text} is no number");
    match digits.strip_prefix("0x") {
        Some(hex) if hex.len() <= 8 && !lower.ends_with('l') => {
            let bits = u32::from_str_radix(hex, 16).map_err(bad)?;
            Ok(i64::from(bits as i32))
        }
        Some(hex) => u64::from_str_radix(hex, 16)
            .map(|bits| bits as i64)
            .map_err(bad),
        None => digits.parse().map_err(bad),
    }
}

fn signed(sign: char, value: &Json) -> Result<Json, String> {
    if let (Some(float), false) = (value.as_f64(), value.is_i64()) {
        return Ok(Json::from(if sign == '-' { -float } else { float }));
    }
    let number = as_integer(value)?;
    Ok(match sign {
        '-' => Json::from(number.wrapping_neg()),
        '~' => Json::from(!number),
        '!' => Json::from(number == 0),
        _ => Json::from(number),
    })
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

fn chain(mut operands: Vec<Json>, operators: &[Rule]) -> Result<Json, String> {
    let mut operators = operators.to_vec();
    while !operators.is_empty() {
        let strongest = operators.iter().map(|one| precedence(*one)).max();
        let at = operators
            .iter()
            .position(|one| Some(precedence(*one)) == strongest)
            .unwrap_or(0);
        let (operator, right) = (operators.remove(at), operands.remove(at + 1));
        operands[at] = apply(operator, &operands[at], &right)?;
    }
    Ok(operands.remove(0))
}

fn apply(operator: Rule, left: &Json, right: &Json) -> Result<Json, String> {
    if let (Some(left), Some(right), Rule::plus) = (left.as_str(), right.as_str(), operator) {
        return Ok(Json::from(format!("{left}{right}")));
    }
    let (a, b) = (as_integer(left)?, as_integer(right)?);
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    let number = match operator {
        Rule::times => a.checked_mul(b),
        Rule::divide => a.checked_div(b),
        Rule::modulo => a.checked_rem(b),
        Rule::plus => a.checked_add(b),
        Rule::minus => a.checked_sub(b),
        Rule::left => a.checked_shl(shift),
        Rule::right => a.checked_shr(shift),
        Rule::bit_and => Some(a & b),
        Rule::bit_xor => Some(a ^ b),
        Rule::bit_or => Some(a | b),
        _ => return Ok(Json::from(compare(operator, a, b))),
    };
    number
        .map(Json::from)
        .ok_or_else(|| "a constant overflows or divides by 0".to_string())
}

fn compare(operator: Rule, a: i64, b: i64) -> bool {
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
