// SPDX-License-Identifier: Apache-2.0
//! Which calls events make up.
use super::*;
use crate::event::{Bytes, BR_DEAD_REPLY};

/// Plays events of (thread, what), a microsecond apart, and returns all calls.
fn play(events: &[(i32, What)]) -> Vec<Call> {
    let mut assembler = Assembler::default();
    let mut names = Names::recorded();
    for (at, (tid, what)) in events.iter().enumerate() {
        let event = Event {
            time_ns: (at as u64 + 1) * 1000,
            tid: *tid,
            thread: None,
            what: what.clone(),
        };
        assembler.push(&event, &mut names);
    }
    assembler.finish()
}

fn sent(id: u32, flags: u32) -> What {
    What::Sent(Transaction {
        id,
        node: 7,
        code: 3,
        flags,
        ..Transaction::default()
    })
}

fn reply(id: u32) -> What {
    What::Sent(Transaction {
        id,
        reply: true,
        ..Transaction::default()
    })
}

fn buffer(id: u32, data: u64) -> What {
    What::Buffer {
        id,
        data,
        offsets: 8,
        extra: 0,
    }
}

fn object(id: u32, value: u64) -> What {
    What::Object {
        id,
        node: 3,
        value: Some(value),
    }
}

fn data(id: u32, bytes: &[u8]) -> What {
    What::Data {
        id,
        offset: 0,
        bytes: Bytes(bytes.to_vec()),
        objects: Vec::new(),
    }
}

/// Sent to a process.
fn sent_to(id: u32, flags: u32, from_pid: i32, to_pid: i32) -> What {
    match sent(id, flags) {
        What::Sent(sent) => What::Sent(Transaction {
            from_pid,
            to_pid,
            ..sent
        }),
        other => other,
    }
}

#[test]
fn a_thread_that_serves_nothing_may_call_for_the_only_call_under_way() {
    const CLIENT: i32 = 10;
    const SERVER: i32 = 20;
    let calls = play(&[
        (11, sent_to(1, 0, CLIENT, SERVER)),
        // Not received yet.
        (23, sent_to(2, 0, SERVER, 30)),
        (21, What::Received { id: 1 }),
        (23, sent_to(3, 0, SERVER, 30)),
        (21, sent_to(4, 0, SERVER, 30)),
        (12, sent_to(5, TF_ONE_WAY, CLIENT, SERVER)),
        (24, What::Received { id: 5 }),
        (23, sent_to(6, 0, SERVER, 30)),
        (13, sent_to(7, 0, CLIENT, SERVER)),
        (22, What::Received { id: 7 }),
        // There are two.
        (23, sent_to(8, 0, SERVER, 30)),
        (22, reply(9)),
        (23, sent_to(10, 0, SERVER, 30)),
        (31, sent_to(11, 0, 30, CLIENT)),
    ]);
    let found: HashMap<u32, (Option<u32>, bool)> = calls
        .iter()
        .map(|call| (call.id, (call.parent, call.by_other_thread)))
        .collect();
    assert_eq!(found[&2], (None, false));
    assert_eq!(found[&3], (Some(1), true));
    assert_eq!(found[&4], (Some(1), false));
    assert_eq!(found[&6], (Some(1), true));
    assert_eq!(found[&8], (None, false));
    assert_eq!(found[&10], (Some(1), true));
    assert_eq!(found[&11], (None, false));
}

