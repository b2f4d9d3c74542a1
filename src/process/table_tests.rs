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
fn this_process_is_listed_and_a_wrong_start_time_gets_no_signal() {
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
fn descendants_are_found_in_any_order() {
    let entry = |pid, parent| ProcessInfo { pid, parent, group: 0, session: 0, start: 0, zombie: false };
    let entries = [entry(4, 3), entry(3, 2), entry(2, 1), entry(9, 8)];
    assert_eq!(descendants(&entries, &HashSet::from([1])), HashSet::from([2, 3, 4]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_zombie_still_belongs_to_its_group() {
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

#[cfg(target_os = "linux")]
#[test]
fn a_process_in_an_exec_does_not_count_as_without_environment() {
    let stat = |state: &str, flags: u64, code_end: u64, start: u64, end: u64| {
        let zeros = |count: usize| vec!["0"; count].join(" ");
        let (before, after) = (zeros(17), zeros(22));
        format!("42 (a) {state} 1 42 42 0 -1 {flags} {before} {code_end} {after} {start} {end} 0\n").into_bytes()
    };
    assert!(!system::stat_shows_no_environment(&stat("R", 0, 0, 0, 0)), "it is becoming another program");
    assert!(!system::stat_shows_no_environment(&stat("R", 0, 0, 4096, 4096)), "the environment is being laid out");
    assert!(!system::stat_shows_no_environment(&stat("S", 0, 1024, 4096, 8192)), "it has one by now: read again");
    assert!(system::stat_shows_no_environment(&stat("S", 0, 1024, 4096, 4096)), "started with nothing");
    assert!(system::stat_shows_no_environment(&stat("Z", 0, 0, 0, 0)), "ended");
    assert!(system::stat_shows_no_environment(&stat("I", 0x0020_8040, 0, 0, 0)), "a thread of the kernel");
    assert!(system::stat_shows_no_environment(b"garbage"));
}

#[cfg(target_os = "linux")]
#[test]
fn markers_are_read_from_the_environment() {
    use std::process::Command;
    let mut bare = Command::new("/bin/sleep").arg("1000").env_clear().spawn().unwrap();
    let mut full = Command::new("/bin/sleep").arg("1000").env("MARK", "1").spawn().unwrap();
    let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
    // Both were started when `spawn` returned, and are set up soon after.
    while !system::has_no_environment(pid(&bare)) {
        thread::yield_now();
    }
    assert!(!has_marker(pid(&bare), "MARK", "1") && has_marker(pid(&full), "MARK", "1"));
    assert!(!system::has_no_environment(pid(&full)));
    for child in [&mut bare, &mut full] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
