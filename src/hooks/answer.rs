//! What the answer of one hook means: exit code, output and JSON, by Claude Code's contract.

use serde::Deserialize;
use serde_json::Value;

use crate::base::text;
use crate::model::hook::{HookDecision, HookEnd, HookEvent};

/// The longest text of a hook that reaches an agent or the user, in characters.
pub const TEXT_CHARS: usize = 10_000;

/// How the call of a hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A command exited. `None` if a signal ended it.
    Exited {
        code: Option<i32>,
        stdout: String,
        stderr: String,
    },
    /// An HTTP server responded.
    Responded {
        status: u16,
        body: String,
    },
    /// It could not be called.
    Failed(String),
    TimedOut {
        seconds: u64,
    },
    /// It was started, and nothing waits for it.
    Background,
}

/// The answer of one hook.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub end: HookEnd,
    /// The exit code, or the status of the HTTP response.
    pub exit: Option<i32>,
    pub response: Response,
}

/// What a hook wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub decision: Option<HookDecision>,
    /// The reason of the decision, or the error.
    pub reason: String,
    /// Text for the agent.
    pub context: Option<String>,
    pub updated_input: Option<Value>,
    /// The text that replaces the result of the call.
    pub updated_output: Option<String>,
    /// The agent's turn ends, with this reason.
    pub stop: Option<String>,
    /// Text for the user.
    pub message: Option<String>,
    /// Its text is not part of the transcript.
    pub suppressed: bool,
    /// The path that a `WorktreeCreate` hook printed.
    pub path: Option<String>,
}

impl Answer {
    fn failed(exit: Option<i32>, why: impl Into<String>) -> Self {
        let response = Response { reason: why.into(), ..Response::default() };
        Self { end: HookEnd::Failed, exit, response }
    }

    /// Returns the first line of what the hook said.
    pub fn line(&self) -> String {
        let Response { reason, message, stop, context, .. } = &self.response;
        let said = [Some(reason), message.as_ref(), stop.as_ref(), context.as_ref()];
        let first = said.into_iter().flatten().find(|said| !said.trim().is_empty());
        first.map(|said| text::headline(said.trim(), 200)).unwrap_or_default()
    }
}

/// The JSON that a hook may print.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Printed {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    suppress_output: bool,
    system_message: Option<String>,
    decision: Option<Value>,
    reason: Option<String>,
    hook_specific_output: Option<Specific>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Value>,
    decision: Option<PermissionAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PermissionAnswer {
    behavior: String,
    updated_input: Option<Value>,
    message: Option<String>,
    interrupt: bool,
}

/// Returns what the end of a hook means for `event`.
pub fn read(event: HookEvent, ending: Ending) -> Answer {
    match ending {
        Ending::Background => Answer { end: HookEnd::Background, exit: None, response: Response::default() },
        Ending::Failed(why) => Answer::failed(None, why),
        Ending::TimedOut { seconds } => {
            let reason = format!(
                "it gave no answer within {}",
                text::count(usize::try_from(seconds).unwrap_or(usize::MAX), "second", "seconds")
            );
            Answer { end: HookEnd::TimedOut, exit: None, response: Response { reason, ..Response::default() } }
        }
        Ending::Responded { status, body } => read_response(event, status, &body),
        Ending::Exited { code: None, stderr, .. } => Answer::failed(None, or(&stderr, "a signal ended it")),
        Ending::Exited { code: Some(code), stdout, stderr } => read_exit(event, code, &stdout, &stderr),
    }
}

fn or(said: &str, otherwise: &str) -> String {
    let said = said.trim();
    if said.is_empty() { otherwise.to_owned() } else { bounded(said) }
}

/// Returns a text that is not too long for a conversation.
fn bounded(said: &str) -> String {
    match said.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}\n[cut: it has {} characters]", &said[..end], said.chars().count()),
        None => said.to_owned(),
    }
}

fn read_response(event: HookEvent, status: u16, body: &str) -> Answer {
    let exit = Some(i32::from(status));
    if !(200..300).contains(&status) {
        return Answer::failed(exit, format!("the server responded with status {status}"));
    }
    match json(body) {
        Some(Ok(output)) => interpret(event, exit, output),
        Some(Err(why)) => Answer::failed(exit, why),
        None => Answer { end: HookEnd::Answered, exit, response: plain(event, body) },
    }
}

