// SPDX-License-Identifier: Apache-2.0
//! Statuses of libbinder by their names and in words.
use rsbinder::{ExceptionCode, Status, StatusCode};

/// What libbinder says of a process that is frozen.
const FROZEN: i32 = i32::MIN + 9;

/// By their names in libbinder.
const NAMES: [(&str, StatusCode); 19] = [
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
    ("BAD_INDEX", StatusCode::BadIndex),
    ("FDS_NOT_ALLOWED", StatusCode::FdsNotAllowed),
    ("UNEXPECTED_NULL", StatusCode::UnexpectedNull),
    ("NOT_ENOUGH_DATA", StatusCode::NotEnoughData),
    ("WOULD_BLOCK", StatusCode::WouldBlock),
    ("TIMED_OUT", StatusCode::TimedOut),
    ("BAD_FD", StatusCode::BadFd),
];

/// The number of an error that is written as a number, or by its name in libbinder or in rsbinder.
pub fn number_of(text: &str) -> Result<i32, String> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let wanted = plain(text);
    let named = NAMES
        .iter()
        .find(|(name, status)| plain(name) == wanted || plain(&format!("{status:?}")) == wanted);
    match text
        .parse()
        .ok()
        .or(named.map(|(_, status)| (*status).into()))
    {
        Some(0) => Err("a status that is no error is no answer".to_string()),
        Some(number) => Ok(number),
        None => {
            let names = NAMES.map(|(name, _)| name).join(", ");
            Err(format!("{text} is no status: a number, or one of {names}"))
        }
    }
}

/// The name of a status in libbinder, if it has one.
pub fn name_of(number: i32) -> Option<&'static str> {
    let named = NAMES.iter().find(|(_, one)| i32::from(*one) == number);
    named.map(|(name, _)| *name)
}

/// A status in words, with its name.
pub fn explain(status: StatusCode) -> String {
    let words = match status {
        StatusCode::Ok => "no error",
        StatusCode::Unknown => "it does not say why",
        StatusCode::NoMemory => "it has no memory for that",
        StatusCode::InvalidOperation => "that is not possible there",
        StatusCode::BadValue => "a value is not accepted",
        StatusCode::BadType => {
            "the service has another interface, or was passed an object with another interface \
             than it takes"
        }
        StatusCode::NameNotFound => "there is nothing with this name",
        StatusCode::PermissionDenied => "permission denied",
        StatusCode::NoInit => "it is not ready",
        StatusCode::AlreadyExists => "it exists already",
        StatusCode::DeadObject => "the process of the service is dead",
        StatusCode::FailedTransaction => {
            "the driver refused the transaction (too big, malformed, or the service is frozen)"
        }
        StatusCode::UnknownTransaction => "the service does not know this transaction code",
        StatusCode::BadIndex => "an index or a code is out of range",
        StatusCode::FdsNotAllowed => {
            "files cannot be passed there; over a link they cross unix:// addresses only, and \
             only with --aidl on both ends"
        }
        StatusCode::UnexpectedNull => "something is null that must not be",
        StatusCode::NotEnoughData => "it expects more arguments, or others",
        StatusCode::WouldBlock => "it would have to wait",
        StatusCode::TimedOut => "there was no answer in time",
        StatusCode::BadFd => "a file is not open",
        StatusCode::RpcError => "the connection to the other machine does not work",
        StatusCode::ServiceSpecific(code) => return format!("error {code} of the service"),
        StatusCode::Errno(FROZEN) => "the process of the service is frozen",
        StatusCode::Errno(number) => {
            return std::io::Error::from_raw_os_error(number.wrapping_neg()).to_string();
        }
        _ => "it failed",
    };
    format!("{words} ({status:?})")
}

/// What an AIDL method answered instead of a result, in words.
pub fn explain_answer(answer: &Status) -> String {
    match (answer.exception_code(), answer.message()) {
        (ExceptionCode::TransactionFailed, _) => explain(answer.transaction_error()),
        (_, Some(message)) if !message.is_empty() => message.to_string(),
        (exception, _) => format!("exception {exception}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_or_a_name() {
        for text in ["DEAD_OBJECT", "DeadObject", "-32"] {
            assert_eq!(number_of(text), Ok(-32));
        }
        assert_eq!(number_of("UNKNOWN_ERROR"), number_of("Unknown"));
        assert_eq!(number_of("FAILED_TRANSACTION"), Ok(i32::MIN + 2));
        assert_eq!((name_of(-32), name_of(-77)), (Some("DEAD_OBJECT"), None));
        assert!(number_of("0").is_err() && number_of("NO_SUCH").is_err());
    }

    #[test]
    fn a_status_is_said_in_words() {
        let text = explain(StatusCode::UnexpectedNull);
        assert_eq!(text, "something is null that must not be (UnexpectedNull)");
        assert!(explain(StatusCode::Errno(-22)).contains("Invalid argument"));
        assert!(!explain(StatusCode::Errno(i32::MIN)).is_empty());
    }
}
