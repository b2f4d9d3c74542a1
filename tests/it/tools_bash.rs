//! `bash` and `background`, rule by rule.

use std::time::{Duration, Instant};

use mxd::model::conversation::ToolUse;
use mxd::tools::{CancelTokens, Reply, ToolContext, execute};
use serde_json::json;

use crate::tools_support::{Bench, alone, is_alone, path_in, runs, tool_use, until};

#[tokio::test]
async fn the_code_and_the_merged_output_come_back() {
    let bench = Bench::new();
    let reply = bench.bash("echo one; echo two >&2; echo three; exit 4").await;
    assert_eq!(reply.text, "exit code: 4\none\ntwo\nthree\n");
    assert!(reply.is_error);
    assert_eq!(bench.bash("true").await.text, "exit code: 0\n(no output)");
}

#[tokio::test]
async fn separate_streams_on_request() {
    let bench = Bench::new();
    let reply = bench.call("bash", json!({"command": "echo one; echo two >&2", "separate": true})).await;
    assert_eq!(reply.text, "exit code: 0\n--- stdout\none\n--- stderr\ntwo");
}

#[tokio::test]
async fn the_folder_is_kept_however_the_command_ends() {
    let ways = [
        "cd sub",
        "cd sub # a comment at the end",
        "cd sub; cat <<EOF\nsome text\nEOF",
        "cd sub; cat <<'EOF'\n) unbalanced $(\nEOF\n",
        "cd sub; false",
        "cd sub; exit 3",
        "set -e; cd sub; false; echo never",
        "set -u; cd sub; echo $undefined_variable",
        "cd sub && exec true",
        "cd sub && exec sh -c 'exit 5'",
        "cd sub && \\exec true",
        "shopt -s extdebug; cd sub; eval true",
        "f() { cd sub; exec true; }; f",
        "trap 'echo bye' EXIT; cd sub; exit 1",
        "cd sub; trap - EXIT; exit 0",
        "set -o noclobber; set -f; cd sub",
        "cd sub\necho 'unterminated",
        "cd sub\nif true; then",
        "pushd sub >/dev/null",
        "source ./enter.sh",
        "cd sub; return 3",
        "cd() { builtin cd \"$@\"; }; cd sub",
        "cd sub; exec >log.txt; echo logged",
        "cd sub; kill -9 $$",
        "cd sub; kill $$",
        "set -x; cd sub; exit 3",
        "set -ex; cd sub; exec true",
    ];
    for way in ways {
        let bench = Bench::new();
        std::fs::create_dir(bench.root.join("sub")).unwrap();
        bench.write("enter.sh", "cd sub\nexec true\n");
        let reply = bench.bash(way).await;
        assert_eq!(bench.cwd(), bench.root.join("sub"), "{way}: {}", reply.text);
        assert!(reply.text.contains("[cwd: sub]"), "{way}: {}", reply.text);
        let reply = bench.bash("pwd").await;
        assert!(reply.text.ends_with("/work/sub\n"), "{way}: {}", reply.text);
    }
}

#[tokio::test]
async fn what_happens_in_a_subshell_stays_there() {
    let ways = [
        "(cd sub)",
        "(cd sub; exec true)",
        "cd sub & wait",
        "(trap : EXIT; cd sub; exit 1)",
        "echo $(cd sub; exec pwd)",
    ];
    for way in ways {
        let bench = Bench::new();
        std::fs::create_dir(bench.root.join("sub")).unwrap();
        bench.bash(way).await;
        assert_eq!(bench.cwd(), bench.root, "{way}");
    }
}

#[tokio::test]
async fn the_wrapping_does_not_show() {
    let bench = Bench::new();
    let reply = bench.bash("echo $# \"$@\" $0; no-such-command-here\necho $?").await;
    assert!(reply.text.starts_with("exit code: 0\n0 bash\n"), "{}", reply.text);
    assert!(reply.text.contains("line 1: no-such-command-here: command not found"), "{}", reply.text);
    let reply = bench.bash("true\ntrue\nno-such-command-here").await;
    assert!(
        reply.text.contains("line 3: no-such-command-here") && reply.text.contains("exit code: 127"),
        "{}",
        reply.text
    );
    let reply =
        bench.bash("exec 5</dev/null; false; echo $?; (exit 7); echo $?; false | true; echo ${PIPESTATUS[0]}").await;
    assert!(reply.text.ends_with("1\n7\n1\n"), "{}", reply.text);
}

