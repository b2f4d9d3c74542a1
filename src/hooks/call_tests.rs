use std::path::Path;

use super::*;

fn handler(command: &str) -> HookHandler {
    HookHandler { command: Some(command.to_owned()), ..HookHandler::default() }
}

fn reach(folder: &Path) -> Reach {
    Reach {
        cwd: folder.to_owned(),
        project_dir: folder.to_owned(),
        environment: Environment::new(),
        records: None,
        spill: None,
    }
}

async fn end_of(handler: &HookHandler, input: &str, limit: Duration) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let reach = reach(folder.path());
    let call = HookCall {
        id: "hook-test".to_owned(),
        handler,
        timeout: limit,
        input: input.to_owned(),
        reach: &reach,
        variables: vec![("EXTRA", "x".into())],
    };
    super::call(call).await
}

const LONG: Duration = Duration::from_secs(60);

fn exited(code: i32, stdout: &str, stderr: &str) -> Ending {
    Ending::Exited { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

#[tokio::test]
async fn a_command_reads_its_input_and_its_streams_are_kept_apart() {
    let ending = end_of(&handler("cat; echo no >&2; exit 2"), r#"{"a":1}"#, LONG).await;
    assert_eq!(ending, exited(2, r#"{"a":1}"#, "no\n"));
}

#[tokio::test]
async fn a_command_that_ignores_a_large_input_is_no_failure() {
    assert_eq!(end_of(&handler("exit 0"), &"x".repeat(1 << 20), LONG).await, exited(0, "", ""));
}

#[tokio::test]
async fn a_program_with_arguments_is_started_without_a_shell() {
    let args = vec!["${CLAUDE_PROJECT_DIR}|$HOME;ls".to_owned()];
    let handler = HookHandler { args: Some(args), ..handler("printf") };
    let Ending::Exited { code: Some(0), stdout, .. } = end_of(&handler, "", LONG).await else { panic!() };
    assert!(stdout.ends_with("|$HOME;ls") && stdout.starts_with('/'), "{stdout}");
}

#[tokio::test]
async fn a_command_sees_the_project_and_the_variables_of_the_event() {
    let ending = end_of(&handler("[ \"$CLAUDE_PROJECT_DIR\" -ef . ] && echo $EXTRA"), "", LONG).await;
    assert_eq!(ending, exited(0, "x\n", ""));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let ending = end_of(&handler("sleep 600"), "", Duration::from_millis(50)).await;
    assert_eq!(ending, Ending::TimedOut { seconds: 1 });
}

#[tokio::test]
async fn a_missing_program_and_a_missing_script_are_told_apart_from_an_answer() {
    let missing = HookHandler { args: Some(Vec::new()), ..handler("/no/such/program") };
    assert!(matches!(end_of(&missing, "", LONG).await, Ending::Failed(_)));
    let Ending::Exited { code, .. } = end_of(&handler("/no/such/script.sh"), "", LONG).await else { panic!() };
    assert_eq!(code, Some(127));
}

#[tokio::test]
async fn a_hook_that_leaves_something_running_is_answered_at_once() {
    let started = Instant::now();
    let ending = end_of(&handler("sleep 300 & echo done"), "", LONG).await;
    assert_eq!(ending, exited(0, "done\n", ""));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_hook_can_say_that_nobody_should_wait_for_it() {
    let ending = end_of(&handler("echo '{\"async\": true}'; sleep 300"), "", LONG).await;
    assert_eq!(ending, Ending::Background);
}

#[test]
fn headers_contain_only_the_variables_that_are_allowed() {
    let handler = HookHandler {
        headers: Some([("X-Key".to_owned(), "a$TOKEN b${TOKEN}c$OTHER$ d".to_owned())].into()),
        allowed_env_vars: Some(vec!["TOKEN".to_owned()]),
        ..HookHandler::default()
    };
    let sent = headers(&handler, |name| Some(format!("<{name}>"))).unwrap();
    assert_eq!(sent["X-Key"], "a<TOKEN> b<TOKEN>c$ d");
    let broken = HookHandler { headers: Some([("X".to_owned(), "a\nb".to_owned())].into()), ..HookHandler::default() };
    assert!(headers(&broken, |_| None).is_err());
}
