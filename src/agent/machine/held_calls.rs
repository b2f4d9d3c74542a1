//! Held calls: a call that needs the user's permission has an Ask instead of a result, while the other calls go on.
//!
//! The answer is in the session before the call runs, and so is the start of the call. So a restart runs it after an
//! answer, and never twice. A call that is not allowed gets a result that says so.

use std::collections::BTreeMap;

use crate::agent::control::CallPlan;
use crate::agent::machine::{AfterSave, Effect, Machine, Phase};
use crate::base::AskId;
use crate::model::ask::{AnsweredBy, ChoiceId, HeldRequest, Subject};
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AskWithdrawn, Body, CallReleased, Exit, InterruptReason, PermissionCause, PermissionNote, RunEnded,
};
use crate::model::fold::{Decision, Release};
use crate::model::live::Activity;
use crate::model::resume::ends_hold;

/// Held calls that may run now.
#[derive(Debug, Default)]
pub(super) struct Released {
    pub(super) calls: Vec<ToolUse>,
    /// What allowed each of them.
    pub(super) consents: BTreeMap<String, PermissionNote>,
}

impl Released {
    pub(super) fn into_plan(self) -> CallPlan {
        CallPlan { run: self.calls, answered: Vec::new(), sleep: None }
    }
}

const INTERRUPTED: &str = "Not run: the user interrupted you while it waited for permission.";
const WITHDRAWN: &str = "Not run: the request for permission was withdrawn.";
const STOPPED: &str = "Not approved: the task was stopped.";
const PLAN_STOPPED: &str = "Its plan was not approved, and the user left it at that.";
const MESSAGE_INSTEAD: &str = "Not run: it needs the user's permission, and they sent you a message instead.";

impl Machine {
    /// Returns the Ask that holds a call.
    pub(super) fn hold(&self, call: &str, request: HeldRequest) -> Body {
        request.into_ask(AskId::fresh(&self.ids), call).into()
    }

    /// Runs the held calls whose Ask is answered, and waits for the others.
    pub(super) fn release_calls(&mut self) {
        let is_dismissed = self.state.messages.iter().any(|message| {
            ends_hold(message) && !self.withdrawing.contains(&message.id) && !self.consuming.contains(&message.id)
        });
        let mut released = Released::default();
        let mut bodies = Vec::new();
        let (mut stops, mut stop) = (false, None);
        for held in self.state.held_calls.iter() {
            match &held.release {
                None if is_dismissed => {
                    let reason = "the user sent a message instead".to_owned();
                    bodies.push(AskWithdrawn { id: held.ask, reason }.into());
                    bodies.push(self.state.unrun_result(held, MESSAGE_INSTEAD, None));
                }
                None => {}
                Some(Release::Withdrawn) => bodies.push(self.state.unrun_result(held, WITHDRAWN, None)),
                Some(Release::Answered(decision)) => match verdict(decision) {
                    HeldVerdict::Run(note) => match self.conversation.call(&held.call).cloned() {
                        Some(call) => {
                            bodies.push(CallReleased { call: held.call.clone(), ask: held.ask }.into());
                            released.consents.insert(held.call.clone(), note);
                            released.calls.push(call);
                        }
                        None => bodies.push(self.state.unrun_result(held, WITHDRAWN, None)),
                    },
                    HeldVerdict::Refuse(note, why) => bodies.push(self.state.unrun_result(held, &why, Some(note))),
                    HeldVerdict::Answer(text) => bodies.push(self.state.answered_result(held, &text)),
                    HeldVerdict::Stop => {
                        bodies.push(self.state.unrun_result(held, STOPPED, None));
                        stop = decision.event.or(stop);
                        stops = true;
                    }
                },
            }
        }
        if bodies.is_empty() {
            self.phase = Phase::Holding;
            return self.effects.push(Effect::Activity(Activity::Waiting));
        }
        if stops {
            let exit = Exit::Interrupted(InterruptReason::Stopped);
            let result = PLAN_STOPPED.to_owned();
            bodies.push(RunEnded { exit: exit.clone(), result, decided: stop }.into());
            return self.save(bodies, AfterSave::End(exit));
        }
        // An answer resumes an agent that was stopped.
        self.halted = false;
        let then = if released.calls.is_empty() { AfterSave::Advance } else { AfterSave::Release(released) };
        self.save(bodies, then);
    }

    /// Returns the events that end all holds because the user interrupted the agent.
    pub(super) fn withdraw_held_calls(&self) -> Vec<Body> {
        self.state.end_holds("the user interrupted the agent", INTERRUPTED)
    }
}

enum HeldVerdict {
    Run(PermissionNote),
    /// The call is answered, and nothing runs.
    Answer(String),
    /// The task ends.
    Stop,
    /// With the reason for the model.
    Refuse(PermissionNote, String),
}

/// Returns what an answer says about its call. Free text is a refusal with a reason.
fn verdict(decision: &Decision) -> HeldVerdict {
    let Decision { ask, answer, .. } = decision;
    if let Subject::Plan(_) = &ask.subject {
        return plan_verdict(decision);
    }
    let by = match answer.by {
        AnsweredBy::User | AnsweredBy::Timeout | AnsweredBy::Task => PermissionCause::User,
        AnsweredBy::Rule => answer.cause.clone().unwrap_or_default(),
    };
    let note = |granted| PermissionNote { granted, by: by.clone() };
    match ask.choice_of(answer) {
        Some(ChoiceId::Once | ChoiceId::ThisTask | ChoiceId::Project) => HeldVerdict::Run(note(true)),
        _ if answer.by == AnsweredBy::Rule => HeldVerdict::Refuse(note(false), format!("Not permitted: {by}.")),
        Some(ChoiceId::Never) => HeldVerdict::Refuse(
            note(false),
            "Not permitted: the user refused it, and will refuse it in this project from now on. Find another way, or \
             ask with clarify."
                .to_owned(),
        ),
        None if !answer.text.trim().is_empty() => {
            HeldVerdict::Refuse(note(false), format!("Not permitted. The user says: {}", answer.text.trim()))
        }
        _ => HeldVerdict::Refuse(
            note(false),
            "Not permitted: the user refused this call. Do not repeat it; find another way, or ask with clarify."
                .to_owned(),
        ),
    }
}

/// Returns what an answer says about a plan.
fn plan_verdict(decision: &Decision) -> HeldVerdict {
    let Decision { ask, answer, .. } = decision;
    let who = if answer.by == AnsweredBy::Task { "the task above" } else { "the user" };
    match ask.choice_of(answer) {
        Some(ChoiceId::Approve) => HeldVerdict::Answer(format!(
            "Your plan is approved by {who}, and you may work now. Carry it out; if you find that it must change in an \
             important way, ask first."
        )),
        Some(ChoiceId::ApproveEdited) => HeldVerdict::Answer(format!(
            "Your plan is approved by {who} in an edited form, which counts, and you may work now. Carry it out:\n\n{}",
            answer.text.trim()
        )),
        Some(ChoiceId::Stop) => HeldVerdict::Stop,
        None => HeldVerdict::Answer(format!(
            "Your plan is not approved. {} says: {}\n\nHand in a new plan with submit_plan.",
            if answer.by == AnsweredBy::Task { "The task above" } else { "The user" },
            answer.text.trim()
        )),
        Some(_) => HeldVerdict::Answer(format!(
            "Your plan is not approved by {who}. Think again about goal and steps, and hand in another one with submit_plan, or \
             ask with clarify what is wanted."
        )),
    }
}
