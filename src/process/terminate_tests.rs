use super::*;

fn entry(pid: i32, group: i32, session: i32) -> ProcessInfo {
    ProcessInfo { pid, parent: 1, group, session, start: 7, zombie: false }
}

/// No system has pids this high, so no real process is meant.
const LEADER: i32 = i32::MAX - 7;

#[test]
fn a_group_that_was_empty_once_is_not_trusted_again() {
    let mut tree = ProcessTree::new("unused-id", LEADER, Some(5), true);
    let member = entry(LEADER - 1, LEADER, LEADER);
    assert_eq!(tree.members(std::slice::from_ref(&member)), std::slice::from_ref(&member));
    assert_eq!(tree.group(), Some(LEADER));

    assert_eq!(tree.members(&[]), []);
    assert_eq!(tree.group(), None);
    let stranger = entry(LEADER - 2, LEADER, LEADER);
    assert_eq!(tree.members(&[stranger]), [], "the number may have been reused");
    assert_eq!(tree.members(std::slice::from_ref(&member)), [member], "a member known by its start time stays one");
}

#[test]
fn a_session_keeps_its_number_while_one_of_its_groups_lives() {
    let mut tree = ProcessTree::new("unused-id", LEADER, Some(5), true);
    let job = entry(LEADER - 1, LEADER - 1, LEADER);
    assert_eq!(tree.members(std::slice::from_ref(&job)), [job]);
    assert_eq!(tree.group(), Some(LEADER));
}

#[test]
fn one_empty_scan_is_not_enough() {
    let one_member = Targets { members: vec![entry(LEADER, LEADER, LEADER)], group: None };
    let mut scans = vec![Targets::default(), Targets::default(), one_member, Targets::default()];
    assert_eq!(terminate_blocking(|| scans.pop().unwrap(), Duration::ZERO), 0);
    assert!(scans.is_empty(), "it scanned again after the first empty scan");
}
