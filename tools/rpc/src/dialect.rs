// SPDX-License-Identifier: Apache-2.0
//! How parcels of the driver differ between Android releases: in the header of a call, and in what
//! follows a binder. A program reads only those of its own release; rsbinder writes the newest, and
//! the differences are made good here.
use anybinder_driver::abi::OBJECT_SIZE;
use anybinder_driver::level::{Level, Stability, StabilityForm};
use anybinder_driver::parcel::{word, Speaker, SYSTEM_HEADER};
use anybinder_servicemanager::LEVEL_TRANSACTION;
use rsbinder::{Parcel, ProcessState, RemoteProxy, SIBinder, StatusCode};
use std::sync::atomic::{AtomicI32, Ordering};

type Result<T> = std::result::Result<T, StatusCode>;

/// The first word of an old header, the policy of strict mode, and "no work source".
const STRICT_MODE: u32 = 0x40_0000;
const NO_WORK_SOURCE: u32 = u32::MAX;

/// What rsbinder writes, and reads as well as Android 12's.
const FORM: StabilityForm = StabilityForm::Plain;

/// How a program writes and reads parcels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub form: Form,
    /// The header word of its libbinder, where the form has one.
    pub word: i32,
}

/// What the level of a program decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One word before the descriptor of a call, no stability behind a binder.
    Android9,
    /// Two words, no stability.
    Android10,
    /// Three words; the stability is the high byte of a word whose low byte is a version.
    Android12,
    /// Android 11, and 13 and newer: three words; the stability is a word.
    #[default]
    Plain,
}

/// Frees nothing: the bytes are the caller's.
fn keep(_: Option<&Parcel>, _: u64, _: usize, _: u64, _: usize) -> Result<()> {
    Ok(())
}

/// The binder of a `flat_binder_object` of a received parcel. rsbinder reads one only with a
/// stability behind it.
pub fn bare_binder(flat: &[u8; OBJECT_SIZE]) -> Result<Option<SIBinder>> {
    let mut data = [0; OBJECT_SIZE + 4];
    data[..OBJECT_SIZE].copy_from_slice(flat);
    let stability = Stability::SYSTEM.word(FORM).unwrap_or(0);
    data[OBJECT_SIZE..].copy_from_slice(&stability.to_le_bytes());
    let mut offsets = [0];
    // SAFETY: both arrays outlive the parcel and are used by nothing else; the object is no file,
    // or else a file that the caller's parcel has open, and is not read as one.
    let mut parcel = unsafe {
        Parcel::from_ipc_parts(
            data.as_mut_ptr(),
            data.len(),
            offsets.as_mut_ptr(),
            offsets.len(),
            keep,
        )
    };
    parcel.read()
}

impl From<Level> for Form {
    fn from(level: Level) -> Form {
        match level {
            Level::A9 => Form::Android9,
            Level::A10 => Form::Android10,
            Level::A12 => Form::Android12,
            _ => Form::Plain,
        }
    }
}

impl Default for Dialect {
    /// The dialect of the newest programs, with the header word that the service manager takes.
    fn default() -> Dialect {
        Dialect {
            form: Form::default(),
            word: header_word(),
        }
    }
}

impl From<Level> for Dialect {
    fn from(level: Level) -> Dialect {
        Dialect {
            form: level.into(),
            ..Dialect::default()
        }
    }
}

impl From<Speaker> for Dialect {
    fn from(speaker: Speaker) -> Dialect {
        Dialect {
            form: speaker.level.into(),
            word: speaker.header_word,
        }
    }
}

impl Dialect {
    /// The dialect of the program that has sent a call.
    ///
    /// * `header`: what stands before the descriptor
    /// * `three_words`: which of the dialects with three words of header, but for their last
    pub fn of_header(header: &[u8], three_words: Dialect) -> Dialect {
        let form = match header.len() {
            4 => Form::Android9,
            8 => Form::Android10,
            _ if three_words.has_stability() => three_words.form,
            _ => Form::Plain,
        };
        let own_word = word(header, WORD_POSITION).map(u32::cast_signed);
        Dialect {
            form,
            word: own_word.unwrap_or(three_words.word),
        }
    }

    pub fn has_stability(self) -> bool {
        !matches!(self.form, Form::Android9 | Form::Android10)
    }

    /// Bytes of a binder in a parcel of the driver.
    pub fn binder_length(self) -> usize {
        match self.has_stability() {
            true => OBJECT_SIZE + 4,
            false => OBJECT_SIZE,
        }
    }

    /// The request of a call, with the header of the interface.
    pub fn request(self, target: &dyn RemoteProxy, descriptor: &str) -> Result<Parcel> {
        if self.has_stability() {
            return request_with(target, self.word);
        }
        let mut request = target.prepare_transact(false)?;
        request.write_u32(STRICT_MODE)?;
        if self.form == Form::Android10 {
            request.write_u32(NO_WORK_SOURCE)?;
        }
        request.write(descriptor)?;
        Ok(request)
    }

    /// Corrects what follows the binder that rsbinder has just written at the end of a parcel of
    /// the driver. At the very end of a parcel a word may be left that has no meaning.
    pub fn finish_binder(self, parcel: &mut Parcel) -> Result<()> {
        let at = parcel.data_position() - 4;
        match self.form {
            Form::Plain => Ok(()),
            Form::Android12 => {
                parcel.set_data_position(at);
                let (stability, _) = Stability::read(parcel.read()?).ok_or(StatusCode::BadType)?;
                parcel.set_data_position(at);
                parcel.write(&stability.word(StabilityForm::Category).unwrap_or(0))
            }
            Form::Android9 | Form::Android10 => {
                parcel.set_data_position(at);
                parcel.write_u32(0)?;
                parcel.set_data_position(at);
                Ok(())
            }
        }
    }
}

/// Where the header word is in a call.
pub const WORD_POSITION: usize = 8;

/// The header word of the service manager. libbinder refuses a call with a word that is not its
/// own, before it reads more of it, and rsbinder writes Android's only. So the word is found by
/// trying (`foreign`), and then used for all calls to programs whose word nobody tells.
static WORD: AtomicI32 = AtomicI32::new(SYSTEM_HEADER);

/// The header word of calls.
pub fn header_word() -> i32 {
    WORD.load(Ordering::Relaxed)
}

/// How the process writes calls that registered a service on the device which is open. None where
/// the service manager does not tell: another than ours, which takes any word.
pub fn registrant(name: &str) -> Option<Speaker> {
    let manager = ProcessState::as_self().context_object().ok()?;
    let proxy = manager.as_proxy()?;
    let mut request = proxy.prepare_transact(false).ok()?;
    request.write(name).ok()?;
    let reply = proxy.submit_transact(LEVEL_TRANSACTION, &request, 0).ok()?;
    let mut reply = reply?;
    Some(Speaker {
        level: reply.read::<String>().ok()?.parse().ok()?,
        header_word: reply.read().ok()?,
    })
}

/// A request with the header of an interface, and with that word or one that is tried.
pub fn request_with(target: &dyn RemoteProxy, word: i32) -> Result<Parcel> {
    let mut request = target.prepare_transact(true)?;
    if word != SYSTEM_HEADER {
        let end = request.data_position();
        request.set_data_position(WORD_POSITION);
        request.write_u32(word.cast_unsigned())?;
        request.set_data_position(end);
    }
    Ok(request)
}

/// Has calls from now on made with the word of the service manager.
pub fn use_for_all(word: i32) {
    WORD.store(word, Ordering::Relaxed);
}
