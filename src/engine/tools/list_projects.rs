//! `list_projects`: lists the other projects of this machine.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text;
use crate::engine::tools::projects::{OtherProject, Projects};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

/// How many projects are listed.
const SHOWN: usize = 100;

pub(super) struct ListProjects(pub(super) Arc<dyn Projects>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

impl Handler for ListProjects {
    const NAME: &'static str = names::LIST_PROJECTS;
    const DESCRIPTION: &'static str = "Lists the other projects of this machine, with their ids and folders: those to \
        which send_message_to_project can speak. Open ones hear it at once.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = "{}";

    type Input = Input;

    async fn run(self: Arc<Self>, _: Input, _: Call) -> Reply {
        Reply::text(listing(&self.0.list()))
    }
}

fn listing(projects: &[OtherProject]) -> String {
    if projects.is_empty() {
        return "There is no other project on this machine.".to_owned();
    }
    let mut out = String::new();
    for project in projects.iter().take(SHOWN) {
        let open = if project.is_open { ", open" } else { "" };
        let name = text::headline(&project.name, 120);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- {} {name} ({}{open})", project.id, project.path.display());
    }
    if projects.len() > SHOWN {
        let _ = writeln!(out, "[{} more not shown]", projects.len() - SHOWN);
    }
    out
}

#[cfg(test)]
#[path = "list_projects_tests.rs"]
mod tests;
