use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_log_that_is_full_makes_room_and_keeps_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join("mcp-x.log");
    let log = Log::new(path.clone());
    let block = vec![b'x'; 100_000];
    for n in 0..50 {
        log.append(format!("{n}\n").as_bytes()).unwrap();
        log.append(&block).unwrap();
    }
    log.append(b"last").unwrap();
    let files: Vec<u64> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|size| *size <= CAP), "{files:?}");
    assert!(fs::read(&path).unwrap().ends_with(b"last"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
