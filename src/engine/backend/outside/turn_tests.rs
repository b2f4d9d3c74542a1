use super::*;

#[test]
fn a_verdict_is_read_from_the_last_line_that_states_one() {
    let read = |said: &str| done_in_text(said);
    assert_eq!(read("I did it.\nDONE passed: all tests pass"), Some((Verdict::Passed, "all tests pass".to_owned())));
    assert_eq!(read("DONE failed: no network\nSorry."), Some((Verdict::Failed, "no network".to_owned())));
    for none in ["", "done passed: x", "DONE passed:", "DONE maybe: x", "I am DONE passed: x"] {
        assert_eq!(read(none), None, "{none}");
    }
}

#[test]
fn a_total_that_falls_is_a_new_beginning() {
    let tokens = |input| Tokens { input, ..Tokens::default() };
    assert_eq!(since(tokens(30), tokens(10)), tokens(20));
    assert_eq!(since(tokens(5), tokens(10)), tokens(5));
}
