use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]]) -> String {
    let mut decoder = Decoder::default();
    pieces.iter().map(|piece| decoder.text(&Pending { skipped: 0, bytes: piece.to_vec() })).collect()
}

#[test]
fn a_character_split_between_two_pieces_is_decoded() {
    assert_eq!(decode(&[b"a\xe6\xbc", b"\xa2b"]), "a漢b");
    assert_eq!(decode(&[b"\xff\xe6\xbc", b"\xa2b"]), "\u{fffd}漢b");
}

#[test]
fn skipped_output_is_noted() {
    let text = Decoder::default().text(&Pending { skipped: 4000, bytes: b"end".to_vec() });
    assert_eq!(text, "\n[4.0 KB not shown]\nend");
}

proptest! {
    #[test]
    fn pieces_decode_like_the_whole(text in "[a-z漢🙂é\n]{0,60}", cuts in prop::collection::vec(0_usize..200, 0..6)) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(&pieces), text);
    }

    #[test]
    fn any_bytes_survive(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        decode(&[&bytes]);
    }
}
