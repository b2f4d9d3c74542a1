//! Permission requests of a program: our rules and modes decide first, then the user.

use std::sync::Arc;

use super::transcript::tool_use;
use crate::model::ask::{AnsweredBy, ChoiceId, PermissionRequest};
use crate::model::event::{PermissionCause, PermissionNote};
use crate::model::fold::Decision;
use crate::model::tool_names as names;
use crate::outside::CallUpdate;
use crate::tools::{Gate, GateRequest, HookOpinion, Permission, ToolEffect};

/// What our rules and modes say about a call.
#[derive(Debug)]
pub(super) enum Judgement {
    Granted {
        note: Option<PermissionNote>,
    },
    Denied {
        reason: String,
        note: Option<PermissionNote>,
    },
    /// The user decides.
    Undecided(Box<PermissionRequest>),
}

/// Judges a call of a program. A call that concerns several files is granted only if each of them is.
pub(super) async fn judge(gate: Arc<dyn Gate>, backend: String, call: CallUpdate) -> Judgement {
    let mut single = Vec::new();
    if call.paths.len() > 1 {
        single.extend(call.paths.iter().map(|path| CallUpdate { paths: vec![path.clone()], ..call.clone() }));
    } else {
        single.push(call);
    }
    let mut granted = None;
    let mut undecided = None;
    for call in single {
        let call = tool_use(&backend, &call);
        let effect = match names::split(&call.name) {
            Some((names::OWN, names::READ_FILE)) => ToolEffect::Reads,
            Some((names::OWN, names::EDIT_FILE)) => ToolEffect::Writes,
            _ => ToolEffect::Opaque,
        };
        let hook = HookOpinion::default();
        match gate.check(GateRequest { call: &call, name: &call.name, effect, hook: &hook }).await {
            Permission::Granted { note } => granted = note,
            Permission::Held(request) => undecided = Some(request),
            Permission::Denied { reason, note } => return Judgement::Denied { reason, note },
        }
    }
    match undecided {
        Some(request) => Judgement::Undecided(request),
        None => Judgement::Granted { note: granted },
    }
}

/// Returns what an answer says about its call: what to record, and why it is refused. Words are a refusal with a reason.
pub(super) fn verdict(decision: &Decision) -> (PermissionNote, Option<String>) {
    let Decision { ask, answer, .. } = decision;
    let by = match answer.by {
        AnsweredBy::User | AnsweredBy::Timeout | AnsweredBy::Task => PermissionCause::User,
        AnsweredBy::Rule => answer.cause.clone().unwrap_or_default(),
    };
    let refusal = match ask.choice_of(answer) {
        Some(ChoiceId::Once | ChoiceId::ThisTask | ChoiceId::Project) => None,
        _ if answer.by == AnsweredBy::Rule => Some(format!("Not permitted: {by}.")),
        None if !answer.text.trim().is_empty() => Some(format!("Not permitted. The user says: {}", answer.text.trim())),
        _ => Some("Not permitted: the user refused this call. Do not repeat it; find another way.".to_owned()),
    };
    (PermissionNote { granted: refusal.is_none(), by }, refusal)
}
