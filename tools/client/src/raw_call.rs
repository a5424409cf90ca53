// SPDX-License-Identifier: Apache-2.0
//! Calls by raw transactions, to services that may die or hang by them.
use crate::raw_manager::RawManager;
use anybinder_cli::error::{Doing, Result};
use anybinder_driver::abi::{
    TransactionData, OBJECT_SIZE, TF_ACCEPT_FDS, TF_ONE_WAY, TF_STATUS_CODE, TYPE_FD, TYPE_HANDLE,
};
use anybinder_driver::driver::{Driver, Event, Passed};
use anybinder_driver::level::Stability;
use anybinder_driver::parcel::{word, Parcel, Speaker};
use anybinder_parcel::encode::{Object, Parcel as Plan};
use rsbinder::StatusCode;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// What a call comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The data, and where objects are.
    Reply(Vec<u8>, Vec<u64>),
    Status(i32),
    /// The process of the object is dead.
    Dead,
    /// The driver refused the call.
    Refused,
    /// Not within the time; the thread that made the call cannot make another one.
    Hangs,
}

impl RawManager<'_> {
    /// Appends what was written, and puts services and files into it. The files are to be open
    /// until it is sent.
    pub fn fill(
        &mut self,
        parcel: &mut Parcel,
        plan: &Plan,
        speaker: Speaker,
    ) -> Result<Vec<File>> {
        let base = parcel.data.len();
        parcel.data.extend_from_slice(&plan.data);
        let mut files = Vec::new();
        for (offset, object) in &plan.objects {
            let at = base + offset;
            match object {
                Object::Service(name) => {
                    let handle = self.find(name)?;
                    parcel.put_object(at, TYPE_HANDLE, 0, handle);
                    if let Some(word) = Stability::SYSTEM.word(speaker.level.stability_form()) {
                        parcel.data[at + OBJECT_SIZE..][..4].copy_from_slice(&word.to_ne_bytes());
                    }
                }
                Object::File(path) => {
                    let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
                    parcel.put_file(at, &file);
                    files.push(file);
                }
            }
        }
        Ok(files)
    }
}

/// The outcome of a reply, whose files and buffer are given back.
fn outcome_of(driver: &mut Driver, reply: &TransactionData) -> Outcome {
    let (data, offsets) = driver.contents(reply).unwrap_or_default();
    for offset in &offsets {
        let at = usize::try_from(*offset).unwrap_or(usize::MAX);
        if let (Some(TYPE_FD), Some(number)) = (word(&data, at), word(&data, at + 8)) {
            // SAFETY: the driver opened it for this process, and nobody else knows of it.
            drop(unsafe { OwnedFd::from_raw_fd(number.cast_signed()) });
        }
    }
    driver.free(reply);
    match data.first_chunk::<4>() {
        Some(status) if reply.flags & TF_STATUS_CODE != 0 => {
            Outcome::Status(i32::from_le_bytes(*status))
        }
        _ => Outcome::Reply(data, offsets),
    }
}

/// Calls an object; what it calls back meanwhile is refused. A one-way call has an empty reply.
///
/// * `limit`: how long to wait
pub fn call(
    driver: &mut Driver,
    (handle, code, is_oneway): (u32, u32, bool),
    parcel: &Parcel,
    limit: Duration,
) -> io::Result<Outcome> {
    driver.flush()?;
    let data = TransactionData {
        code,
        flags: if is_oneway { TF_ONE_WAY } else { TF_ACCEPT_FDS },
        data_size: parcel.data.len() as u64,
        offsets_size: (parcel.offsets.len() * 8) as u64,
        buffer: parcel.data.as_ptr() as u64,
        offsets: parcel.offsets.as_ptr() as u64,
        ..TransactionData::default()
    };
    driver.pass_on(Some(handle), &data, Passed::default());
    let end = Instant::now() + limit;
    loop {
        for event in driver.exchange()? {
            match event {
                Event::Reply(reply) => return Ok(outcome_of(driver, &reply)),
                Event::Failed if driver.was_dead() => return Ok(Outcome::Dead),
                Event::Failed => return Ok(Outcome::Refused),
                Event::Transaction(nested, _) => {
                    driver.free(&nested);
                    if nested.flags & TF_ONE_WAY == 0 {
                        driver.reply_status(StatusCode::InvalidOperation.into());
                    }
                }
                _ => {}
            }
        }
        if is_oneway {
            return Ok(Outcome::Reply(Vec::new(), Vec::new()));
        }
        let left = end.saturating_duration_since(Instant::now());
        if driver.has_commands() {
            continue;
        }
        if left.is_zero() {
            return Ok(Outcome::Hangs);
        }
        driver.wait(Some(left))?;
    }
}
