// SPDX-License-Identifier: Apache-2.0
//! A call as one line of text.
use crate::command::observing::system::text::{duration, method_name};
use anybinder_events::calls::Call;
use anybinder_events::event::Priority;
use anybinder_events::thread_names::Thread;

/// What is called: the service, or else the number of the object.
pub fn target(call: &Call) -> String {
    match &call.service {
        Some(name) => name.clone(),
        None if call.node == 0 => "?".to_string(),
        None => format!("object {}", call.node),
    }
}

fn party(thread: &Thread) -> String {
    let name = match (thread.process.is_empty(), thread.thread.is_empty()) {
        (false, _) => thread.process.as_str(),
        (true, false) => thread.thread.as_str(),
        (true, true) => "?",
    };
    match thread.tid {
        tid if tid == thread.pid || tid == 0 => format!("{name}[{}]", thread.pid),
        tid => format!("{name}[{}:{tid}]", thread.pid),
    }
}

fn passed(objects: u32, files: u32) -> String {
    let count = |count: u32, what: &str| match count {
        0 => String::new(),
        1 => format!(", 1 {what}"),
        _ => format!(", {count} {what}s"),
    };
    count(objects, "object") + &count(files, "file")
}

/// The driver in Rust does not tell sizes up to Linux 7.3.
fn bytes(size: Option<u64>) -> String {
    size.map_or("?".to_string(), |size| format!("{size} B"))
}

fn outcome(call: &Call) -> String {
    if let Some(error) = &call.error {
        let reason = call.errno.map(std::io::Error::from_raw_os_error);
        return match reason {
            Some(reason) => format!("{error} ({reason})"),
            None => error.clone(),
        };
    }
    if call.unfinished {
        return "unfinished".to_string();
    }
    if call.oneway {
        return "one-way".to_string();
    }
    let objects = passed(call.reply_objects, call.reply_files);
    bytes(call.reply_size) + &objects
}

/// With which priorities it was called and is served, unless both are ordinary.
fn priorities(call: &Call) -> String {
    let known = [call.priority, call.served_at].into_iter().flatten();
    if known.clone().all(|one| one == Priority::default()) {
        return String::new();
    }
    match (call.priority, call.served_at, call.not_inherited) {
        (Some(caller), Some(served), _) if caller == served => format!(", at {caller}"),
        (Some(caller), Some(served), true) => {
            format!(", called at {caller} and served at {served}: not inherited")
        }
        (Some(caller), Some(served), false) => {
            format!(", called at {caller} and served at {served}")
        }
        (_, Some(served), _) => format!(", served at {served}"),
        _ => String::new(),
    }
}

/// A line without its time. `method`: the name of the method, if it is known; `own_ns`: the part of
/// its time that the calls below it did not take.
pub fn line(call: &Call, method: Option<&str>, own_ns: Option<u64>) -> String {
    let interface = call.interface.as_deref().filter(|name| !name.is_empty());
    let interface = interface.map_or(String::new(), |name| format!(" {name}"));
    let to = match call.to.pid {
        0 => String::new(),
        _ => format!(" -> {}", party(&call.to)),
    };
    let time = match call.duration_ns() {
        Some(time) if call.id != 0 => format!(" in {}", duration(time)),
        _ => String::new(),
    };
    let own = own_ns.map_or(String::new(), |own| {
        format!(", {} of its own", duration(own))
    });
    let begun = match call.begun_before {
        true => ", begun before the trace",
        false => "",
    };
    format!(
        "{}{to} {}{interface} {}({}{}) = {}{time}{own}{}{begun}",
        party(&call.from),
        target(call),
        method_name(method, call.code),
        bytes(call.size),
        passed(call.objects, call.files),
        outcome(call),
        priorities(call),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        let thread = |pid, tid, process: &str| Thread {
            pid,
            tid,
            process: process.to_string(),
            ..Thread::default()
        };
        Call {
            id: 1,
            from: thread(5, 5, "client"),
            to: thread(6, 7, "server"),
            service: Some("my.service".to_string()),
            interface: Some("my.IService".to_string()),
            code: 2,
            size: Some(100),
            files: 1,
            reply_size: Some(8),
            sent_ns: 1000,
            done_ns: Some(86_200),
            ..Call::default()
        }
    }

    #[test]
    fn a_line_says_who_calls_what_and_what_came_of_it() {
        assert_eq!(
            line(&call(), None, None),
            "client[5] -> server[6:7] my.service my.IService 2(100 B, 1 file) = 8 B in 85.2 us"
        );
        let failed = Call {
            error: Some("FAILED_REPLY".to_string()),
            errno: Some(28),
            code: 0x5f50_4e47,
            service: None,
            interface: None,
            node: 4,
            ..call()
        };
        let text = line(&call(), Some("add"), Some(5_200));
        assert!(text.contains(" my.IService add(100 B"), "{text}");
        assert!(text.ends_with(" in 85.2 us, 5.2 us of its own"), "{text}");
        let begun = Call {
            begun_before: true,
            ..call()
        };
        assert!(line(&begun, None, None).ends_with(" in 85.2 us, begun before the trace"));
        let text = line(&failed, None, None);
        assert!(text.contains("object 4 ping(100 B"), "{text}");
        assert!(
            text.contains("= FAILED_REPLY (No space left on device"),
            "{text}"
        );
        let untold = Call {
            size: None,
            reply_size: None,
            ..call()
        };
        let text = line(&untold, None, None);
        assert!(text.contains(" 2(?, 1 file) = ? in 85.2 us"), "{text}");
    }
}
