use super::*;

#[test]
fn words_are_joined_and_input_is_taken_as_it_is_but_for_its_end() {
    assert_eq!(said(&["Paint".into(), "it".into()]).unwrap(), "Paint it");
    assert_eq!(said(&[]).unwrap(), "");
    assert_eq!(read("one\n\n  two\n\n".as_bytes()).unwrap(), "one\n\n  two");
}

#[test]
fn input_that_says_nothing_is_no_text_or_has_no_end_is_refused() {
    for (input, sentence) in [(&b" \n\n"[..], "nothing on standard input"), (&[0xff, 0xfe, b'x'], "not text")] {
        let fault = read(input).unwrap_err();
        assert!(fault.message.contains(sentence), "{fault}");
    }
    let endless = read(io::repeat(b'x')).unwrap_err();
    assert!(endless.message.contains("more than"), "{endless}");
}
