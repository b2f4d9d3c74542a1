use std::collections::BTreeMap;

use super::super::record;
use super::*;

fn entry(pid: i32, parent: i32, group: i32, session: i32) -> ProcessInfo {
    ProcessInfo { pid, parent, group, session, start: 100 + u64::try_from(pid).unwrap(), zombie: false }
}

fn record_of(pid: i32, start: u64) -> Record {
    let (boot, owner) = record::own_identity();
    Record { id: "x".to_owned(), command: String::new(), boot, owner, child: Some(ProcessIdentity { pid, start }) }
}

fn lineage_of(us: i32, table: &[ProcessInfo]) -> ProcessLineage {
    let table: BTreeMap<i32, ProcessInfo> = table.iter().map(|entry| (entry.pid, entry.clone())).collect();
    ProcessLineage::of(table[&us].clone(), |pid| table.get(&pid).cloned())
}

#[test]
fn a_descendant_of_a_recorded_child_is_found_whatever_session_it_is_in() {
    let table = [entry(1, 0, 1, 1), entry(10, 1, 10, 10), entry(20, 10, 20, 20), entry(30, 20, 30, 30)];
    assert!(lineage_of(30, &table).is_recorded(&[record_of(20, 120)]));
    assert!(lineage_of(20, &table).is_recorded(&[record_of(20, 120)]), "also the child itself");
    assert!(!lineage_of(30, &table).is_recorded(&[record_of(20, 999)]), "another process had that number");
    assert!(!lineage_of(30, &table).is_recorded(&[record_of(21, 121)]));
    assert!(!lineage_of(10, &table).is_recorded(&[record_of(20, 120)]), "its parent is not inside");
}

#[test]
fn an_orphan_is_found_by_its_session_and_its_group() {
    let leader_lives = [entry(1, 0, 1, 1), entry(20, 1, 20, 20), entry(30, 1, 30, 20)];
    assert!(lineage_of(30, &leader_lives).is_recorded(&[record_of(20, 120)]));
    let leader_ended = [entry(1, 0, 1, 1), entry(30, 1, 20, 20)];
    assert!(lineage_of(30, &leader_ended).is_recorded(&[record_of(20, 120)]));
    let mut abandoned = record_of(20, 120);
    abandoned.owner = ProcessIdentity { pid: 0, start: 0 };
    assert!(
        !lineage_of(30, &leader_ended).is_recorded(&[abandoned]),
        "a record of a dead owner does not vouch for a pid"
    );
}

#[test]
fn a_marker_guards_the_data_folder_that_it_names() {
    let environment = |text: &str| Some(text.replace(' ', "\0").into_bytes());
    let data = Path::new("/data/mxd");
    assert!(is_marked(environment("PATH=/bin MXD_TASK=x MXD_GUARDED=/data/mxd:/other"), data));
    assert!(is_marked(environment("MXD_RUN=x"), data), "a marker without folders guards all");
    assert!(!is_marked(environment("MXD_TASK=x MXD_GUARDED=/other"), data));
    assert!(!is_marked(environment("PATH=/bin MXD_TASK= NO_MXD_TASK=x"), data));
    assert!(!is_marked(None, data));
}

#[test]
fn this_process_is_not_inside_an_empty_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!is_inside(folder.path(), &[folder.path().join("running")]) || std::env::var_os(RUN_MARKER).is_some());
}
