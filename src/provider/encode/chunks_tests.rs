use proptest::prelude::*;

use super::*;

fn of(parts: &[Vec<u8>]) -> ByteChunks {
    let mut pieces = ByteChunks::default();
    parts.iter().for_each(|part| pieces.push(part.clone()));
    pieces
}

proptest! {
    #[test]
    fn equality_does_not_depend_on_the_pieces(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
        large in 1usize..100,
        most in 0usize..900,
    ) {
        let (flat, mut pieces) = (parts.concat(), of(&parts));
        prop_assert_eq!(pieces.len(), flat.len());
        prop_assert_eq!(&pieces.to_bytes()[..], &flat[..]);
        prop_assert_eq!(&pieces, &ByteChunks::from(flat.clone()));
        prop_assert_eq!(pieces.end(most), &flat[flat.len().saturating_sub(most)..]);
        let mut taken = Vec::new();
        while let Some(some) = pieces.take(large) {
            prop_assert!(!some.is_empty() && (some.len() <= large || parts.iter().any(|part| *part == some)));
            taken.extend_from_slice(&some);
            prop_assert_eq!(pieces.len(), flat.len() - taken.len());
        }
        prop_assert_eq!(taken, flat);
    }
}

#[test]
fn large_and_single_pieces_are_not_copied() {
    let (small, large) = (Bytes::from(vec![1; 10]), Bytes::from(vec![2; 1000]));
    let mut pieces = ByteChunks::default();
    for piece in [&small, &small, &large, &small] {
        pieces.push(piece.clone());
    }
    let sizes: Vec<usize> = std::iter::from_fn(|| pieces.take(100)).map(|taken| taken.len()).collect();
    assert_eq!(sizes, [20, 1000, 10]);
    let mut alone = ByteChunks::from(large.clone());
    assert_eq!(alone.to_bytes().as_ptr(), large.as_ptr());
    assert_eq!(alone.take(100).unwrap().as_ptr(), large.as_ptr());
}

#[test]
fn another_byte_is_another_body() {
    assert_ne!(of(&[vec![1], vec![2]]), of(&[vec![1, 3]]));
    assert_ne!(of(&[vec![1]]), of(&[vec![1, 2]]));
}
