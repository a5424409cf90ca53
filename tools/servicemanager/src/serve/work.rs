// SPDX-License-Identifier: Apache-2.0
//! What a transaction is answered with: a reply, or work that takes too long for the thread that
//! serves.
use super::listing::{Begun, Listing};
use crate::registry::Removal;
use crate::wire::caller::Caller;
use crate::wire::reply::Reply;
use rsbinder::StatusCode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    Work(Work),
}

/// Work that is done before the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A service to be added is asked for its interfaces first (`hidl_methods::add_with_chain`).
    AskChain(PendingAdd),
    /// A list is made in slices.
    List(Box<Listing>),
    /// Callbacks are removed from many names, in slices.
    Remove(Box<Removal>),
}

/// A HIDL service that was added without its interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAdd {
    pub caller: Caller,
    pub instance: String,
    pub handle: u32,
}

impl Work {
    pub fn caller(&self) -> Caller {
        match self {
            Work::AskChain(pending) => pending.caller,
            Work::List(listing) => listing.caller,
            Work::Remove(removal) => removal.caller,
        }
    }

    /// Who is charged for it.
    pub fn charged(&self) -> u32 {
        match self {
            Work::List(listing) => listing.charged,
            _ => self.caller().charged,
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer::Reply(reply)
    }
}

impl From<StatusCode> for Answer {
    fn from(status: StatusCode) -> Answer {
        Answer::Reply(status.into())
    }
}

impl From<Begun> for Answer {
    fn from(begun: Begun) -> Answer {
        match begun {
            Begun::Done(reply) => Answer::Reply(reply),
            Begun::Long(listing) => Answer::Work(Work::List(listing)),
        }
    }
}
