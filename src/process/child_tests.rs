use super::*;
use crate::process::{GRACE, table};

fn spec(folder: &tempfile::TempDir, script: &str) -> ChildSpec {
    let source = crate::base::IdSource::new(Arc::new(crate::base::SystemClock));
    let id = crate::base::RunId::fresh(&source).to_string();
    let mut spec = ChildSpec::new(id, "sh", folder.path()).arguments(["-c", script]);
    spec.records = Some(folder.path().join("records"));
    spec.overflow_dir = Some(folder.path().join("spool"));
    spec
}

/// Returns the number of records.
fn records(folder: &tempfile::TempDir) -> usize {
    let entries = std::fs::read_dir(folder.path().join("records")).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension() == Some("json".as_ref())).count()
}

async fn run(script: &str) -> (String, ProcessExit) {
    let folder = tempfile::tempdir().unwrap();
    let process = start(spec(&folder, script)).unwrap();
    let exit = process.wait_gone().await;
    (String::from_utf8(process.output().snapshot().head).unwrap(), exit)
}

#[tokio::test]
async fn streams_are_merged_in_order_and_the_code_is_returned() {
    let (text, exit) = run("echo a; echo b >&2; echo c; exit 7").await;
    assert_eq!(text, "a\nb\nc\n");
    assert_eq!(exit, ProcessExit { code: Some(7), signal: None, killed: false });
}

#[tokio::test]
async fn streams_stay_apart_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(&folder, "echo a; echo b >&2");
    spec.streams = Streams::Separate;
    let process = start(spec).unwrap();
    process.wait_gone().await;
    assert_eq!(process.output().snapshot().head, b"a\n");
    assert_eq!(process.error().unwrap().snapshot().head, b"b\n");
}

#[tokio::test]
async fn a_child_leads_its_own_session_and_has_neither_input_nor_terminal() {
    let (text, _) =
        run("read x; echo \"read $?\"; (: </dev/tty) 2>/dev/null; echo \"tty $?\"; cat /proc/$$/stat").await;
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("read 1"));
    assert_ne!(lines.next(), Some("tty 0"));
    let fields: Vec<&str> = lines.next().unwrap().split(' ').collect();
    assert_eq!((fields[0], fields[0]), (fields[4], fields[5]), "pid, group and session are one");
}

#[tokio::test]
async fn a_missing_folder_and_a_missing_program_are_different_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut lost = spec(&folder, "true");
    lost.cwd = folder.path().join("nowhere");
    assert!(matches!(start(lost), Err(StartError::NoFolder(_))));
    let mut unknown = spec(&folder, "true");
    unknown.program = "no-such-program-here".into();
    assert!(matches!(start(unknown), Err(StartError::NoProgram(_))));
    assert_eq!(records(&folder), 0, "nothing runs, so nothing is recorded");
}

#[tokio::test]
async fn a_record_exists_only_while_the_child_runs() {
    let folder = tempfile::tempdir().unwrap();
    let process = start(spec(&folder, "echo up; sleep 1000")).unwrap();
    process.output().wait_for_output().await;
    assert_eq!(records(&folder), 1);
    assert_eq!(crate::process::sweep(&folder.path().join("records")), [], "its owner is alive, so it is not an orphan");
    process.kill();
    let exit = process.wait_gone().await;
    assert!(exit.killed && exit.code.is_none());
    assert_eq!(records(&folder), 0);
}

#[tokio::test]
async fn a_child_that_ignores_term_is_killed_after_the_grace() {
    let folder = tempfile::tempdir().unwrap();
    let process = start(spec(&folder, "trap '' TERM; echo up; while :; do sleep 1000; done")).unwrap();
    process.output().wait_for_output().await;
    let asked = std::time::Instant::now();
    process.kill();
    assert_eq!(process.wait_gone().await.signal, Some(9));
    assert!(asked.elapsed() >= GRACE, "it had its time to clean up");
    assert!(!table::all().iter().any(|entry| entry.group == process.pid() && !entry.zombie));
}

#[tokio::test]
async fn processes_that_outlive_the_child_end_with_the_handle() {
    let folder = tempfile::tempdir().unwrap();
    let process = start(spec(&folder, "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")).unwrap();
    assert_eq!(process.wait_exited().await.code, Some(3));
    assert!(matches!(process.phase(), ProcessPhase::Exited(_)));
    let left: i32 = String::from_utf8(process.output().snapshot().head).unwrap().trim().parse().unwrap();
    assert!(table::get(left).is_some_and(|entry| !entry.zombie));
    let mut phase = process.phase.clone();
    drop(process);
    phase.wait_for(|phase| phase.is_gone()).await.unwrap();
    assert!(table::get(left).is_none_or(|entry| entry.zombie));
}

