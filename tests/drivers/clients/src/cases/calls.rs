// SPDX-License-Identifier: Apache-2.0
//! Plain calls, one-way calls, nested calls, and the errors that calls return.
use super::cases;
use crate::aidl::{BnPeer, IPeer};
use crate::callback::Callback;
use crate::fixture::{fails_with, holds, same, until, Failure, Fixture, Verdict, PATIENCE};
use crate::peer_process::{Peer, EXCEPTIONS};
use rsbinder::{ExceptionCode, Interface, StatusCode, Strong, FIRST_CALL_TRANSACTION};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

cases![
    a_call_returns_the_sum,
    a_call_may_take_long,
    text_survives_the_round_trip,
    the_service_answers_a_ping,
    the_descriptor_is_the_interface,
    the_service_dumps_into_a_file,
    the_service_calls_back_during_the_call,
    the_callback_may_call_the_service_again,
    peers_bounce_a_call_between_them,
    three_processes_nest_their_calls,
    one_way_calls_arrive_in_order,
    one_way_calls_do_not_wait,
    one_way_calls_to_one_object_run_one_at_a_time,
    callbacks_arrive_after_the_reply,
    each_exception_is_returned,
    service_specific_errors_are_returned,
    status_codes_are_returned,
    unknown_codes_are_refused,
    the_service_sees_who_calls,
    the_service_sees_another_user,
];

fn a_call_returns_the_sum(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for (a, b) in [(1, 2), (-1, 1), (i32::MAX, 1), (i32::MIN, -1), (0, 0)] {
        same("sum", peer.add(a, b)?, a.wrapping_add(b))?;
    }
    Ok(())
}

/// How long the long call takes, in milliseconds: with limits on the age of FUSE requests, longer
/// than they are.
const LONG_CALL: &str = "CLIENT_TESTS_LONG_CALL_MS";

fn a_call_may_take_long(fixture: &Fixture) -> Verdict {
    let milliseconds: i32 = match std::env::var(LONG_CALL) {
        Ok(text) => text.parse()?,
        Err(_) => 500,
    };
    let (_service, peer) = fixture.peer()?;
    same("callers", peer.maxConcurrent(milliseconds)?, 1)?;
    same("sum", peer.add(1, 2)?, 3)
}

fn text_survives_the_round_trip(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let long = "long ".repeat(2000);
    for text in ["", "a", "ab\0cd", "gr\u{fc}n \u{1f980} \u{4e2d}", &long] {
        same("text", peer.echo(text)?, text.to_string())?;
    }
    Ok(())
}

fn the_service_answers_a_ping(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    Ok(peer.as_binder().ping_binder()?)
}

fn the_descriptor_is_the_interface(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let binder = peer.as_binder();
    holds("the object is remote", binder.is_remote())?;
    same("descriptor", binder.descriptor(), "anybinder.test.IPeer")
}

fn the_service_dumps_into_a_file(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    let file = crate::descriptors::open_text("")?;
    let fd = rustix::io::fcntl_dupfd_cloexec(&file, 0)?;
    let binder = peer.as_binder();
    let proxy = binder.as_proxy().ok_or("not a proxy")?;
    proxy.dump(fd, &["one".to_string(), "two".to_string()])?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    let wanted = format!("peer {} one,two\n", service.pid());
    same("dump", crate::descriptors::read_text(&file)?, wanted)
}

fn the_service_calls_back_during_the_call(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let here = std::thread::current().id();
    let callback = Callback::binder(move |value| {
        // The waiting thread itself serves the nested call.
        if std::thread::current().id() == here {
            value * 10
        } else {
            -1
        }
    });
    for value in 0..100 {
        same("answer", peer.callBack(&callback, value)?, value * 10)?;
    }
    Ok(())
}

fn the_callback_may_call_the_service_again(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let again = peer.clone();
    let callback = Callback::binder(move |value| again.add(value, 1).unwrap_or(-1));
    same("answer", peer.callBack(&callback, 41)?, 42)
}

fn peers_bounce_a_call_between_them(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let mine: Strong<dyn IPeer> = BnPeer::new_binder(Peer::default());
    for depth in [0, 1, 2, 21] {
        same("hops", peer.bounce(&peer, &mine, depth)?, depth)?;
    }
    Ok(())
}

