//! Everything that a front end can ask about a project, asked of one that nobody works on, and sent as JSON both ways.

use std::fs;

use mxd::base::{Fault, TaskId};
use mxd::config::{Environment, merge};
use mxd::engine::command::{Command, FileCommand, Layer};
use mxd::engine::query::{CostsBy, ModelSource, Query, QueryAnswer};
use mxd::engine::review::{DiffRange, DiffRequest, MergeTarget, RewindScope, Whitespace};
use mxd::engine::{Handle, projects, read_only};
use mxd::model::search::SearchQuery;
use serde_json::json;

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, done, play, root, say};

/// A project in which one task has changed a file and another one was deleted, and the way to it.
fn worked_on(world: &World) -> (Project<'_>, Handle) {
    let work =
        json!([bash("echo blue > paint.txt && git add -A && git commit -q -m paint"), done("passed", "painted")]);
    play(world, json!([root(json!([say("Fine.")])), agent("Painter", work)]));
    let project = world.project("app");
    project.new_task("Painter");
    project.mxd(["run"]).ok();
    let gone = project.new_task("Gone");
    project.mxd(["task", "delete", &gone]).ok();
    let settings = merge(&Environment::default(), &[]).unwrap().settings;
    let registered = projects::registry(&world.home()).find_path(&project.path).unwrap().unwrap();
    let handle = read_only(&world.home(), registered, &settings);
    (project, handle)
}

/// Asks, with the question and the answer as another process would get them.
async fn ask(handle: &Handle, query: Query) -> Result<QueryAnswer, Fault> {
    let sent = serde_json::to_vec(&query).unwrap();
    assert_eq!(serde_json::from_slice::<Query>(&sent).unwrap(), query);
    let answer = handle.query(query).await?;
    let sent = serde_json::to_vec(&answer).unwrap();
    assert_eq!(serde_json::from_slice::<QueryAnswer>(&sent).unwrap(), answer);
    Ok(answer)
}

fn whole(range: DiffRange) -> DiffRequest {
    DiffRequest { range, whitespace: Whitespace::Counts, context: 3, only: Vec::new() }
}

#[tokio::test]
async fn every_query_is_answered_beside_an_engine_and_survives_json() {
    let world = World::new();
    let (project, handle) = worked_on(&world);
    let painter: TaskId = project.id("Painter").parse().unwrap();
    let QueryAnswer::Tasks(tasks) = ask(&handle, Query::Tasks).await.unwrap() else { panic!() };
    let row = tasks.rows.iter().find(|row| row.node.title == "Painter").unwrap();
    assert_eq!((row.node.id, row.depth, row.turns, tasks.warnings.len()), (painter, 1, 2, 0));
    for (name, found) in [(painter.to_string(), Some(painter)), (painter.to_string()[..20].to_owned(), Some(painter))] {
        assert_eq!(ask(&handle, Query::Find { name }).await.ok(), found.map(QueryAnswer::Find));
    }
    let fault = ask(&handle, Query::Find { name: "ZZZZZZZZZZ".to_owned() }).await.unwrap_err();
    assert!(fault.hints.iter().any(|hint| hint.contains("mxd tree")), "{fault:?}");
    let QueryAnswer::DeletedTasks(deleted) = ask(&handle, Query::DeletedTasks).await.unwrap() else { panic!() };
    assert_eq!(deleted.iter().map(|node| node.title.as_str()).collect::<Vec<_>>(), ["Gone"]);
    let gone = deleted[0].id;
    assert_eq!(ask(&handle, Query::Find { name: gone.to_string() }).await, Ok(QueryAnswer::Find(gone)));
    let QueryAnswer::Summary(summary) = ask(&handle, Query::Summary { task: gone }).await.unwrap() else { panic!() };
    assert_eq!((summary.node, summary.tokens), (None, 0));
    let QueryAnswer::Patch(patch) =
        ask(&handle, Query::Patch { task: painter, request: whole(DiffRange::Base) }).await.unwrap()
    else {
        panic!()
    };
    assert!(String::from_utf8(patch.0).unwrap().contains("+blue\n"));
    let QueryAnswer::Settings(settings) = ask(&handle, Query::Settings).await.unwrap() else { panic!() };
    let depth = settings.iter().find(|row| row.key == "maxDepth").unwrap();
    assert_eq!((depth.value.clone(), depth.origin.as_str()), (json!(3), "default"));
    let turn = match ask(&handle, Query::Turns { task: painter }).await.unwrap() {
        QueryAnswer::Turns(turns) => turns[0].turn,
        other => panic!("{other:?}"),
    };
    let question = SearchQuery { words: "paint".to_owned(), below: None, since: None, until: None, limit: 5 };
    for query in [
        Query::Page { task: painter, before: None, count: 3 },
        Query::Diff { task: painter, request: whole(DiffRange::Turn { turn }) },
        Query::MergePreview { task: painter, into: MergeTarget::Parent },
        Query::RewindPreview { task: painter, to: None, extent: RewindScope::Both },
        Query::Seen { task: painter },
        Query::Files { task: painter, words: "pai".to_owned(), limit: 5 },
        Query::Search { question },
        Query::Asks,
        Query::Costs { by: CostsBy::Task },
        Query::Costs { by: CostsBy::Model },
        Query::Costs { by: CostsBy::Day },
        Query::Models { from: ModelSource::Known },
        Query::Projects,
    ] {
        ask(&handle, query.clone()).await.unwrap_or_else(|fault| panic!("{query:?}: {fault}"));
    }
}