fn read_exit(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> Answer {
    let exit = Some(code);
    let answered = |response| Answer { end: HookEnd::Answered, exit, response };
    match (code, json(stdout)) {
        // Whatever it prints, this code blocks.
        (2, _) => {
            let decision = match event {
                HookEvent::PreToolUse => Some(HookDecision::Deny),
                HookEvent::PermissionRequest => None,
                event => event.can_block().then_some(HookDecision::Block),
            };
            let reason = or(stderr, "it exited with 2 and gave no reason");
            answered(Response { decision, reason, ..Response::default() })
        }
        (_, Some(Ok(output))) => interpret(event, exit, output),
        (0, None) => answered(plain(event, stdout)),
        // Text that merely begins with a brace.
        (0, Some(Err(_))) if takes_text(event) => answered(plain(event, stdout)),
        (0, Some(Err(why))) => Answer::failed(exit, why),
        (code, _) => Answer::failed(exit, or(stderr, &format!("it exited with {code}"))),
    }
}

/// Parses output that begins like JSON. `None` if it is plain text.
fn json(output: &str) -> Option<Result<Printed, String>> {
    let output = output.trim();
    output
        .starts_with('{')
        .then(|| serde_json::from_str(output).map_err(|error| format!("its JSON is invalid: {error}")))
}

/// Returns true if plain output is context for the agent.
fn takes_text(event: HookEvent) -> bool {
    matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit)
}

fn plain(event: HookEvent, output: &str) -> Response {
    let output = output.trim();
    let said = (!output.is_empty()).then(|| bounded(output));
    match event {
        HookEvent::WorktreeCreate => Response { path: said, ..Response::default() },
        event if takes_text(event) => Response { context: said, ..Response::default() },
        _ => Response::default(),
    }
}

fn interpret(event: HookEvent, exit: Option<i32>, output: Printed) -> Answer {
    let specific = output.hook_specific_output.unwrap_or_default();
    if let Some(other) = specific.hook_event_name.as_deref().filter(|name| *name != event.name()) {
        return Answer::failed(exit, format!("it answers for {other}, and was called for {event}"));
    }
    let mut response = Response {
        reason: output.reason.as_deref().map(bounded).unwrap_or_default(),
        context: specific.additional_context.filter(|context| !context.trim().is_empty()).map(|said| bounded(&said)),
        message: output.system_message.filter(|message| !message.trim().is_empty()).map(|said| bounded(&said)),
        suppressed: output.suppress_output,
        ..Response::default()
    };
    if output.goes_on == Some(false) {
        response.stop = Some(or(output.stop_reason.as_deref().unwrap_or_default(), "a hook ended the turn"));
    }
    let is_call = event == HookEvent::PreToolUse;
    match output.decision.as_ref().map(|decision| decision.as_str().unwrap_or_default()) {
        None => {}
        // The older form of the answer.
        Some("approve" | "allow") => response.decision = is_call.then_some(HookDecision::Allow),
        Some("block" | "deny") if is_call => response.decision = Some(HookDecision::Deny),
        Some("block" | "deny") => response.decision = event.can_block().then_some(HookDecision::Block),
        Some(_) => return Answer::failed(exit, "its \"decision\" is neither \"approve\" nor \"block\""),
    }
    match event {
        HookEvent::PreToolUse => {
            match specific.permission_decision.as_deref() {
                None => {}
                Some("allow") => response.decision = Some(HookDecision::Allow),
                Some("deny") => response.decision = Some(HookDecision::Deny),
                Some("ask" | "defer") => response.decision = Some(HookDecision::Ask),
                Some(other) => {
                    let why = format!("its \"permissionDecision\" is \"{}\"", text::headline(other, 40));
                    return Answer::failed(exit, why);
                }
            }
            if let Some(reason) = specific.permission_decision_reason {
                response.reason = bounded(&reason);
            }
            response.updated_input = specific.updated_input;
        }
        HookEvent::PermissionRequest => {
            if let Some(answer) = specific.decision {
                response.decision = match answer.behavior.as_str() {
                    "allow" => Some(HookDecision::Allow),
                    "deny" => Some(HookDecision::Deny),
                    _ => return Answer::failed(exit, "its \"behavior\" is neither \"allow\" nor \"deny\""),
                };
                response.reason = answer.message.as_deref().map(bounded).unwrap_or_default();
                response.updated_input = answer.updated_input;
                if answer.interrupt {
                    response.stop = Some(or(&response.reason, "a hook ended the turn"));
                }
            }
        }
        HookEvent::PostToolUse => {
            let output = specific.updated_tool_output.or(specific.updated_mcp_tool_output);
            response.updated_output = output.map(|output| match output {
                Value::String(said) => said,
                other => other.to_string(),
            });
        }
        _ => {}
    }
    Answer { end: HookEnd::Answered, exit, response }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
