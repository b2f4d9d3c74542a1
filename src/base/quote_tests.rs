use proptest::prelude::*;

use super::*;

#[derive(Serialize)]
struct Said {
    #[serde(serialize_with = "text")]
    said: String,
    after: u8,
}

fn any() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{0,40}",
        "[\\x00-\\x1f\"\\\\/\\x7f]{0,9}",
        ".{0,12}",
        "[é€👩\u{2028}]{0,9}",
        Just("\u{80}\u{ff}".to_owned())
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_text_is_spelled_as_serde_json_spells_it(text in any()) {
        prop_assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap());
    }
}

#[test]
fn every_byte_at_every_place_of_eight_is_seen() {
    for byte in 0..=0x7f_u8 {
        for at in 0..24 {
            let mut text = b"abcdefghijklmnopqrstuvwx".to_vec();
            text[at] = byte;
            let text = String::from_utf8(text).unwrap();
            assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap(), "{byte} at {at}");
        }
    }
}

#[test]
fn long_and_short_fields_are_texts_in_a_line_and_in_a_value() {
    for length in [0, 3, LONG - 1, LONG, 10 * LONG] {
        let said = "a \"b\"\n".repeat(length).chars().take(length).collect::<String>();
        let line = serde_json::to_string(&Said { said: said.clone(), after: 7 }).unwrap();
        let plain = serde_json::json!({ "said": said, "after": 7 });
        assert_eq!(line, plain.to_string());
        assert_eq!(serde_json::to_value(Said { said, after: 7 }).unwrap(), plain);
    }
}
