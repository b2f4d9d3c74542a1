//! The entry point for commands: checks permission, carries the command out, replies.

use crate::base::{Fault, Timestamp};
use crate::engine::command::{Actor, Command, CommandId, Outcome};
use crate::engine::machine::authority::Permission;
use crate::engine::machine::work::MergeOptions;
use crate::engine::machine::{Effect, Machine};
use crate::engine::update::{Level, Notice};
use crate::model::run::RunCommand;

/// Who made a change, and which command gets the reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) actor: Actor,
    /// `None` if the engine acts by itself: a recurring task is due, or a start repairs what a crash interrupted.
    pub(super) command: Option<CommandId>,
}

impl Origin {
    /// A change that the engine makes by itself.
    pub(super) const ENGINE: Self = Self { actor: Actor::Engine, command: None };
}

impl Machine {
    /// Carries out a command, unless its actor may not give it.
    pub(super) fn on_command(&mut self, now: Timestamp, id: CommandId, actor: Actor, command: Command) {
        let result = match self.permission(actor, &command) {
            Ok(Permission::Granted) => {
                self.check_capability(&command).and_then(|()| self.carry_out(now, id, actor, command))
            }
            Ok(Permission::AskUser { own, limit }) => {
                self.ask_for_tasks(id, own, limit);
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        if let Err(fault) = result {
            self.out.push(Effect::Reply { id, result: Err(fault) });
        }
    }

    fn carry_out(&mut self, now: Timestamp, id: CommandId, actor: Actor, command: Command) -> Result<(), Fault> {
        let origin = Origin { actor, command: Some(id) };
        match command {
            Command::Send { task, message, mode } => self.send(now, id, task, message, mode),
            Command::Message { to, body, request_reply } => {
                self.send_between_tasks(now, id, actor, to, body, request_reply)
            }
            Command::Ask { question, detail, choices, default, mode } => {
                self.ask_user(now, id, actor, question, detail, choices, default, mode)
            }
            Command::Withdraw { task, messages } => self.withdraw(id, task, messages),
            Command::Answer { task, ask, reply, by } => self.answer(now, id, task, ask, reply, by),
            Command::ReviewPlan { task, approve, words } => self.review_plan(now, id, actor, task, approve, &words),
            Command::Create { parent, before, draft, start } => self.create(now, origin, parent, before, &draft, start),
            Command::Update { task, changes } => self.update(now, origin, task, &changes),
            Command::HandOverTask { task, to, note } => self.hand_over_task(now, origin, task, &to, note),
            Command::Close { task } => self.close(now, origin, task),
            Command::Delete { task } => self.delete(now, origin, task),
            Command::Reset { task } => self.reset(now, origin, task),
            Command::Restore { task } => self.restore(origin, task),
            Command::Move { task, parent, before } => self.reparent(now, origin, task, parent, before),
            Command::Reorder { parent, order } => self.reorder(now, origin, parent, order),
            Command::Resume { task } => self.resume(now, id, task),
            Command::Interrupt { task } => self.interrupt(now, id, task),
            Command::Stop { scope } => self.stop(now, id, actor, scope),
            Command::Compact { task } => self.compact(now, id, task),
            Command::Background { task, call } => self.send_run_command(id, task, RunCommand::Background { call }),
            Command::Kill { task, process } => self.send_run_command(id, task, RunCommand::Kill { process }),
            Command::Merge { task, into, how, conflicts } => {
                self.merge(now, id, task, MergeOptions { into, how, conflicts }, self.approval_by_merge(task))
            }
            Command::CancelMerge { task } => self.cancel_merge(id, task),
            Command::UndoMerge { task } => self.undo_merge(id, task),
            Command::Verify { task } => self.verify(id, task),
            Command::CatchUp { task } => self.catch_up(id, task),
            Command::Review { task, comments, words, state } => self.review(now, id, task, comments, words, state),
            Command::Rewind { task, to, extent } => self.rewind(id, task, to, extent),
            Command::Redo { task } => self.redo(id, task),
            Command::Fork { task, at, draft, start } => self.fork_at(now, id, task, at, draft, start),
            Command::ForkContext { source, target } => self.fork_context(origin, source, target),
            Command::Resend { task, message, text, extent } => self.resend(id, task, message, text, extent),
            // The driver handles these without the machine.
            Command::Files(_) => Err(Fault::internal("a file command reached the machine")),
            Command::HandOver { now: interrupts } => {
                self.hand_over(id, interrupts);
                Ok(())
            }
            Command::Quit => {
                self.quit(id);
                Ok(())
            }
        }
    }

    /// Replies to the command, if there is one.
    pub(super) fn reply(&mut self, origin: Origin, outcome: Outcome) {
        self.out.extend(origin.command.map(|id| Effect::Reply { id, result: Ok(outcome) }));
    }

    /// Refuses the command. Without a command, notifies the user.
    pub(super) fn refuse(&mut self, origin: Origin, fault: Fault) {
        self.out.push(match origin.command {
            Some(id) => Effect::Reply { id, result: Err(fault) },
            None => {
                let text = format!("a change that was due was not made: {fault}");
                Effect::Notify(Notice { level: Level::Warning, text, task: None })
            }
        });
    }
}
