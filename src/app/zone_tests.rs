use super::*;

const ITS_OFFSET: i32 = 9_000;

/// Returns the file of a place that is two hours and a half ahead of Greenwich all the year. Every such file repeats its rule
/// in its last line.
fn place() -> Vec<u8> {
    let header = |version: u8| [b"TZif".as_slice(), &[version], &[0; 15], &[0; 16], &[0, 0, 0, 1, 0, 0, 0, 4]].concat();
    let block = [ITS_OFFSET.to_be_bytes().as_slice(), &[0, 0], b"XST\0"].concat();
    [header(b'2'), block.clone(), header(b'2'), block, b"\nXST-2:30\n".to_vec()].concat()
}

fn offset(zone: &TimeZone) -> i32 {
    zone.to_offset("2026-11-16T06:00:00Z".parse().unwrap()).seconds()
}

#[test]
fn the_file_of_the_machine_says_what_time_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("localtime");
    std::fs::write(&file, place()).unwrap();
    assert_eq!(offset(&of(None, &file)), ITS_OFFSET);
    // Who says it in the environment means that, whatever the machine is set to.
    assert_ne!(offset(&of(Some(OsStr::new("UTC")), &file)), ITS_OFFSET);
}

#[test]
fn what_cannot_be_read_is_left_to_those_who_know_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("localtime");
    std::fs::write(&file, "no time zone").unwrap();
    let usual = TimeZone::system();
    assert_eq!(of(None, &file), usual);
    assert_eq!(of(None, &folder.path().join("nowhere")), usual);
}
