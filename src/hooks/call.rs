//! Calls one hook: starts its command or sends its request, and waits for the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdout;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::config::hooks::{HandlerKind, HookHandler};
use crate::hooks::answer::Ending;
use crate::hooks::scripts::PROJECT_DIR;
use crate::net;
use crate::process::{self, ChildSpec, Environment, Process};

/// The most bytes of a hook's output that are read. The rest is discarded.
const OUTPUT_BYTES: usize = 1 << 20;
/// How long the output of a command that has exited may be held open by what it started.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);
const CONNECT: Duration = Duration::from_secs(10);

/// What a hook may reach: the folders and the environment that it runs in.
#[derive(Clone, Debug)]
pub struct Reach {
    pub cwd: PathBuf,
    /// The main checkout of the repository.
    pub project_dir: PathBuf,
    pub environment: Environment,
    /// The folders for the records of running processes and for output that does not fit in memory.
    pub records: Option<PathBuf>,
    pub spill: Option<PathBuf>,
}

/// One call of a hook.
pub(super) struct HookCall<'a> {
    /// Names the process.
    pub(super) id: String,
    pub(super) handler: &'a HookHandler,
    pub(super) timeout: Duration,
    pub(super) input: String,
    pub(super) reach: &'a Reach,
    /// Variables that only this event sets.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

/// Calls a hook, and returns how that ended. Dropping the future ends the command.
pub(super) async fn call(call: HookCall<'_>) -> Ending {
    match call.handler.kind {
        HandlerKind::Command => run(call).await,
        HandlerKind::Http => post(call).await,
        HandlerKind::McpTool | HandlerKind::Prompt | HandlerKind::Agent => {
            Ending::Failed(call.handler.unsupported().unwrap_or_default())
        }
    }
}

/// Returns the child process of a command hook. The only place that decides how hooks are started.
fn child(call: &HookCall<'_>) -> ChildSpec {
    let HookCall { id, handler, reach, variables, .. } = call;
    let command = handler.command.clone().unwrap_or_default();
    let mut environment = reach.environment.clone().with(PROJECT_DIR, reach.project_dir.as_os_str());
    for (name, value) in variables {
        environment = environment.with(*name, value);
    }
    let spec = |program: &str| ChildSpec {
        environment: environment.clone(),
        label: handler.label(),
        records: reach.records.clone(),
        overflow_dir: reach.spill.clone(),
        ..ChildSpec::new(id.clone(), program, &reach.cwd)
    };
    match &handler.args {
        Some(args) => {
            let expand = |text: &str| text.replace("${CLAUDE_PROJECT_DIR}", &reach.project_dir.to_string_lossy());
            spec(&expand(&command)).arguments(args.iter().map(|arg| expand(arg)))
        }
        None => spec(handler.shell.as_deref().unwrap_or("bash")).arguments(["-c".to_owned(), command]),
    }
}

async fn run(call: HookCall<'_>) -> Ending {
    let deadline = Instant::now() + call.timeout;
    let (process, stdio) = match process::start_with_stdio(child(&call)) {
        Ok(started) => started,
        Err(error) => return Ending::Failed(error.to_string()),
    };
    let mut input = stdio.input;
    let text = call.input;
    // A hook that does not read its input closes the pipe, which is fine.
    let writing = tokio::spawn(async move {
        let _ = input.write_all(text.as_bytes()).await;
    });
    let stdout = Output::read(stdio.output);
    let exited = tokio::select! {
        exited = tokio::time::timeout_at(deadline, process.wait_exited()) => Some(exited),
        () = stdout.says_async() => None,
    };
    let exit = match exited {
        Some(Ok(exit)) => exit,
        Some(Err(_)) => {
            process.kill();
            process.wait_gone().await;
            writing.abort();
            return Ending::TimedOut { seconds: call.timeout.as_secs().max(1) };
        }
        None => {
            let limit = stdout.async_limit().unwrap_or(call.timeout);
            let_run(process, Instant::now() + limit);
            return Ending::Background;
        }
    };
    writing.abort();
    let _ = timeout(OUTPUT_GRACE, stdout.wait_closed()).await;
    let stderr = String::from_utf8_lossy(&process.output().snapshot().head).into_owned();
    if !process.phase().is_gone() {
        // What it left running may go on until its time is over: a sound, a notification.
        let_run(process, deadline);
    }
    Ending::Exited { code: exit.code, stdout: stdout.text(), stderr }
}

