use super::*;
use crate::store::RealDisk;

#[test]
fn files_of_dead_processes_are_removed_and_those_of_live_ones_kept() {
    let folder = tempfile::tempdir().unwrap();
    // No system gives a process this number.
    let dead = format!("tree.json.{}-3{UNFINISHED}", i32::MAX);
    let ours = unfinished_name(&folder.path().join("tree.json"));
    let kept = [folder.path().join("tree.json"), folder.path().join("a.jsonl"), ours];
    for path in kept.iter().chain([&folder.path().join(&dead), &folder.path().join(format!("odd{UNFINISHED}"))]) {
        std::fs::write(path, "{}").unwrap();
    }
    sweep(&RealDisk, folder.path());
    let mut left: Vec<PathBuf> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    left.sort();
    let mut kept = kept.to_vec();
    kept.sort();
    assert_eq!(left, kept);
    sweep(&RealDisk, &folder.path().join("nowhere"));
}
