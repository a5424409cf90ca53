// SPDX-License-Identifier: Apache-2.0
//! One answer of a sequence, as a program writes it in JSON.
use anybinder_parcel::status::Exception;
use anybinder_rpc::status_text::number_of;
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
    /// The objects of the call are never released: a leak.
    pub keep: bool,
    /// The controlling program is asked.
    pub ask: bool,
    /// For so many calls, 1 if it is not said; the last step of a sequence is for all that follow.
    pub times: Option<u32>,
}

/// A null that is said is a value.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Step {
    /// The exception, if it is one.
    pub fn exception(&self) -> Result<Option<Exception>, String> {
        let Some(name) = &self.exception else {
            return Ok(None);
        };
        let mut exception = Exception::named(name)?;
        exception.message.clone_from(&self.message);
        match (&mut exception.service_code, self.code) {
            (Some(_), Some(0)) => return Err("the code 0 is no error".to_string()),
            (Some(own), Some(code)) => *own = code,
            (Some(_), None) => return Err(format!("{name} needs a code")),
            (None, Some(_)) => return Err(format!("{name} has no code")),
            (None, None) => {}
        }
        Ok(Some(exception))
    }

    /// The number of the status, if it is one.
    pub fn status(&self) -> Result<Option<i32>, String> {
        let status = self.status.as_ref();
        let text = status.map(|value| value.as_str().map_or(value.to_string(), str::to_string));
        text.map(|text| number_of(&text)).transpose()
    }
}