fn three_processes_nest_their_calls(fixture: &Fixture) -> Verdict {
    let (_first, first) = fixture.peer()?;
    let (_second, second) = fixture.peer()?;
    let callback = Callback::binder({
        let second = second.clone();
        let inner = Callback::binder(|value| value + 5);
        move |value| second.callBack(&inner, value).unwrap_or(-1)
    });
    same("answer", first.callBack(&callback, 1)?, 6)?;
    same("hops", first.bounce(&first, &second, 15)?, 15)
}

fn one_way_calls_arrive_in_order(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let wanted: Vec<i32> = (0..1000).collect();
    for value in &wanted {
        peer.post(*value)?;
    }
    let posted = until(
        || peer.posted().unwrap_or_default(),
        |posted| posted.len() == wanted.len(),
    );
    same("posted", posted, wanted)
}

fn one_way_calls_do_not_wait(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    // A caller that waited for this would not come to open the gate.
    peer.postAtGate(7)?;
    same("nothing posted yet", peer.posted()?, Vec::new())?;
    peer.openGate()?;
    let posted = until(
        || peer.posted().unwrap_or_default(),
        |posted| !posted.is_empty(),
    );
    same("posted", posted, vec![7])
}

fn one_way_calls_to_one_object_run_one_at_a_time(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let start = Instant::now();
    for _ in 0..4 {
        peer.postSlowly(100)?;
    }
    let posted = until(
        || peer.posted().unwrap_or_default(),
        |posted| posted.len() == 4,
    );
    same("posted", posted, vec![100; 4])?;
    holds(
        "not all at once",
        start.elapsed() >= Duration::from_millis(400),
    )
}

fn callbacks_arrive_after_the_reply(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let (callback, log) = Callback::with_log(|value| value);
    peer.callBackLater(&callback, 200)?;
    same("events", log.events(200, PATIENCE), (0..200).collect())
}

fn each_exception_is_returned(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for (index, exception) in EXCEPTIONS.into_iter().enumerate() {
        let status = peer.throwException(index as i32, "because").unwrap_err();
        same("exception", status.exception_code(), exception)?;
        same("message", status.message(), Some("because"))?;
    }
    Ok(())
}

fn service_specific_errors_are_returned(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for code in [1, 42, -7, i32::MAX] {
        let status = peer.throwServiceSpecific(code).unwrap_err();
        same(
            "exception",
            status.exception_code(),
            ExceptionCode::ServiceSpecific,
        )?;
        same("code", status.service_specific_error(), code)?;
    }
    Ok(())
}

fn status_codes_are_returned(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for code in [
        StatusCode::NameNotFound,
        StatusCode::PermissionDenied,
        StatusCode::BadType,
        StatusCode::NoMemory,
    ] {
        fails_with("fail", peer.fail(code.into()), code)?;
    }
    same("the next call", peer.add(1, 1)?, 2)
}

fn unknown_codes_are_refused(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let binder = peer.as_binder();
    let proxy = binder.as_proxy().ok_or("not a proxy")?;
    let data = proxy.prepare_transact(true)?;
    let got = proxy.submit_transact(FIRST_CALL_TRANSACTION + 9999, &data, 0);
    same("status", got.err(), Some(StatusCode::UnknownTransaction))
}

fn the_service_sees_who_calls(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    same(
        "pid of the caller",
        peer.callingPid()?,
        std::process::id() as i32,
    )?;
    let uid = rustix::process::geteuid().as_raw() as i32;
    same("uid of the caller", peer.callingUid()?, uid)?;
    same("pid of the service", peer.pid()?, service.pid())
}

fn the_service_sees_another_user(fixture: &Fixture) -> Verdict {
    const OTHER_USER: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        let why = "only root can be another user";
        return Err(Failure::Skipped(why.to_string()));
    }
    let (service, _peer) = fixture.peer()?;
    // A kernel's binderfs creates its devices for root only.
    let for_all = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(fixture.device("binder"), for_all)?;
    let client = fixture
        .role("who-am-i")?
        .args(["--name", &service.name])
        .uid(OTHER_USER)
        .gid(OTHER_USER)
        .stdout(Stdio::piped())
        .spawn()?;
    let pid = client.id();
    let words = String::from_utf8(client.wait_with_output()?.stdout)?;
    same("pid and uid", words.trim(), &format!("{pid} {OTHER_USER}"))
}