#[tokio::test]
async fn a_trace_is_that_of_the_command_alone() {
    for (command, said) in [
        ("set -x; echo hi", "exit code: 0\n++ echo hi\nhi\n"),
        ("set -x; mkdir a; cd a; exit 3", "exit code: 3\n[cwd: a]\n++ mkdir a\n++ cd a\n++ exit 3\n"),
        ("set -x; eval true; exec true", "exit code: 0\n++ eval true\n+++ true\n++ exec true\n"),
        ("set -v\necho hi", "exit code: 0\necho hi\nhi\n"),
    ] {
        assert_eq!(Bench::new().bash(command).await.text, said, "{command}");
    }
}

#[tokio::test]
async fn a_very_long_command_is_not_too_long() {
    let bench = Bench::new();
    let body = "x".repeat(300_000);
    let reply = bench.bash(&format!("cat > big <<'EOF'\n{body}\nEOF\nwc -c < big")).await;
    assert_eq!(reply.text, "exit code: 0\n300001\n");
    assert!(bench.bash("echo a\0b").await.text.contains("zero byte"));
}

#[tokio::test]
async fn being_elsewhere_is_said_every_time() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.root.join("other/.git")).unwrap();
    let outside = bench.bash("cd /").await;
    assert!(outside.text.contains("OUTSIDE your worktree"), "{}", outside.text);
    assert!(bench.bash("true").await.text.contains("OUTSIDE your worktree"));
    let nested = bench.bash(&format!("cd {}/other", bench.root.display())).await;
    assert!(nested.text.contains("another git repository"), "{}", nested.text);
    assert!(!bench.bash(&format!("cd {}", bench.root.display())).await.text.contains("cwd"));
}

#[tokio::test]
async fn a_folder_that_vanished_is_left_with_a_word() {
    let bench = Bench::new();
    bench.bash("mkdir gone; cd gone").await;
    std::fs::remove_dir(bench.root.join("gone")).unwrap();
    let reply = bench.bash("pwd").await;
    assert!(reply.text.contains("no longer exists") && reply.text.ends_with("/work\n"), "{}", reply.text);
}

#[tokio::test]
async fn the_environment_has_no_secrets_and_nothing_that_waits() {
    let bench = Bench::new();
    let reply = bench.bash("env; read x; echo read=$?; tty; (: < /dev/tty) 2>&1").await;
    for absent in ["API_KEY", "MXD_HOME", "SECRET"] {
        assert!(!reply.text.contains(absent), "{absent}");
    }
    for present in ["GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_CONFIG_KEY_0=core.hooksPath", "read=1", "not a tty"] {
        assert!(reply.text.contains(present), "{present}: {}", reply.text);
    }
    assert!(reply.text.contains("/dev/tty: No such device"), "{}", reply.text);
}

#[tokio::test]
async fn hooks_do_not_run_for_an_agent() {
    let bench = Bench::new();
    let reply = bench
        .bash(
            "rm -rf .git; git init -q . && printf '#!/bin/sh\\necho HOOK RAN\\nexit 1\\n' > .git/hooks/pre-commit && \
             chmod +x .git/hooks/pre-commit && touch a && git add a && \
             git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline",
        )
        .await;
    assert!(!reply.is_error && reply.text.trim_end().ends_with("one"), "{}", reply.text);
}

