use super::*;

fn known(values: &[&str]) -> KnownSecrets {
    let mut known = KnownSecrets::default();
    known.add(values.iter().map(|value| (*value).to_owned()));
    known
}

#[test]
fn a_value_is_masked_everywhere() {
    let known = known(&["sk-ant-0123456789", "sk-ant-0123456789-longer"]);
    assert_eq!(known.mask("X=sk-ant-0123456789 \"sk-ant-0123456789-longer\""), "X=**** \"****\"");
    assert!(known.is_in("https://h/?k=sk-ant-0123456789"));
    assert!(matches!(known.mask("nothing here"), Cow::Borrowed(_)));
}

#[test]
fn ordinary_values_are_not_masked() {
    let known =
        known(&["basic", "true", "/home/ann/.keys1", "32000", "2024-01-01", "https://h/1", "development", "a1"]);
    assert!(known.is_empty(), "{:?}", known.values);
}

#[test]
fn each_long_line_of_a_block_is_masked() {
    let known = known(&[
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASC1234567890abcdef\n-----END PRIVATE KEY-----",
    ]);
    assert_eq!(known.mask("MIIEvQIBADANBgkqhkiG9w0BAQEF"), MASK);
    assert_eq!(known.mask("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
}

#[test]
fn bytes_are_blanked_in_place() {
    let known = known(&["secret-value-1"]);
    let mut bytes = b"\0a=secret-value-1;b=secret-value-1".to_vec();
    assert_eq!(known.blank(&mut bytes), [(3, 17), (20, 34)]);
    assert_eq!(bytes, b"\0a=**************;b=**************");
}
