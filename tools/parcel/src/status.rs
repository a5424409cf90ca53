// SPDX-License-Identifier: Apache-2.0
//! The exception at the start of every reply of an AIDL interface.
use crate::decode::Decoder;
use crate::encode::Parcel;

/// The numbers of `android.os.Parcel`, with their names in AIDL and in texts.
const NAMES: [(i32, &str, &str); 10] = [
    (-1, "Security", "security"),
    (-2, "BadParcelable", "bad parcelable"),
    (-3, "IllegalArgument", "illegal argument"),
    (-4, "NullPointer", "null pointer"),
    (-5, "IllegalState", "illegal state"),
    (-6, "NetworkMainThread", "network on main thread"),
    (-7, "UnsupportedOperation", "unsupported operation"),
    (SERVICE_SPECIFIC, "ServiceSpecific", "service specific"),
    (-9, "Parcelable", "parcelable"),
    (-129, "TransactionFailed", "transaction failed"),
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
        let known = NAMES.iter().find(|(code, ..)| *code == self.code);
        known.map_or("unknown", |(_, _, name)| name)
    }

    /// Its name in AIDL.
    pub fn aidl_name(&self) -> &'static str {
        let known = NAMES.iter().find(|(code, ..)| *code == self.code);
        known.map_or("Unknown", |(_, name, _)| name)
    }

    /// The exception with a name of AIDL.
    pub fn named(name: &str) -> Result<Exception, String> {
        let found = NAMES.iter().find(|(_, known, _)| *known == name);
        let (code, ..) = found.ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(_, known, _)| *known).collect();
            format!(
                "there is no exception {name}; there are {}",
                names.join(", ")
            )
        })?;
        Ok(Exception {
            code: *code,
            service_code: (*code == SERVICE_SPECIFIC).then_some(0),
            message: None,
        })
    }

    /// Writes it as the beginning of a reply.
    pub fn write(&self, parcel: &mut Parcel) {
        parcel.word(self.code.cast_unsigned());
        match &self.message {
            Some(message) => parcel.string16(message),
            None => parcel.word(u32::MAX),
        }
        // No stack trace.
        parcel.word(0);
        if let Some(code) = self.service_code {
            parcel.word(code.cast_unsigned());
        }
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