#[tokio::test]
async fn long_output_has_both_ends_and_the_whole_in_a_file() {
    let bench = Bench::new();
    let reply = bench.bash("seq 1 50000").await;
    assert!(reply.text.len() < 11_000, "{}", reply.text.len());
    assert!(reply.text.contains("\n1\n2\n") && reply.text.contains("\n50000\n"), "{}", reply.text);
    assert!(reply.text.contains("cut here"));
    let whole = path_in(&reply.text, "the whole is in ", ": read it");
    let text = std::fs::read_to_string(whole).unwrap();
    assert_eq!(text.lines().count(), 50_000);
    assert_eq!(reply.full.unwrap().bytes, text.len() as u64);
    let left: Vec<_> = std::fs::read_dir(bench.data.join("spill")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn binary_and_broken_output_are_survived() {
    let bench = Bench::new();
    let reply = bench.bash("head -c 3000 /dev/zero").await;
    assert!(reply.text.contains("[binary output, 3.0 KB: not shown]"), "{}", reply.text);
    let reply = bench.bash("printf 'caf\\351 is a word in latin one'").await;
    assert!(reply.text.contains("caf\u{fffd} is a word"), "{}", reply.text);
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let bench = Bench::new();
    let fifo = bench.root.join("gate");
    let command = format!("mkfifo {0}; echo early; read x < {0}; echo late $x", fifo.display());
    let call = tool_use("bash", &json!({ "command": command }));
    let (reply, ()) = tokio::join!(execute(&call, &bench.context), async {
        until("the first line is shown", || bench.shown().contains("early")).await;
        assert!(!bench.shown().contains("late"));
        tokio::fs::write(&fifo, "x\n").await.unwrap();
    });
    assert_eq!(reply.text, "exit code: 0\nearly\nlate x\n");
    assert_eq!(bench.shown(), "early\nlate x\n");
}

#[tokio::test]
async fn a_flood_is_bounded_everywhere() {
    // What other tests use meanwhile is not this one's.
    if !is_alone() {
        return alone("tools_bash::a_flood_is_bounded_everywhere");
    }
    let bench = Bench::new();
    let before = memory();
    let reply = bench.bash("yes 'a line of some length to fill the pipe' | head -c 100000000").await;
    let grown = memory().saturating_sub(before);
    println!("100 MB of output: memory grew by {} KB, {} chunks shown", grown / 1024, bench.live.lock().unwrap().len());
    assert!(!reply.is_error && reply.text.len() < 11_000);
    assert!(reply.text.contains("100.0 MB in all") && reply.text.contains("its first 67.1 MB"), "{}", reply.text);
    assert!(grown < 50 << 20, "memory grew by {grown} bytes");
    assert!(bench.shown().len() < 20 << 20);
}

/// Returns the memory that this process uses now.
fn memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

async fn while_running(bench: &Bench, call: &ToolUse, act: impl AsyncFnOnce()) -> Reply {
    tokio::join!(execute(call, &bench.context), async {
        until("the command has started", || bench.shown().contains("up")).await;
        act().await;
    })
    .0
}

#[tokio::test]
async fn an_interrupt_ends_the_whole_family_and_keeps_what_was_said() {
    let bench = Bench::new();
    let command = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; echo up; sleep 1000";
    let call = tool_use("bash", &json!({ "command": command }));
    let interrupt = bench.context.tokens.interrupt.clone();
    let reply = while_running(&bench, &call, async || interrupt.cancel()).await;
    assert!(reply.is_error && reply.text.contains("Interrupted") && reply.text.contains("up"), "{}", reply.text);
    let pids: Vec<i32> = reply.text.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| !runs(*pid)));
}

#[tokio::test]
async fn a_command_that_takes_too_long_goes_on_in_the_background() {
    let mut bench = Bench::new();
    let fifo = bench.root.join("gate");
    let command = format!("mkfifo {0}; echo up; read x < {0}; echo got $x; exit 6", fifo.display());
    let reply = bench.call("bash", json!({"command": command, "timeout_seconds": 3})).await;
    let process = reply.background.clone().unwrap();
    assert!(!reply.is_error && reply.text.contains("went to the background as bg-"), "{}", reply.text);
    assert!(reply.text.contains("Output so far:\nup"), "{}", reply.text);
    let status = bench.call("background", json!({"action": "status", "id": process.id})).await;
    assert!(status.text.contains("running for") && status.text.contains("Latest output:\nup"), "{}", status.text);
    tokio::fs::write(&fifo, "it\n").await.unwrap();
    let done = bench.completions.recv().await.unwrap();
    assert_eq!((done.id, done.exit.code, done.text.as_str()), (process.id.clone(), Some(6), "up\ngot it\n"));
    let status = bench.call("background", json!({"action": "status", "id": process.id})).await;
    assert!(status.text.contains("exit code: 6") && status.text.contains("got it"), "{}", status.text);
}

