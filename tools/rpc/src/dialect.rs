// SPDX-License-Identifier: Apache-2.0
//! How parcels of the driver differ between Android releases: in the header of a call, and in what
//! follows a binder. A program reads only those of its own release; rsbinder writes the newest, and
//! the differences are made good here.
use crate::header_word;
use anybinder_driver::abi::OBJECT_SIZE;
use anybinder_driver::level::{Level, Stability, StabilityForm};
use rsbinder::{Parcel, RemoteProxy, SIBinder, StatusCode};

type Result<T> = std::result::Result<T, StatusCode>;

/// The first word of an old header, the policy of strict mode, and "no work source".
const STRICT_MODE: u32 = 0x40_0000;
const NO_WORK_SOURCE: u32 = u32::MAX;

/// What rsbinder writes, and reads as well as Android 12's.
const FORM: StabilityForm = StabilityForm::Plain;

/// How a program writes and reads parcels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
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

impl From<Level> for Dialect {
    fn from(level: Level) -> Dialect {
        match level {
            Level::A9 => Dialect::Android9,
            Level::A10 => Dialect::Android10,
            Level::A12 => Dialect::Android12,
            _ => Dialect::Plain,
        }
    }
}

impl Dialect {
    /// The dialect of a call whose descriptor is behind so many bytes of header.
    ///
    /// * `three_words`: which of the dialects with three words of header
    pub fn of_header(before_descriptor: usize, three_words: Dialect) -> Dialect {
        match before_descriptor {
            4 => Dialect::Android9,
            8 => Dialect::Android10,
            _ if three_words.has_stability() => three_words,
            _ => Dialect::Plain,
        }
    }

    pub fn has_stability(self) -> bool {
        !matches!(self, Dialect::Android9 | Dialect::Android10)
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
            return header_word::request(target);
        }
        let mut request = target.prepare_transact(false)?;
        request.write_u32(STRICT_MODE)?;
        if self == Dialect::Android10 {
            request.write_u32(NO_WORK_SOURCE)?;
        }
        request.write(descriptor)?;
        Ok(request)
    }

    /// Corrects what follows the binder that rsbinder has just written at the end of a parcel of
    /// the driver. At the very end of a parcel a word may be left that has no meaning.
    pub fn finish_binder(self, parcel: &mut Parcel) -> Result<()> {
        let at = parcel.data_position() - 4;
        match self {
            Dialect::Plain => Ok(()),
            Dialect::Android12 => {
                parcel.set_data_position(at);
                let (stability, _) = Stability::read(parcel.read()?).ok_or(StatusCode::BadType)?;
                parcel.set_data_position(at);
                parcel.write(&stability.word(StabilityForm::Category).unwrap_or(0))
            }
            Dialect::Android9 | Dialect::Android10 => {
                parcel.set_data_position(at);
                parcel.write_u32(0)?;
                parcel.set_data_position(at);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_the_old_dialects() {
        for other in [Dialect::Plain, Dialect::Android12] {
            assert_eq!(Dialect::of_header(4, other), Dialect::Android9);
            assert_eq!(Dialect::of_header(8, other), Dialect::Android10);
            assert_eq!(Dialect::of_header(12, other), other);
        }
        // Programs that write three words write a stability.
        let other = Dialect::of_header(12, Dialect::Android9);
        assert_eq!(other, Dialect::Plain);
    }

    #[test]
    fn a_null_binder_has_the_form_of_its_dialect() {
        let forms: [(Dialect, &[u32]); 4] = [
            (Dialect::Android9, &[7]),
            (Dialect::Android10, &[7]),
            (Dialect::Android12, &[1, 7]),
            (Dialect::Plain, &[0, 7]),
        ];
        for (dialect, wanted) in forms {
            let mut parcel = Parcel::new();
            parcel.write(&Option::<SIBinder>::None).unwrap();
            dialect.finish_binder(&mut parcel).unwrap();
            assert_eq!(parcel.data_position(), dialect.binder_length());
            parcel.write_u32(7).unwrap();
            assert_eq!(parcel.data_size(), OBJECT_SIZE + 4 * wanted.len());
            parcel.set_data_position(OBJECT_SIZE);
            for word in wanted {
                assert_eq!(parcel.read_u32(), Ok(*word), "{dialect:?}");
            }
        }
    }
}
