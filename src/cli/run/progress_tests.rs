use super::*;

#[test]
fn an_output_is_cut_to_its_first_lines_and_a_count() {
    assert_eq!(beginning("exit code: 0\n\n  a\n"), ["exit code: 0", "a"]);
    assert_eq!(beginning("1\n2\n3\n\n4\n5"), ["1", "2", "3", "… 2 more lines"]);
    assert_eq!(beginning(""), Vec::<String>::new());
    let long = beginning(&"x".repeat(10_000));
    assert!(long.len() == 1 && long[0].chars().count() <= OUTPUT_COLUMNS, "{long:?}");
}
