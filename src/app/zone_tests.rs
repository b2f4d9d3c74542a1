use super::*;

#[test]
fn the_file_of_the_machine_says_what_time_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("localtime");
    // Two hours and a half before Greenwich all the year, in the last line, where every such file repeats its rule.
    let header = |version: u8| [b"TZif".as_slice(), &[version], &[0; 15], &[0; 16], &[0, 0, 0, 1, 0, 0, 0, 4]].concat();
    let block = [9_000_i32.to_be_bytes().as_slice(), &[0, 0], b"XST\0"].concat();
    let data = [header(b'2'), block.clone(), header(b'2'), block, b"\nXST-2:30\n".to_vec()].concat();
    std::fs::write(&file, data).unwrap();
    let moment = "2026-11-16T06:00:00Z".parse::<jiff::Timestamp>().unwrap();
    assert_eq!(of(None, &file).to_offset(moment).seconds(), 9_000);
}

#[test]
fn what_the_environment_says_and_what_cannot_be_read_are_left_to_those_who_know_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("localtime");
    std::fs::write(&file, "no time zone").unwrap();
    let usual = TimeZone::system();
    assert_eq!(of(None, &file), usual);
    assert_eq!(of(None, &folder.path().join("nowhere")), usual);
    assert_eq!(of(Some(OsStr::new("UTC")), &file), usual);
}
