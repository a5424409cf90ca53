// SPDX-License-Identifier: Apache-2.0
//! HIDL's parcels. A string or a vector is not in the data but in buffers beside it: an object in
//! the data stands for each buffer, and the driver copies the buffer and writes its new address
//! into the buffer that it belongs to, its parent.
//!
//! Layouts, from libhidl: `hidl_string` and `hidl_vec` are 16 bytes, the address (8), the count
//! (4), and whether the memory is owned (1, padded). A string has its text with a 0 byte in a
//! buffer, a vector of strings has the array of `hidl_string` in one and the texts in one each.
use crate::abi::{BUFFER_SIZE, HAS_PARENT, OBJECT_SIZE, TYPE_BINDER, TYPE_BUFFER, TYPE_HANDLE};
use crate::parcel::{put_padded, word, Binder, Parcel, Result, Target, OWN_POINTER};
use crate::receive_map::Memory;
use rsbinder::StatusCode;

/// `hidl_string` and `hidl_vec`.
const HEAD_SIZE: usize = 16;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    word(bytes, at).unwrap_or(0)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at + 4)) << 32 | u64::from(u32_at(bytes, at))
}

/// A buffer of a transaction.
struct Buffer<'a> {
    /// The number of the buffer among the objects.
    index: u64,
    address: u64,
    bytes: &'a [u8],
    /// The number of the buffer that has its address, and the place there.
    parent: Option<(u64, u64)>,
}

/// Reads the data of a transaction from its start to its end. Whatever a client sends, a read ends
/// with a status.
#[derive(Clone)]
pub struct Reader<'a> {
    data: &'a [u8],
    offsets: &'a [u64],
    memory: &'a dyn Memory,
    position: usize,
    /// How many objects were read.
    objects: usize,
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8], offsets: &'a [u64], memory: &'a dyn Memory) -> Self {
        Reader {
            data,
            offsets,
            memory,
            position: 0,
            objects: 0,
        }
    }

    /// Bytes that are of no object.
    fn plain(&mut self, size: usize) -> Result<&'a [u8]> {
        let end = self.position.saturating_add(size);
        let bytes = self.data.get(self.position..end);
        let bytes = bytes.ok_or(StatusCode::NotEnoughData)?;
        let next = self.offsets.get(self.objects).copied();
        if next.is_some_and(|offset| offset < end as u64) {
            return Err(StatusCode::BadType);
        }
        self.position = end;
        Ok(bytes)
    }

    pub fn i32(&mut self) -> Result<i32> {
        Ok(u32_at(self.plain(4)?, 0) as i32)
    }

    /// The name of the interface in front of a request: text, a 0 byte, and padding to 4 bytes.
    pub fn interface(&mut self) -> Result<&'a str> {
        let rest = &self.data[self.position.min(self.data.len())..];
        let length = rest.iter().position(|byte| *byte == 0);
        let length = length.ok_or(StatusCode::NotEnoughData)?;
        let bytes = self.plain((length + 1).next_multiple_of(4))?;
        std::str::from_utf8(&bytes[..length]).map_err(|_| StatusCode::BadType)
    }

    /// The next object; the bool is whether the driver knows it as one.
    fn object(&mut self, size: usize) -> Result<(&'a [u8], bool)> {
        let start = self.position;
        let bytes = self.data.get(start..start.saturating_add(size));
        let bytes = bytes.ok_or(StatusCode::NotEnoughData)?;
        let is_known = self.offsets.get(self.objects) == Some(&(start as u64));
        Ok((bytes, is_known))
    }

    fn is_buffer_next(&self) -> bool {
        let kind = self.data.get(self.position..).map(|rest| u32_at(rest, 0));
        kind == Some(TYPE_BUFFER) && self.offsets.get(self.objects) == Some(&(self.position as u64))
    }

    fn buffer(&mut self) -> Result<Buffer<'a>> {
        let (object, is_known) = self.object(BUFFER_SIZE)?;
        if u32_at(object, 0) != TYPE_BUFFER || !is_known {
            return Err(StatusCode::BadType);
        }
        let address = u64_at(object, 8);
        let bytes = self.memory.bytes(address, u64_at(object, 16));
        let has_parent = u32_at(object, 4) & HAS_PARENT != 0;
        let buffer = Buffer {
            index: self.objects as u64,
            address,
            bytes: bytes.ok_or(StatusCode::BadValue)?,
            parent: has_parent.then(|| (u64_at(object, 24), u64_at(object, 32))),
        };
        self.position += BUFFER_SIZE;
        self.objects += 1;
        Ok(buffer)
    }

    /// A buffer without a parent that is a string or a vector.
    fn head(&mut self) -> Result<Buffer<'a>> {
        let head = self.buffer()?;
        match head.parent.is_none() && head.bytes.len() == HEAD_SIZE {
            true => Ok(head),
            false => Err(StatusCode::BadType),
        }
    }

    /// The text of the `hidl_string` at a place in a buffer.
    fn text(&mut self, parent: &Buffer, at: usize) -> Result<String> {
        let address = u64_at(parent.bytes, at);
        let length = u32_at(parent.bytes, at + 8) as usize;
        let child = self.buffer()?;
        let is_its = child.parent == Some((parent.index, at as u64)) && child.address == address;
        match child.bytes.split_last() {
            Some((0, text)) if is_its && text.len() == length => {
                String::from_utf8(text.to_vec()).map_err(|_| StatusCode::BadValue)
            }
            _ => Err(StatusCode::BadValue),
        }
    }

    pub fn string(&mut self) -> Result<String> {
        let head = self.head()?;
        self.text(&head, 0)
    }

    /// A vector of at most so many strings.
    pub fn strings(&mut self, most: usize) -> Result<Vec<String>> {
        let head = self.head()?;
        let count = u32_at(head.bytes, 8) as usize;
        if count == 0 {
            // libhidl sends an empty buffer, other clients none.
            if self.is_buffer_next() {
                self.buffer()?;
            }
            return Ok(Vec::new());
        }
        if count > most {
            return Err(StatusCode::BadValue);
        }
        let array = self.buffer()?;
        let is_its = array.parent == Some((head.index, 0))
            && array.address == u64_at(head.bytes, 0)
            && array.bytes.len() == count * HEAD_SIZE;
        if !is_its {
            return Err(StatusCode::BadValue);
        }
        (0..count)
            .map(|number| self.text(&array, number * HEAD_SIZE))
            .collect()
    }

    /// An interface, None for null. HIDL has no stabilities.
    pub fn binder(&mut self) -> Result<Option<Binder>> {
        let (object, is_known) = self.object(OBJECT_SIZE)?;
        let pointer = u64_at(object, 8);
        let target = match (u32_at(object, 0), is_known) {
            (TYPE_HANDLE, true) => Some(Target::Handle(u32_at(object, 8))),
            (TYPE_BINDER, true) if pointer == OWN_POINTER => Some(Target::Own),
            (TYPE_BINDER, false) if pointer == 0 => None,
            _ => return Err(StatusCode::BadType),
        };
        if target.is_some() {
            self.objects += 1;
            self.position += OBJECT_SIZE;
        } else {
            self.plain(OBJECT_SIZE)?;
        }
        Ok(target.map(|target| Binder {
            target,
            stability: None,
        }))
    }
}