/// Lets a process go on until `deadline`, and then ends it.
fn let_run(process: Process, deadline: Instant) {
    tokio::spawn(async move {
        let _ = tokio::time::timeout_at(deadline, process.wait_gone()).await;
        drop(process);
    });
}

/// The standard output of a hook, as far as it was read.
#[derive(Clone, Default)]
struct Output(Arc<OutputState>);

#[derive(Default)]
struct OutputState {
    bytes: Mutex<(Vec<u8>, bool)>,
    changed: Notify,
}

impl Output {
    fn read(mut stdout: ChildStdout) -> Self {
        let output = Self::default();
        let reading = output.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            loop {
                let count = stdout.read(&mut buffer).await.unwrap_or(0);
                reading.add(&buffer[..count]);
                if count == 0 {
                    return;
                }
            }
        });
        output
    }

    fn add(&self, bytes: &[u8]) {
        {
            let mut state = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            let room = OUTPUT_BYTES.saturating_sub(state.0.len());
            state.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
            state.1 |= bytes.is_empty();
        }
        self.0.changed.notify_waiters();
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner).0).into_owned()
    }

    fn is_closed(&self) -> bool {
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }

    async fn wait_closed(&self) {
        self.wait_until(Self::is_closed).await;
    }

    /// Returns the first line as JSON, if it asks for not being waited for.
    fn async_line(&self) -> Option<Value> {
        let text = self.text();
        let first = text.split_once('\n').map_or(text.as_str(), |(first, _)| first);
        let value: Value = serde_json::from_str(first.trim()).ok()?;
        (value.get("async") == Some(&Value::Bool(true))).then_some(value)
    }

    /// Waits until the hook says that nobody should wait for it. For ever if it does not.
    async fn says_async(&self) {
        self.wait_until(|output| output.async_line().is_some()).await;
    }

    /// Returns the time that such a hook asks for, in seconds.
    fn async_limit(&self) -> Option<Duration> {
        let seconds = self.async_line()?.get("asyncTimeout")?.as_f64()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

async fn post(call: HookCall<'_>) -> Ending {
    let exchange = exchange(call.handler, call.input);
    match timeout(call.timeout, exchange).await {
        Ok(Ok(ending)) => ending,
        Ok(Err(why)) => Ending::Failed(why),
        Err(_) => Ending::TimedOut { seconds: call.timeout.as_secs().max(1) },
    }
}

async fn exchange(handler: &HookHandler, input: String) -> Result<Ending, String> {
    let url = Url::parse(handler.url.as_deref().unwrap_or_default())
        .map_err(|error| format!("its address cannot be used: {error}"))?;
    let headers = headers(handler, |name| std::env::var(name).ok())?;
    // A redirect could lead to an address that the user has not seen.
    let client =
        net::client(&url, CONNECT, |builder| builder.redirect(Policy::none()).default_headers(headers.clone()));
    let client = client.map_err(|error| error.to_string())?;
    let failed = |error: reqwest::Error| net::error_chain(&error.without_url());
    let request = client.post(url).header("content-type", "application/json").body(input);
    let mut response = request.send().await.map_err(failed)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while body.len() < OUTPUT_BYTES
        && let Some(chunk) = response.chunk().await.map_err(failed)?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(Ending::Responded { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Returns the headers, with the values of the variables that they may contain.
fn headers(handler: &HookHandler, variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, String> {
    let allowed = handler.allowed_env_vars.as_deref().unwrap_or_default();
    let value_of = |name: &str| {
        let is_allowed = allowed.iter().any(|allowed| allowed == name);
        if is_allowed { variable(name).unwrap_or_default() } else { String::new() }
    };
    let mut sent = HeaderMap::new();
    let empty = BTreeMap::new();
    for (name, value) in handler.headers.as_ref().unwrap_or(&empty) {
        let unusable = || format!("the header \"{name}\" cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(&expand(value, &value_of)).map_err(|_| unusable())?;
        value.set_sensitive(true);
        sent.insert(header, value);
    }
    Ok(sent)
}

/// Replaces `$NAME` and `${NAME}`.
fn expand(text: &str, value_of: &impl Fn(&str) -> String) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some((name, behind)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            out.push_str(&value_of(name));
            rest = behind;
            continue;
        }
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        if end == 0 {
            out.push('$');
        } else {
            out.push_str(&value_of(&after[..end]));
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
