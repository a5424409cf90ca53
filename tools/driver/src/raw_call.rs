// SPDX-License-Identifier: Apache-2.0
//! Calls that a thread makes: sent, waited for, and what comes meanwhile is served.
use crate::abi::{TransactionData, TF_ONE_WAY, TF_STATUS_CODE, TYPE_FD, TYPE_HANDLE};
use crate::driver::{Driver, Event};
use crate::parcel::{objects_of, Parcel};
use rsbinder::StatusCode;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// What a reply has. Its buffer, and the handles in it, are there until it is given back
/// (`Driver::give_back`).
#[derive(Default)]
pub struct Reply {
    pub data: Vec<u8>,
    /// Where its objects are.
    pub offsets: Vec<u64>,
    /// None for that of a one-way call.
    buffer: Option<TransactionData>,
}

/// What a call comes to.
pub enum Outcome {
    Reply(Reply),
    Status(i32),
    /// The process of the object is dead.
    Dead,
    /// The driver refused the call.
    Refused,
    /// Not within the time; the thread that made the call cannot make another one.
    Hangs,
}

impl Outcome {
    /// The reply, or what libbinder has in its place.
    pub fn reply(self) -> Result<Reply, StatusCode> {
        match self {
            Outcome::Reply(reply) => Ok(reply),
            Outcome::Status(status) => Err(status.into()),
            Outcome::Dead => Err(StatusCode::DeadObject),
            Outcome::Refused => Err(StatusCode::FailedTransaction),
            Outcome::Hangs => Err(StatusCode::TimedOut),
        }
    }
}

impl Reply {
    fn objects(&self, kind: u32) -> impl Iterator<Item = u32> + '_ {
        objects_of(&self.data, &self.offsets, kind)
    }
}

/// Serves what comes while a call waits.
pub type Serve<'a> = &'a mut dyn FnMut(&mut Driver, Event);

impl Driver {
    /// Calls an object, and waits for its reply. A one-way call has an empty reply. Calls that come
    /// in meanwhile are part of this one; `serve` answers them, and takes all other events.
    ///
    /// * `flags`: `TF_ONE_WAY`, `TF_ACCEPT_FDS`
    /// * `limit`: how long to wait; None: as long as it takes
    pub fn call(
        &mut self,
        (handle, code, flags): (u32, u32, u32),
        parcel: Parcel,
        limit: Option<Duration>,
        serve: Serve,
    ) -> io::Result<Outcome> {
        self.send(handle, code, flags, parcel);
        let is_oneway = flags & TF_ONE_WAY != 0;
        let end = limit.map(|limit| Instant::now() + limit);
        loop {
            let Some(events) = self.events_until(end)? else {
                return Ok(Outcome::Hangs);
            };
            // Commands before it failed, of which the driver tells before it takes this one.
            let is_sent = !self.has_parcels();
            // All that this thread is told of what it has sent comes with one read.
            let is_over = is_sent && is_oneway && self.is_complete();
            let mut outcome = is_over.then(|| Outcome::Reply(Reply::default()));
            for event in events {
                match event {
                    Event::Reply(reply) => outcome = Some(self.outcome_of(reply)),
                    Event::Failed if !is_sent => {}
                    Event::Failed if self.was_dead() => outcome = Some(Outcome::Dead),
                    Event::Failed => outcome = Some(Outcome::Refused),
                    other => serve(self, other),
                }
            }
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    fn outcome_of(&mut self, buffer: TransactionData) -> Outcome {
        let (data, offsets) = self.contents(&buffer).unwrap_or_default();
        let status = data.first_chunk().map(|word| i32::from_le_bytes(*word));
        if let Some(status) = status.filter(|_| buffer.flags & TF_STATUS_CODE != 0) {
            self.free(&buffer);
            return Outcome::Status(status);
        }
        Outcome::Reply(Reply {
            data,
            offsets,
            buffer: Some(buffer),
        })
    }

    /// Keeps the objects of a reply: takes a reference to each handle.
    pub fn keep_handles(&mut self, reply: &Reply) {
        for handle in reply.objects(TYPE_HANDLE) {
            self.acquire(handle);
        }
    }

    /// Gives the buffer of a reply back, and with it the handles that are not kept.
    pub fn give_back(&mut self, reply: &Reply) {
        if let Some(buffer) = &reply.buffer {
            self.free(buffer);
        }
    }

    /// Gives a reply back, and closes its files: for those who only read its data.
    pub fn forget(&mut self, outcome: &Outcome) {
        if let Outcome::Reply(reply) = outcome {
            for number in reply.objects(TYPE_FD) {
                // SAFETY: the driver opened it for this process, and nobody else knows of it.
                drop(unsafe { OwnedFd::from_raw_fd(number.cast_signed()) });
            }
            self.give_back(reply);
        }
    }

    /// Refuses what is called while a call waits: for those who serve nothing.
    pub fn refuse(&mut self, event: Event) {
        if let Event::Transaction(call, _) = event {
            self.free(&call);
            if call.flags & TF_ONE_WAY == 0 {
                self.reply_status(StatusCode::InvalidOperation.into());
            }
        }
    }
}
