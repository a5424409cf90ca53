// SPDX-License-Identifier: Apache-2.0
//! One answer of a sequence, as a program writes it in JSON.
use rsbinder::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A call of an object that a client has given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallBack {
    /// The argument, of this method or of an earlier call, that the object came as.
    pub object: String,
    pub method: String,
    #[serde(default)]
    pub arguments: Value,
}

/// What is done at a call. Without a result, an exception, a status, `dead` or `ask` it is the
/// reply of a method that returns nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    #[serde(deserialize_with = "some")]
    pub result: Option<Value>,
    pub out: Map<String, Value>,
    /// The name that AIDL has for an exception, the code of a service-specific one, and the text.
    pub exception: Option<String>,
    pub code: Option<i32>,
    pub message: Option<String>,
    /// The number of a status of libbinder, or its name.
    pub status: Option<Value>,
    /// Seconds from the call to what is done.
    pub after_s: f64,
    /// Done in front of the reply.
    pub calls: Vec<CallBack>,
    /// The process ends without a reply.
    pub dead: bool,
    /// The process ends behind the reply.
    pub dies: bool,
    /// The controlling program is asked.
    pub ask: bool,
    /// For so many calls, 1 if it is not said; the last step of a sequence is for all that follow.
    pub times: Option<u32>,
}

/// A null that is said is a value.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// libbinder's statuses by their names there.
const STATUSES: [(&str, StatusCode); 16] = [
    ("UNKNOWN_ERROR", StatusCode::Unknown),
    ("NO_MEMORY", StatusCode::NoMemory),
    ("INVALID_OPERATION", StatusCode::InvalidOperation),
    ("BAD_VALUE", StatusCode::BadValue),
    ("BAD_TYPE", StatusCode::BadType),
    ("NAME_NOT_FOUND", StatusCode::NameNotFound),
    ("PERMISSION_DENIED", StatusCode::PermissionDenied),
    ("NO_INIT", StatusCode::NoInit),
    ("ALREADY_EXISTS", StatusCode::AlreadyExists),
    ("DEAD_OBJECT", StatusCode::DeadObject),
    ("FAILED_TRANSACTION", StatusCode::FailedTransaction),
    ("UNKNOWN_TRANSACTION", StatusCode::UnknownTransaction),
    ("UNEXPECTED_NULL", StatusCode::UnexpectedNull),
    ("NOT_ENOUGH_DATA", StatusCode::NotEnoughData),
    ("WOULD_BLOCK", StatusCode::WouldBlock),
    ("TIMED_OUT", StatusCode::TimedOut),
];

/// The number of a status that is written as a number or as a name.
pub fn status_number(value: &Value) -> Result<i32, String> {
    let text = value.as_str().unwrap_or_default();
    let number = value.as_i64().or_else(|| text.parse().ok());
    let number = number.and_then(|number| i32::try_from(number).ok());
    let named = STATUSES.iter().find(|(name, _)| *name == text);
    match number.or(named.map(|(_, status)| (*status).into())) {
        Some(0) => Err("a status that is no error is no answer".to_string()),
        Some(number) => Ok(number),
        None => {
            let names: Vec<&str> = STATUSES.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Err(format!("{value} is no status: a number, or one of {names}"))
        }
    }
}

/// The name of a status, if it has one here.
pub fn status_name(number: i32) -> Option<&'static str> {
    let named = STATUSES.iter().find(|(_, one)| i32::from(*one) == number);
    named.map(|(name, _)| *name)
}
