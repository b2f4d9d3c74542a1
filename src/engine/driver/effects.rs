//! Executes the effects of the machine.

use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{Driver, EngineContext, RunHandle};
use crate::base::trace::Variant;
use crate::base::{EventId, Fault, MessageId, TaskId};
use crate::config::Layer;
use crate::engine::command::{ArchivedWork, RestoredWorktree};
use crate::engine::deleted_tasks;
use crate::engine::hooks::HookedTask;
use crate::engine::machine::{BranchFate, Effect, Input, LaunchFailure, LaunchOrder, Timer, WorktreeLocation};
use crate::engine::update::Update;
use crate::git::{self, Removal, WorktreeSpec};
use crate::model::ask::Approval;
use crate::model::event::{Body, Event};
use crate::model::fork::Target;
use crate::model::message::{Message, MessageSource};
use crate::model::run::Ending;
use crate::store::{Sessions, StoreError};

impl Driver {
    pub(super) fn perform(&mut self, effect: Effect) {
        let ctx = Arc::clone(&self.ctx);
        match effect {
            Effect::Append { ticket, task, bodies } => {
                let appended = self.ctx.store.submit(task, None, bodies);
                tokio::spawn(async move {
                    ctx.send(match appended.await {
                        Ok(_) => Input::Appended { ticket },
                        Err(error) => Input::AppendFailed { ticket, fault: error.into() },
                    });
                });
            }
            Effect::SendOnce { ticket, task, message, since } => {
                tokio::spawn(async move {
                    ctx.send(match send_once(&ctx, task, *message, since).await {
                        Ok(()) => Input::Appended { ticket },
                        Err(error) => Input::AppendFailed { ticket, fault: error.into() },
                    });
                });
            }
            Effect::SaveTree { ticket, tree } => {
                tokio::task::spawn_blocking(move || {
                    let saved = ctx.tree_file.lock().unwrap_or_else(PoisonError::into_inner).save(&tree);
                    ctx.send(match saved {
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
            // A run that has ended reads its session when it starts again.
            Effect::SendToRun { task, command } => {
                if let Some(running) = self.runs.get(&task) {
                    let _ = running.inbox.send(command);
                }
            }
            Effect::RemoveWorktree { task, place, branch, then } => {
                let hooked = self.hooked_task(task);
                tokio::spawn(async move {
                    let result = remove_worktree(&ctx, &hooked, place, branch).await;
                    ctx.send(Input::WorktreeRemoved { then, result });
                });
            }
            Effect::RestoreWorktree { task, place, then } => {
                tokio::spawn(async move {
                    let spec = WorktreeSpec { task, branch: place.branch, path: place.worktree };
                    let result = ctx.worktrees.restore(&spec).await;
                    let result = result.map(restored_worktree).map_err(Fault::from);
                    ctx.send(Input::WorktreeRestored { then, result });
                });
            }
            Effect::ReadDeletedTask { task, known, then } => {
                tokio::task::spawn_blocking(move || {
                    let result = deleted_tasks::subtree(ctx.store.sessions(), task, &known);
                    ctx.send(Input::DeletedTaskRead { then, result: result.map_err(Fault::from) });
                });
            }
            Effect::CopyConversation { from, to, title, description, then } => {
                tokio::spawn(async move {
                    let target = Target { source: from, title, description };
                    let copied = ctx.store.copy_session(from, to, move |events: &[Event]| target.closing(events)).await;
                    let result = copied.map(|events| events.len()).map_err(Fault::from);
                    ctx.send(Input::ConversationCopied { then, result });
                });
            }
            Effect::RunJob { task, job } => {
                let hooked = self.hooked_task(task);
                let span = tracing::debug_span!("job", %task, job = %Variant(&*job));
                let work = async move {
                    let started = Instant::now();
                    let outcome = super::jobs::run_job(&ctx, task, &hooked, *job).await;
                    tracing::debug!(result = %Variant(&outcome), took = ?started.elapsed());
                    ctx.send(Input::JobDone(Box::new(outcome)));
                };
                tokio::spawn(work.instrument(span));
            }
            Effect::SaveRules(change) => {
                tokio::task::spawn_blocking(move || {
                    let mut rules = change.rules.iter();
                    let result = rules.try_for_each(|rule| {
                        ctx.settings_files.change(Layer::Local, |edit| edit.add_rule(change.list, rule))
                    });
                    ctx.send(Input::RulesSaved { change, result });
                });
            }
            Effect::JudgeCalls(calls) => {
                tokio::task::spawn_blocking(move || ctx.send(Input::CallsJudged(ctx.permissions.judge(calls))));
            }
            Effect::JudgeIfChanged => {
                tokio::task::spawn_blocking(move || {
                    if ctx.permissions.have_changed() {
                        ctx.send(Input::RulesChanged(ctx.permissions.modes()));
                    }
                });
            }
            Effect::SetPolicies(policies) => self.ctx.permissions.set_tasks(policies),
            Effect::SaveDecision(decision) => {
                tokio::task::spawn_blocking(move || {
                    let approved = decision.approved;
                    let result = save_decision(&ctx, &decision.approval, approved);
                    let unblocks_messages = match &decision.approval {
                        Approval::McpServer { hash } => {
                            if approved && result.is_ok() {
                                ctx.pool.approve(hash);
                            }
                            false
                        }
                        Approval::RecurringTask { .. } | Approval::SetupHook { .. } => false,
                        Approval::Project { .. } => true,
                    };
                    ctx.send(Input::DecisionSaved { decision, result });
                    if unblocks_messages {
                        ctx.project_inbox.collect();
                    }
                });
            }
            Effect::DiscardEnvelope { message } => {
                tokio::task::spawn_blocking(move || ctx.project_inbox.remove_envelope(message));
            }
            Effect::WritePlan { change, then } => self.write_plan(change, then),
            Effect::SetTimer { timer, at } => self.set_timer(timer, at),
            Effect::Reply { id, result } => {
                if let Some(reply) = self.replies.remove(&id) {
                    let _ = reply.send(result);
                }
            }
            Effect::Notify(notice) => self.ctx.feed.publish(&Update::Notice { notice }),
            Effect::Ended => self.over = true,
        }
    }

    fn set_timer(&mut self, timer: Timer, at: crate::base::Timestamp) {
        let wait = at.since(self.ctx.clock.now());
        let ctx = Arc::clone(&self.ctx);
        let fire = async move {
            tokio::time::sleep(wait).await;
            ctx.send(Input::Timer { timer });
        };
        self.timers.insert(timer, AbortOnDropHandle::new(tokio::spawn(fire)));
    }

    fn launch(&mut self, order: LaunchOrder) {
        let task = order.node.id;
        // Created before the run reads its session, so that no command is lost.
        let (inbox, commands) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let budget = self.accounts.budget(&order.accounts);
        let (ctx, backends) = (Arc::clone(&self.ctx), Arc::clone(&self.backends));
        let work = super::launch::launch(Arc::clone(&ctx), backends, order, commands, budget, cancel.clone());
        let running = AbortOnDropHandle::new(tokio::spawn(work));
        let supervised = async move {
            let ending = running.await.unwrap_or_else(|failure| {
                Some(Ok(Ending::Exited(crate::model::event::Exit::Interrupted(
                    crate::model::event::InterruptReason::Internal(format!("internal error: {failure}")),
                ))))
            });
            if let Some(ending) = ending {
                ctx.send(Input::RunOver { task, ending });
            }
        };
        let supervised = AbortOnDropHandle::new(tokio::spawn(supervised));
        self.runs.insert(task, RunHandle { inbox, cancel, _task: supervised });
    }

    /// Reacts to an event before the machine sees it: measures the worktree and scans for conflicts after a change.
    pub(super) fn on_event_saved(&mut self, task: TaskId, event: &Event) {
        match &event.body {
            // A turn that changed no files has no snapshot, so its diff is unchanged.
            Body::Snapshot(_) | Body::RunEnded(_) | Body::Work(_) => {
                self.measure(task);
                // It may have merged them.
                self.machine.unmerged_children(task).into_iter().for_each(|child| self.measure(child));
                self.schedule_conflict_scan();
            }
            Body::TurnEnded(_) => {
                self.schedule_conflict_scan();
                self.perform(Effect::JudgeIfChanged);
            }
            Body::Message(Message { id, from: MessageSource::CrossProject { .. }, .. }) => {
                self.ctx.project_inbox.remove_envelope(*id);
            }
            _ => {}
        }
    }
}

/// Saves a decision of the user in the tool list file or in the project's local settings.
pub(super) fn save_decision(ctx: &EngineContext, approval: &Approval, approved: bool) -> Result<(), Fault> {
    let failed = |error: &dyn std::fmt::Display| Fault::environment(format!("cannot change the settings: {error}"));
    if let Approval::McpServer { hash } = approval
        && ctx.tool_lists.decide(hash, approved).map_err(|error| failed(&error))?
    {
        return Ok(());
    }
    ctx.settings_files.change(Layer::Local, |edit| edit.decide(approval, approved)).map_err(|mut fault| {
        fault.message = format!("cannot change the settings: {}", fault.message);
        fault
    })
}

pub(super) fn report_launch_failure(ctx: &EngineContext, task: TaskId, failure: LaunchFailure) {
    ctx.send(Input::LaunchFailed { task, failure });
}

async fn remove_worktree(
    ctx: &Arc<EngineContext>,
    hooked: &HookedTask,
    place: WorktreeLocation,
    branch: BranchFate,
) -> Result<ArchivedWork, Fault> {
    let fate = match branch {
        BranchFate::Keep => git::BranchFate::Keep,
        BranchFate::Delete => git::BranchFate::Delete,
    };
    let task = hooked.id;
    super::lifecycle::before_worktree_removed(ctx, hooked, &place.worktree).await;
    // Kill the task's processes first: they could write to files that are being removed.
    crate::process::terminate_marked(crate::process::environment::TASK_MARKER, task.to_string(), crate::process::GRACE)
        .await;
    let bases = vec![place.base, ctx.project.base_branch.clone()];
    let removal = Removal { task, path: place.worktree, branch: place.branch, fate, bases };
    let removed = ctx.worktrees.remove(&removal).await?;
    let drafts = drop_drafts(ctx, task).await.map(|drafts| drafts.path);
    Ok(ArchivedWork { archived: removed.archive.is_some(), files: removed.aside, drafts })
}

/// Removes drafts of resolved conflicts that are no longer needed. Returns those that the user has edited, which stay.
pub(super) async fn drop_drafts(ctx: &EngineContext, task: TaskId) -> Option<git::merge::TaskDrafts> {
    ctx.worktrees.drop_drafts(task).await.unwrap_or_else(|error| {
        tracing::warn!(%task, %error, "conflict drafts could not be removed");
        None
    })
}

fn restored_worktree(restored: git::RestoreOutcome) -> RestoredWorktree {
    match restored.uncommitted {
        git::Uncommitted::None => RestoredWorktree::Clean,
        git::Uncommitted::Restored(files) => RestoredWorktree::Uncommitted(files.len()),
        git::Uncommitted::Archived { archive } => RestoredWorktree::Archived(archive),
    }
}

/// Appends a message unless the session already has it.
async fn send_once(ctx: &EngineContext, task: TaskId, message: Message, since: EventId) -> Result<(), StoreError> {
    ctx.store.repair(task).await?;
    let (sessions, id) = (ctx.store.sessions().clone(), message.id);
    let found = tokio::task::spawn_blocking(move || has_message(&sessions, task, id, since)).await;
    if !found.map_err(|_| StoreError::Closed)?? {
        ctx.store.submit(task, None, vec![Body::from(message)]).await?;
    }
    Ok(())
}

/// Returns true if a session has a message among the events after `since`.
fn has_message(sessions: &Sessions, task: TaskId, id: MessageId, since: EventId) -> Result<bool, StoreError> {
    const PAGE: usize = 64;
    let is_it = |event: &Event| matches!(&event.body, Body::Message(message) if message.id == id);
    let mut page = sessions.last_page(task, PAGE)?;
    loop {
        if page.events.iter().any(is_it) {
            return Ok(true);
        }
        // Ids grow with time, so the message cannot be before `since`.
        let older = page.events.first().is_none_or(|event| event.id < since);
        match page.older.filter(|_| !older) {
            Some(cursor) => page = sessions.page_before(task, cursor, PAGE)?,
            None => return Ok(false),
        }
    }
}
