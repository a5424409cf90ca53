// SPDX-License-Identifier: Apache-2.0
//! A call: all that its events say.
use crate::event::Priority;
use crate::payload::Payload;
use crate::thread_names::{Names, Thread};
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The numbers of the transactions; 0 if the driver told of none, as for a dead handle.
    pub id: u32,
    pub reply_id: Option<u32>,
    /// The call that its thread was serving when it made this one; or, if it served none, the only
    /// call with a reply to come that other threads of its process were serving.
    pub parent: Option<u32>,
    /// `parent` was served by another thread: this call may have been made for something else.
    pub by_other_thread: bool,
    pub from: Thread,
    pub to: Thread,
    pub node: u32,
    pub service: Option<String>,
    pub interface: Option<String>,
    pub code: u32,
    pub flags: u32,
    pub oneway: bool,
    /// The priority of the caller, and that with which the call is served, where the driver says
    /// them; a one-way call carries none.
    #[serde(serialize_with = "as_text")]
    pub priority: Option<Priority>,
    #[serde(serialize_with = "as_text")]
    pub served_at: Option<Priority>,
    /// The call is served less urgently than its caller runs.
    pub not_inherited: bool,
    /// Times of CLOCK_MONOTONIC in nanoseconds: sent, received by a thread, replied to, the reply
    /// received, the buffer of the call freed by its receiver.
    pub sent_ns: u64,
    pub received_ns: Option<u64>,
    pub replied_ns: Option<u64>,
    pub done_ns: Option<u64>,
    pub freed_ns: Option<u64>,
    /// Sizes in bytes: the data, with the buffers of its own; that of the reply. None where the
    /// driver has not told it.
    pub size: Option<u64>,
    pub reply_size: Option<u64>,
    /// Objects (handles) and files that were passed.
    pub objects: u32,
    pub files: u32,
    pub reply_objects: u32,
    pub reply_files: u32,
    pub reply_flags: u32,
    /// The data of both, if the source was asked for it.
    #[serde(skip)]
    pub request_data: Payload,
    #[serde(skip)]
    pub reply_data: Payload,
    /// What the caller got in place of a reply.
    pub error: Option<String>,
    /// Why, where the driver says it: a positive errno.
    pub errno: Option<i32>,
    /// The call was not over when the trace ended.
    pub unfinished: bool,
    /// The call was under way when the trace began: `sent_ns` is exact to a millisecond, and who
    /// received it when is not known.
    pub begun_before: bool,
}

fn as_text<S: Serializer>(priority: &Option<Priority>, into: S) -> Result<S::Ok, S::Error> {
    priority.map(|one| one.to_string()).serialize(into)
}

impl Call {
    /// From its start to its end; None while it has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        let end = match self.oneway {
            true => self.freed_ns.or(self.received_ns),
            false => self.done_ns,
        };
        Some(end?.saturating_sub(self.sent_ns))
    }

    /// The name of its service, if that was not known yet when it was sent.
    pub fn give_names(&mut self, names: &Names) {
        if self.service.is_some() {
            return;
        }
        if let Some(service) = names.service(self.node) {
            self.service = Some(service.name.clone());
            self.interface = Some(service.interface.clone());
        }
    }

    /// What it takes of the memory.
    pub fn bytes(&self) -> usize {
        let names = [&self.service, &self.interface, &self.error];
        let names: usize = names.into_iter().flatten().map(String::len).sum();
        let payloads = self.request_data.held() + self.reply_data.held();
        size_of::<Call>() + names + self.from.bytes() + self.to.bytes() + payloads
    }

    pub(super) fn is_over(&self) -> bool {
        self.done_ns.is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_over() && (self.freed_ns.is_some() || self.received_ns.is_none())
    }
}
