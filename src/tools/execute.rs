//! The path of every call: look up, parse, check permission, run, bound.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt as _;

use crate::base::{known_secrets, text};
use crate::model::ask::HeldRequest;
use crate::model::conversation::ToolUse;
use crate::tools::bound;
use crate::tools::context::ToolContext;
use crate::tools::gate::{GateRequest, Permission};
use crate::tools::hooks::{self, Hooked};
use crate::tools::names;
use crate::tools::reply::{ControlRequest, Reply};
use crate::tools::tool::Call;

/// How long a cancelled tool may take to return a partial result. Longer than a kill takes.
const CANCEL_GRACE: Duration = Duration::from_secs(8);

/// Runs a call and returns the reply for the model. Never fails and never panics: a failure is a reply.
pub async fn execute(call: &ToolUse, context: &ToolContext) -> Reply {
    let started = Instant::now();
    let mut reply = run(call, context).await;
    if let Cow::Owned(masked) = known_secrets::mask(&reply.text) {
        reply.text = masked;
    }
    bound_reply(&mut reply, context).await;
    reply.duration = started.elapsed();
    reply
}

async fn run(call: &ToolUse, context: &ToolContext) -> Reply {
    let Some(tool) = context.registry.get(&call.name) else {
        return Reply::error(unknown(&call.name, context));
    };
    if let Some(malformed) = &call.malformed {
        let example = tool.example().map(|example| format!("\nA valid input: {example}")).unwrap_or_default();
        return Reply::error(format!(
            "The input of {} was not valid JSON, so nothing was run. It began: {}{example}",
            names::display_name(&call.name),
            text::headline(malformed, 200),
        ));
    }
    let prepared = match tool.prepare(&call.input) {
        Ok(prepared) => prepared,
        Err(error) => return Reply::error(format!("{}: {error}", names::display_name(&tool.spec().name))),
    };
    if context.tokens.is_cancelled() {
        return Reply::error("Not run: the user interrupted before it started.");
    }
    let hooked = tokio::select! {
        hooked = hooks::before(call, prepared, tool.as_ref(), context) => hooked,
        () = context.tokens.cancelled() => return Reply::error("Not run: interrupted while a hook ran."),
    };
    let Hooked { call, prepared, opinion, notes } = match hooked {
        Ok(hooked) => hooked,
        Err(reply) => return reply,
    };
    let request = GateRequest { call: &call, name: &tool.spec().name, effect: tool.effect(), hook: &opinion };
    let permission = tokio::select! {
        permission = context.gate.check(request) => permission,
        () = context.tokens.cancelled() => return Reply::error("Not run: interrupted while it waited for permission."),
    };
    let note = match permission {
        Permission::Granted { note } => note,
        // The user has decided about exactly this call.
        Permission::Held(_) if context.consent.is_some() => context.consent.clone(),
        Permission::Held(request) => match hooks::answer_request(&call, tool.as_ref(), &request, context).await {
            Some(Ok(note)) => Some(note),
            Some(Err(reply)) => return reply,
            None => {
                let held = Box::new(HeldRequest::Permission(*request));
                return Reply { control: Some(ControlRequest::Hold(held)), ..Reply::default() };
            }
        },
        Permission::Denied { reason, note } => {
            return Reply { permission: note, ..Reply::error(format!("Not permitted: {reason}")) };
        }
    };

    let started = Instant::now();
    let running = prepared(Call { id: call.call.clone(), context: context.clone() });
    // A panic of a tool must not end the run.
    let running = AssertUnwindSafe(running).catch_unwind();
    tokio::pin!(running);
    let ended = tokio::select! {
        biased;
        ended = &mut running => Some(ended),
        () = overdue(context) => None,
    };
    let reply = match ended {
        Some(Ok(reply)) => reply,
        Some(Err(_)) => Reply::error(format!(
            "{} failed because of a fault in Matrix itself. What it did before that is unknown; look before you retry.",
            names::display_name(&tool.spec().name)
        )),
        None => Reply::error("Interrupted. What it had done by then is unknown; look before you retry."),
    };
    let mut reply = Reply { permission: note, duration: started.elapsed(), ..reply };
    // What is finished or asleep has no result yet.
    if reply.control.is_none() {
        reply = hooks::after(&call, tool.as_ref(), reply, context).await;
        hooks::add_notes(&mut reply, &notes);
    }
    reply
}

async fn overdue(context: &ToolContext) {
    context.tokens.cancelled().await;
    tokio::time::sleep(CANCEL_GRACE).await;
}

fn unknown(name: &str, context: &ToolContext) -> String {
    let guess = context.registry.nearest(name).map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    let known: Vec<&str> = context.registry.iter().map(|tool| tool.spec().name.as_str()).collect();
    format!("There is no tool called \"{}\".{guess} The tools are: {}.", text::headline(name, 100), known.join(", "))
}

/// Cuts a reply that is too long. The whole reply becomes a blob that the agent can read in pieces.
async fn bound_reply(reply: &mut Reply, context: &ToolContext) {
    let cap = context.limits.reply_bytes;
    if reply.text.len() <= cap {
        return;
    }
    let whole = std::mem::take(&mut reply.text);
    let cut = bound::text(&whole, cap);
    let rest = match context.blobs.put(whole.into_bytes()).await {
        Ok(blob) => {
            let path = context.blobs.path(&blob);
            reply.full = reply.full.take().or(Some(blob));
            format!("the whole is in {}: read it in pieces with read_file (offset, limit)", path.display())
        }
        Err(error) => format!("the rest could not be kept: {error}"),
    };
    reply.text = format!("{cut}\n[cut: {rest}]");
}
