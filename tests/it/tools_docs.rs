//! `docs/tools.md` says what the models are told.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use mxd::base::{IdSource, SystemClock, TaskId};
use mxd::engine::agent_port::AgentPort;
use mxd::engine::tools::{Access, EngineDoneCheck, OpenGate, OtherProject, Projects, add};
use mxd::tools::{Registry, ToolEffect, docs, names};
use tokio::sync::mpsc;

struct NoProjects;

impl Projects for NoProjects {
    fn list(&self) -> Vec<OtherProject> {
        Vec::new()
    }

    fn send<'a>(&'a self, project: &'a str, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Err(format!("there is no project {project}")) })
    }
}

/// Every tool that any agent can have: those of a root that may delegate.
fn everything() -> Registry {
    let task = TaskId::fresh(&IdSource::new(Arc::new(SystemClock)));
    let port = AgentPort::new(task, mpsc::unbounded_channel().0);
    let finish = Arc::new(EngineDoneCheck::new(port.clone(), None, Arc::new(OpenGate)));
    let mut registry = Registry::builtin();
    let skill = mxd::engine::skills::Skill {
        name: "release-notes".to_owned(),
        description: "Writes release notes".to_owned(),
        source: mxd::config::profile::Source::Project,
        folder: "skills/release-notes".into(),
        text: "Read the log.".to_owned(),
    };
    let (skills, projects) = (Arc::new([skill]), Some(Arc::new(NoProjects) as Arc<_>));
    let access = Access { port, is_root: true, may_delegate: true, finish, skills, projects };
    add(&mut registry, access).unwrap();
    registry
}

#[test]
fn every_tool_of_our_own_is_among_the_names() {
    let registry = everything();
    let mut known: Vec<_> = registry.iter().map(|tool| names::display_name(&tool.spec().name).into_owned()).collect();
    known.sort_unstable();
    assert_eq!(known, names::ALL);
}

/// A response that only calls these is saved with its results, so none of them may change anything.
#[test]
fn the_tools_that_are_said_to_read_do_nothing_else() {
    let registry = everything();
    for tool in registry.iter().filter(|tool| names::is_read_only(&tool.spec().name)) {
        assert_eq!(tool.effect(), ToolEffect::Reads, "{}", tool.spec().name);
    }
    assert!(names::is_read_only("read") && names::READ_ONLY.iter().all(|name| names::is_read_only(&names::wire(name))));
    assert!(!names::is_read_only("mcp__other__read_file"), "what a server says of its tools is not relied on");
}

#[test]
fn the_page_about_tools_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tools.md");
    let page = docs::page(&everything());
    let now = fs::read_to_string(&path).unwrap_or_default();
    let written = now.split(docs::MARK).next().unwrap_or_default();
    let wanted = format!("{written}{page}");
    if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(now == wanted, "docs/tools.md is stale: run the tests once with MXD_UPDATE_DOCS=1");
}
