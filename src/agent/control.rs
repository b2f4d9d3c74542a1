//! Decides what to do with the tool calls of a response: which to run, which to answer without running, and whether the
//! agent sleeps.

use crate::model::control::Control;
use crate::model::conversation::ToolUse;

/// The plan for the calls of one response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlan {
    /// Calls to run, in order.
    pub run: Vec<ToolUse>,
    /// Calls answered without running them: the call, whether the answer is an error, and its text.
    pub answered: Vec<(ToolUse, bool, &'static str)>,
    /// The `yield` call that the agent sleeps on.
    pub sleep: Option<ToolUse>,
}

/// Plans the calls of a response. `cut` is the call that the output limit truncated.
pub fn plan(calls: Vec<ToolUse>, cut: Option<&str>) -> CallPlan {
    let mut plan = CallPlan { run: Vec::new(), answered: Vec::new(), sleep: None };
    let has_tools = calls.iter().any(|call| Control::of(&call.name).is_none());
    let count = |kind| calls.iter().filter(move |call| Control::of(&call.name) == Some(kind)).count();
    let controls = count(Control::Done) + count(Control::Fork);
    let is_mixed = has_tools || controls > 1 || (controls == 1 && count(Control::Yield) > 0);
    for call in calls {
        if cut == Some(call.call.as_str()) {
            plan.answered.push((call, true, CUT));
            continue;
        }
        match Control::of(&call.name) {
            None => plan.run.push(call),
            Some(Control::Yield) if is_mixed => plan.answered.push((call, false, YIELD_WITH_OTHERS)),
            Some(Control::Yield) if plan.sleep.is_some() => plan.answered.push((call, false, SECOND_YIELD)),
            Some(Control::Yield) => plan.sleep = Some(call),
            Some(Control::Done) if is_mixed => plan.answered.push((call, true, DONE_WITH_OTHERS)),
            Some(Control::Fork) if is_mixed => plan.answered.push((call, true, FORK_WITH_OTHERS)),
            Some(Control::Done | Control::Fork) => plan.run.push(call),
        }
    }
    plan
}

/// Answers all calls without running them, because their response broke off.
pub fn refuse_all(calls: Vec<ToolUse>) -> CallPlan {
    let answered = calls.into_iter().map(|call| (call, true, BROKEN_OFF)).collect();
    CallPlan { run: Vec::new(), answered, sleep: None }
}

const BROKEN_OFF: &str = "Not run: your response broke off, so this call may be incomplete. Make it again if it is still \
                          needed.";
const CUT: &str = "Not run: the output limit cut this call off before its input was complete. \
                   Make the call again with less text, or split the work into several calls.";
const YIELD_WITH_OTHERS: &str = "Nothing to wait for: the other calls of this turn have been answered. \
                                 Call yield alone when you want to sleep until a message arrives.";
const SECOND_YIELD: &str = "Ignored: an earlier call of this turn already waits.";
const DONE_WITH_OTHERS: &str = "Not done: done must be the only call of its turn, so that you have seen the results of \
                                everything else before you declare the task finished. Look at them, then call done alone.";
const FORK_WITH_OTHERS: &str = "Not forked: fork_task_context must be the only call of its turn, so that the copy does \
                                not contain half-finished calls. Call it alone.";

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
