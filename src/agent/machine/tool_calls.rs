//! Runs the calls of a response. Each call is answered exactly once, whatever happens. `tools::order` decides which run
//! in parallel.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::control;
use crate::agent::machine::{AfterSave, AskCause, Effect, Hold, Machine, Phase, Refusals};
use crate::base::Timestamp;
use crate::model::Content;
use crate::model::control::Control;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Exit, PermissionNote, RunEnded, ToolResult, Verdict};
use crate::model::fold::OpenCall;
use crate::model::live::Activity;
use crate::tools::{self, names};

/// Number of consecutive identical failures of a check after which the user is asked.
const SAME_FAILURES: u32 = 3;
/// Number of refusals of `done`, for whatever reasons, after which the user is asked.
const MAX_REFUSALS: u32 = 6;
/// Maximum length of the check's output in the question, in characters.
const CHECK_DETAIL: usize = 2_000;

/// How long a response waits for the results of read-only calls, to be saved with them. A crash in that time loses the
/// response, which is then requested again.
const SAVE_WITHIN_MS: u64 = 200;

/// Running calls, and results that are being saved.
#[derive(Debug, Default)]
pub(super) struct Running {
    calls: BTreeSet<String>,
    saving: BTreeSet<u64>,
    unsaved: Option<UnsavedResponse>,
}

/// A response with only read-only calls, and their results so far. They are saved in one append.
#[derive(Debug)]
struct UnsavedResponse {
    bodies: Vec<Body>,
    /// When it fires, the response is saved without the missing results.
    timer: u64,
}

impl Machine {
    pub(super) fn run_tools(&mut self, now: Timestamp, plan: control::CallPlan) {
        // A call with a stored result must not run again. The plan holds all open calls.
        self.run_calls(now, plan.run, BTreeMap::new());
    }

    pub(super) fn run_calls(
        &mut self,
        now: Timestamp,
        calls: Vec<ToolUse>,
        consents: BTreeMap<String, PermissionNote>,
    ) {
        if calls.is_empty() {
            return self.advance(now);
        }
        let running = Running { calls: calls.iter().map(|call| call.call.clone()).collect(), ..Running::default() };
        self.phase = Phase::Tools(running);
        self.effects.push(Effect::Activity(Activity::Tool));
        self.effects.push(Effect::RunTools { calls, consents });
    }

    /// Returns true if a response may be saved together with the results of its calls: the calls have no side effects
    /// that the log must precede.
    pub(super) fn can_defer_save(&self, plan: &control::CallPlan) -> bool {
        let is_stopping = self.stop_requests.interrupt || self.stop_requests.teardown.is_some();
        !is_stopping && !plan.run.is_empty() && plan.run.iter().all(|call| names::is_read_only(&call.name))
    }

    /// Runs read-only calls before their response is saved.
    pub(super) fn run_before_save(&mut self, bodies: Vec<Body>, plan: control::CallPlan) {
        let timer = self.next_number();
        let calls = plan.run.iter().map(|call| call.call.clone()).collect();
        let unsaved = Some(UnsavedResponse { bodies, timer });
        self.phase = Phase::Tools(Running { calls, unsaved, ..Running::default() });
        self.effects.push(Effect::Activity(Activity::Tool));
        self.effects.push(Effect::Sleep { timer, millis: SAVE_WITHIN_MS });
        self.effects.push(Effect::RunTools { calls: plan.run, consents: BTreeMap::new() });
    }

    /// Saves a response whose calls are slow.
    pub(super) fn on_results_timeout(&mut self, timer: u64) {
        let Phase::Tools(running) = &mut self.phase else { return };
        if let Some(unsaved) = running.unsaved.take_if(|unsaved| unsaved.timer == timer) {
            self.save_beside_tools(unsaved.bodies);
        }
    }

    fn save_beside_tools(&mut self, bodies: Vec<Body>) {
        let ticket = self.next_number();
        if let Phase::Tools(running) = &mut self.phase {
            running.saving.insert(ticket);
        }
        self.effects.push(Effect::Save { ticket, bodies });
    }

    /// Answers calls that had not started when the run was interrupted.
    pub(super) fn skip_calls(&mut self, now: Timestamp, plan: control::CallPlan) {
        let why = if self.stop_requests.teardown.is_some() {
            "Not run: Matrix was stopped before this call started. Make it again if it is still needed."
        } else {
            "Not run: the user interrupted you before this call started."
        };
        // `done` is a statement of the agent and has no side effects, so it still counts.
        if let [call] = plan.run.as_slice()
            && Control::of(&call.name) == Some(Control::Done)
            && self.stop_requests.teardown.is_none()
        {
            self.stop_requests.interrupt = false;
            return self.run_tools(now, plan);
        }
        let bodies = plan.run.iter().map(|call| Body::from(ToolResult::unrun(&open_call(call), why, true))).collect();
        self.save(bodies, AfterSave::Advance);
    }

