//! Which actor may give which command, and whose changes ancestors are notified of. The only place that distinguishes
//! users from agents.
//!
//! Nothing is changed here. An agent works on tasks below its own, within the limits of the user. The user may do
//! everything except send messages as a task. Requirements that hold for every actor are checked where a command is
//! carried out.

use crate::base::{Fault, TaskId};
use crate::engine::command::{Actor, Command, MESSAGE_CHARS, StopScope, TaskChanges, TaskDraft, UNREAD_MESSAGES};
use crate::engine::machine::Machine;
use crate::engine::machine::task_limit::TaskLimit;
use crate::model::message::MessageSource;
use crate::model::task::{EditedBy, Recurring, Status};
use crate::permit::Mode;

/// Whether an actor may give a command.
#[derive(Debug)]
pub(super) enum Permission {
    Granted,
    /// The agent of `own` has reached a limit that only the user can raise.
    AskUser {
        own: TaskId,
        limit: TaskLimit,
    },
}

impl Actor {
    /// Returns the editor that the tree records.
    pub(super) fn editor(self) -> EditedBy {
        match self {
            Self::User => EditedBy::User,
            Self::Agent(_) | Self::Engine => EditedBy::Agent,
        }
    }

    /// Returns true if ancestors are notified of changes. An agent only changes tasks below its own, so its ancestors
    /// need no notice.
    pub(super) fn notifies_ancestors(self) -> bool {
        self == Self::User
    }

    /// Adds hints to a refusal: tools for an agent, commands for the user.
    pub(super) fn advise(self, fault: Fault, user: &[&str], agent: &str) -> Fault {
        match self {
            Self::User | Self::Engine => user.iter().fold(fault, |fault, hint| fault.hint(*hint)),
            Self::Agent(_) => fault.hint(agent),
        }
    }
}

impl Machine {
    /// Decides whether `actor` may give a command.
    pub(super) fn permission(&self, actor: Actor, command: &Command) -> Result<Permission, Fault> {
        match (actor, command) {
            (Actor::Agent(own), command) => self.agent_permission(own, command),
            (Actor::User | Actor::Engine, Command::Message { .. } | Command::Ask { .. }) => {
                Err(Fault::user("only an agent can send messages as its task"))
            }
            (Actor::User | Actor::Engine, _) => Ok(Permission::Granted),
        }
    }

    fn agent_permission(&self, own: TaskId, command: &Command) -> Result<Permission, Fault> {
        match command {
            Command::Create { parent, draft, .. } => {
                self.check_creation(own, *parent, draft)?;
                return self.check_task_limit(own);
            }
            Command::Update { task, changes } => self.check_update(own, *task, changes)?,
            Command::Close { task }
            | Command::HandOverTask { task, .. }
            | Command::Delete { task }
            | Command::Reset { task }
            | Command::ForkContext { target: task, .. }
            | Command::ReviewPlan { task, .. }
            | Command::Stop { scope: StopScope::Task(task) | StopScope::Subtree(task) } => {
                self.check_below(own, *task)?;
            }
            Command::Move { task, parent, .. } => {
                self.check_below(own, *task)?;
                self.check_inside(own, *parent)?;
            }
            Command::Reorder { parent, .. } => self.check_inside(own, *parent)?,
            Command::Message { to, body, .. } => self.check_message(own, *to, body)?,
            Command::Ask { .. } => {}
            Command::Send { .. }
            | Command::Withdraw { .. }
            | Command::Answer { .. }
            | Command::Restore { .. }
            | Command::Resume { .. }
            | Command::Interrupt { .. }
            | Command::Stop { scope: StopScope::All }
            | Command::Compact { .. }
            | Command::Background { .. }
            | Command::Kill { .. }
            | Command::Merge { .. }
            | Command::UndoMerge { .. }
            | Command::CancelMerge { .. }
            | Command::Verify { .. }
            | Command::CatchUp { .. }
            | Command::Review { .. }
            | Command::Rewind { .. }
            | Command::Redo { .. }
            | Command::Fork { .. }
            | Command::Resend { .. }
            | Command::Files(_)
            | Command::HandOver { .. }
            | Command::Quit => return Err(Fault::user("only the user may do this").hint("ask them with clarify")),
        }
        Ok(Permission::Granted)
    }

