// SPDX-License-Identifier: Apache-2.0
//! One event of a driver. The names and fields are those of the C driver's tracepoints.
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{Display, Formatter};

pub const TF_ONE_WAY: u32 = 1;
/// The reply is a status, of 32 bits.
pub const TF_STATUS_CODE: u32 = 8;
/// The data is to be cleared after use.
pub const TF_CLEAR_BUF: u32 = 0x20;

pub const BR_DEAD_REPLY: u32 = 0x7205;
pub const BR_FAILED_REPLY: u32 = 0x7211;
pub const BR_FROZEN_REPLY: u32 = 0x7212;

/// The present time by the clock of events, `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A transaction: a call or a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    pub id: u32,
    /// 0 for a reply.
    pub node: u32,
    /// 0 where the event does not say it.
    pub from_pid: i32,
    pub to_pid: i32,
    /// 0: any thread of the process.
    pub to_tid: i32,
    pub reply: bool,
    pub code: u32,
    pub flags: u32,
}

/// Nice 0 and nice 19 on the kernel's scale, where real-time priorities are 98 (the least) to 0.
const NICE_BASE: i32 = 120;
const RANK_MAX: i32 = 139;

/// How a thread is scheduled: a policy of the kernel, and with `SCHED_FIFO` and `SCHED_RR` a
/// real-time priority, with all others a nice value. The default is the ordinary one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priority {
    pub policy: u8,
    pub value: i8,
}

impl Priority {
    /// `rank` is on the kernel's scale: less is more urgent. None where that has no such priority.
    pub fn from_rank(policy: u8, rank: i32) -> Option<Self> {
        let value = match policy {
            1 | 2 => 99 - rank,
            _ => rank - NICE_BASE,
        };
        let value = i8::try_from(value).ok().filter(|_| rank <= RANK_MAX)?;
        Some(Priority { policy, value })
    }

    fn rank(self) -> i32 {
        match self.policy {
            1 | 2 => 99 - i32::from(self.value),
            _ => NICE_BASE + i32::from(self.value),
        }
    }

    /// A word for columns: `n-10` is a nice value, `f50` is `SCHED_FIFO` 50, `r50` `SCHED_RR` 50.
    pub fn word(self) -> String {
        let value = self.value;
        match self.policy {
            1 => format!("f{value}"),
            2 => format!("r{value}"),
            3 => format!("b{value}"),
            5 => "idle".to_string(),
            6 => "dl".to_string(),
            _ => format!("n{value}"),
        }
    }

    pub fn is_below(self, other: Priority) -> bool {
        self.rank() > other.rank()
    }
}

impl Display for Priority {
    fn fmt(&self, into: &mut Formatter) -> std::fmt::Result {
        let value = self.value;
        match self.policy {
            1 => write!(into, "SCHED_FIFO {value}"),
            2 => write!(into, "SCHED_RR {value}"),
            3 => write!(into, "SCHED_BATCH nice {value}"),
            5 => write!(into, "SCHED_IDLE nice {value}"),
            6 => write!(into, "SCHED_DEADLINE"),
            _ => write!(into, "nice {value}"),
        }
    }
}

