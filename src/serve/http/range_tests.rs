use proptest::prelude::*;

use super::*;

#[test]
fn each_form_of_a_range_names_its_bytes() {
    for (header, range) in [
        ("bytes=0-0", 0..1),
        ("bytes=2-4", 2..5),
        ("bytes=2-", 2..10),
        ("bytes=-3", 7..10),
        ("bytes=-99", 0..10),
        ("bytes=8-99999999999999999999999999", 8..10),
        ("BYTES=1-1", 1..2),
    ] {
        assert_eq!(parse(header, 10), Ok(range), "{header}");
    }
}

#[test]
fn other_ranges_are_refused() {
    for header in [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=a-b",
        "bytes=5-4",
        "bytes=10-",
        "bytes=10-12",
        "bytes=-0",
        "bytes=0-1,3-4",
        "lines=0-1",
        "bytes=+1-2",
        "bytes=0x1-2",
        "bytes=99999999999999999999999-",
    ] {
        assert_eq!(parse(header, 10), Err(Unsatisfiable), "{header}");
    }
    assert_eq!(parse("bytes=0-", 0), Err(Unsatisfiable), "nothing is in an empty content");
}

proptest! {
    #[test]
    fn no_header_names_bytes_outside_the_content(header in "bytes=[0-9-]{0,24}|\\PC*", length in 0_usize..1000) {
        if let Ok(range) = parse(&header, length) {
            prop_assert!(range.start < range.end && range.end <= length);
        }
    }
}
