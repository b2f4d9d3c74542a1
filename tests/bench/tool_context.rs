//! A worktree with tools around it, as a run has them.

use std::path::Path;
use std::sync::Arc;

use mxd::base::Json;
use mxd::engine::blobs::StoredBlobs;
use mxd::engine::tools::control::{Done, Yield};
use mxd::model::Live;
use mxd::model::conversation::ToolUse;
use mxd::process::Environment;
use mxd::store::{Blobs, RealDisk};
use mxd::tools::{
    AllowAll, BackgroundJobs, BlobSink, CancelTokens, Completion, Cwd, Folders, Foreground, Limits, PathPolicy,
    ReadTracker, Registry, Reply, ToolContext, TypedTool, execute, names,
};
use tokio::sync::mpsc;

use crate::Outcome;
use crate::fixture;

/// Returns the tools of a run in `root`, keeping its data in `data`, and where ended processes are reported.
pub fn context(root: &Path, data: &Path) -> Outcome<(ToolContext, mpsc::UnboundedReceiver<Completion>)> {
    std::fs::create_dir_all(root.join(".git"))?;
    let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(Blobs::new(Arc::new(RealDisk), data.join("blobs"))));
    let (sender, completions) = mpsc::unbounded_channel();
    let limits = Limits::default();
    let mut registry = Registry::builtin();
    registry.add(Arc::new(TypedTool::new(Yield)))?;
    registry.add(Arc::new(TypedTool::new(Done { check: None })))?;
    let context = ToolContext {
        registry: Arc::new(registry),
        gate: Arc::new(AllowAll),
        consent: None,
        hooks: mxd::hooks::TaskHooks::none(fixture::ids()),
        path_policy: Arc::new(PathPolicy::new(root)?),
        cwd: Arc::new(Cwd::new(root.to_owned())),
        reads: Arc::new(ReadTracker::default()),
        jobs: BackgroundJobs::new(sender, Arc::clone(&blobs), limits.output_bytes),
        foreground: Arc::new(Foreground::default()),
        tokens: CancelTokens::default(),
        live: Arc::new(|_: Live| {}),
        blobs,
        environment: Environment::new(),
        folders: Folders { spill: data.join("spill"), records: data.join("running") },
        ids: fixture::ids(),
        limits,
    };
    Ok((context, completions))
}

/// Returns the call of a tool.
pub fn call(id: &str, name: &str, input: &str) -> Outcome<ToolUse> {
    Ok(ToolUse { call: id.to_owned(), name: names::wire(name), input: Json::parse(input)?, malformed: None })
}

/// Runs a call and insists that it worked.
pub async fn run(context: &ToolContext, name: &str, input: &str) -> Outcome<Reply> {
    let reply = execute(&call("call-1", name, input)?, context).await;
    if reply.is_error { Err(reply.text.into()) } else { Ok(reply) }
}