#[tokio::test]
async fn the_user_can_send_a_command_to_the_background() {
    let mut bench = Bench::new();
    let call = tool_use("bash", &json!({"command": "echo up; sleep 1000"}));
    let foreground = bench.context.foreground.clone();
    let reply = while_running(&bench, &call, async || {
        assert!(foreground.to_background("call-1"));
        assert!(!foreground.to_background("another"));
    })
    .await;
    assert!(reply.text.contains("The user sent it to the background"), "{}", reply.text);
    assert!(!foreground.to_background("call-1"), "it is there already");
    let id = reply.background.unwrap().id;
    let killed = bench.call("background", json!({"action": "kill", "id": id})).await;
    assert!(killed.text.contains("Killed") && killed.text.contains("ended by signal 15"), "{}", killed.text);
    assert_eq!(killed.ended, Some(id), "the result reports the end");
    assert!(bench.completions.try_recv().is_err(), "and nothing else does");
}

#[tokio::test]
async fn an_end_that_the_agent_waits_for_is_reported_by_the_wait_alone() {
    let mut bench = Bench::new();
    let fifo = bench.root.join("gate");
    let command = format!("mkfifo {0}; read x < {0}", fifo.display());
    let id = bench.call("bash", json!({"command": command, "background": true})).await.background.unwrap().id;
    until("the fifo is there", || fifo.exists()).await;
    let call = tool_use("background", &json!({"action": "wait", "id": id}));
    let (waited, written) = tokio::join!(execute(&call, &bench.context), tokio::fs::write(&fifo, "now\n"));
    written.unwrap();
    assert_eq!(waited.ended.as_ref(), Some(&id));
    assert!(bench.completions.try_recv().is_err());
}

#[tokio::test]
async fn an_end_after_a_wait_that_was_given_up_is_reported_as_a_completion() {
    let mut bench = Bench::new();
    let fifo = bench.root.join("gate");
    let command = format!("mkfifo {0}; read x < {0}", fifo.display());
    let id = bench.call("bash", json!({"command": command, "background": true})).await.background.unwrap().id;
    until("the fifo is there", || fifo.exists()).await;
    let waited = bench.call("background", json!({"action": "wait", "id": id, "limit_seconds": 0})).await;
    assert_eq!(waited.ended, None);
    tokio::fs::write(&fifo, "now\n").await.unwrap();
    assert_eq!(bench.completions.recv().await.unwrap().id, id);
}

#[tokio::test]
async fn an_interrupt_leaves_the_background_alone_and_a_teardown_does_not() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let reply = bench.call("bash", json!({"command": "trap '' TERM; sleep 1000", "background": true})).await;
        assert!(reply.text.contains("Started in the background"), "{}", reply.text);
    }
    bench.context.tokens.interrupt.cancel();
    let listed = bench.context.clone();
    let running = execute(
        &tool_use("background", &json!({"action": "list"})),
        &ToolContext { tokens: CancelTokens::default(), ..listed },
    )
    .await;
    assert_eq!(running.text.matches("running for").count(), 3, "{}", running.text);
    let asked = Instant::now();
    bench.context.jobs.end_all().await;
    assert!(asked.elapsed() < Duration::from_secs(30), "they are ended together, not one after the other");
    for _ in 0..3 {
        assert!(bench.completions.recv().await.unwrap().exit.killed);
    }
}

#[tokio::test]
async fn what_is_left_running_becomes_a_background_process() {
    let bench = Bench::new();
    let reply = bench.bash("sleep 1000 >/dev/null 2>&1 & echo $!").await;
    let pid: i32 = reply.text.lines().last().unwrap().parse().unwrap();
    let process = reply.background.unwrap();
    assert!(reply.text.contains("still runs, now as background process bg-"), "{}", reply.text);
    assert!(runs(pid));
    let list = bench.call("background", json!({"action": "list"})).await;
    assert!(list.text.contains(&process.id), "{}", list.text);
    let killed = bench.call("background", json!({"action": "kill", "id": process.id})).await;
    assert!(!runs(pid));
    assert_eq!(killed.ended, Some(process.id));
}

#[tokio::test]
async fn waiting_has_a_limit_and_ends_with_the_process() {
    let bench = Bench::new();
    assert!(bench.call("background", json!({"action": "wait"})).await.text.contains("Nothing runs"));
    let fifo = bench.root.join("gate");
    let command = format!("mkfifo {0}; read x < {0}; echo $x", fifo.display());
    let id = bench.call("bash", json!({"command": command, "background": true})).await.background.unwrap().id;
    let waited = bench.call("background", json!({"action": "wait", "id": id, "limit_seconds": 0})).await;
    assert!(waited.text.contains("Not ended within 0 seconds") && !waited.is_error, "{}", waited.text);
    until("the fifo is there", || fifo.exists()).await;
    let wait = bench.call("background", json!({"action": "wait"}));
    let (waited, written) = tokio::join!(wait, tokio::fs::write(&fifo, "now\n"));
    written.unwrap();
    assert!(waited.text.contains("exit code: 0") && waited.text.contains("now"), "{}", waited.text);
    let missing = bench.call("background", json!({"action": "kill", "id": "bg-none"})).await;
    assert!(missing.is_error && missing.text.contains("There is no background process"), "{}", missing.text);
}

