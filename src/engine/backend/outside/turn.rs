//! Turns: when one begins, what its prompt says, and what follows from its end.

use std::path::Path;

use base64::Engine as _;

use super::run::{Cancel, CancelCause, Phase, Run, UNKNOWN_END};
use crate::base::{MicroUsd, TurnId, text};
use crate::engine::update::Level;
use crate::git::discover::RepoLocation;
use crate::model::backend::BackendEvent;
use crate::model::event::{
    Body, BudgetExceeded, BudgetWarning, ErrorNote, Exit, InterruptReason, MessagesConsumed, RunEnded, StopReason,
    TurnEnded, Verdict,
};
use crate::model::live::Activity;
use crate::model::message::{Message, MessageSource};
use crate::model::render;
use crate::model::task::Status;
use crate::model::usage::{Tokens, Usage};
use crate::outside::programs::UsageScope;
use crate::outside::rpc::{LOGIN_REQUIRED, RpcError};
use crate::outside::session::{PromptPart, TurnEnd};
use crate::provider::budget::BudgetVerdict;
use crate::store::StoreError;

const NUDGE: &str = "Your turn ended without a call of `done`. If your task is finished and committed, call `done` now. If you \
    wait for something, call `yield`. Otherwise go on.";
const NUDGE_IN_TEXT: &str = "The tools of Matrix did not reach you. If your task is finished and committed, answer with one line: \
    `DONE passed: what you did and how you checked it`, or `DONE failed: why`. Otherwise go on.";
/// How a task is declared done where the tools are missing.
const DONE_LINE: &str = "DONE ";

impl Run {
    /// Sends the next prompt if there is a reason for one. Returns false if there is nothing to do.
    pub(super) async fn next_turn(&mut self) -> Result<bool, StoreError> {
        let is_woken = self.state.messages.iter().any(|message| self.state.is_woken_by(message));
        let is_first = !self.flags.has_context && is_woken;
        if self.flags.halted
            || self.flags.wraps_up
            || !(is_woken || self.next.is_due || !self.next.notes.is_empty() || is_first)
        {
            return Ok(false);
        }
        if self.agent.is_none() {
            self.restart();
            return Ok(true);
        }
        if let Some(exceeded) = self.exceeded_budget() {
            self.end_over_budget(exceeded, Vec::new()).await?;
            return Ok(true);
        }
        self.prompt().await?;
        Ok(true)
    }

    async fn prompt(&mut self) -> Result<(), StoreError> {
        let mut bodies: Vec<Body> = Vec::new();
        if !self.flags.has_context {
            let (assignment, worktree) = (self.request.assignment.clone(), self.request.worktree.clone());
            let mut notes = std::mem::take(&mut self.request.worktree_notes);
            notes.append(&mut self.request.startup_notes);
            let context = tokio::task::spawn_blocking(move || {
                crate::engine::backend::native::opening::work_context(&assignment, &worktree, &notes)
            });
            let context = context.await.unwrap_or_default();
            bodies.push(self.message(MessageSource::WorkContext, &context).into());
            self.flags.has_context = true;
        } else if !self.request.worktree_notes.is_empty() {
            let notes = std::mem::take(&mut self.request.worktree_notes).join("\n");
            bodies.push(self.message(MessageSource::Notice, &notes).into());
        }
        for note in std::mem::take(&mut self.next.notes) {
            bodies.push(self.message(MessageSource::Notice, &note).into());
        }
        self.append(bodies).await?;
        let mut waiting: Vec<Message> =
            self.state.messages.iter().filter(|message| message.from.is_visible()).cloned().collect();
        waiting.sort_by_key(|message| u8::from(message.from != MessageSource::WorkContext));
        let turn = TurnId::fresh(&self.request.ids);
        let ids: Vec<_> = waiting.iter().map(|message| message.id).collect();
        let mut bodies: Vec<Body> = Vec::new();
        if !ids.is_empty() {
            bodies.push(MessagesConsumed { ids }.into());
        }
        bodies.push(BackendEvent::Prompted { turn }.into());
        self.append(bodies).await?;
        let mut parts = Vec::new();
        if std::mem::take(&mut self.next.needs_system) {
            parts.push(PromptPart::Text(self.starter.system().to_owned()));
        }
        let digest = std::mem::take(&mut self.next.digest);
        if !digest.is_empty() {
            parts.push(PromptPart::Text(digest));
        }
        for message in &waiting {
            parts.extend(render::render(message).map(PromptPart::Text));
            parts.extend(self.pictures(message).await);
        }
        if parts.is_empty() {
            parts.push(PromptPart::Text("Go on.".to_owned()));
        }
        self.next.is_due = false;
        self.flags.yielded = false;
        self.on_turn_began(turn);
        self.show(Activity::Thinking);
        if let Some(agent) = &mut self.agent {
            agent.prompt(&parts);
        }
        Ok(())
    }

