//! A backend without a model: it splits a task by its title, commits one file for each leaf, and says when it is done.
//!
//! It keeps nothing but what is in the session, the tree and the repository, so a killed one goes on where it was. After
//! a number of steps it kills its own process, if that is asked for.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command as Program;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::{BoxFuture, FutureExt as _};
use mxd::base::{EventId, Fault, TurnId};
use mxd::engine::backend::{Assignment, Backend, Capabilities, Preflight, PreparedRun, RunRequest};
use mxd::engine::command::{Command, TaskDraft, TaskStart};
use mxd::engine::machine::LaunchFailure;
use mxd::model::event::{
    AssistantText, Body, Event, Exit, InterruptReason, MessagesConsumed, RunEnded, RunStarted, StopReason, TurnEnded,
    Verdict,
};
use mxd::model::fold::SessionState;
use mxd::model::resume;
use mxd::model::run::{Ending, RunCommand};
use mxd::model::task::Status;
use mxd::store::StoreError;
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::mpsc::error::TryRecvError;

/// How long the title of a leaf is: the root has two sub tasks, and each of them has two.
const LEAF: usize = 2;

pub struct Clerk {
    pub capabilities: Capabilities,
    pub steps: Arc<Steps>,
}

/// Steps until the process is killed. Zero: it never is.
#[derive(Default)]
pub struct Steps(pub AtomicU32);

impl Steps {
    fn step(&self) {
        let left = self.0.load(Ordering::SeqCst);
        if left > 0 && self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    }
}

impl Backend for Clerk {
    fn name(&self) -> &'static str {
        "clerk"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn preflight(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>> {
        let refused = assignment.order.node.title == "refused";
        let ready = Box::new(Ready(Arc::clone(&self.steps))) as Box<dyn Preflight>;
        let result = if refused { Err(Fault::config("the clerk does not do that")) } else { Ok(ready) };
        std::future::ready(result).boxed()
    }
}

struct Ready(Arc<Steps>);

impl Preflight for Ready {
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<PreparedRun, LaunchFailure>> {
        let run = async move {
            let mut desk = Desk { request, steps: self.0, state: SessionState::default(), seen: BTreeSet::new() };
            desk.work().await.map_err(|error| Fault::environment(error.to_string()))
        };
        std::future::ready(Ok(PreparedRun { model: "paper".to_owned(), run: run.boxed() })).boxed()
    }
}

struct Desk {
    request: RunRequest,
    steps: Arc<Steps>,
    state: SessionState,
    seen: BTreeSet<EventId>,
}

enum Next {
    Again,
    Wait,
    Done(String),
}

impl Desk {
    async fn work(&mut self) -> Result<Ending, StoreError> {
        for event in self.request.session.events().await? {
            self.apply(&event);
        }
        let profile = self.request.assignment.order.node.profile.clone();
        let shape = resume::of(&self.state).shape();
        self.append(vec![RunStarted { shape, profile: profile.unwrap_or_default(), model: "paper".to_owned() }.into()])
            .await?;
        loop {
            if let Some(reason) = self.listen() {
                let exit = Exit::Interrupted(reason);
                self.append(vec![RunEnded::from(exit.clone()).into()]).await?;
                return Ok(Ending::Exited(exit));
            }
            let ids: Vec<_> = self.state.messages.iter().map(|message| message.id).collect();
            if !ids.is_empty() {
                self.append(vec![MessagesConsumed { ids }.into()]).await?;
            }
            match self.next().await {
                Next::Again => {}
                Next::Wait if !self.state.messages.is_empty() || !self.request.inbox.is_empty() => {}
                Next::Wait => {
                    self.end_turn("I wait for the others.", None).await?;
                    return Ok(Ending::Idle);
                }
                Next::Done(result) => {
                    let ended = RunEnded { result: result.clone(), ..RunEnded::from(Exit::DonePassed) };
                    self.end_turn(&result, Some(ended)).await?;
                    return Ok(Ending::Exited(Exit::DonePassed));
                }
            }
        }
    }

    /// Ends a turn, and with it the run if the task is done: whoever is killed in between would sleep with nobody to wake it.
    async fn end_turn(&mut self, text: &str, ended: Option<RunEnded>) -> Result<(), StoreError> {
        let turn = TurnId::fresh(&self.request.ids);
        self.request.snapshots.take(turn).await;
        let mut bodies: Vec<Body> =
            vec![AssistantText { text: text.to_owned() }.into(), TurnEnded { turn, stop: StopReason::EndTurn }.into()];
        bodies.extend(ended.map(Body::from));
        self.append(bodies).await
    }

    /// Takes in what was said. Returns why the run has to end, if it has to.
    fn listen(&mut self) -> Option<InterruptReason> {
        loop {
            match self.request.inbox.try_recv() {
                Ok(RunCommand::Deliver(event)) => self.apply(&event),
                Ok(RunCommand::WrapUp) => return Some(InterruptReason::Quit),
                Ok(RunCommand::Teardown(reason)) => return Some(reason),
                Ok(_) => {}
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => return Some(InterruptReason::Quit),
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        // What was read from the session is said again by whoever wrote it.
        if self.seen.insert(event.id) {
            self.state.apply(event);
        }
    }

    async fn append(&mut self, bodies: Vec<Body>) -> Result<(), StoreError> {
        self.steps.step();
        for event in self.request.session.append(bodies).await? {
            self.apply(&event);
        }
        self.steps.step();
        Ok(())
    }

    async fn next(&mut self) -> Next {
        let assignment = Arc::clone(&self.request.assignment);
        let node = &assignment.order.node;
        let name = if assignment.order.place.is_none() { "" } else { node.title.as_str() };
        if name.len() == LEAF {
            self.steps.step();
            commit(&self.request.worktree, name);
            assert_eq!(self.request.done_check.refuse(Verdict::Passed).await, None);
            return Next::Done(format!("wrote {name}.txt"));
        }
        let rows = self.request.port.rows(Some(node.id)).await.unwrap();
        let below: Vec<_> = rows.iter().filter(|row| row.depth == 1).collect();
        for title in ["1", "2"].map(|digit| format!("{name}{digit}")) {
            if !below.iter().any(|row| row.title == title) {
                self.steps.step();
                let draft = TaskDraft { title, description: "One of two halves.".to_owned(), ..TaskDraft::default() };
                let create = Command::Create { parent: node.id, before: None, draft, start: TaskStart::Now };
                self.request.port.command(create).await.unwrap();
                return Next::Again;
            }
        }
        if below.iter().all(|row| row.status == Status::Passed) {
            return Next::Done("both halves are done".to_owned());
        }
        Next::Wait
    }
}

/// Commits one file, unless a killed clerk did.
fn commit(worktree: &Path, name: &str) {
    let git = |args: &[&str]| {
        let output = Program::new("git").args(args).current_dir(worktree).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let file = format!("{name}.txt");
    if git(&["log", "--oneline", "--", &file]).is_empty() {
        std::fs::write(worktree.join(&file), name).unwrap();
        git(&["add", &file]);
        git(&["-c", "user.name=clerk", "-c", "user.email=clerk@example.invalid", "commit", "--quiet", "-m", name]);
    }
}