/// The variants are numbered in recordings: new ones come last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    Sent(Transaction),
    Received {
        id: u32,
    },
    /// The receiver's buffer for a transaction is reserved.
    Buffer {
        id: u32,
        data: u64,
        offsets: u64,
        extra: u64,
    },
    BufferFreed {
        id: u32,
    },
    /// With its transaction, which failed.
    BufferFailed {
        id: u32,
    },
    /// A one-way call that a newer one replaces.
    BufferOutdated {
        id: u32,
    },
    /// An object of the data was translated for the receiver.
    Object {
        id: u32,
        node: u32,
        /// What the receiver finds in the data: a handle, or the address of an object of its own.
        value: Option<u64>,
    },
    /// A part of the data of a transaction. They follow each other.
    Data {
        id: u32,
        offset: u32,
        bytes: Bytes,
        /// Where objects begin in the data.
        objects: Vec<u32>,
    },
    File {
        id: u32,
    },
    /// A return code, BR_..., is delivered to the thread: here at least those of errors.
    Return {
        code: u32,
    },
    /// The daemon alone: why a transaction failed. `errno` is negative, or 0.
    Failed {
        transaction: Transaction,
        error: u32,
        errno: i32,
        size: u32,
    },
    /// The daemon alone: whose call fails next, of which nothing else says it.
    Target {
        id: u32,
        node: u32,
    },
    /// A measured stage of a round trip (K_IOC is 0).
    Stage {
        stage: u32,
        id: u32,
        reply_to: u32,
    },
    /// Events are missing here.
    Lost {
        count: u64,
    },
    /// The priority of the caller, and the one with which the receiving thread serves the call.
    Priorities {
        id: u32,
        /// None for a one-way call, which carries none.
        caller: Option<Priority>,
        served: Priority,
    },
    /// Not of a driver: a call that was under way before the first event. Its thread is the
    /// caller's; `to_tid` is the thread that serves it.
    Begun {
        transaction: Transaction,
        /// How long ago it was sent, as far as the driver says it.
        age_ns: u64,
        size: u64,
    },
    /// A process opens a device, or had it open before the first event. Its name is told now,
    /// because it may have ended when one of its calls is shown.
    Opened {
        pid: i32,
        name: String,
    },
}

impl What {
    /// The transaction that is told whole.
    pub fn transaction(&self) -> Option<&Transaction> {
        match self {
            What::Sent(transaction)
            | What::Begun { transaction, .. }
            | What::Failed { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// The number of the transaction that it is about.
    pub fn id(&self) -> Option<u32> {
        match self {
            What::Sent(transaction)
            | What::Begun { transaction, .. }
            | What::Failed { transaction, .. } => Some(transaction.id),
            What::Received { id }
            | What::Buffer { id, .. }
            | What::BufferFreed { id }
            | What::BufferFailed { id }
            | What::BufferOutdated { id }
            | What::Object { id, .. }
            | What::Data { id, .. }
            | What::File { id }
            | What::Target { id, .. }
            | What::Stage { id, .. }
            | What::Priorities { id, .. } => Some(*id),
            What::Return { .. } | What::Lost { .. } | What::Opened { .. } => None,
        }
    }

    /// Its transaction, to be changed.
    pub fn transaction_mut(&mut self) -> Option<&mut Transaction> {
        match self {
            What::Sent(transaction)
            | What::Begun { transaction, .. }
            | What::Failed { transaction, .. } => Some(transaction),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The thread in whose call it happened; 0: in none.
    pub tid: i32,
    /// The process and the name of the thread, where the source says it.
    pub thread: Option<(i32, String)>,
    pub what: What,
}

/// What a source is asked for besides the events that make up calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// The stages of round trips, where the driver measures them.
    pub stages: bool,
    /// The data of calls, where the driver gives it.
    pub data: bool,
    /// The data of calls with `TF_CLEAR_BUF`, too.
    pub data_to_clear: bool,
    /// Less: only who calls what and when, without sizes, objects, files and priorities. Each event
    /// costs the caller some time.
    pub is_lean: bool,
}

/// Bytes; hexadecimal digits in what people read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// From an even number of hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<Bytes> {
        let pairs = digits.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        bytes.collect::<Option<Vec<u8>>>().map(Bytes)
    }

    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&self.to_hex()),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Bytes);
        }
        let digits = String::deserialize(deserializer)?;
        Bytes::from_hex(&digits).ok_or_else(|| serde::de::Error::custom("no hexadecimal digits"))
    }
}

/// The return codes by which a caller learns that its call failed.
pub fn error_name(code: u32) -> Option<&'static str> {
    match code {
        BR_DEAD_REPLY => Some("DEAD_REPLY"),
        BR_FAILED_REPLY => Some("FAILED_REPLY"),
        BR_FROZEN_REPLY => Some("FROZEN_REPLY"),
        _ => None,
    }
}
