//! What becomes of the calls of a response: which run, which are answered unrun, and whether the agent goes to sleep.

use crate::model::control::Control;
use crate::model::conversation::ToolUse;

/// What becomes of the calls of one response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Calls to run, in order.
    pub run: Vec<ToolUse>,
    /// Calls that are answered without being run: the call, whether as an error, and why.
    pub settled: Vec<(ToolUse, bool, &'static str)>,
    /// The yield that the agent sleeps on.
    pub sleep: Option<ToolUse>,
}

/// Decides what becomes of the calls of a response. `cut` is the call that the output limit cut short.
pub fn plan(calls: Vec<ToolUse>, cut: Option<&str>) -> Plan {
    let mut plan = Plan { run: Vec::new(), settled: Vec::new(), sleep: None };
    let with_others = calls.iter().any(|call| Control::of(&call.name).is_none());
    let kinds = |kind| calls.iter().filter(move |call| Control::of(&call.name) == Some(kind)).count();
    let steering = kinds(Control::Done) + kinds(Control::Fork);
    let crowded = with_others || steering > 1 || (steering == 1 && kinds(Control::Yield) > 0);
    for call in calls {
        if cut == Some(call.call.as_str()) {
            plan.settled.push((call, true, CUT));
            continue;
        }
        match Control::of(&call.name) {
            None => plan.run.push(call),
            Some(Control::Yield) if crowded => plan.settled.push((call, false, YIELD_WITH_OTHERS)),
            Some(Control::Yield) if plan.sleep.is_some() => plan.settled.push((call, false, SECOND_YIELD)),
            Some(Control::Yield) => plan.sleep = Some(call),
            Some(Control::Done) if crowded => plan.settled.push((call, true, DONE_WITH_OTHERS)),
            Some(Control::Fork) if crowded => plan.settled.push((call, true, FORK_WITH_OTHERS)),
            Some(Control::Done | Control::Fork) => plan.run.push(call),
        }
    }
    plan
}

/// Answers calls that must not be run, because the response they came in broke off.
pub fn none(calls: Vec<ToolUse>) -> Plan {
    let settled = calls.into_iter().map(|call| (call, true, BROKEN_OFF)).collect();
    Plan { run: Vec::new(), settled, sleep: None }
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
