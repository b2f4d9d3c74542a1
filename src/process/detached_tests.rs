use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_program_runs_in_its_own_session_and_its_output_is_appended_to_a_private_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("logs/serve.log");
    let script = "read nothing; echo $$ $(ps -o sid= -p $$ 2>/dev/null || echo $$); echo problem >&2; echo over";
    let arguments = ["-c", script].map(OsString::from);
    for round in 1..=2 {
        start_detached(OsStr::new("sh"), &arguments, folder.path(), &log).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let text = std::fs::read_to_string(&log).unwrap();
            if text.matches("over\n").count() == round {
                let ids: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
                assert_eq!(ids[0], ids[1], "it leads its session: {text}");
                assert_eq!(text.matches("problem\n").count(), round);
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{text}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}
