//! What the answers of several hooks to one event mean together.
//!
//! Pure. Deny wins over ask, ask over allow. Texts are joined in the order in which the hooks are defined, whichever
//! finished first.

use serde_json::Value;

use crate::config::hooks::OnFailure;
use crate::hooks::answer::Answer;
use crate::model::hook::{HookDecision, HookEnd, HookEvent};

/// A hook that was called, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The command line or the address.
    pub hook: String,
    pub on_failure: OnFailure,
    pub answer: Answer,
}

/// What hooks say about a call, joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    #[default]
    None,
    Allow,
    Ask,
    Deny,
}

/// The joined answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// About a call: [`HookEvent::PreToolUse`] and [`HookEvent::PermissionRequest`].
    pub verdict: Verdict,
    /// What was about to happen must not, or the agent has to go on.
    pub is_blocked: bool,
    /// Why, in the words of the hooks that decided.
    pub reason: String,
    /// The new input of the call, as a hook wrote it, and the hook.
    pub updated_input: Option<(String, Value)>,
    /// The text that replaces the result of the call.
    pub updated_output: Option<String>,
    /// Texts for the agent.
    pub contexts: Vec<String>,
    /// Texts for the user.
    pub messages: Vec<String>,
    /// The agent's turn ends, for this reason.
    pub stop: Option<String>,
    /// Hooks that failed and do not block: the hook and the reason.
    pub failures: Vec<(String, String)>,
    /// The path that a `WorktreeCreate` hook printed.
    pub path: Option<String>,
}

impl Joined {
    /// Returns the contexts as one text. Empty if there are none.
    pub fn context(&self) -> String {
        self.contexts.join("\n")
    }
}

/// Joins the answers to `event`.
pub fn join(event: HookEvent, answers: &[Answered]) -> Joined {
    let mut joined = Joined::default();
    // The reasons for each verdict. Only those of the strongest count.
    let mut reasons: Vec<(Verdict, String)> = Vec::new();
    let mut changing: Vec<(&str, &Value)> = Vec::new();
    for Answered { hook, on_failure, answer } in answers {
        let response = &answer.response;
        if matches!(answer.end, HookEnd::Failed | HookEnd::TimedOut) {
            match on_failure {
                OnFailure::Block if event.can_block() => {
                    reasons.push((Verdict::Deny, format!("the hook {hook} failed: {}", response.reason)));
                    joined.is_blocked = true;
                }
                OnFailure::Block | OnFailure::Continue => {
                    joined.failures.push((hook.clone(), response.reason.clone()));
                }
            }
            continue;
        }
        let verdict = match response.decision {
            Some(HookDecision::Deny | HookDecision::Block) => Verdict::Deny,
            Some(HookDecision::Ask) => Verdict::Ask,
            Some(HookDecision::Allow) => Verdict::Allow,
            Some(HookDecision::Stop) | None => Verdict::None,
        };
        joined.is_blocked |= verdict == Verdict::Deny;
        if verdict != Verdict::None && !response.reason.trim().is_empty() {
            reasons.push((verdict, response.reason.clone()));
        }
        joined.verdict = joined.verdict.max(verdict);
        changing.extend(response.updated_input.as_ref().map(|input| (hook.as_str(), input)));
        joined.contexts.extend(response.context.clone());
        joined.messages.extend(response.message.clone());
        joined.stop = joined.stop.or_else(|| response.stop.clone());
        joined.path = joined.path.or_else(|| response.path.clone());
        if response.updated_output.is_some() {
            joined.updated_output.clone_from(&response.updated_output);
        }
    }
    if joined.is_blocked {
        joined.verdict = Verdict::Deny;
    }
    match changing.as_slice() {
        [] => {}
        [(hook, input)] => joined.updated_input = Some(((*hook).to_owned(), (*input).clone())),
        several => {
            let named: Vec<&str> = several.iter().map(|(hook, _)| *hook).collect();
            reasons.push((Verdict::Deny, format!("several hooks change its input: {}", named.join(" and "))));
            joined.verdict = Verdict::Deny;
            joined.is_blocked = true;
        }
    }
    let strongest = joined.verdict;
    let counting = reasons.into_iter().filter(|(verdict, _)| *verdict == strongest).map(|(_, reason)| reason);
    joined.reason = counting.collect::<Vec<_>>().join("\n");
    joined
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
