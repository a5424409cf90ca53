// SPDX-License-Identifier: Apache-2.0
//! The data of a transaction, as far as the driver told of it.

/// More objects of a transaction than this are not told apart.
const NODES_MAX: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The first bytes of the data; none if the driver told of none.
    pub bytes: Vec<u8>,
    /// Where objects begin.
    pub objects: Vec<u32>,
    /// How long the whole data is.
    pub size: u64,
    /// Which objects of the driver the handles and addresses in the data stand for.
    pub nodes: Vec<(u64, u32)>,
}

impl Payload {
    /// Adds what an event tells: parts that do not follow each other are left out.
    pub fn add(&mut self, offset: u32, bytes: &[u8], objects: &[u32]) {
        if offset as usize == self.bytes.len() {
            self.bytes.extend_from_slice(bytes);
            self.objects.extend_from_slice(objects);
        }
    }

    pub fn add_node(&mut self, value: u64, node: u32) {
        if self.nodes.len() < NODES_MAX {
            self.nodes.push((value, node));
        }
    }

    /// The object of the driver that a handle, or the address of an object, stands for.
    pub fn node(&self, value: u64) -> Option<u32> {
        let found = self.nodes.iter().find(|(known, _)| *known == value);
        found.map(|(_, node)| *node)
    }

    /// What it takes of the memory.
    pub fn held(&self) -> usize {
        self.bytes.capacity() + 4 * self.objects.capacity() + 16 * self.nodes.capacity()
    }

    /// How many bytes at the end are not known.
    pub fn missing(&self) -> u64 {
        self.size.saturating_sub(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_data() {
        let mut payload = Payload {
            size: 70,
            ..Payload::default()
        };
        payload.add(0, &[1; 32], &[4]);
        payload.add(64, &[9; 4], &[64]);
        payload.add(32, &[2; 32], &[40]);
        assert_eq!(payload.bytes, [[1; 32], [2; 32]].concat());
        assert_eq!(
            (payload.objects.as_slice(), payload.missing()),
            (&[4, 40][..], 6)
        );
        payload.add_node(1, 7);
        assert_eq!((payload.node(1), payload.node(2)), (Some(7), None));
    }
}