    pub(super) fn on_tool_finished(&mut self, result: ToolResult, control: Option<&tools::ControlRequest>) {
        let Phase::Tools(running) = &mut self.phase else { return };
        if !running.calls.remove(&result.call) {
            return;
        }
        let last = running.calls.is_empty();
        if let Some(tools::ControlRequest::EndTurn { event, reason }) = control {
            self.stop_requests.interrupt = true;
            self.stop_requests.hook.get_or_insert_with(|| (*event, reason.clone()));
            if !last {
                self.effects.push(Effect::CancelTools);
            }
        }
        if let (true, Some(tools::ControlRequest::Done { verdict, result })) = (last, control) {
            // The call stays open until the task receives another message.
            let exit = match verdict {
                Verdict::Passed => Exit::DonePassed,
                Verdict::Failed => Exit::DoneFailed,
            };
            return self.end_with(RunEnded { result: result.clone(), ..RunEnded::from(exit) });
        }
        if let (true, Some(&tools::ControlRequest::CheckFailed { in_a_row })) = (last, control)
            && in_a_row.is_multiple_of(SAME_FAILURES)
            && self.stop_requests.teardown.is_none()
        {
            return self.ask_about_check(result, in_a_row);
        }
        if let (true, Some(tools::ControlRequest::CheckFailed { .. } | tools::ControlRequest::DoneRefused)) =
            (last, control)
        {
            self.attempts.refusals.add(text_of(&result));
            let Refusals { total, same, .. } = self.attempts.refusals;
            if (same >= SAME_FAILURES || total >= MAX_REFUSALS) && self.stop_requests.teardown.is_none() {
                return self.ask_about_refusals(result);
            }
        }
        let mut bodies = vec![match control {
            // It has no result yet, and the other calls go on.
            Some(tools::ControlRequest::Hold(request)) => self.hold(&result.call, request.as_ref().clone()),
            _ => Body::from(result),
        }];
        let Phase::Tools(running) = &mut self.phase else { return };
        if let Some(unsaved) = &mut running.unsaved {
            unsaved.bodies.append(&mut bodies);
            if !last {
                return;
            }
            bodies = std::mem::take(&mut unsaved.bodies);
            self.effects.push(Effect::CancelSleep { timer: unsaved.timer });
            running.unsaved = None;
        }
        let is_stopping = self.stop_requests.interrupt || self.stop_requests.teardown.is_some();
        let holds = !self.state.held_calls.is_empty() || bodies.iter().any(|body| matches!(body, Body::AskRaised(_)));
        // The model reads nothing before every call has a result.
        if last && !is_stopping && !holds {
            bodies.extend(self.consume_messages(Hold::UntilIdle));
        }
        self.save_beside_tools(bodies);
    }

    /// Asks the user about a task whose check keeps failing in the same way.
    fn ask_about_check(&mut self, refused: ToolResult, in_a_row: u32) {
        let question = format!("The task's check failed {in_a_row} times in a row in the same way. What now?");
        let detail: String = text_of(&refused).chars().take(CHECK_DETAIL).collect();
        self.attempts.refusals = Refusals::default();
        self.ask_after(vec![refused.into()], AskCause::Check, &question, &detail);
    }

    /// Asks the user about a task that cannot be declared done.
    fn ask_about_refusals(&mut self, refused: ToolResult) {
        let Refusals { total, .. } = std::mem::take(&mut self.attempts.refusals);
        let question = format!("The agent has called done {total} times, and was refused each time. What now?");
        let detail: String = text_of(&refused).chars().take(CHECK_DETAIL).collect();
        self.ask_after(vec![refused.into()], AskCause::Refused, &question, &detail);
    }

    pub(super) fn on_result_saved(&mut self, now: Timestamp, ticket: u64) {
        let Phase::Tools(running) = &mut self.phase else { return };
        running.saving.remove(&ticket);
        if running.calls.is_empty() && running.saving.is_empty() {
            self.advance(now);
        }
    }
}

fn text_of(result: &ToolResult) -> &str {
    match &result.content {
        Content::Text { text } => text,
        Content::Blob(_) => "",
    }
}

fn open_call(call: &ToolUse) -> OpenCall {
    OpenCall { call: call.call.clone(), name: call.name.clone() }
}
