//! The bytes of a request, in pieces that are shared with the segments they come from. A request of a hundred megabytes is
//! a list, and retrying it copies a list.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes in order, in as many pieces as they came in.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Pieces {
    pub fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Returns how many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns everything in one piece, which copies it unless it is one already.
    pub fn whole(&self) -> Bytes {
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

    /// Takes the next bytes off the front: a piece as it is if it is large, small ones together up to about `large` bytes,
    /// so that whoever writes them does not write them one by one.
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

impl<T: Into<Bytes>> From<T> for Pieces {
    fn from(whole: T) -> Self {
        let mut pieces = Self::default();
        pieces.push(whole);
        pieces
    }
}

/// The same bytes, however they are cut.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.pieces.iter().flatten().eq(other.pieces.iter().flatten())
    }
}

impl Eq for Pieces {}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