#[test]
fn a_call_has_its_times_sizes_and_objects() {
    let calls = play(&[
        (1, sent(10, 0)),
        (1, buffer(10, 100)),
        (1, object(10, 4)),
        (1, What::File { id: 10 }),
        (1, data(10, &[1, 2])),
        (2, What::Received { id: 10 }),
        (2, reply(11)),
        (2, buffer(11, 4)),
        (2, object(11, 5)),
        (2, data(11, &[3])),
        (1, What::Received { id: 11 }),
        (2, What::BufferFreed { id: 10 }),
    ]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (call.id, call.reply_id, call.node, call.code),
        (10, Some(11), 7, 3)
    );
    assert_eq!((call.from.tid, call.to.tid), (1, 2));
    assert_eq!((call.sent_ns, call.received_ns), (1000, Some(6000)));
    assert_eq!((call.replied_ns, call.done_ns), (Some(7000), Some(11000)));
    assert_eq!(
        (call.freed_ns, call.duration_ns()),
        (Some(12000), Some(10000))
    );
    assert_eq!((call.size, call.reply_size), (Some(108), Some(12)));
    assert_eq!((call.objects, call.files, call.reply_objects), (1, 1, 1));
    let (request, reply) = (&call.request_data, &call.reply_data);
    assert_eq!(
        (request.bytes.as_slice(), request.missing()),
        (&[1, 2][..], 98)
    );
    assert_eq!((reply.bytes.as_slice(), reply.missing()), (&[3][..], 3));
    assert_eq!(
        (request.node(4), reply.node(5), reply.node(4)),
        (Some(3), Some(3), None)
    );
    assert!(!call.unfinished && call.error.is_none());
}

#[test]
fn nested_calls_get_their_own_replies() {
    let calls = play(&[
        (1, sent(10, 0)),
        (2, What::Received { id: 10 }),
        (2, sent(20, 0)),
        (1, What::Received { id: 20 }),
        (1, reply(21)),
        (2, What::Received { id: 21 }),
        (2, reply(11)),
        (1, What::Received { id: 11 }),
    ]);
    let inner = calls.iter().find(|call| call.id == 20).unwrap();
    let outer = calls.iter().find(|call| call.id == 10).unwrap();
    assert_eq!((inner.parent, inner.reply_id), (Some(10), Some(21)));
    assert_eq!((outer.parent, outer.reply_id), (None, Some(11)));
    assert!(calls.iter().all(|call| !call.unfinished));
}

#[test]
fn calls_made_to_serve_a_one_way_call_are_told_from_later_ones() {
    let calls = play(&[
        (1, sent(10, TF_ONE_WAY)),
        (2, What::Received { id: 10 }),
        (2, sent(20, 0)),
        (3, What::Received { id: 20 }),
        (3, reply(21)),
        (2, What::Received { id: 21 }),
        (2, What::BufferFreed { id: 10 }),
        (2, sent(22, TF_ONE_WAY)),
        (1, sent(11, TF_ONE_WAY)),
        (2, What::Received { id: 11 }),
        // The receiver keeps the buffer and takes the next call.
        (1, sent(12, 0)),
        (2, What::Received { id: 12 }),
        (2, sent(23, TF_ONE_WAY)),
        (2, reply(13)),
        (1, What::Received { id: 13 }),
    ]);
    let parent = |id| calls.iter().find(|call| call.id == id).unwrap().parent;
    assert_eq!(
        (parent(20), parent(22), parent(23)),
        (Some(10), None, Some(12))
    );
    let outer = calls.iter().find(|call| call.id == 12).unwrap();
    assert_eq!(outer.reply_id, Some(13));
}

#[test]
fn an_error_ends_the_call_that_it_belongs_to() {
    let failed = |code| What::Return { code };
    let calls = play(&[
        (1, sent(10, 0)),
        (1, sent(11, TF_ONE_WAY)),
        (1, failed(BR_DEAD_REPLY)),
        (1, failed(BR_DEAD_REPLY)),
        (3, failed(BR_DEAD_REPLY)),
    ]);
    let of = |id| calls.iter().find(|call: &&Call| call.id == id).unwrap();
    assert_eq!(of(11).done_ns, Some(3000));
    assert_eq!(of(10).done_ns, Some(4000));
    assert_eq!(of(0).from.tid, 3);
    assert!(calls
        .iter()
        .all(|call| call.error.as_deref() == Some("DEAD_REPLY")));
}

