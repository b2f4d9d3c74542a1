//! The life of servers: started when needed, shared, started again, let go, and never left behind.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mxd::process;
use mxd::tools::mcp::ServerHealth;
use mxd::tools::{Registry, execute};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::mcp_support::{Servers, scripted};
use crate::tools_support::{runs, tool_use, until};

const SOON: Duration = Duration::from_secs(45);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_callers_share_one_process() {
    let mut servers = Servers::one().await;
    let started = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..64 {
        let context = servers.bench.context.clone();
        calls.spawn(async move {
            let mut pids = Vec::new();
            for round in 0..5 {
                let text = format!("{n}-{round}");
                let reply = execute(&tool_use("mcp__box__echo", &json!({"text": text})), &context).await;
                assert_eq!(reply.text, text, "every answer reaches its caller");
                pids.push(execute(&tool_use("mcp__box__pid", &json!({})), &context).await.text);
            }
            pids
        });
    }
    let mut pids: Vec<String> = Vec::new();
    while let Some(of_one) = calls.join_next().await {
        pids.extend(of_one.unwrap());
    }
    pids.sort();
    pids.dedup();
    println!("64 callers, 640 calls in {:?}, processes: {}", started.elapsed(), pids.len());
    assert_eq!((pids.len(), servers.starts()), (1, 1));
    servers.offer().await;
    assert_eq!(servers.starts(), 1, "the tools are listed again over the same connection");
    servers.pool.shutdown().await;
    assert_eq!((servers.alive(), servers.records()), (vec![], 0));
}

#[tokio::test]
async fn nothing_starts_before_it_is_needed() {
    let servers = Servers::one().await;
    let specs = servers.bench.context.registry.specs();
    servers.pool.shutdown().await;

    let later = Servers::new(|_| json!({}), |_| {}).await;
    let options = |bench: &crate::tools_support::Bench| mxd::tools::mcp::Options {
        root: bench.root.clone(),
        logs: None,
        records: None,
        environment: mxd::process::Environment::new(),
        ids: bench.context.ids.clone(),
        limits: mxd::tools::mcp::Limits::default(),
        tool_lists: None,
    };
    let entries = json!({"box": scripted("normal", &later.bench.data)});
    let pool = mxd::tools::mcp::Pool::new(crate::mcp_support::servers(&entries), options(&later.bench));
    let mut registry = Registry::builtin();
    let promised = pool.promised(&specs);
    assert_eq!(promised.len(), specs.len() - Registry::builtin().specs().len());
    promised.into_iter().for_each(|tool| registry.add(tool).unwrap());
    assert_eq!(registry.specs(), specs, "byte for byte what the session was promised");
    assert_eq!((pool.status()[0].health.clone(), later.starts()), (ServerHealth::NotStarted, 0));
    let mut context = later.bench.context.clone();
    context.registry = Arc::new(registry);
    let reply = execute(&tool_use("mcp__box__echo", &json!({"text": "hi"})), &context).await;
    assert_eq!((reply.text.as_str(), later.starts()), ("hi", 1));
    pool.shutdown().await;

    let empty = mxd::tools::mcp::Pool::new(Vec::new(), options(&later.bench));
    let mut registry = Registry::builtin();
    empty.promised(&specs).into_iter().for_each(|tool| registry.add(tool).unwrap());
    context.registry = Arc::new(registry);
    let reply = execute(&tool_use("mcp__box__echo", &json!({"text": "hi"})), &context).await;
    assert!(reply.is_error && reply.text.contains("no longer among the settings"), "{}", reply.text);
}

