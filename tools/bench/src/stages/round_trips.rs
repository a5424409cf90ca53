// SPDX-License-Identifier: Apache-2.0
//! Puts what the two ends and the driver recorded into one row for each round trip.
use super::recorder::{Record, Stage};
use crate::figures::median;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The stages of a round trip, in the order in which it passes them.
pub const STAGES: [&str; 15] = [
    "C_SEND", "K_IOC", "K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY", "S_RECV", "S_REPLY", "K_IOC",
    "K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY", "C_RECV", "C_EXIT",
];

/// A step: from one stage to the next.
#[derive(Serialize)]
pub struct Step {
    #[serde(rename = "step")]
    pub name: String,
    pub avg_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Of the sum of all p50s: averages are those of the few calls in which something else ran.
    pub share: f64,
}

/// What the two ends recorded.
#[derive(Deserialize)]
pub struct Ends {
    /// Thread ids.
    client: i32,
    server: i32,
    /// C_SEND, S_RECV, S_REPLY, C_RECV, C_EXIT of each call.
    rows: Vec<[u64; 5]>,
}

impl Ends {
    /// The median of the round trips; None if there are none.
    pub fn round_trip_us(&self) -> Option<f64> {
        let times = self
            .rows
            .iter()
            .map(|row| (row[4] - row[0]) as f64 / 1000.0);
        median(times.collect())
    }
}

/// A round trip: the time of each of STAGES, CLOCK_MONOTONIC in ns.
pub type Row = [u64; STAGES.len()];

/// The records of the driver, by transaction and by thread.
struct Index {
    by_transaction: HashMap<(Stage, u32), u64>,
    /// The reply to each transaction that has one.
    replies: HashMap<u32, u32>,
    /// System calls of each thread, in order of time.
    ioctls: HashMap<i32, Vec<u64>>,
}

impl Index {
    fn new(records: &[Record]) -> Self {
        let mut index = Index {
            by_transaction: HashMap::new(),
            replies: HashMap::new(),
            ioctls: HashMap::new(),
        };
        for record in records {
            if record.stage == Stage::Ioctl {
                let calls = index.ioctls.entry(record.thread).or_default();
                calls.push(record.time_ns);
                continue;
            }
            if record.reply_to != 0 {
                index.replies.insert(record.reply_to, record.transaction);
            }
            let key = (record.stage, record.transaction);
            index.by_transaction.insert(key, record.time_ns);
        }
        index
    }

    fn last_ioctl(&self, thread: i32, before_ns: u64) -> Option<u64> {
        let calls = self.ioctls.get(&thread)?;
        let count = calls.partition_point(|time_ns| *time_ns <= before_ns);
        calls.get(count.checked_sub(1)?).copied()
    }

    /// The five stages of a transaction that `thread` sent.
    fn half(&self, transaction: u32, thread: i32) -> Option<[u64; 5]> {
        let at = |stage| self.by_transaction.get(&(stage, transaction)).copied();
        let write_in = at(Stage::WriteIn)?;
        Some([
            self.last_ioctl(thread, write_in)?,
            write_in,
            at(Stage::Enqueue)?,
            at(Stage::Dequeue)?,
            at(Stage::Copy)?,
        ])
    }

    /// The round trip that began with the client's transaction, if it was recorded completely.
    fn row(&self, ends: &Ends, client_row: &[u64; 5], transaction: u32) -> Option<Row> {
        let there = self.half(transaction, ends.client)?;
        let back = self.half(*self.replies.get(&transaction)?, ends.server)?;
        let [send, received, reply, returned, exit] = *client_row;
        let mut row = [0; STAGES.len()];
        row[0] = send;
        row[1..6].copy_from_slice(&there);
        row[6] = received;
        row[7] = reply;
        row[8..13].copy_from_slice(&back);
        row[13] = returned;
        row[14] = exit;
        Some(row)
    }
}

/// The rows of all round trips that were recorded completely.
pub fn join(ends: &Ends, records: &[Record]) -> Vec<Row> {
    let index = Index::new(records);
    let sent = records
        .iter()
        .filter(|record| record.stage == Stage::WriteIn && record.thread == ends.client);
    let rows = sent.filter_map(|record| {
        let count = ends.rows.partition_point(|row| row[0] <= record.time_ns);
        let client_row = ends.rows.get(count.checked_sub(1)?)?;
        if record.time_ns > client_row[3] {
            return None;
        }
        index.row(ends, client_row, record.transaction)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stage: Stage, time_ns: u64, transaction: u32, reply_to: u32, thread: i32) -> Record {
        Record {
            stage,
            time_ns,
            transaction,
            reply_to,
            thread,
        }
    }

    /// A round trip of client 1 and server 2, in which the server also frees a buffer.
    fn records() -> Vec<Record> {
        vec![
            record(Stage::Ioctl, 11, 0, 0, 1),
            record(Stage::WriteIn, 12, 5, 0, 1),
            record(Stage::Enqueue, 13, 5, 0, 1),
            record(Stage::Dequeue, 14, 5, 0, 2),
            record(Stage::Copy, 15, 5, 0, 2),
            record(Stage::Ioctl, 17, 0, 0, 2),
            record(Stage::Ioctl, 18, 0, 0, 2),
            record(Stage::WriteIn, 19, 6, 0, 2),
            record(Stage::Enqueue, 20, 6, 5, 2),
            record(Stage::Dequeue, 21, 6, 0, 1),
            record(Stage::Copy, 22, 6, 0, 1),
        ]
    }

    fn ends() -> Ends {
        Ends {
            client: 1,
            server: 2,
            rows: vec![[1, 3, 4, 6, 7], [10, 16, 17, 23, 24]],
        }
    }

    #[test]
    fn a_round_trip_is_put_together() {
        let rows = join(&ends(), &records());
        let wanted = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24];
        assert_eq!(rows, [wanted]);
    }

    #[test]
    fn a_round_trip_with_a_gap_is_left_out() {
        for missing in 0..records().len() {
            let mut some = records();
            let gone = some.remove(missing);
            // The server's first system call is not the one that replied.
            let wanted = usize::from(gone.time_ns == 17 || gone.time_ns == 18);
            assert_eq!(join(&ends(), &some).len(), wanted, "without {gone:?}");
        }
    }
}
