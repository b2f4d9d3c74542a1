//! The lifecycle hooks around a tool call: before it is judged, and after it ran.

use serde_json::{Value, json};

use crate::base::Json;
use crate::hooks::{Joined, ToolCall, ToolView};
use crate::model::ask::PermissionRequest;
use crate::model::conversation::ToolUse;
use crate::model::event::{PermissionCause, PermissionNote};
use crate::model::hook::HookEvent;
use crate::model::tool_names as names;
use crate::permit::HookVerdict;
use crate::tools::context::ToolContext;
use crate::tools::reply::{ControlRequest, Reply};
use crate::tools::tool::{Prepared, Tool};

/// What the hooks before a call said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOpinion {
    pub verdict: HookVerdict,
    /// In the words of the hooks.
    pub reason: String,
}

/// A call after the hooks before it.
pub(super) struct Hooked {
    pub(super) call: ToolUse,
    pub(super) prepared: Prepared,
    pub(super) opinion: HookOpinion,
    /// Texts for the agent, to be added to the result.
    pub(super) notes: Vec<String>,
}

/// Calls the hooks before a call. Returns the reply instead if a hook ended the turn or its new input is invalid.
pub(super) async fn before(
    call: &ToolUse,
    prepared: Prepared,
    tool: &dyn Tool,
    context: &ToolContext,
) -> Result<Hooked, Reply> {
    let mut hooked = Hooked { call: call.clone(), prepared, opinion: HookOpinion::default(), notes: Vec::new() };
    if !context.hooks.has(HookEvent::PreToolUse) {
        return Ok(hooked);
    }
    let input: Value = call.input.read().unwrap_or_default();
    let (joined, view) = fire(HookEvent::PreToolUse, tool, call, &input, context, Value::Null).await;
    if let Some(why) = &joined.stop {
        return Err(stopped(
            HookEvent::PreToolUse,
            why,
            Reply::error(format!("Not run: a hook ended your turn: {why}")),
        ));
    }
    hooked.notes.extend(context_note(HookEvent::PreToolUse, &joined));
    hooked.opinion = HookOpinion { verdict: verdict(&joined), reason: joined.reason.clone() };
    if let (Some((hook, updated)), Some(view)) = (&joined.updated_input, &view) {
        let invalid =
            |why: &str| Reply::error(format!("Not run: the hook {hook} gave the call an invalid input: {why}"));
        let new = view.updated(updated).map_err(|error| invalid(&error.to_string()))?;
        let new = Json::of(&new).map_err(|error| invalid(&error.to_string()))?;
        hooked.prepared = tool.prepare(&new).map_err(|error| invalid(&error.to_string()))?;
        hooked.notes.push(format!("[a hook changed the input of this call to {}]", new.as_str()));
        hooked.call.input = new;
    }
    Ok(hooked)
}

/// Asks the hooks about a call that needs the user's permission. `None` leaves it to the user. A hook can answer for the
/// user where nothing else decides; what a rule or a stop asks about, it can only refuse.
pub(super) async fn answer_request(
    call: &ToolUse,
    tool: &dyn Tool,
    request: &PermissionRequest,
    context: &ToolContext,
) -> Option<Result<PermissionNote, Reply>> {
    if !context.hooks.has(HookEvent::PermissionRequest) {
        return None;
    }
    let input: Value = call.input.read().unwrap_or_default();
    let more = json!({ "permission_suggestions": request.rules });
    let (joined, _) = fire(HookEvent::PermissionRequest, tool, call, &input, context, more).await;
    let note = |granted| PermissionNote { granted, by: PermissionCause::Hook };
    let is_open = matches!(request.cause, PermissionCause::Undecided { .. });
    match joined.verdict {
        crate::hooks::Verdict::Deny => {
            let reply = Reply::error(format!("Not permitted: {}", joined.reason));
            let reply = Reply { permission: Some(note(false)), ..reply };
            Some(Err(match &joined.stop {
                Some(why) => stopped(HookEvent::PermissionRequest, why, reply),
                None => reply,
            }))
        }
        // A changed input would have to be judged again: the user decides.
        crate::hooks::Verdict::Allow if is_open && joined.updated_input.is_none() => Some(Ok(note(true))),
        crate::hooks::Verdict::Allow | crate::hooks::Verdict::Ask | crate::hooks::Verdict::None => None,
    }
}

/// Calls the hooks after a call, and returns the reply with what they say.
pub(super) async fn after(call: &ToolUse, tool: &dyn Tool, mut reply: Reply, context: &ToolContext) -> Reply {
    let event = if reply.is_error { HookEvent::PostToolUseFailure } else { HookEvent::PostToolUse };
    if !context.hooks.has(event) {
        return reply;
    }
    let input: Value = call.input.read().unwrap_or_default();
    let more = if reply.is_error {
        json!({ "error": reply.text, "is_interrupt": context.tokens.is_cancelled() })
    } else {
        let ms = u64::try_from(reply.duration.as_millis()).unwrap_or(u64::MAX);
        json!({ "tool_response": response(tool, &input, &reply), "duration_ms": ms })
    };
    let (joined, _) = fire(event, tool, call, &input, context, more).await;
    if let Some(output) = joined.updated_output.clone() {
        reply.text = output;
    }
    let mut notes = Vec::new();
    if joined.is_blocked {
        notes.push(format!("[{event} hook: {}]", joined.reason));
    }
    notes.extend(context_note(event, &joined));
    add_notes(&mut reply, &notes);
    match joined.stop {
        Some(why) => stopped(event, why.as_str(), reply),
        None => reply,
    }
}

pub(super) fn add_notes(reply: &mut Reply, notes: &[String]) {
    for note in notes {
        if !reply.text.is_empty() {
            reply.text.push_str("\n\n");
        }
        reply.text.push_str(note);
    }
}

async fn fire(
    event: HookEvent,
    tool: &dyn Tool,
    call: &ToolUse,
    input: &Value,
    context: &ToolContext,
    more: Value,
) -> (Joined, Option<ToolView>) {
    let cwd = context.cwd.get();
    let call = ToolCall { id: &call.call, name: &tool.spec().name, input, cwd: &cwd };
    context.hooks.fire_call(event, call, more).await
}

fn verdict(joined: &Joined) -> HookVerdict {
    match joined.verdict {
        crate::hooks::Verdict::None => HookVerdict::None,
        crate::hooks::Verdict::Allow => HookVerdict::Allow,
        crate::hooks::Verdict::Ask => HookVerdict::Ask,
        crate::hooks::Verdict::Deny => HookVerdict::Deny,
    }
}

fn context_note(event: HookEvent, joined: &Joined) -> Option<String> {
    let context = joined.context();
    (!context.is_empty()).then(|| format!("[{event} hook: {context}]"))
}

fn stopped(event: HookEvent, why: &str, reply: Reply) -> Reply {
    Reply { control: Some(ControlRequest::EndTurn { event, reason: why.to_owned() }), ..reply }
}

/// Returns the result in the form of Claude Code's tools, as far as they have one, beside the text.
fn response(tool: &dyn Tool, input: &Value, reply: &Reply) -> Value {
    let mut response = json!({ "text": reply.text, "success": true });
    match names::split(&tool.spec().name) {
        Some((names::OWN, names::BASH)) => {
            response["stdout"] = reply.text.clone().into();
            response["stderr"] = "".into();
            response["interrupted"] = false.into();
        }
        Some((names::OWN, names::EDIT_FILE | names::WRITE_FILE)) => response["filePath"] = input["path"].clone(),
        _ => {}
    }
    response
}
