//! Outside programs as backends: starts a program for a run, and lets the run drive its session.

mod asks;
mod client_methods;
mod digest;
mod inbox;
mod permission;
mod program;
mod recovery;
mod run;
mod served_tools;
mod tool_calls;
mod transcript;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

pub use program::Program;

use super::native::run_tools::{tool_context, tree_tools};
use super::{Assignment, Backend, Capabilities, Preflight, PreparedRun, RunRequest};
use crate::base::{Fault, TaskId};
use crate::config::settings::BackendProtocol;
use crate::engine::driver::{EngineContext, refused_by_store};
use crate::engine::machine::LaunchFailure;
use crate::engine::tool_door::{DoorKey, SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::model::fold::SessionState;
use crate::outside::session::ToolAccess;
use crate::outside::{Launcher, OpenError, OpenRequest, Opened, Session, acp, json_lines};
use crate::tools::{ToolContext, names};
use run::{Run, RunParts};
use served_tools::ServedTools;

/// A program of the table or of the settings as a backend.
pub(in crate::engine) struct Outside {
    pub(in crate::engine) ctx: Arc<EngineContext>,
    pub(in crate::engine) program: Arc<Program>,
}

impl Backend for Outside {
    fn name(&self) -> &str {
        let Program { label, .. } = self.program.as_ref();
        label
    }

    fn capabilities(&self) -> Capabilities {
        self.program.capabilities()
    }

    fn preflight(&self, _: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>> {
        let (ctx, program) = (Arc::clone(&self.ctx), Arc::clone(&self.program));
        async move {
            let checked = Arc::clone(&program);
            let missing = tokio::task::spawn_blocking(move || checked.missing()).await;
            match missing.map_err(|error| Fault::internal(error.to_string()))? {
                Some(fault) => Err(fault),
                None => Ok(Box::new(Ready { ctx, program }) as Box<dyn Preflight>),
            }
        }
        .boxed()
    }
}

struct Ready {
    ctx: Arc<EngineContext>,
    program: Arc<Program>,
}

impl Preflight for Ready {
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<PreparedRun, LaunchFailure>> {
        start(self.ctx, self.program, request).boxed()
    }
}

async fn start(
    ctx: Arc<EngineContext>,
    program: Arc<Program>,
    request: RunRequest,
) -> Result<PreparedRun, LaunchFailure> {
    let events = request.session.events().await.map_err(|error| refused_by_store(&error))?;
    let state = SessionState::replay(&events);
    let starter = Starter::new(&ctx, &program, &request).await.map_err(LaunchFailure::Refused)?;
    let resume = starter.resumable(&state);
    let (session, opened) =
        starter.open(resume).await.map_err(|error| LaunchFailure::Refused(program.open_fault(&error)))?;
    let model = opened.model.clone().unwrap_or_else(|| program.label.clone());
    let run = Run::new(RunParts { ctx, program, request, starter, events, state, session, opened });
    Ok(PreparedRun { model, run: async move { run.run_to_end().await.map_err(Fault::from) }.boxed() })
}

/// Starts the program of a run, and starts it again if it dies.
struct Starter {
    ctx: Arc<EngineContext>,
    program: Arc<Program>,
    launcher: Launcher,
    open: OpenRequest,
    tools: ToolContext,
    served: Arc<ServedTools>,
    key: DoorKey,
    task: TaskId,
}

impl Starter {
    async fn new(ctx: &Arc<EngineContext>, program: &Arc<Program>, request: &RunRequest) -> Result<Self, Fault> {
        let Assignment { order, profile } = request.assignment.as_ref();
        let mut registry = tree_tools(ctx, request).map_err(|error| Fault::internal(error.to_string()))?;
        registry.retain(|wire| profile.tools.allows(wire));
        let (tools, _) = tool_context(ctx, request, Arc::new(registry)).await?;
        let served = Arc::new(ServedTools::new(tools.registry.specs()));
        let failed = |error: std::io::Error| Fault::environment(format!("the tools cannot be served: {error}"));
        let key = ctx
            .tool_door
            .admit(Arc::clone(&served) as Arc<dyn crate::tools::mcp_server::ToolServer>)
            .map_err(failed)?;
        let environment =
            program.environment(ctx.agent_git.environment(ctx.environment(order.node.id), std::env::vars_os()));
        let launcher = Launcher {
            label: program.label.clone(),
            program: program.command.clone().into(),
            arguments: program.args.clone(),
            environment,
            records: Some(ctx.records.clone()),
        };
        let assignment = Arc::clone(&request.assignment);
        let system = super::native::opening::system_text(&assignment);
        let checkout = match &order.place {
            Some(place) => ctx.worktrees.checkout(&place.worktree).await?,
            None => ctx.worktrees.main().clone(),
        };
        let mut folders = vec![checkout.common.clone()];
        if checkout.git_dir != checkout.common {
            folders.push(checkout.git_dir.clone());
        }
        let open = OpenRequest {
            process_id: String::new(),
            cwd: request.worktree.clone(),
            folders,
            system,
            model: profile.profile.model.clone(),
            effort: profile.profile.effort.clone(),
            mode: program.mode.clone(),
            tools: None,
            resume: None,
            limit: program.start,
            wire_log: Some(ctx.agent_logs.join(format!("agent-{}.log", order.node.id))),
        };
        let task = order.node.id;
        Ok(Self { ctx: Arc::clone(ctx), program: Arc::clone(program), launcher, open, tools, served, key, task })
    }

    /// Returns the session of an earlier run that this program can go on with.
    fn resumable(&self, state: &SessionState) -> Option<String> {
        let session = state.backend.session.as_ref()?;
        (session.backend == self.program.name && !session.id.is_empty()).then(|| session.id.clone())
    }

    /// Returns what a new session must know.
    fn system(&self) -> &str {
        &self.open.system
    }

    fn asked_model(&self) -> Option<&str> {
        self.open.model.as_deref()
    }

    /// Starts the program and opens its session.
    async fn open(&self, resume: Option<String>) -> Result<(Session, Opened), OpenError> {
        let tools = self.tool_access().await;
        let request = OpenRequest {
            process_id: format!("agent-{}", crate::base::RunId::fresh(&self.ctx.ids)),
            tools: Some(tools),
            resume,
            ..self.open.clone()
        };
        self.served.on_open();
        match self.program.protocol {
            BackendProtocol::Acp => {
                let (session, opened) = acp::open(&self.launcher, &self.program.quirks, &request).await?;
                Ok((Session::Acp(session), opened))
            }
            BackendProtocol::Json => {
                let (session, opened) = json_lines::open(&self.launcher, &request).await?;
                Ok((Session::Lines(session), opened))
            }
        }
    }

    async fn tool_access(&self) -> ToolAccess {
        let addresses = self.ctx.tool_door.open().await;
        let token = self.key.token().to_owned();
        let mut variables = vec![(TOKEN_VARIABLE.to_owned(), token.clone())];
        variables.extend(addresses.socket.map(|socket| (SOCKET_VARIABLE.to_owned(), socket.display().to_string())));
        ToolAccess {
            name: names::OWN.to_owned(),
            http: addresses.url.map(|url| (url, token)),
            command: crate::process::host_program().unwrap_or_else(|| PathBuf::from("mxd")),
            arguments: vec!["mcp".to_owned(), "serve".to_owned(), "--task".to_owned(), self.task.to_string()],
            variables,
        }
    }
}
