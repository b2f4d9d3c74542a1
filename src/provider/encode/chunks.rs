//! The bytes of a request as a list of shared pieces. Cloning a request of a hundred megabytes copies only the list.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// A sequence of bytes in pieces.
#[derive(Clone, Debug, Default)]
pub struct ByteChunks {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl ByteChunks {
    pub fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns all bytes in one piece. Copies them unless there is only one piece.
    pub fn to_bytes(&self) -> Bytes {
        if let (Some(one), 1) = (self.pieces.front(), self.pieces.len()) {
            return one.clone();
        }
        let mut whole = BytesMut::with_capacity(self.len);
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        whole.freeze()
    }

    /// Returns at most the last `most` bytes.
    pub fn end(&self, most: usize) -> Vec<u8> {
        let mut from = self.len.saturating_sub(most);
        let mut end = Vec::with_capacity(most.min(self.len));
        for piece in &self.pieces {
            end.extend_from_slice(&piece[from.min(piece.len())..]);
            from = from.saturating_sub(piece.len());
        }
        end
    }

    /// Removes the next bytes from the front: a large piece as it is, or small ones joined up to `large` bytes, to save
    /// writes.
    pub fn take(&mut self, large: usize) -> Option<Bytes> {
        let mut sum = 0;
        let fits = |piece: &&Bytes| {
            sum += piece.len();
            sum <= large
        };
        let count = self.pieces.iter().take_while(fits).count();
        let taken = if count > 1 {
            let together = self.pieces.iter().take(count).map(Bytes::len).sum();
            let mut bytes = BytesMut::with_capacity(together);
            self.pieces.drain(..count).for_each(|piece| bytes.extend_from_slice(&piece));
            bytes.freeze()
        } else {
            self.pieces.pop_front()?
        };
        self.len -= taken.len();
        Some(taken)
    }
}

impl<T: Into<Bytes>> From<T> for ByteChunks {
    fn from(whole: T) -> Self {
        let mut pieces = Self::default();
        pieces.push(whole);
        pieces
    }
}

/// Compares the bytes, however they are split.
impl PartialEq for ByteChunks {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.pieces.iter().flatten().eq(other.pieces.iter().flatten())
    }
}

impl Eq for ByteChunks {}

#[cfg(test)]
#[path = "chunks_tests.rs"]
mod tests;