    async fn pictures(&mut self, message: &Message) -> Vec<PromptPart> {
        let mut pictures = Vec::new();
        for image in &message.images {
            let (blobs, blob) = (self.ctx.store.blobs().clone(), image.data.blob.clone());
            let read = tokio::task::spawn_blocking(move || blobs.read(&blob)).await;
            pictures.push(match read {
                Ok(Ok(bytes)) => PromptPart::Image {
                    media_type: image.media_type.clone(),
                    base64: base64::engine::general_purpose::STANDARD.encode(bytes),
                },
                Ok(Err(_)) | Err(_) => PromptPart::Text("[A picture that cannot be read any more.]".to_owned()),
            });
        }
        pictures
    }

    /// The program has answered the prompt.
    pub(super) async fn on_prompt_ended(&mut self, result: Result<TurnEnd, RpcError>) -> Result<(), StoreError> {
        let Phase::Running(turn) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        let cause = turn.cancel.map(|Cancel { cause, .. }| cause);
        if cause == Some(CancelCause::Silent) {
            return self.on_silent().await;
        }
        let said = self.transcript.only_text().map(str::to_owned);
        let end = match result {
            Ok(end) => match said.as_deref().filter(|said| end.stop == StopReason::EndTurn && self.is_error(said)) {
                Some(said) => Err(said.to_owned()),
                None => Ok(end),
            },
            Err(error) if cause == Some(CancelCause::User) => {
                // Some programs answer a cancelled prompt with an error.
                tracing::debug!(%error, "a cancelled prompt was answered with an error");
                Ok(TurnEnd { stop: StopReason::Interrupted, tokens: None, raw: serde_json::Value::Null })
            }
            Err(error) => Err(self.failure(&error)),
        };
        self.request.snapshots.take(turn.id).await;
        let withdrawn = self.withdrawals("the turn has ended");
        let usage = self.usage(end.as_ref().ok());
        let mut out = self.transcript.end_turn(self.now(), UNKNOWN_END);
        out.bodies.extend(withdrawn);
        out.bodies.extend(usage.map(Body::from));
        match end {
            Err(reason) => {
                let note = ErrorNote { class: "program".to_owned(), message: reason.clone(), attempt: None };
                out.bodies.push(note.into());
                self.emit(out).await?;
                self.fail(reason).await
            }
            Ok(end) => {
                let stop = if cause == Some(CancelCause::User) { StopReason::Interrupted } else { end.stop };
                out.bodies.push(TurnEnded { turn: turn.id, stop: stop.clone() }.into());
                if let Some(CancelCause::Budget(exceeded)) = cause {
                    out.live.into_iter().for_each(|live| self.request.live.send(live));
                    return self.end_over_budget(exceeded, out.bodies).await;
                }
                self.on_turn_succeeded();
                self.finish_turn(out.bodies, &stop, said.as_deref()).await
            }
        }
    }

