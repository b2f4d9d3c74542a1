//! Effects, one by one.

use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{Driver, Parts, Running};
use crate::base::trace::Variant;
use crate::base::{EventId, Fault, MessageId, TaskId};
use crate::config::Layer;
use crate::engine::command::{RestoredWorktree, SetAside};
use crate::engine::machine::{BranchFate, Effect, Input, LaunchFailure, LaunchOrder, Place, Timer};
use crate::engine::recall;
use crate::engine::update::Update;
use crate::git::{self, Removal, Wanted};
use crate::model::ask::Approval;
use crate::model::event::{Body, Event};
use crate::model::fork::Target;
use crate::model::message::{Message, Source};
use crate::model::run::Ending;
use crate::store::{Sessions, StoreError};

impl Driver {
    pub(super) fn perform(&mut self, effect: Effect) {
        let parts = Arc::clone(&self.parts);
        match effect {
            Effect::Append { ticket, task, bodies } => {
                let appended = self.parts.store.submit(task, None, bodies);
                tokio::spawn(async move {
                    parts.send(match appended.await {
                        Ok(_) => Input::Appended { ticket },
                        Err(error) => Input::AppendFailed { ticket, fault: error.into() },
                    });
                });
            }
            Effect::SendOnce { ticket, task, message, since } => {
                tokio::spawn(async move {
                    parts.send(match send_once(&parts, task, *message, since).await {
                        Ok(()) => Input::Appended { ticket },
                        Err(error) => Input::AppendFailed { ticket, fault: error.into() },
                    });
                });
            }
            Effect::SaveTree { ticket, tree } => {
                tokio::task::spawn_blocking(move || {
                    let saved = parts.tree_file.lock().unwrap_or_else(PoisonError::into_inner).save(&tree);
                    parts.send(match saved {
                        Ok(()) => Input::TreeSaved { ticket },
                        Err(error) => Input::TreeSaveFailed { ticket, fault: error.into() },
                    });
                });
            }
            Effect::Launch(order) => self.launch(*order),
            Effect::CancelLaunch { task } => {
                if let Some(running) = self.runs.get(&task) {
                    running.cancel.cancel();
                }
            }
            // A run that is gone reads its session when it comes back.
            Effect::Tell { task, command } => {
                if let Some(running) = self.runs.get(&task) {
                    let _ = running.inbox.send(command);
                }
            }
            Effect::Clear { task, place, branch, then } => {
                tokio::spawn(async move {
                    let result = clear(&parts, task, place, branch).await;
                    parts.send(Input::Cleared { then, result });
                });
            }
            Effect::Restore { task, place, then } => {
                tokio::spawn(async move {
                    let wanted = Wanted { task, branch: place.branch, path: place.worktree };
                    let result = parts.worktrees.restore(&wanted).await;
                    let result = result.map(restored_worktree).map_err(Fault::from);
                    parts.send(Input::Restored { then, result });
                });
            }
            Effect::Recall { task, known, then } => {
                tokio::task::spawn_blocking(move || {
                    let result = recall::subtree(parts.store.sessions(), task, &known);
                    parts.send(Input::Recalled { then, result: result.map_err(Fault::from) });
                });
            }
            Effect::Copy { from, to, title, description, then } => {
                tokio::spawn(async move {
                    let target = Target { source: from, title, description };
                    let copied =
                        parts.store.copy_session(from, to, move |events: &[Event]| target.closing(events)).await;
                    let result = copied.map(|events| events.len()).map_err(Fault::from);
                    parts.send(Input::Copied { then, result });
                });
            }
            Effect::Work { task, job } => {
                let span = tracing::debug_span!("job", %task, job = %Variant(&*job));
                let work = async move {
                    let begun = Instant::now();
                    let worked = super::working::carry_out(&parts, task, *job).await;
                    tracing::debug!(result = %Variant(&worked), took = ?begun.elapsed());
                    parts.send(Input::Worked(Box::new(worked)));
                };
                tokio::spawn(work.instrument(span));
            }
            Effect::Decide(decision) => {
                tokio::task::spawn_blocking(move || {
                    let approved = decision.approved;
                    let result = keep_decision(&parts, &decision.approval, approved);
                    let brings_letters = match &decision.approval {
                        Approval::McpServer { hash } => {
                            if approved && result.is_ok() {
                                parts.pool.approve(hash);
                            }
                            false
                        }
                        Approval::RecurringTask { .. } | Approval::SetupHook { .. } => false,
                        Approval::Project { .. } => true,
                    };
                    parts.send(Input::Decided { decision, result });
                    if brings_letters {
                        parts.post.collect();
                    }
                });
            }
            Effect::DiscardLetter { message } => {
                tokio::task::spawn_blocking(move || parts.post.received(message));
            }
            Effect::WriteDown { change, then } => self.write_plan_down(change, then),
            Effect::Wake { timer, at } => self.wake_at(timer, at),
            Effect::Reply { id, result } => {
                if let Some(reply) = self.replies.remove(&id) {
                    let _ = reply.send(result);
                }
            }
            Effect::Notify(notice) => self.parts.feed.tell(&Update::Notice { notice }),
            Effect::Ended => self.over = true,
        }
    }

    fn wake_at(&mut self, timer: Timer, at: crate::base::Timestamp) {
        let wait = at.since(self.parts.clock.now());
        let parts = Arc::clone(&self.parts);
        let ring = async move {
            tokio::time::sleep(wait).await;
            parts.send(Input::Timer { timer });
        };
        self.timers.insert(timer, AbortOnDropHandle::new(tokio::spawn(ring)));
    }