/// A `hidl_string` or a `hidl_vec`; the driver fills in the address.
fn head(count: usize) -> [u8; HEAD_SIZE] {
    let mut bytes = [0; HEAD_SIZE];
    bytes[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
    bytes
}

fn text(string: &str) -> Vec<u8> {
    [string.as_bytes(), &[0]].concat()
}

/// Writing HIDL.
impl Parcel {
    /// A call to an interface.
    pub fn hidl_call(interface: &str) -> Parcel {
        let mut parcel = Parcel::default();
        put_padded(&mut parcel.data, &text(interface));
        parcel
    }

    /// A reply that begins with success.
    pub fn hidl_reply() -> Parcel {
        let mut parcel = Parcel::default();
        parcel.i32(0);
        parcel
    }

    /// A buffer; returns its number among the objects.
    ///
    /// * `parent`: the number of the buffer that has its address, and the place there
    pub fn hidl_buffer(&mut self, bytes: Vec<u8>, parent: Option<(u64, usize)>) -> u64 {
        let index = self.offsets.len() as u64;
        let at = self.data.len();
        self.offsets.push(at as u64);
        let flags = if parent.is_some() { HAS_PARENT } else { 0 };
        let (parent, parent_offset) = parent.unwrap_or((0, 0));
        self.data.extend_from_slice(&TYPE_BUFFER.to_ne_bytes());
        self.data.extend_from_slice(&flags.to_ne_bytes());
        // The address is known when the parcel is sent.
        for word in [0, bytes.len() as u64, parent, parent_offset as u64] {
            self.data.extend_from_slice(&word.to_ne_bytes());
        }
        self.buffers.push((at, bytes));
        index
    }

    pub fn hidl_string(&mut self, string: &str) -> &mut Self {
        let index = self.hidl_buffer(head(string.len()).to_vec(), None);
        self.hidl_buffer(text(string), Some((index, 0)));
        self
    }

    pub fn hidl_strings(&mut self, strings: &[&str]) -> &mut Self {
        let index = self.hidl_buffer(head(strings.len()).to_vec(), None);
        let heads = strings.iter().flat_map(|string| head(string.len()));
        let array = self.hidl_buffer(heads.collect(), Some((index, 0)));
        for (number, string) in strings.iter().enumerate() {
            self.hidl_buffer(text(string), Some((array, number * HEAD_SIZE)));
        }
        self
    }

    /// A vector of structures, and in each the strings and empty vectors at these places.
    pub fn hidl_structs(&mut self, structs: &[Struct]) -> &mut Self {
        let index = self.hidl_buffer(head(structs.len()).to_vec(), None);
        let all = structs.iter().flat_map(|one| one.bytes.clone()).collect();
        let array = self.hidl_buffer(all, Some((index, 0)));
        let mut start = 0;
        for Struct { bytes, members } in structs {
            for (at, member) in members {
                let content = match member {
                    Embedded::Text(string) => text(string),
                    Embedded::Nothing => Vec::new(),
                };
                self.hidl_buffer(content, Some((array, start + at)));
            }
            start += bytes.len();
        }
        self
    }

    /// A bool or an 8-bit number, padded.
    pub fn hidl_byte(&mut self, value: u8) -> &mut Self {
        self.i32(value.into())
    }
}

/// A structure in a vector.
pub struct Struct<'a> {
    pub bytes: Vec<u8>,
    /// The strings and vectors in it, by their place.
    pub members: Vec<(usize, Embedded<'a>)>,
}

/// What a member of a structure points to.
pub enum Embedded<'a> {
    Text(&'a str),
    /// An empty vector.
    Nothing,
}

/// The count of a member of a structure, a string or a vector.
pub fn set_head(bytes: &mut [u8], at: usize, count: usize) {
    bytes[at..at + HEAD_SIZE].copy_from_slice(&head(count));
}