#[test]
fn a_one_way_call_ends_with_its_buffer_and_a_lost_event_leaves_calls_unfinished() {
    let calls = play(&[
        (1, sent(10, TF_ONE_WAY)),
        (2, What::Received { id: 10 }),
        (2, What::BufferFreed { id: 10 }),
        (1, sent(12, 0)),
        (0, What::Lost { count: 5 }),
        (2, reply(13)),
    ]);
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].id, calls[0].duration_ns()), (10, Some(2000)));
    assert!(calls[1].unfinished && calls[1].id == 12);
}

/// Threads end inside the calls that they serve, and their callers are told; as many others are
/// never heard of again.
#[test]
fn of_threads_that_ended_nothing_is_kept() {
    let mut assembler = Assembler::default();
    let mut names = Names::recorded();
    let mut time_ns = 0;
    let mut push = |assembler: &mut Assembler, tid, what| {
        time_ns += 1000;
        let event = Event {
            time_ns,
            tid,
            thread: None,
            what,
        };
        assembler.push(&event, &mut names);
        assembler.take(time_ns)
    };
    for number in 0..100_000 {
        let (tid, id) = (10 * number as i32, 10 * number);
        push(&mut assembler, tid + 1, sent_to(id + 1, 0, 10, 20));
        push(&mut assembler, tid + 2, What::Received { id: id + 1 });
        let code = BR_DEAD_REPLY;
        push(&mut assembler, tid + 1, What::Return { code });
        push(&mut assembler, tid + 3, sent_to(id + 2, TF_ONE_WAY, 10, 20));
        push(&mut assembler, tid + 3, What::BufferOutdated { id: id + 2 });
        push(
            &mut assembler,
            0,
            What::Target {
                id: id + 3,
                node: 7,
            },
        );
    }
    let kept = [
        assembler.open.len(),
        assembler.ages.len(),
        assembler.waiting.len(),
        assembler.serving.len(),
        assembler.served.len(),
        assembler.replies.len(),
        assembler.last_sent.len(),
        assembler.targets.len(),
    ];
    assert!(kept.iter().all(|count| *count <= SWEEP), "{kept:?}");
}

/// A call whose data has no end is given up, whatever a recording says.
#[test]
fn what_is_open_has_a_bound() {
    let mut events = vec![(1, sent(10, 0)), (1, sent(11, 0))];
    for part in 0..80 {
        events.push((
            1,
            What::Data {
                id: 10,
                offset: part << 20,
                bytes: Bytes(vec![0; 1 << 20]),
                objects: Vec::new(),
            },
        ));
    }
    let calls = play(&events);
    let told: usize = calls.iter().map(|call| call.request_data.bytes.len()).sum();
    assert!((1 << 20..=HELD_MAX).contains(&told), "{told}");
    assert!(calls.iter().all(|call| call.unfinished));
}

#[test]
fn a_call_that_began_before_ends_as_others_do() {
    let begun = |id, to_tid| What::Begun {
        transaction: Transaction {
            id,
            node: 7,
            to_pid: 20,
            to_tid,
            ..Transaction::default()
        },
        age_ns: 500,
        size: 9,
    };
    let calls = play(&[
        (1, begun(10, 2)),
        (3, begun(11, 0)),
        (2, reply(12)),
        (1, What::Received { id: 12 }),
        // Its own event comes later, or came before.
        (4, begun(13, 0)),
        (4, sent(13, 0)),
        (5, sent(14, 0)),
        (5, begun(14, 0)),
    ]);
    let of = |id| calls.iter().find(|call| call.id == id).unwrap();
    let told = |id| (of(id).begun_before, of(id).unfinished, of(id).sent_ns);
    assert_eq!(told(10), (true, false, 500));
    assert_eq!((of(10).size, of(10).duration_ns()), (Some(9), Some(3500)));
    assert_eq!(told(11), (true, true, 1500));
    assert_eq!(told(13), (false, true, 6000));
    assert_eq!(told(14), (false, true, 7000));
}
