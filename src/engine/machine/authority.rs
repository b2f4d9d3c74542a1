//! Who may give which command, and who is told of it: the one place where it matters whether a user or an agent acts.
//!
//! Nothing is changed here. An agent works on what is below its own task, within what the user allows; the user may do
//! everything except speak in the name of a task. What a command itself needs, whoever gives it, is checked where it is
//! carried out.

use crate::base::{Fault, TaskId};
use crate::engine::command::{Actor, Changes, Command, Draft, MESSAGE_CHARS, StopScope, UNREAD_MESSAGES};
use crate::engine::machine::Machine;
use crate::engine::machine::task_limit::TaskLimit;
use crate::model::message::Source;
use crate::model::task::{EditedBy, Recurring, Status};

/// Whether a command is carried out.
#[derive(Debug)]
pub(super) enum Permission {
    Granted,
    /// The agent of `own` has reached a limit that only the user can raise: the user is asked.
    AskUser {
        own: TaskId,
        limit: TaskLimit,
    },
}

impl Actor {
    /// Returns whose change it is, as the tree keeps it.
    pub(super) fn editor(self) -> EditedBy {
        match self {
            Self::User => EditedBy::User,
            Self::Agent(_) | Self::Engine => EditedBy::Agent,
        }
    }

    /// Returns true if the tasks above are told of a change. An agent changes only what is below its own task, so those
    /// above have nothing to hear.
    pub(super) fn is_told_above(self) -> bool {
        self == Self::User
    }

    /// Adds the next steps to a refusal. An agent has tools where the user has keys and commands.
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
                Err(Fault::user("only an agent speaks in the name of its task"))
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
            | Command::Delete { task }
            | Command::Reset { task }
            | Command::ForkContext { target: task, .. }
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
        Err(Fault::user(format!(
            "task {task} is not below yours: you may change only your own sub tasks and what is below them"
        ))
        .hint("send a message to the task above it instead"))
    }

    /// As [`Machine::check_below`], for what an agent may also do to its own task.
    fn check_inside(&self, own: TaskId, task: TaskId) -> Result<(), Fault> {
        if task == own { Ok(()) } else { self.check_below(own, task) }
    }

    fn check_creation(&self, own: TaskId, parent: TaskId, draft: &Draft) -> Result<(), Fault> {
        self.node(parent)?;
        if parent != own && !self.is_below(own, parent) {
            return Err(Fault::user(format!(
                "task {parent} is not yours and not below yours: you create tasks in your own sub tree"
            ))
            .hint("tell the task above what is needed: send_message"));
        }
        if draft.recurring != Recurring::None && own != self.tree.root_id() {
            return Err(Fault::user("only the root may make recurring tasks"));
        }
        if let Some(budget) = draft.budget {
            let profile = self.profiles.choose(draft.profile.as_deref())?.full_name();
            self.check_agent_budget(budget, &profile, parent)?;
        }
        Ok(())
    }

    fn check_update(&self, own: TaskId, task: TaskId, changes: &Changes) -> Result<(), Fault> {
        self.check_below(own, task)?;
        if let Some(budget) = changes.budget {
            self.may_change_budget(self.node(task)?, budget)?;
        }
        let recurs = changes.recurring.is_some_and(|recurring| recurring != Recurring::None);
        if recurs && own != self.tree.root_id() {
            return Err(Fault::user("only the root may make a task recurring"));
        }
        Ok(())
    }

    /// Upwards to any task above, downwards to a direct sub task; not too long, and not too many that nobody has read.
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
                "you may speak to the tasks above you and to your direct sub tasks; {to} is neither"
            ))
            .hint("speak to the task above, which can pass it on"));
        }
        if is_sub_task && target.status == Status::Draft {
            return Err(
                Fault::user("this sub task is a draft").hint("make it ready first: update_task with draft false")
            );
        }
        let unread = self.unread_from_tasks(to);
        if unread >= UNREAD_MESSAGES {
            return Err(Fault::user(format!(
                "\"{}\" has {unread} messages of other tasks that it has not read yet; it takes no more until it has",
                target.title
            ))
            .hint("wait (yield), then send what is still needed, in one message"));
        }
        Ok(())
    }

    /// Returns how many messages of other tasks wait to be read by a task.
    fn unread_from_tasks(&self, task: TaskId) -> usize {
        let Some(life) = self.lives.get(&task) else { return 0 };
        life.state.messages.iter().filter(|message| matches!(message.from, Source::TaskMessage { .. })).count()
    }
}
