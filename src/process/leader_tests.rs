use std::process::Command;
use std::time::Duration;

use super::*;
use crate::process::table;

#[allow(clippy::zombie_processes, reason = "the leader reaps it")]
fn child(script: &str) -> Pid {
    let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// As on a system without handles of processes.
fn by_thread(pid: Pid) -> Leader {
    Leader { pid, handle: None, status: None }
}

#[tokio::test]
async fn an_end_is_told_with_or_without_a_handle_and_as_often_as_it_is_asked() {
    for make in [Leader::new, by_thread] {
        let mut leader = make(child("read x </dev/null; exit 5"));
        assert_eq!(leader.wait().await.unwrap().code(), Some(5));
        assert_eq!(leader.wait().await.unwrap().code(), Some(5));
        let mut leader = make(child("kill -9 $$"));
        assert_eq!(leader.wait().await.unwrap().signal(), Some(9));
    }
}

#[tokio::test]
async fn waiting_may_be_given_up_and_taken_up_again() {
    for make in [Leader::new, by_thread] {
        let mut leader = make(child("exec sleep 1000"));
        let given_up = tokio::time::timeout(Duration::from_millis(1), leader.wait()).await;
        assert!(given_up.is_err());
        kill_process(leader.pid, Signal::TERM).unwrap();
        assert_eq!(leader.wait().await.unwrap().signal(), Some(15));
    }
}

#[tokio::test]
async fn a_child_that_nobody_looks_after_any_more_is_killed() {
    let pid = child("exec sleep 1000");
    let mut other = by_thread(pid);
    drop(Leader::new(pid));
    // It was killed; who reaped it depends on how fast it died.
    match other.wait().await {
        Ok(status) => assert_eq!(status.signal(), Some(9)),
        Err(_) => assert!(table::get(pid.as_raw_pid()).is_none()),
    }
}
