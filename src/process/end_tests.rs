use super::*;

fn entry(pid: i32, group: i32, session: i32) -> Entry {
    Entry { pid, parent: 1, group, session, start: 7, zombie: false }
}

/// No system hands out numbers this high, so nobody real is ever meant.
const LEADER: i32 = i32::MAX - 7;

#[test]
fn a_group_that_was_empty_once_is_never_believed_again() {
    let mut family = Family::new("nobody-has-this-id", LEADER, Some(5), true);
    let member = entry(LEADER - 1, LEADER, LEADER);
    assert_eq!(family.members(std::slice::from_ref(&member)), std::slice::from_ref(&member));
    assert_eq!(family.group(), Some(LEADER));

    assert_eq!(family.members(&[]), []);
    assert_eq!(family.group(), None);
    let stranger = entry(LEADER - 2, LEADER, LEADER);
    assert_eq!(family.members(&[stranger]), [], "the number is somebody else's now");
    assert_eq!(family.members(std::slice::from_ref(&member)), [member], "who is known by start time stays one of us");
}

#[test]
fn a_session_keeps_its_number_while_one_of_its_groups_lives() {
    let mut family = Family::new("nobody-has-this-id", LEADER, Some(5), true);
    let job = entry(LEADER - 1, LEADER - 1, LEADER);
    assert_eq!(family.members(std::slice::from_ref(&job)), [job]);
    assert_eq!(family.group(), Some(LEADER));
}

#[test]
fn one_look_that_finds_nobody_is_not_believed() {
    let somebody = Found { members: vec![entry(LEADER, LEADER, LEADER)], group: None };
    let mut looks = vec![Found::default(), Found::default(), somebody, Found::default()];
    assert_eq!(end_blocking(|| looks.pop().unwrap(), Duration::ZERO), 0);
    assert!(looks.is_empty(), "it looked again after the first time that it found nobody");
}
