// SPDX-License-Identifier: Apache-2.0
//! Recordings that are whole, cut short, damaged, and of other versions.
use super::*;
use crate::event::{Priority, Transaction};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// All events of a recording, and its flaw.
fn read(path: &Path) -> Result<(Vec<Event>, Option<Flaw>)> {
    let mut names = Names::recorded();
    let mut recording = Recording::open(path, &mut names)?;
    let events = std::iter::from_fn(|| recording.next(&mut names)).collect();
    Ok((events, recording.flaw))
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("anybinder-{name}-{}", std::process::id()))
}

/// The events of a call with its reply, as the daemon tells them.
fn events_of(number: u32) -> Vec<Event> {
    let (id, reply_id) = (2 * number, 2 * number + 1);
    let sent = |id, reply| {
        What::Sent(Transaction {
            id,
            node: if reply { 0 } else { 12 },
            from_pid: 40_000,
            to_pid: 40_100,
            to_tid: 0,
            reply,
            code: 3,
            flags: 0x10,
        })
    };
    let buffer = |id| What::Buffer {
        id,
        data: 96,
        offsets: 0,
        extra: 0,
    };
    let what = [
        sent(id, false),
        buffer(id),
        What::Received { id },
        What::Priorities {
            id,
            caller: Some(Priority {
                policy: 0,
                value: (number % 40) as i8 - 20,
            }),
            served: Priority::default(),
        },
        sent(reply_id, true),
        buffer(reply_id),
        What::BufferFreed { id },
        What::Received { id: reply_id },
        What::BufferFreed { id: reply_id },
    ];
    let each = what.into_iter().zip(0..);
    each.map(|(what, at)| Event {
        time_ns: 1_000_000_000_000 + u64::from(number) * 71_003 + at * (3_001 + u64::from(id % 97)),
        tid: 40_000 + (at as i32 % 3),
        thread: None,
        what,
    })
    .collect()
}

/// A recording that ends at any byte is read as far as it goes, and said to be cut short.
#[test]
fn a_recording_may_be_cut_at_any_byte() {
    let path = scratch("cut");
    let mut recorder = Recorder::create(&path).unwrap();
    let mut events = Vec::new();
    for number in 1..4 {
        for event in events_of(number) {
            recorder.event(&event).unwrap();
            events.push(event);
        }
        recorder.write_block().unwrap();
    }
    recorder.finish().unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    let whole = std::fs::read(&path).unwrap();
    for size in 0..=whole.len() {
        std::fs::write(&path, &whole[..size]).unwrap();
        match read(&path) {
            Ok((found, is_flawed)) => {
                let count = found.len();
                assert_eq!(found, events[..count]);
                assert!(size >= FORMAT.len());
                let flaw = (size < whole.len()).then_some(Flaw::CutShort);
                assert_eq!(is_flawed, flaw, "{size}");
                assert!(flaw.is_some() || count == events.len());
            }
            Err(_) => assert!(size < FORMAT.len(), "{size}"),
        }
    }
    // The first block has another type of block than there is.
    let mut damaged = whole.clone();
    damaged[FORMAT.len() + 4] |= 0b110;
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(read(&path).unwrap(), (Vec::new(), Some(Flaw::Damaged)));
    std::fs::remove_file(&path).unwrap();
}

/// What version 2 wrote of a call and its end.
const OF_VERSION_2: [&[u8]; 5] = [
    &[0, 0],                                   // Start
    &[1, 2, 4, 0, 7, 12, 40, 60, 0, 0, 3, 16], // Sent
    &[1, 2, 6, 1, 7],                          // Received
    &[1, 2, 0, 13, 5],                         // Lost
    &[4],                                      // End
];

#[test]
fn a_recording_of_version_2_is_read() {
    let path = scratch("version-2");
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&OF_VERSION_2.concat()).unwrap();
    let block = encoder.finish().unwrap();
    let size = (block.len() as u32).to_le_bytes();
    std::fs::write(&path, [OLDER_FORMATS[1], &size, &block].concat()).unwrap();
    let (events, flaw) = read(&path).unwrap();
    // A copy has the version of the first.
    let mut names = Names::recorded();
    let recording = Recording::open(&path, &mut names).unwrap();
    let mut copy = Recorder::copy_of(&recording, &path).unwrap();
    events.iter().for_each(|event| copy.event(event).unwrap());
    copy.finish_copy(None).unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(OLDER_FORMATS[1]));
    assert_eq!(read(&path).unwrap(), (events.clone(), flaw));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(flaw, None);
    let sent = Transaction {
        id: 7,
        node: 12,
        from_pid: 20,
        to_pid: 30,
        to_tid: 0,
        reply: false,
        code: 3,
        flags: 16,
    };
    let expected = [
        (1, 2, What::Sent(sent)),
        (2, 3, What::Received { id: 7 }),
        (3, 0, What::Lost { count: 5 }),
    ];
    let expected = expected.map(|(time_ns, tid, what)| Event {
        time_ns,
        tid,
        thread: None,
        what,
    });
    assert_eq!(events, expected);
}

#[test]
fn recordings_of_other_versions_are_told_from_other_files() {
    let path = scratch("old");
    let message = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(&path).err().unwrap().to_string()
    };
    let old = message(b"{\"Start\":{\"anybinder_events\":1,\"boot_offset_ns\":0}}\n");
    assert!(old.contains("another version"), "{old}");
    assert!(message(b"anybinder events 9\n").contains("another version"));
    assert!(message(b"{}").contains("is not a recording"));
    assert!(message(b"").contains("is not a recording"));
    std::fs::remove_file(&path).unwrap();
}