    fn is_below(&self, own: TaskId, task: TaskId) -> bool {
        self.tree.ancestors(task).any(|above| above.id == own)
    }

    /// Refuses a change to a task that is not below the agent's own.
    pub(super) fn check_below(&self, own: TaskId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        if self.is_below(own, task) {
            return Ok(());
        }
        Err(Fault::user(format!("task {task} is not below yours: you may change only tasks below your own"))
            .hint("send a message to its parent task instead"))
    }

    /// As [`Machine::check_below`], for what an agent may also do to its own task.
    fn check_inside(&self, own: TaskId, task: TaskId) -> Result<(), Fault> {
        if task == own { Ok(()) } else { self.check_below(own, task) }
    }

    fn check_creation(&self, own: TaskId, parent: TaskId, draft: &TaskDraft) -> Result<(), Fault> {
        self.node(parent)?;
        if parent != own && !self.is_below(own, parent) {
            return Err(Fault::user(format!("task {parent} is not in your subtree: you may create tasks only there"))
                .hint("tell your parent task what is needed: send_message"));
        }
        check_agent_mode(draft.mode)?;
        if self.profile_of_new_task(parent, draft)?.is_none() {
            let names: Vec<String> = self.profiles.views().into_iter().map(|view| view.name).collect();
            return Err(Fault::user("the user chooses who does each task, so \"profile\" is required here")
                .hint(format!("one of: {}", names.join(", "))));
        }
        if draft.recurring != Recurring::None && own != self.tree.root_id() {
            return Err(Fault::user("only the root may create recurring tasks"));
        }
        if let Some(budget) = draft.budget {
            let profile = self.profile_of_new_task(parent, draft)?;
            self.check_agent_budget(budget, profile.as_deref(), parent)?;
        }
        Ok(())
    }

    fn check_update(&self, own: TaskId, task: TaskId, changes: &TaskChanges) -> Result<(), Fault> {
        self.check_below(own, task)?;
        if let Some(budget) = changes.budget {
            self.may_change_budget(self.node(task)?, budget)?;
        }
        if changes.mode.is_some() {
            return Err(Fault::user("only the user changes permission modes").hint("ask them with clarify"));
        }
        let recurs = changes.recurring.is_some_and(|recurring| recurring != Recurring::None);
        if recurs && own != self.tree.root_id() {
            return Err(Fault::user("only the root may make a task recurring"));
        }
        Ok(())
    }

    /// Allows messages to any ancestor and to direct sub tasks, limited in length and number of unread ones.
    fn check_message(&self, own: TaskId, to: TaskId, body: &str) -> Result<(), Fault> {
        let chars = body.chars().count();
        if chars > MESSAGE_CHARS {
            return Err(Fault::user(format!(
                "the message has {chars} characters; at most {MESSAGE_CHARS} can be sent"
            ))
            .hint("commit the text as a file, and send its path and what matters in it"));
        }
        let target = self.node(to)?;
        let is_sub_task = target.parent == Some(own);
        if !is_sub_task && !self.is_below(to, own) {
            return Err(Fault::user(format!(
                "you may message only your ancestors and your direct sub tasks; {to} is neither"
            ))
            .hint("message your parent task, which can pass it on"));
        }
        if is_sub_task && target.status == Status::Draft {
            return Err(Fault::user("this sub task is a draft").hint("ready it first: update_task with draft false"));
        }
        let unread = self.unread_from_tasks(to);
        if unread >= UNREAD_MESSAGES {
            return Err(Fault::user(format!(
                "\"{}\" has {unread} unread messages from other tasks and takes no more until it has read them",
                target.title
            ))
            .hint("wait (yield), then send what is still needed, in one message"));
        }
        Ok(())
    }

    /// Returns the number of unread messages from other tasks.
    fn unread_from_tasks(&self, task: TaskId) -> usize {
        let Some(runtime) = self.runtimes.get(&task) else { return 0 };
        runtime
            .state
            .messages
            .iter()
            .filter(|message| matches!(message.from, MessageSource::TaskMessage { .. }))
            .count()
    }
}

/// An agent may make a task plan first, and otherwise leaves modes to the user.
fn check_agent_mode(mode: Option<Mode>) -> Result<(), Fault> {
    match mode {
        None | Some(Mode::Plan) => Ok(()),
        Some(_) => Err(Fault::user("only the user chooses permission modes; a task can begin with a plan")),
    }
}
