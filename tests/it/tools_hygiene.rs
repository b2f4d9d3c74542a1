//! No process survives: cancelled commands, killed handles, and what a killed Matrix leaves behind.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mxd::process::environment::RUN_MARKER;
use mxd::process::{self, ChildSpec, table};
use mxd::tools::{CancelTokens, Reply, execute};
use serde_json::json;

use crate::tools_support::{Bench, runs, tool_use, until};

const MARK: &str = "HYGIENE_MARK";

/// Returns the processes that carry this test's mark, dead ones aside.
fn marked(value: &str) -> Vec<i32> {
    table::all()
        .into_iter()
        .filter(|entry| !entry.zombie && table::has_marker(entry.pid, MARK, value))
        .map(|entry| entry.pid)
        .collect()
}

fn records_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension() == Some("json".as_ref())).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_commands_leave_no_process() {
    cancel_commands(40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "ten seconds of load; `cargo proof`"]
async fn proof_two_hundred_cancelled_commands_leave_no_process() {
    cancel_commands(200).await;
}

async fn cancel_commands(count: usize) {
    let mark = format!("cancelled-{}", std::process::id());
    let scripts = [
        "sleep 1000 & sleep 1000",
        "setsid sleep 1000 & sleep 1000",
        "(sleep 1000 & sleep 1000 &) ; sleep 1000",
        "setsid bash -c 'sleep 1000 & setsid sleep 1000 & wait' & wait",
        "trap '' TERM; sleep 1000 & wait; sleep 1000",
        "nohup sleep 1000 >/dev/null 2>&1 & sleep 1000",
        "while :; do (sleep 0.01 &); sleep 0.01; done",
        "yes | while read x; do :; done",
    ];
    let mut bench = Bench::new();
    bench.context.environment = bench.context.environment.clone().with(MARK, mark.clone());
    let bench = Arc::new(bench);
    let (most, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let watcher = {
        let (mark, most, over) = (mark.clone(), Arc::clone(&most), Arc::clone(&over));
        std::thread::spawn(move || {
            // Seen often enough to count them, and seldom enough to leave the machine to them.
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(marked(&mark).len(), Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        })
    };
    let mut state = 7_u64;
    let mut running = tokio::task::JoinSet::<Reply>::new();
    for number in 0..count {
        // Twenty at once. Some are deaf and only go when they are killed; the others do not wait for those.
        if running.len() == 20 {
            assert!(running.join_next().await.unwrap().unwrap().is_error);
        }
        let tokens = CancelTokens::default();
        let mut context = bench.context.clone();
        context.tokens = tokens.clone();
        let call = tool_use("bash", &json!({ "command": scripts[number % scripts.len()] }));
        running.spawn(async move { execute(&call, &context).await });
        // Not a wait for anything: the moment of the cancel is what is random.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay = std::time::Duration::from_micros((state >> 33) % 60_000);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            tokens.interrupt.cancel();
        });
    }
    while let Some(reply) = running.join_next().await {
        assert!(reply.unwrap().is_error);
    }
    over.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    let most = most.load(Ordering::Relaxed);
    let survivors = marked(&mark);
    println!("{count} commands cancelled, up to {most} processes at once, survivors: {}", survivors.len());
    // How many of them depends on how busy the machine is; that there were some at all does not.
    assert!(most > 3, "they ran before they were cancelled");
    assert_eq!(survivors, Vec::<i32>::new());
    assert_eq!(records_in(&bench.data.join("running")), 0, "no record outlives its process");
}

#[tokio::test]
async fn what_a_task_left_on_purpose_is_ended_by_its_mark() {
    let mut bench = Bench::new();
    let mark = format!("task-{}", std::process::id());
    bench.context.environment = bench.context.environment.clone().with("MXD_TASK", mark.clone());
    // A daemon in the old style: own session, no parent, no output.
    let reply = bench
        .bash("(setsid sh -c 'echo $$ > pid; exec sleep 1000' >/dev/null 2>&1 &); while [ ! -s pid ]; do :; done")
        .await;
    assert!(reply.background.is_some(), "it is one of ours and shown as such: {}", reply.text);
    let pid: i32 = bench.read("pid").trim().parse().unwrap();
    assert!(runs(pid));
    assert_eq!(process::terminate_marked("MXD_TASK", mark, process::GRACE).await, 1);
    assert!(!runs(pid));
}

const HELPER: &str = "MXD_TEST_ORPHAN_FOLDER";

/// Not a test of its own: the process that the next test kills. Does nothing unless told where to work.
#[tokio::test]
async fn helper_that_starts_twenty_processes_and_waits_to_be_killed() {
    let Some(folder) = std::env::var_os(HELPER).map(PathBuf::from) else { return };
    let scripts = [
        "sleep 1000",
        "setsid sleep 1000 & sleep 1000",
        "trap '' TERM; sleep 1000 & wait; sleep 1000",
        "sleep 1000 & exit 0",
    ];
    let mut all = Vec::new();
    for n in 0..20 {
        let script = format!("echo up; {}", scripts[n % scripts.len()]);
        let mut spec =
            ChildSpec::new(format!("orphan-{n}-{}", std::process::id()), "sh", &folder).arguments(["-c", &script]);
        spec.records = Some(folder.join("records"));
        all.push(process::start(spec).unwrap());
    }
    for process in &all {
        process.output().wait_for_output().await;
    }
    std::fs::write(folder.join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn what_a_killed_matrix_left_running_is_found_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools_hygiene::helper_that_starts_twenty_processes_and_waits_to_be_killed"])
        .env(HELPER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("all twenty run", || folder.path().join("ready").exists()).await;
    let owner = helper.id();
    let records = folder.path().join("records");
    assert_eq!(process::sweep(&records), [], "their owner is alive");
    // A process with the same command and no record must be left alone.
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    helper.kill().unwrap();
    helper.wait().unwrap();
    let alive = |n: usize| {
        let id = format!("orphan-{n}-{owner}");
        table::all().into_iter().filter(|entry| !entry.zombie && table::has_marker(entry.pid, RUN_MARKER, &id)).count()
    };
    let before: usize = (0..20).map(alive).sum();
    assert!(before >= 20, "they survived their parent: {before}");
    let swept = records.clone();
    let ended = tokio::task::spawn_blocking(move || process::sweep(&swept)).await.unwrap();
    let processes: usize = ended.iter().map(|ended| ended.processes).sum();
    let after: usize = (0..20).map(alive).sum();
    println!(
        "killed with 20 records and {before} processes; swept {} records, {processes} processes; left {after}",
        ended.len()
    );
    assert_eq!((ended.len(), after), (20, 0));
    assert!(processes >= before);
    assert_eq!(records_in(&records), 0);
    assert!(runs(i32::try_from(bystander.id()).unwrap()), "a stranger with the same name lives on");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn records_of_another_boot_or_another_process_end_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = bystander.id();
    let start = table::get(i32::try_from(pid).unwrap()).unwrap().start;
    let boot = table::boot_id();
    let dead = json!({"pid": 1, "start": 0});
    let write = |name: &str, boot: &str, start: u64| {
        let record = json!({
            "id": name, "command": "sleep 1000", "boot": boot, "owner": dead, "child": {"pid": pid, "start": start},
        });
        std::fs::write(folder.path().join(format!("{name}.json")), record.to_string()).unwrap();
    };
    write("other-boot", "not this one", start);
    write("reused-pid", &boot, start + 1);
    std::fs::write(folder.path().join("torn.json"), "{\"id\": \"to").unwrap();
    let mut ended = process::sweep(folder.path());
    ended.sort_by(|a, b| a.id.cmp(&b.id));
    let told: Vec<_> = ended.iter().map(|one| (one.id.as_str(), one.processes)).collect();
    assert_eq!(told, [("other-boot", 0), ("reused-pid", 0), ("torn", 0)]);
    assert!(runs(i32::try_from(pid).unwrap()));
    write("the-one", &boot, start);
    assert_eq!(process::sweep(folder.path())[0].processes, 1);
    assert!(!runs(i32::try_from(pid).unwrap()));
    bystander.wait().unwrap();
}

/// Returns the most memory this process has had since [`forget_peak`], in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Run it by itself, so that nobody else's memory counts: `cargo test --release --test it -- --ignored floods --nocapture`.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a proof of minutes; its figures are in docs/dev/performance.md"]
async fn floods_of_output_are_drained_in_bounded_memory() {
    const MOST: u64 = 16 << 20;
    let mut bench = Bench::new();
    let blobs = mxd::store::Blobs::new(Arc::new(mxd::store::RealDisk), bench.data.join("blobs"));
    bench.context.blobs = Arc::new(mxd::engine::blobs::StoredBlobs(blobs));
    // What is shown live is another's to bound; the bench would keep all of it.
    bench.context.live = Arc::new(|_: mxd::model::Live| {});
    // Everything that is made once is made before the measurement.
    bench.bash("yes | head -c 100000000").await;
    for flood in ["timeout 10 yes", "yes | head -c 10000000000"] {
        forget_peak();
        let (before, start) = (peak(), std::time::Instant::now());
        let reply = bench.call("bash", json!({ "command": flood, "timeout_seconds": 3_600 })).await;
        let (grown, seconds) = (peak().saturating_sub(before), start.elapsed().as_secs_f64());
        let said = reply.text.lines().rev().find(|line| line.starts_with("[output: ")).unwrap().to_owned();
        let in_all = said.trim_start_matches("[output: ").split(" in all").next().unwrap();
        println!("{flood}: {in_all} in {seconds:.1} s; peak memory grew by {} KB", grown / 1024);
        assert!(grown < MOST, "{flood}: {grown} bytes");
        assert!(reply.full.is_some(), "its beginning is kept as a blob");
    }
}
