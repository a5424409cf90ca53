// SPDX-License-Identifier: Apache-2.0
//! Binder's statuses in words.
use rsbinder::{ExceptionCode, Status, StatusCode};

/// What libbinder says of a process that is frozen.
const FROZEN: i32 = i32::MIN + 9;

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
    fn a_status_is_said_in_words() {
        let text = explain(StatusCode::UnexpectedNull);
        assert_eq!(text, "something is null that must not be (UnexpectedNull)");
        assert!(explain(StatusCode::Errno(-22)).contains("Invalid argument"));
        assert!(!explain(StatusCode::Errno(i32::MIN)).is_empty());
    }
}