    fn launch(&mut self, order: LaunchOrder) {
        let task = order.node.id;
        // Made before the run reads its session, so that nothing falls in between.
        let (inbox, commands) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let purse = self.accounts.purse(&order.accounts);
        let (parts, backend) = (Arc::clone(&self.parts), Arc::clone(&self.backend));
        let work = super::launch::launch(Arc::clone(&parts), backend, order, commands, purse, cancel.clone());
        let running = AbortOnDropHandle::new(tokio::spawn(work));
        let watched = async move {
            let ending = running.await.unwrap_or_else(|failure| {
                Some(Ok(Ending::Exited(crate::model::event::Exit::Interrupted(
                    crate::model::event::InterruptReason::Internal(format!("a fault in Matrix itself: {failure}")),
                ))))
            });
            if let Some(ending) = ending {
                parts.send(Input::RunOver { task, ending });
            }
        };
        let watched = AbortOnDropHandle::new(tokio::spawn(watched));
        self.runs.insert(task, Running { inbox, cancel, _task: watched });
    }

    /// Looks at an event on its way to the machine: after work in a worktree its difference is measured anew.
    pub(super) fn noticed(&mut self, task: TaskId, event: &Event) {
        match &event.body {
            // A turn that changed no file leaves no snapshot, and its difference is what it was.
            Body::Snapshot(_) | Body::RunEnded(_) | Body::Work(_) => {
                self.measure(task);
                self.sweep_soon();
            }
            Body::TurnEnded(_) => self.sweep_soon(),
            Body::Message(Message { id, from: Source::CrossProject { .. }, .. }) => self.parts.post.received(*id),
            _ => {}
        }
    }
}

/// Saves what the user decided: about a changed list of tools, or in the project's own settings.
pub(super) fn keep_decision(parts: &Parts, approval: &Approval, approved: bool) -> Result<(), Fault> {
    let said =
        |error: &dyn std::fmt::Display| Fault::environment(format!("the settings could not be changed: {error}"));
    if let Approval::McpServer { hash } = approval
        && parts.tool_lists.decide(hash, approved).map_err(|error| said(&error))?
    {
        return Ok(());
    }
    parts.settings_files.change(Layer::Local, |edit| edit.decide(approval, approved)).map_err(|mut fault| {
        fault.message = format!("the settings could not be changed: {}", fault.message);
        fault
    })
}

/// Says that a launch came to nothing.
pub(super) fn failed(parts: &Parts, task: TaskId, failure: LaunchFailure) {
    parts.send(Input::LaunchFailed { task, failure });
}

async fn clear(parts: &Parts, task: TaskId, place: Place, branch: BranchFate) -> Result<SetAside, Fault> {
    let fate = match branch {
        BranchFate::Keep => git::BranchFate::Keep,
        BranchFate::Delete => git::BranchFate::Delete,
    };
    // Whatever was started for the task must not go on writing where nobody looks any more.
    crate::process::end_marked(crate::process::environment::TASK_MARKER, task.to_string(), crate::process::GRACE).await;
    let bases = vec![place.base, parts.project.base_branch.clone()];
    let removal = Removal { task, path: place.worktree, branch: place.branch, fate, bases };
    let removed = parts.worktrees.remove(&removal).await?;
    let drafts = drop_drafts(parts, task).await.map(|kept| kept.path);
    Ok(SetAside { archived: removed.archive.is_some(), files: removed.aside, drafts })
}

/// Removes drafts of solved conflicts that nobody needs any more. Returns what the person has worked on, which stays.
pub(super) async fn drop_drafts(parts: &Parts, task: TaskId) -> Option<git::merge::Drafts> {
    parts.worktrees.drop_drafts(task).await.unwrap_or_else(|error| {
        tracing::warn!(%task, %error, "drafts of solved conflicts could not be removed");
        None
    })
}

fn restored_worktree(restored: git::Restored) -> RestoredWorktree {
    match restored.uncommitted {
        git::Uncommitted::None => RestoredWorktree::Clean,
        git::Uncommitted::Restored(files) => RestoredWorktree::Uncommitted(files.len()),
        git::Uncommitted::Kept { archive } => RestoredWorktree::Archived(archive),
    }
}

/// Puts a message into a session that does not have it.
async fn send_once(parts: &Parts, task: TaskId, message: Message, since: EventId) -> Result<(), StoreError> {
    parts.store.mend(task).await?;
    let (sessions, id) = (parts.store.sessions().clone(), message.id);
    let found = tokio::task::spawn_blocking(move || has_message(&sessions, task, id, since)).await;
    if !found.map_err(|_| StoreError::Closed)?? {
        parts.store.submit(task, None, vec![Body::from(message)]).await?;
    }
    Ok(())
}

/// Tells whether a session has a message among what came after `since`.
fn has_message(sessions: &Sessions, task: TaskId, id: MessageId, since: EventId) -> Result<bool, StoreError> {
    const PAGE: usize = 64;
    let is_it = |event: &Event| matches!(&event.body, Body::Message(message) if message.id == id);
    let mut page = sessions.last_page(task, PAGE)?;
    loop {
        if page.events.iter().any(is_it) {
            return Ok(true);
        }
        // Ids grow with time: what is older than the end that is told of cannot tell of it.
        let older = page.events.first().is_none_or(|event| event.id < since);
        match page.older.filter(|_| !older) {
            Some(cursor) => page = sessions.page_before(task, cursor, PAGE)?,
            None => return Ok(false),
        }
    }
}
