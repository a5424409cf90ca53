// SPDX-License-Identifier: Apache-2.0
//! The exception at the start of every reply of an AIDL interface.
use crate::decode::Decoder;

/// The numbers of `android.os.Parcel`.
const NAMES: [(i32, &str); 10] = [
    (-1, "security"),
    (-2, "bad parcelable"),
    (-3, "illegal argument"),
    (-4, "null pointer"),
    (-5, "illegal state"),
    (-6, "network on main thread"),
    (-7, "unsupported operation"),
    (-8, "service specific"),
    (-9, "parcelable"),
    (-129, "transaction failed"),
];
const HAS_NOTED_APP_OPS: i32 = -127;
const HAS_REPLY_HEADER: i32 = -128;
const SERVICE_SPECIFIC: i32 = -8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    pub code: i32,
    /// The code of a service-specific exception.
    pub service_code: Option<i32>,
    pub message: Option<String>,
}

impl Exception {
    pub fn name(&self) -> &'static str {
        let known = NAMES.iter().find(|(code, _)| *code == self.code);
        known.map_or("unknown", |(_, name)| name)
    }
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exception {} ({}", self.code, self.name())?;
        if let Some(code) = self.service_code {
            write!(f, ", code {code}")?;
        }
        write!(f, ")")?;
        match &self.message {
            Some(message) if !message.is_empty() => write!(f, ": {message}"),
            _ => Ok(()),
        }
    }
}

/// A block that begins with its size, which counts itself.
fn skip_block(parcel: &mut Decoder) -> Result<(), String> {
    let size = parcel.word()? as usize;
    let rest = size
        .checked_sub(4)
        .ok_or_else(|| format!("a header has the size {size}"))?;
    parcel.take(rest).map(|_| ())
}

/// Reads the exception; None if there was none.
pub fn read(parcel: &mut Decoder) -> Result<Option<Exception>, String> {
    let mut code = parcel.word()? as i32;
    if code == HAS_NOTED_APP_OPS {
        skip_block(parcel)?;
        code = parcel.word()? as i32;
    }
    if code == HAS_REPLY_HEADER {
        skip_block(parcel)?;
        code = 0;
    }
    if code == 0 {
        return Ok(None);
    }
    let message = parcel.string16();
    let mut exception = Exception {
        code,
        service_code: None,
        message: None,
    };
    match message.and_then(|message| {
        exception.message = message;
        read_rest(parcel, code)
    }) {
        Ok(service_code) => exception.service_code = service_code,
        Err(_) if parcel.has_stopped() => {}
        Err(err) => return Err(err),
    }
    Ok(Some(exception))
}

/// What follows the message: the code of a service-specific exception.
fn read_rest(parcel: &mut Decoder, code: i32) -> Result<Option<i32>, String> {
    // The stack trace of a Java service.
    let trace_size = parcel.word()? as usize;
    if trace_size > 4 {
        parcel.take(trace_size - 4)?;
    }
    match code {
        SERVICE_SPECIFIC => Ok(Some(parcel.word()? as i32)),
        _ => Ok(None),
    }
}
