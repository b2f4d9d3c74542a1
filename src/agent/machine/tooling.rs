//! Running the calls of a response: each is answered exactly once, whatever happens. What may run at the same time is
//! decided by `tools::order`.

use std::collections::BTreeSet;

use crate::agent::control;
use crate::agent::machine::{About, Effect, Hold, Machine, Phase, Then};
use crate::base::Timestamp;
use crate::model::Content;
use crate::model::control::Control;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Exit, RunEnded, ToolResult, Verdict};
use crate::model::fold::OpenCall;
use crate::model::live::Activity;
use crate::tools::{self, names};

/// After how many failures of the same check in a row, with the same result, the user is asked.
const SAME_FAILURES: u32 = 3;
/// How much of what the check said is shown with the question.
const CHECK_DETAIL: usize = 2_000;

/// How long a response waits for the results of calls that only read, to be saved with them. A crash in that time costs
/// the response, which is then asked for again.
const SAVE_WITHIN_MS: u64 = 200;

/// Calls that run, and results that are on their way to the disk.
#[derive(Debug, Default)]
pub(super) struct Running {
    calls: BTreeSet<String>,
    saving: BTreeSet<u64>,
    unsaved: Option<Unsaved>,
}

/// A response whose calls only read, and their results so far: they are saved in one append.
#[derive(Debug)]
struct Unsaved {
    bodies: Vec<Body>,
    /// When it rings, they are saved without the results that are still missing.
    timer: u64,
}

impl Machine {
    pub(super) fn run_tools(&mut self, now: Timestamp, plan: control::Plan) {
        // A call that the store has an answer for must not run again; none is left open here but what the plan has.
        let calls: Vec<ToolUse> = plan.run;
        if calls.is_empty() {
            return self.advance(now);
        }
        let running = Running { calls: calls.iter().map(|call| call.call.clone()).collect(), ..Running::default() };
        self.phase = Phase::Tools(running);
        self.out.push(Effect::Activity(Activity::Tool));
        self.out.push(Effect::RunTools { calls });
    }

    /// Tells whether a response may be saved together with the results of its calls: nothing happens by them that the log
    /// would have to know of first.
    pub(super) fn may_save_later(&self, plan: &control::Plan) -> bool {
        let cut_short = self.wants.interrupt || self.wants.teardown.is_some();
        !cut_short && !plan.run.is_empty() && plan.run.iter().all(|call| names::only_reads(&call.name))
    }

    /// Runs calls that only read before the response that made them is saved.
    pub(super) fn read_first(&mut self, bodies: Vec<Body>, plan: control::Plan) {
        let timer = self.number();
        let calls = plan.run.iter().map(|call| call.call.clone()).collect();
        let unsaved = Some(Unsaved { bodies, timer });
        self.phase = Phase::Tools(Running { calls, unsaved, ..Running::default() });
        self.out.push(Effect::Activity(Activity::Tool));
        self.out.push(Effect::Sleep { timer, millis: SAVE_WITHIN_MS });
        self.out.push(Effect::RunTools { calls: plan.run });
    }

    /// Saves a response whose calls take their time.
    pub(super) fn waited_for_results(&mut self, rung: u64) {
        let Phase::Tools(running) = &mut self.phase else { return };
        if let Some(unsaved) = running.unsaved.take_if(|unsaved| unsaved.timer == rung) {
            self.save_beside_tools(unsaved.bodies);
        }
    }

    fn save_beside_tools(&mut self, bodies: Vec<Body>) {
        let ticket = self.number();
        if let Phase::Tools(running) = &mut self.phase {
            running.saving.insert(ticket);
        }
        self.out.push(Effect::Save { ticket, bodies });
    }

    /// Answers calls that were not started before the run was cut short.
    pub(super) fn leave_unrun(&mut self, now: Timestamp, plan: control::Plan) {
        let why = if self.wants.teardown.is_some() {
            "Not run: Matrix was stopped before this call started. Make it again if it is still needed."
        } else {
            "Not run: the person interrupted you before this call started."
        };
        // Declaring the task done is the agent's word, not an effect: it stands.
        if let [call] = plan.run.as_slice()
            && Control::of(&call.name) == Some(Control::Done)
            && self.wants.teardown.is_none()
        {
            self.wants.interrupt = false;
            return self.run_tools(now, plan);
        }
        let bodies = plan.run.iter().map(|call| Body::from(ToolResult::unrun(&open(call), why, true))).collect();
        self.save(bodies, Then::Advance);
    }

    pub(super) fn tool_finished(&mut self, result: ToolResult, control: Option<&tools::Control>) {
        let Phase::Tools(running) = &mut self.phase else { return };
        if !running.calls.remove(&result.call) {
            return;
        }
        let last = running.calls.is_empty();
        if let (true, Some(tools::Control::Done { verdict, result })) = (last, control) {
            // The call stays open: it is answered when somebody speaks to the task again.
            let exit = match verdict {
                Verdict::Passed => Exit::DonePassed,
                Verdict::Failed => Exit::DoneFailed,
            };
            return self.end_with(RunEnded { result: result.clone(), ..RunEnded::from(exit) });
        }
        if let (true, Some(&tools::Control::CheckFailed { in_a_row })) = (last, control)
            && in_a_row.is_multiple_of(SAME_FAILURES)
            && self.wants.teardown.is_none()
        {
            return self.ask_about_check(result, in_a_row);
        }
        let mut bodies = vec![Body::from(result)];
        if let Some(unsaved) = &mut running.unsaved {
            unsaved.bodies.append(&mut bodies);
            if !last {
                return;
            }
            bodies = std::mem::take(&mut unsaved.bodies);
            self.out.push(Effect::CancelSleep { timer: unsaved.timer });
            running.unsaved = None;
        }
        let cut_short = self.wants.interrupt || self.wants.teardown.is_some();
        if last && !cut_short {
            bodies.extend(self.hand_over(Hold::UntilIdle));
        }
        self.save_beside_tools(bodies);
    }

    /// Asks the user what is to become of a task whose check keeps failing in the same way.
    fn ask_about_check(&mut self, refused: ToolResult, in_a_row: u32) {
        let question = format!("The check of this task failed {in_a_row} times in a row in the same way. What now?");
        let detail = match &refused.content {
            Content::Text { text } => text.chars().take(CHECK_DETAIL).collect(),
            Content::Blob(_) => String::new(),
        };
        self.ask_after(vec![refused.into()], About::Check, &question, &detail);
    }

    pub(super) fn result_saved(&mut self, now: Timestamp, ticket: u64) {
        let Phase::Tools(running) = &mut self.phase else { return };
        running.saving.remove(&ticket);
        if running.calls.is_empty() && running.saving.is_empty() {
            self.advance(now);
        }
    }
}

fn open(call: &ToolUse) -> OpenCall {
    OpenCall { call: call.call.clone(), name: call.name.clone() }
}
