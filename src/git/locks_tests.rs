use std::fs::File;

use super::*;

#[test]
fn a_lock_is_stale_when_it_is_old_closed_and_no_git_runs_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (lock, folders) = (path.join("packed-refs.lock"), [path.clone()]);
    assert!(!is_stale(&lock, &folders), "there is none");
    let open = File::create(&lock).unwrap();
    assert!(!is_stale(&lock, &folders), "it is young");
    open.set_modified(SystemTime::now() - STALE_AGE - Duration::from_secs(1)).unwrap();
    if cfg!(target_os = "linux") {
        assert!(!is_stale(&lock, &folders), "a process has it open");
    }
    drop(open);
    assert!(is_stale(&lock, &folders));
    if cfg!(target_os = "linux") {
        // A program called git that runs there may hold it without having it open.
        let git = path.join("git-sleep");
        std::os::unix::fs::symlink("/bin/sleep", &git).unwrap();
        let mut child = std::process::Command::new(&git).arg("60").current_dir(&path).spawn().unwrap();
        while !process::table::is_program_in(&path, "git").unwrap() {
            std::thread::yield_now();
        }
        assert!(!is_stale(&lock, &folders), "a git runs there");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_stale(&lock, &folders));
    }
}