#[tokio::test]
async fn what_comes_after_the_end_of_a_run_does_not_outlive_it() {
    let mut bench = Bench::new();
    bench.context.jobs.end_all().await;
    let reply = bench.call("bash", json!({"command": "sleep 1000", "background": true})).await;
    let id = reply.background.unwrap().id;
    let done = bench.completions.recv().await.unwrap();
    assert_eq!((done.id, done.exit.killed), (id, true));
    bench.context.jobs.end_all().await;
}

#[tokio::test]
async fn no_command_is_skipped_while_the_folder_is_watched() {
    let bench = Bench::new();
    let reply = bench.bash("shopt -s extdebug; eval echo one; echo two").await;
    assert_eq!(reply.text, "exit code: 0\none\ntwo\n");
}

#[tokio::test]
async fn going_back_goes_where_the_agent_came_from() {
    let bench = Bench::new();
    let reply = bench.bash("cd -").await;
    assert!(reply.is_error && reply.text.contains("OLDPWD not set"), "{}", reply.text);
    bench.bash("mkdir sub; cd sub").await;
    bench.bash("cd -").await;
    assert_eq!(bench.cwd(), bench.root);
}

#[tokio::test]
async fn an_interrupted_command_says_where_the_agent_is() {
    let bench = Bench::new();
    bench.bash("mkdir sub; cd sub").await;
    let call = tool_use("bash", &json!({"command": "echo up; sleep 1000"}));
    let interrupt = bench.context.tokens.interrupt.clone();
    let reply = while_running(&bench, &call, async || interrupt.cancel()).await;
    assert!(reply.is_error && reply.text.contains("[cwd: sub]"), "{}", reply.text);
}

#[tokio::test]
async fn a_command_that_is_too_long_to_be_passed_leaves_no_file_behind_and_nobody_else_reads_it() {
    let mut bench = Bench::new();
    let spill = bench.context.folders.spill.clone();
    let padding = "x".repeat(200 << 10);
    let command = format!(": {padding}\nls -l {}/*.sh | cut -c1-10; cd /", spill.display());
    let left = || {
        let paths = std::fs::read_dir(&spill).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "sh" || kind == "cwd")).count()
    };
    let reply = bench.call("bash", json!({"command": command})).await;
    assert!(reply.text.contains("-rw-------"), "{}", reply.text);
    assert_eq!(left(), 0);
    // It is read after the call has returned: the file has to stay until then, and no longer.
    let reply = bench.call("bash", json!({"command": command, "background": true})).await;
    assert!(!reply.is_error, "{}", reply.text);
    let done = bench.completions.recv().await.unwrap();
    assert_eq!((done.exit.code, done.text.trim()), (Some(0), "-rw-------"));
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn a_result_says_for_another_life_where_the_shell_went() {
    let bench = Bench::new();
    for (command, kept) in [
        ("mkdir -p sub/deep", None),
        ("cd sub/deep", Some("sub/deep")),
        ("pwd; exit 1", None),
        ("cd /", Some("/")),
        ("cd -; cd ../..", Some(".")),
        ("cd sub/deep; rm -r ../deep", None),
        ("mkdir gone; cd gone", Some("gone")),
    ] {
        assert_eq!(bench.bash(command).await.cwd.as_deref(), kept, "{command}");
    }
    std::fs::remove_dir(bench.root.join("gone")).unwrap();
    assert_eq!(bench.bash("true").await.cwd.as_deref(), Some("."));
    let at = |folder| mxd::tools::Cwd::at(bench.root.clone(), Some(folder));
    assert_eq!((at("sub/deep").get(), at("/").get()), (bench.root.join("sub/deep"), "/".into()));
    assert_eq!(at("sub").notice().as_deref(), Some("[cwd: sub]"));
}
