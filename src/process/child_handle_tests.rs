use std::process::Command;
use std::time::Duration;

use super::*;
use crate::process::table;

#[allow(clippy::zombie_processes, reason = "the handle reaps it")]
fn child(script: &str) -> Pid {
    let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// As on a system without process handles.
fn by_thread(pid: Pid) -> ChildHandle {
    ChildHandle { pid, handle: None, status: None }
}

#[tokio::test]
async fn wait_returns_the_status_with_or_without_a_pidfd_every_time() {
    for make in [ChildHandle::new, by_thread] {
        let mut handle = make(child("read x </dev/null; exit 5"));
        assert_eq!(handle.wait().await.unwrap().code(), Some(5));
        assert_eq!(handle.wait().await.unwrap().code(), Some(5));
        let mut handle = make(child("kill -9 $$"));
        assert_eq!(handle.wait().await.unwrap().signal(), Some(9));
    }
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_resumed() {
    for make in [ChildHandle::new, by_thread] {
        let mut handle = make(child("exec sleep 1000"));
        let given_up = tokio::time::timeout(Duration::from_millis(1), handle.wait()).await;
        assert!(given_up.is_err());
        kill_process(handle.pid, Signal::TERM).unwrap();
        assert_eq!(handle.wait().await.unwrap().signal(), Some(15));
    }
}

#[tokio::test]
async fn a_dropped_child_is_killed() {
    let pid = child("exec sleep 1000");
    let mut other = by_thread(pid);
    drop(ChildHandle::new(pid));
    // It was killed; which handle reaped it depends on timing.
    match other.wait().await {
        Ok(status) => assert_eq!(status.signal(), Some(9)),
        Err(_) => assert!(table::get(pid.as_raw_pid()).is_none()),
    }
}
