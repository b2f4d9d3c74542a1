use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn redactor() -> Arc<Redactor> {
    let entry = serde_json::json!({
        "command": "x", "args": [], "env": {"TOKEN": "opensesame"}, "timeoutMs": 1000, "disabled": false,
    });
    Arc::new(Redactor::new(&serde_json::from_value(entry).unwrap()))
}

#[test]
fn a_secret_split_between_two_reads_is_masked() {
    let mut buffer = b"a line\nwith open".to_vec();
    assert_eq!(whole_lines(&mut buffer), b"a line\n");
    buffer.extend(b"sesame in it\n");
    let log = ServerLog::new(PathBuf::new(), redactor());
    assert_eq!(log.clean(&whole_lines(&mut buffer)), b"with **** in it\n");
    buffer.extend(vec![b'x'; LONGEST_LINE + 1]);
    assert_eq!(whole_lines(&mut buffer).len(), LONGEST_LINE + 1, "one without an end is written without waiting");
}

#[test]
fn a_full_log_is_rotated_and_the_previous_one_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join("mcp-x.log");
    let log = ServerLog::new(path.clone(), redactor());
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
