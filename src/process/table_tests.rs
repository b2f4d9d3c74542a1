use super::*;

#[cfg(target_os = "linux")]
#[test]
fn a_name_cannot_forge_the_fields_after_it() {
    let stat = b"42 (a) S 1 (x) R 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n";
    let entry = system::parse_stat(stat).unwrap();
    assert_eq!((entry.pid, entry.parent, entry.group, entry.session, entry.start), (42, 7, 8, 9, 12345));
    assert_eq!(system::parse_stat(b"garbage"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn we_find_ourselves_and_a_wrong_start_time_is_somebody_else() {
    let pid = i32::try_from(std::process::id()).unwrap();
    let me = get(pid).unwrap();
    assert!(all().contains(&me));
    assert!(!signal(pid, me.start + 1, Signal::TERM), "a signal must not reach a process with another start time");
    assert!(!boot_id().is_empty());
}

#[test]
fn a_ps_listing_is_read() {
    let listing = "  12     1    12 Ss   Mon Nov 16 06:37:30 2026\n  13 12 12 Z Mon Nov 16 06:37:31 2026\nnonsense\n";
    let entries = parse_ps(listing);
    assert_eq!(entries.len(), 2);
    assert_eq!((entries[0].pid, entries[0].parent, entries[0].group, entries[0].zombie), (12, 1, 12, false));
    assert!(entries[1].zombie && entries[0].start != entries[1].start);
}

#[test]
fn descent_is_found_in_any_order() {
    let entry = |pid, parent| Entry { pid, parent, group: 0, session: 0, start: 0, zombie: false };
    let entries = [entry(4, 3), entry(3, 2), entry(2, 1), entry(9, 8)];
    assert_eq!(descendants(&entries, &HashSet::from([1])), HashSet::from([2, 3, 4]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_nobody_reaped_is_still_of_its_group() {
    use std::os::unix::process::CommandExt as _;
    let start = |program: &str| std::process::Command::new(program).arg("1000").process_group(0).spawn().unwrap();
    let mut child = start("sleep");
    let group = i32::try_from(child.id()).unwrap();
    assert!(group_exists(group) && !get(group).unwrap().zombie);
    child.kill().unwrap();
    while !get(group).unwrap().zombie {
        std::thread::yield_now();
    }
    assert!(group_exists(group));
    child.wait().unwrap();
    assert!(!group_exists(group));
}

#[test]
fn our_own_group_and_init_are_never_signalled() {
    assert!(!signal_group(0, Signal::TERM) && !signal_group(1, Signal::TERM) && !signal_group(-5, Signal::TERM));
}