#[tokio::test]
async fn a_server_killed_in_mid_call_fails_that_call_and_serves_the_next() {
    let servers = Servers::one().await;
    let pid = servers.pid();
    let call = tool_use("mcp__box__slow", &json!({}));
    let context = servers.bench.context.clone();
    let running = tokio::spawn(async move { execute(&call, &context).await });
    until("the call has arrived", || servers.notes().contains(&"slow".to_owned())).await;
    let start = process::table::get(pid).unwrap().start;
    assert!(process::table::signal(pid, start, rustix::process::Signal::KILL));
    let reply = tokio::time::timeout(SOON, running).await.unwrap().unwrap();
    assert!(reply.is_error && reply.text.contains("went away while it worked on this (ended by signal 9)"));
    assert!(reply.text.contains("look before you retry"), "{}", reply.text);
    assert_eq!(servers.call("echo", json!({"text": "back"})).await.text, "back");
    assert_ne!(servers.pid(), pid);
    assert_eq!(servers.starts(), 2);
    servers.pool.shutdown().await;
    assert_eq!((servers.alive(), servers.records()), (vec![], 0));
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_started_ever_less_eagerly() {
    let servers = Servers::one().await;
    let reply = servers.call("die", json!({})).await;
    assert!(reply.is_error && reply.text.contains("(exit code 7)"), "{}", reply.text);
    assert!(reply.text.contains("Last lines of its error stream:\npanic: out of ideas, token ****"), "{}", reply.text);
    assert!(servers.call("die", json!({})).await.text.contains("(exit code 7)"));
    let reply = servers.call("echo", json!({"text": "hi"})).await;
    assert!(reply.is_error && reply.text.contains("Not run: the server \"box\" cannot be used now."), "{}", reply.text);
    assert!(reply.text.contains("next attempt is in 1 s"), "{}", reply.text);
    assert!(!reply.text.contains("opensesame"), "{}", reply.text);
    assert!(matches!(servers.health("box"), ServerHealth::Failed { next_try, .. } if !next_try.is_zero()));
    assert_eq!(servers.starts(), 2);
    until(
        "it may be started again",
        || matches!(servers.health("box"), ServerHealth::Failed { next_try, .. } if next_try.is_zero()),
    )
    .await;
    assert_eq!(servers.call("echo", json!({"text": "hi"})).await.text, "hi");
    assert_eq!(servers.starts(), 3);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn broken_and_slow_servers_do_not_keep_the_good_ones_waiting() {
    let entries = |notes: &Path| -> Value {
        let mut off = scripted("normal", notes);
        off["disabled"] = json!(true);
        json!({
            "box": scripted("normal", notes),
            "crash": scripted("crash", notes),
            "mute": scripted("mute", notes),
            "absent": {"command": "no-such-program-anywhere"},
            "nowhere": {"command": "sh", "cwd": "no/such/folder"},
            "refused": {"url": "http://127.0.0.1:9/mcp?key=hush-hush", "headers": {"Authorization": "Bearer hush-hush"}},
            "off": off,
        })
    };
    let started = Instant::now();
    let servers = Servers::new(entries, |options| options.limits.wait = Duration::from_secs(5)).await;
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_eq!(servers.call("echo", json!({"text": "hi"})).await.text, "hi");
    let why = |name: &str| {
        let of_it =
            servers.missing.iter().find(|missing| missing.server == name && !missing.reason.contains("words\""));
        of_it.map(|missing| missing.reason.clone()).unwrap_or_default()
    };
    assert!(why("crash").contains("It ended before it was ready (exit code 3)."), "{}", why("crash"));
    assert!(why("crash").contains("cannot find my configuration"), "{}", why("crash"));
    assert!(why("mute").contains("It was not ready within 5 s. It goes on starting"), "{}", why("mute"));
    assert!(why("absent").contains("\"no-such-program-anywhere\" was not found"), "{}", why("absent"));
    assert!(why("nowhere").contains("does not exist or is not a folder"), "{}", why("nowhere"));
    assert!(why("refused").contains("could not be reached"), "{}", why("refused"));
    assert_eq!(why("off"), "", "what is switched off is not missed");
    let all = format!("{:?} {:?}", servers.missing, servers.pool.status());
    assert!(!all.contains("opensesame") && !all.contains("hush-hush"), "{all}");
    assert_eq!(servers.health("mute"), ServerHealth::Starting);
    assert_eq!(servers.health("off"), ServerHealth::Disabled);
    servers.pool.shutdown().await;
    assert_eq!((servers.alive(), servers.records()), (vec![], 0), "not even the one that was still starting");
}

#[tokio::test]
async fn a_server_of_the_repository_waits_for_its_approval() {
    use mxd::config::{Environment, Layer, LayerFile, merge};
    let bench = crate::tools_support::Bench::new();
    let text = json!({"mcpServers": {"box": scripted("normal", &bench.data)}}).to_string();
    let file = LayerFile::read(Layer::Repo, "config.json".as_ref(), text.as_bytes());
    let merged = merge(&Environment::default(), &[file]).unwrap();
    let options = mxd::tools::mcp::Options {
        root: bench.root.clone(),
        logs: None,
        records: None,
        environment: mxd::process::Environment::new(),
        ids: bench.context.ids.clone(),
        limits: mxd::tools::mcp::Limits::default(),
        tool_lists: None,
    };
    let pool = mxd::tools::mcp::Pool::new(merged.servers, options);
    let (tools, missing) = pool.tools().await;
    assert!(tools.is_empty());
    assert!(missing[0].reason.contains("`mxd mcp approve box`"), "{missing:?}");
    assert!(matches!(pool.status()[0].health, ServerHealth::NeedsApproval { .. }));
    assert!(!bench.data.join("notes").exists(), "nothing was run");
}

#[tokio::test]
async fn the_error_stream_is_kept_and_bounded() {
    let servers = Servers::one().await;
    assert_eq!(servers.call("shout", json!({})).await.text, "done", "a flood does not block the server");
    assert!(servers.call("die", json!({})).await.is_error);
    let kept = || std::fs::read_to_string(servers.log()).unwrap_or_default();
    until("the error stream is in the log", || kept().contains("out of ideas")).await;
    assert!(kept().starts_with("== ") && kept().contains("(pid "), "{}", &kept()[..100]);
    let size = std::fs::metadata(servers.log()).unwrap().len();
    assert!(size <= 1 << 20, "{size}");
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_nobody_uses_is_let_go_and_comes_back() {
    let grace = Duration::from_millis(50);
    let mut servers =
        Servers::new(|notes| json!({"box": scripted("normal", notes)}), |options| options.limits.grace = grace).await;
    let pid = servers.pid();
    // As long as an agent has its tools, it stays.
    tokio::time::sleep(grace * 4).await;
    assert!(runs(pid) && servers.health("box") != ServerHealth::NotStarted);
    servers.bench.context.registry = Arc::new(Registry::builtin());
    until("it is let go", || servers.health("box") == ServerHealth::NotStarted).await;
    until("its process ends", || !runs(pid)).await;
    servers.offer().await;
    assert_eq!(servers.call("echo", json!({"text": "again"})).await.text, "again");
    assert_eq!(servers.starts(), 2);
    servers.pool.shutdown().await;
}

#[tokio::test]
async fn the_end_of_the_pool_is_the_end_of_everything_its_servers_started() {
    let servers = Servers::one().await;
    let grandchild: i32 = servers.call("spawn", json!({})).await.text.parse().unwrap();
    let pid = servers.pid();
    assert!(runs(pid) && runs(grandchild));
    servers.pool.shutdown().await;
    assert_eq!((servers.alive(), servers.records()), (vec![], 0));
    let reply = servers.call("echo", json!({"text": "anybody?"})).await;
    assert!(reply.is_error && reply.text.contains("shut down"), "{}", reply.text);

    let servers = Servers::one().await;
    let pid = servers.pid();
    let Servers { pool, bench, .. } = servers;
    drop(pool);
    until("a dropped pool ends its servers too", || !runs(pid)).await;
    drop(bench);
}

const ORPHANS: &str = "TOOL_SERVER_ORPHANS";

/// Not a test of its own: the process that the next test kills. Does nothing unless told where to work.
#[tokio::test]
async fn helper_that_starts_a_server_and_waits_to_be_killed() {
    let Some(folder) = std::env::var_os(ORPHANS).map(std::path::PathBuf::from) else { return };
    let notes = folder.clone();
    let records = folder.join("records");
    let servers =
        Servers::new(move |_| json!({"box": scripted("normal", &notes)}), |options| options.records = Some(records))
            .await;
    // Whoever waits for it reads it at once: it must not be there before it is whole.
    std::fs::write(folder.join("almost"), servers.pid().to_string()).unwrap();
    std::fs::rename(folder.join("almost"), folder.join("ready")).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn what_a_crash_left_of_a_server_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mcp_pool::helper_that_starts_a_server_and_waits_to_be_killed"])
        .env(ORPHANS, folder.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the server runs", || folder.path().join("ready").exists()).await;
    let records = folder.path().join("records");
    assert_eq!(std::fs::read_dir(&records).unwrap().count(), 1);
    helper.kill().unwrap();
    helper.wait().unwrap();
    // It may end by itself when its input closes; the sweep finds the record and ends what is there.
    let ended = tokio::task::spawn_blocking(move || process::sweep(&records)).await.unwrap();
    assert!(ended.len() == 1 && ended[0].id.starts_with("mcp-box-"), "{ended:?}");
    let pid: i32 = std::fs::read_to_string(folder.path().join("ready")).unwrap().parse().unwrap();
    assert!(!runs(pid));
}