    /// Decides what follows from the end of a turn, and records it with the end.
    async fn finish_turn(
        &mut self,
        mut bodies: Vec<Body>,
        stop: &StopReason,
        said: Option<&str>,
    ) -> Result<(), StoreError> {
        if self.done.is_none() && !self.starter.served.is_listed() {
            self.done = said.and_then(done_in_text);
        }
        if let Some(wrong) = self.wrong_branch().await {
            if std::mem::replace(&mut self.flags.told_branch, true) {
                self.notify(Level::Warning, format!("the worktree is on {wrong}, which is not the task's branch"));
            } else {
                let branch = self.branch().unwrap_or_default();
                self.done = None;
                self.next.notes.push(format!(
                    "Your worktree is on {wrong}, but your task's branch is {branch}: only what is there counts. Bring your \
                     commits to it and switch back (`git switch {branch}`)."
                ));
            }
        }
        if let Some((verdict, result)) = self.done.take() {
            // The agent may have gone on working after it called `done`.
            match self.request.done_check.refuse(verdict).await {
                None => {
                    let exit = if verdict == Verdict::Passed { Exit::DonePassed } else { Exit::DoneFailed };
                    bodies.push(RunEnded { result, ..RunEnded::from(exit.clone()) }.into());
                    self.exit = Some(exit);
                    return self.append(bodies).await;
                }
                Some(refusal) => self.next.notes.push(format!("Not done: {}", refusal.reason)),
            }
        }
        self.append(bodies).await?;
        if let Some(limit) = self.request.assignment.profile.profile.max_turns
            && self.state.turns.of_profile() >= limit
        {
            let exit = Exit::Interrupted(InterruptReason::TurnLimit);
            self.exit = Some(exit.clone());
            return self.append(vec![RunEnded::from(exit).into()]).await;
        }
        if *stop == StopReason::EndTurn && self.should_nudge().await {
            self.flags.nudged = true;
            let nudge = if self.starter.served.is_listed() { NUDGE } else { NUDGE_IN_TEXT };
            self.next.notes.push(nudge.to_owned());
        }
        Ok(())
    }

    /// Returns true if the agent seems to have forgotten `done`: it waits for nothing and nobody waits for its words.
    async fn should_nudge(&mut self) -> bool {
        let is_root = self.request.assignment.order.place.is_none();
        let waits = self.flags.yielded || self.flags.nudged || self.flags.halted || !self.state.asks.is_empty();
        let has_more = !self.next.notes.is_empty() || self.state.messages.iter().any(|it| self.state.is_woken_by(it));
        if is_root || waits || has_more || self.state.replies.user_spoke_last() {
            return false;
        }
        let below = self.request.port.rows(Some(self.request.assignment.task())).await.unwrap_or_default();
        !below.iter().any(|row| row.depth > 0 && row.status == Status::InProgress)
    }