#[tokio::test]
async fn a_whole_session_comes_in_its_order_and_its_file_byte_for_byte() {
    let world = World::new();
    let (project, handle) = worked_on(&world);
    let painter: TaskId = project.id("Painter").parse().unwrap();
    let mut pages = handle.session(painter);
    let mut ids = Vec::new();
    while let Some(page) = pages.recv().await {
        ids.extend(page.unwrap().events.iter().map(|event| event.id.to_string()));
    }
    let logged = json_lines(&project.mxd(["log", &painter.to_string(), "--json"]).ok());
    assert_eq!(ids, logged.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
    let file = project.folder.sessions().join(format!("{painter}.jsonl"));
    // A torn write at its end is shown as it is.
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend_from_slice(b"{\"torn\":\"\xff");
    fs::write(&file, &bytes).unwrap();
    let mut raw = Vec::new();
    loop {
        let piece = handle.raw_session(painter, raw.len() as u64).await.unwrap();
        if piece.is_empty() {
            break;
        }
        raw.extend(piece);
    }
    assert_eq!(raw, bytes);
    let pages = handle.session(TaskId::from_ulid(ulid::Ulid::from_parts(1, 1))).recv().await.unwrap().unwrap();
    assert_eq!(pages.events, [], "a task without events");
}

#[tokio::test]
async fn what_is_only_read_is_not_changed_but_the_users_settings_are() {
    let world = World::new();
    let (project, handle) = worked_on(&world);
    let task = project.id("Painter").parse().unwrap();
    assert!(handle.command(Command::Delete { task }).await.is_err());
    assert_eq!(project.status("Painter"), "passed");
    let set = |key: &str, value: Option<&str>| {
        let value = value.map(str::to_owned);
        Command::Files(FileCommand::SetSetting { layer: Layer::Local, key: key.to_owned(), value })
    };
    handle.command(set("model", Some("claude-x"))).await.unwrap();
    assert_eq!(project.mxd(["config", "get", "model"]).ok(), "claude-x\n");
    handle.command(set("model", None)).await.unwrap();
    project.mxd(["config", "get", "--local", "model"]).refused(3, "model is not set");
    let fault = handle.command(set("modle", Some("x"))).await.unwrap_err();
    assert!(fault.message.contains("did you mean model?"), "{fault}");
}