#[tokio::test]
async fn grandchildren_that_left_the_session_die_too() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sleep 1000 & echo $!; env -i setsid sleep 1000 & echo $!; \
                  (setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000";
    let process = start(spec(&folder, script)).unwrap();
    while process.output().snapshot().lines < 3 {
        process.output().wait_for_output().await;
        process.output().take_pending();
    }
    let text = String::from_utf8(process.output().snapshot().head).unwrap();
    let pids: Vec<i32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| table::get(*pid).is_some()));
    process.kill();
    process.wait_gone().await;
    let alive: Vec<_> = pids.iter().filter_map(|pid| table::get(*pid)).filter(|entry| !entry.zombie).collect();
    assert_eq!(alive, []);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_that_left_group_session_and_output_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = "setsid -f sh -c 'echo $$ >pid.new; mv pid.new pid; exec sleep 1000' >/dev/null 2>&1; \
                  while ! test -e pid; do sleep 0.01; done";
    let process = start(spec(&folder, script)).unwrap();
    process.wait_exited().await;
    assert!(matches!(process.phase(), ProcessPhase::Exited(_)), "{:?}", process.phase());
    assert_eq!(records(&folder), 1, "the record stays with it");
    process.kill();
    process.wait_gone().await;
    let daemon: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    assert!(table::get(daemon).is_none_or(|entry| entry.zombie));
    assert_eq!(records(&folder), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_of_a_short_lived_child_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for escape in ["setsid -f sleep 1000 >/dev/null 2>&1", "(setsid sleep 1000 >/dev/null 2>&1 &)"] {
        let process = start(spec(&folder, escape)).unwrap();
        process.wait_exited().await;
        assert!(matches!(process.phase(), ProcessPhase::Exited(_)), "{escape}: {:?}", process.phase());
        process.kill();
        process.wait_gone().await;
    }
}

#[tokio::test]
async fn a_child_with_pipes_has_its_errors_captured() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let script = "echo ready >&2; while read -r line; do echo \"you said $line\"; done; echo over >&2";
    let (process, StdioPipes { mut input, output }) = start_with_stdio(spec(&folder, script)).unwrap();
    assert_eq!(records(&folder), 1);
    let mut lines = BufReader::new(output).lines();
    for word in ["one", "two"] {
        input.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("you said {word}"));
    }
    drop(input);
    assert_eq!(process.wait_gone().await.code, Some(0), "the end of its input ends it");
    assert_eq!(String::from_utf8(process.output().snapshot().head).unwrap(), "ready\nover\n");
    assert_eq!(records(&folder), 0);
}

#[tokio::test]
async fn finish_returns_on_exit_and_terminates_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    for redirected in ["", ">/dev/null 2>&1"] {
        let script = format!("setsid sleep 1000 {redirected} & echo $!; exit 3");
        let process = start(spec(&folder, &script)).unwrap();
        let exit = process.finish(Duration::from_mins(10)).await.unwrap();
        assert_eq!((exit.code, process.phase().is_gone()), (Some(3), true));
        let output = String::from_utf8(process.output().snapshot().head).unwrap();
        let daemon: i32 = output.trim().parse().unwrap();
        assert!(table::get(daemon).is_none_or(|entry| entry.zombie), "{redirected:?}");
    }
}

#[tokio::test]
async fn a_child_that_takes_too_long_is_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let process = start(spec(&folder, "echo begun; sleep 1000")).unwrap();
    process.output().wait_for_output().await;
    assert_eq!(process.finish(Duration::from_millis(1)).await, None);
    assert!(process.phase().is_gone());
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn processes_that_outlive_the_child_are_waited_for_without_polling() {
    let folder = tempfile::tempdir().unwrap();
    let script = "(sleep 0.3; sleep 0.3) >/dev/null 2>&1 & exit 0";
    let process = start(spec(&folder, script)).unwrap();
    let begun = tokio::time::Instant::now();
    process.wait_gone().await;
    // The paused clock advances only when a task sleeps, and then at once: polling every second would be hours ahead by
    // now.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_last_output_is_waited_for_on_a_slow_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(&folder, "head -c 5000 /dev/zero | tr '\\0' x; echo end");
    spec.head = 10;
    // A pipe without a reader as the overflow file: the slowest possible disk.
    let overflow = folder.path().join("spool").join(format!("{}.out", spec.id));
    std::fs::create_dir_all(overflow.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&overflow).status().unwrap().success());
    let process = start(spec).unwrap();
    let early = timeout(Duration::from_millis(400), process.wait_exited()).await;
    let read = tokio::task::spawn_blocking(move || std::fs::read(overflow).unwrap().len());
    assert!(early.is_err(), "it has exited, but its output has not arrived yet");
    process.wait_exited().await;
    assert!(process.phase().is_gone(), "nothing runs that could be left");
    assert!(process.output().snapshot().tail.ends_with(b"xend\n"));
    assert_eq!(read.await.unwrap(), 5004);
}