    /// The turn ends without an answer of the program: it was killed, or says that no turn runs.
    pub(super) async fn end_turn_without_answer(&mut self) -> Result<(), StoreError> {
        let (turn, cause) = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(turn) => (turn.id, turn.cancel.map(|cancel| cancel.cause)),
            Phase::Idle => (TurnId::fresh(&self.request.ids), Some(CancelCause::User)),
        };
        self.request.snapshots.take(turn).await;
        let mut out = self.transcript.end_turn(self.now(), UNKNOWN_END);
        out.bodies.extend(self.withdrawals("the turn has ended"));
        out.bodies.extend(self.usage(None).map(Body::from));
        let stop = if cause.is_some() { StopReason::Interrupted } else { StopReason::EndTurn };
        out.bodies.push(TurnEnded { turn, stop: stop.clone() }.into());
        match cause {
            Some(CancelCause::Budget(exceeded)) => self.end_over_budget(exceeded, out.bodies).await,
            _ => self.finish_turn(out.bodies, &stop, None).await,
        }
    }

    fn is_error(&self, said: &str) -> bool {
        self.program.quirks.error_text.iter().any(|start| said.starts_with(start))
    }

    /// Words a failed prompt, with the next step.
    fn failure(&self, error: &RpcError) -> String {
        let label = &self.program.label;
        if error.code == LOGIN_REQUIRED {
            let login = self.program.known.map(|known| format!(": `{}`", known.login)).unwrap_or_default();
            return format!(
                "{label} wants you to log in ({}). Log in in another terminal{login}, then try again.",
                error.in_full()
            );
        }
        format!("{label} failed: {}", text::headline(&error.in_full(), 1_000))
    }

    /// Books what the program has cost since it was last booked, and cancels the turn if a budget is spent.
    pub(super) async fn book_cost(&mut self) -> Result<(), StoreError> {
        let Some(total) = self.transcript.cost.take() else { return Ok(()) };
        // A lower total than before: the program counts from its own start.
        let delta = if total >= self.booked { total.saturating_sub(self.booked) } else { total };
        self.booked = total;
        *self.turn_cost.get_or_insert(MicroUsd::ZERO) += delta;
        if delta == MicroUsd::ZERO {
            return Ok(());
        }
        self.request.budget.spend(delta);
        match self.exceeded_budget() {
            Some(exceeded) => {
                self.cancel(CancelCause::Budget(exceeded));
                Ok(())
            }
            None => self.warn_about_budget().await,
        }
    }

    fn exceeded_budget(&mut self) -> Option<BudgetExceeded> {
        if !self.request.budget.is_limited() {
            return None;
        }
        let verdict = self.request.budget.reserve(MicroUsd::ZERO, &[]);
        self.request.budget.release();
        match verdict {
            BudgetVerdict::Refused { scope, spent, limit } => Some(BudgetExceeded { scope, spent, limit }),
            BudgetVerdict::Granted | BudgetVerdict::Low { .. } | BudgetVerdict::Held | BudgetVerdict::Unpriced => None,
        }
    }

    async fn warn_about_budget(&mut self) -> Result<(), StoreError> {
        if self.flags.warned_budget || !self.request.budget.is_limited() {
            return Ok(());
        }
        let verdict = self.request.budget.reserve(MicroUsd::ZERO, &[]);
        self.request.budget.release();
        let BudgetVerdict::Low { scope, spent, limit } = verdict else { return Ok(()) };
        self.flags.warned_budget = true;
        self.append(vec![BudgetWarning { scope, spent, limit }.into()]).await
    }

    async fn end_over_budget(&mut self, exceeded: BudgetExceeded, mut bodies: Vec<Body>) -> Result<(), StoreError> {
        let exit = Exit::Interrupted(InterruptReason::Budget);
        bodies.push(exceeded.into());
        bodies.push(RunEnded::from(exit.clone()).into());
        self.append(bodies).await?;
        self.exit = Some(exit);
        Ok(())
    }

    /// Returns the usage of the turn. Without numbers the cost is unknown, which is not nothing.
    fn usage(&mut self, end: Option<&TurnEnd>) -> Option<Usage> {
        let reported = end.and_then(|end| end.tokens);
        let scope = self.program.quirks.usage;
        let tokens = match (reported, scope) {
            (Some(total), UsageScope::Session) => Some(since(total, self.session_tokens)),
            (tokens, UsageScope::Session | UsageScope::Turn | UsageScope::LastStep) => {
                tokens.or(self.transcript.tokens)
            }
        };
        if let (Some(total), UsageScope::Session) = (reported, scope) {
            self.session_tokens = total;
        }
        if end.is_none() && tokens.is_none() && self.turn_cost.is_none() {
            return None;
        }
        Some(Usage {
            estimated: tokens.is_none() || scope == UsageScope::LastStep,
            tokens: tokens.unwrap_or_default(),
            model: self.model(),
            cost: self.turn_cost.take(),
            context_window: self.transcript.window.unwrap_or_default(),
        })
    }

    fn branch(&self) -> Option<String> {
        self.request.assignment.order.place.as_ref().map(|place| place.branch.clone())
    }

    /// Returns where the worktree is, if that is not the task's branch.
    async fn wrong_branch(&mut self) -> Option<String> {
        let (branch, worktree) = (self.branch()?, self.request.worktree.clone());
        let found = tokio::task::spawn_blocking(move || current_branch(&worktree)).await.ok()??;
        (found != branch).then(|| format!("branch {found}"))
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running(_))
    }
}

/// Returns the branch of a worktree, or a word for none.
fn current_branch(worktree: &Path) -> Option<String> {
    let head = RepoLocation::head_of(worktree).ok()?;
    Some(head.unwrap_or_else(|| "(none: a detached HEAD)".to_owned()))
}

/// Returns what a total has grown by. A lower total than before counts as a new beginning.
fn since(total: Tokens, before: Tokens) -> Tokens {
    if total.total() < before.total() {
        return total;
    }
    Tokens {
        input: total.input.saturating_sub(before.input),
        output: total.output.saturating_sub(before.output),
        cache_read: total.cache_read.saturating_sub(before.cache_read),
        cache_write_5m: total.cache_write_5m.saturating_sub(before.cache_write_5m),
        cache_write_1h: total.cache_write_1h.saturating_sub(before.cache_write_1h),
    }
}

/// Reads a verdict from the last line that states one.
fn done_in_text(said: &str) -> Option<(Verdict, String)> {
    let line = said.lines().rev().find_map(|line| line.trim().strip_prefix(DONE_LINE))?;
    let (word, result) = line.split_once(':')?;
    let verdict = match word.trim() {
        "passed" => Verdict::Passed,
        "failed" => Verdict::Failed,
        _ => return None,
    };
    (!result.trim().is_empty()).then(|| (verdict, result.trim().to_owned()))
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
