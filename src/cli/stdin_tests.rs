use super::*;

#[test]
fn words_are_joined_and_input_loses_only_its_trailing_newlines() {
    assert_eq!(read_args(&["Paint".into(), "it".into()]).unwrap(), "Paint it");
    assert_eq!(read_args(&[]).unwrap(), "");
    assert_eq!(read("one\n\n  two\n\n".as_bytes()).unwrap(), "one\n\n  two");
}

#[test]
fn empty_binary_and_endless_input_is_refused() {
    for (input, sentence) in [(&b" \n\n"[..], "stdin is empty"), (&[0xff, 0xfe, b'x'], "not UTF-8 text")] {
        let fault = read(input).unwrap_err();
        assert!(fault.message.contains(sentence), "{fault}");
    }
    let endless = read(io::repeat(b'x')).unwrap_err();
    assert!(endless.message.contains("larger than"), "{endless}");
}
