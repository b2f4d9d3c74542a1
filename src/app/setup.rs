//! The event loop of the set-up, in the UI or line by line. Returns the result; the caller writes it to the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::loaders::model_option;
use super::themes::Themes;
use crate::base::keys::Input;
use crate::base::{Clock, Fault};
use crate::config::paths::Home;
use crate::engine::query::ModelOffer;
use crate::git::init;
use crate::model::conversation::Wire;
use crate::provider::http::{HttpProvider, Timeouts};
use crate::provider::{ApiError, Catalogue, Credential, ErrorClass, ListedModel, Provider as _};
use crate::term::{EchoOff, Event, Options as TermOptions, Reason, Stop, StopSignal, Terminal, TerminalEnv};
use crate::theme::Appearance;
use crate::ui::Cx;
use crate::ui::setup::{self, ConnectionAttempt, Effect, ModelList, Msg, State};
pub use crate::ui::setup::{ConnectionOption, ModelOption, Needs, SetupResult, Start, Vendor};

/// Exit code after the terminal was closed.
const TERMINAL_GONE: u8 = 1;

pub struct Options {
    pub start: Start,
    /// The folder in which a repository can be created.
    pub folder: PathBuf,
    pub home: Home,
    pub theme: String,
    pub clock: Arc<dyn Clock>,
}

/// How the set-up ended.
pub enum End {
    Decided(Box<SetupResult>),
    Skipped,
    Quit,
    /// A signal, or the terminal was closed. The value is the exit code.
    Stopped(u8),
}

/// Runs the set-up in the UI. Always restores the terminal.
pub async fn set_up(options: Options) -> Result<End, Fault> {
    let env = TerminalEnv::read(|name| std::env::var(name).ok());
    let mut terminal = Terminal::open(env, TermOptions::default())?;
    let dark = terminal.wait_for_replies().await.is_dark().unwrap_or(true);
    let appearance = if dark { Appearance::Dark } else { Appearance::Light };
    let (theme, _) = Themes::new(options.home.root().join("themes")).load(&options.theme, appearance);
    let zone = TimeZone::system();
    let mut state = State::new(options.start.clone());
    let (mut msgs, mut answers) = mpsc::unbounded_channel();
    terminal.request_frame(Reason::Input);
    let end = loop {
        let msg = tokio::select! {
            biased;
            event = terminal.next() => match event {
                Event::Input(Input::Closed) => break End::Stopped(TERMINAL_GONE),
                Event::Input(input) => Msg::Input(input),
                Event::Frame => {
                    let cx = Cx { now: options.clock.now(), size: terminal.size(), theme: &theme, zone: &zone };
                    terminal.draw(|frame| setup::view(&state, &cx, frame));
                    continue;
                }
                Event::Capabilities => {
                    terminal.invalidate();
                    continue;
                }
                Event::Suspend => {
                    terminal.suspend().await?;
                    continue;
                }
                Event::Stop(stop) => break End::Stopped(stop.exit_code()),
            },
            Some(msg) = answers.recv() => msg,
        };
        let effect = state.update(msg);
        terminal.request_frame(Reason::Input);
        match effect {
            None => {}
            Some(Effect::Finish(decided)) => break End::Decided(decided),
            Some(Effect::Skip) => break End::Skipped,
            Some(Effect::Quit) => break End::Quit,
            Some(Effect::TestConnection(attempt)) => {
                // Drop the result of an earlier attempt.
                (msgs, answers) = mpsc::unbounded_channel();
                let (msgs, clock) = (msgs.clone(), Arc::clone(&options.clock));
                tokio::spawn(async move {
                    let _ = msgs.send(Msg::ConnectionTested(test_connection(attempt, clock).await));
                });
            }
            Some(Effect::CreateRepository) => {
                let (msgs, folder) = (msgs.clone(), options.folder.clone());
                tokio::task::spawn_blocking(move || {
                    let _ = msgs.send(Msg::RepositoryCreated(create_repository(&folder)));
                });
            }
        }
    };
    terminal.close().await;
    Ok(end)
}

/// Runs the set-up line by line: `print` shows a line, `lines` has the input. Secrets are typed without echo.
pub async fn set_up_in_lines(
    start: Start,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    lines: &mut mpsc::UnboundedReceiver<std::io::Result<String>>,
    mut print: impl FnMut(&str),
) -> Result<End, Fault> {
    let mut state = State::new(start);
    let failed = |error: std::io::Error| Fault::environment(format!("cannot listen for signals: {error}"));
    // Listen during the whole set-up, so that no signal between two questions is lost.
    let mut interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hangups = signal(SignalKind::hangup()).map_err(failed)?;
    let mut terminations = signal(SignalKind::terminate()).map_err(failed)?;
    loop {
        let question = state.question();
        // Before the question, so that a fast answer is not echoed either.
        let echo_off = question.secret.then(EchoOff::new);
        question.lines.iter().for_each(|line| print(line));
        // A signal must not leave the terminal without echo.
        let typed = tokio::select! {
            line = lines.recv() => line,
            _ = interrupts.recv() => None,
            _ = hangups.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Hangup).exit_code())),
            _ = terminations.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Terminate).exit_code())),
        };
        drop(echo_off);
        let Some(typed) = typed else { return Ok(End::Quit) };
        let line = typed.map_err(|error| Fault::environment(format!("cannot read stdin: {error}")))?;
        match state.answer(&line) {
            None => {}
            Some(Effect::Finish(decided)) => return Ok(End::Decided(decided)),
            Some(Effect::Skip) => return Ok(End::Skipped),
            Some(Effect::Quit) => return Ok(End::Quit),
            Some(Effect::TestConnection(attempt)) => {
                print("Testing\u{2026}");
                let tested = tokio::select! {
                    tested = test_connection(attempt, Arc::clone(&clock)) => tested,
                    _ = interrupts.recv() => return Ok(End::Quit),
                    _ = hangups.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Hangup).exit_code())),
                    _ = terminations.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Terminate).exit_code())),
                };
                state.update(Msg::ConnectionTested(tested));
            }
            Some(Effect::CreateRepository) => {
                if let Some(Effect::Skip) = state.update(Msg::RepositoryCreated(create_repository(&folder))) {
                    return Ok(End::Skipped);
                }
            }
        }
    }
}

/// Creates a repository with a first commit. The error is one line with hints.
fn create_repository(folder: &Path) -> Result<(), String> {
    init::init(folder).map_err(|error| {
        let fault = Fault::from(error);
        std::iter::once(fault.message.as_str())
            .chain(fault.hints.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("; ")
    })
}

/// Lists the provider's models, which also tests the key.
async fn test_connection(attempt: ConnectionAttempt, clock: Arc<dyn Clock>) -> Result<ModelList, String> {
    let wire = match (attempt.vendor, &attempt.address) {
        (Vendor::Anthropic, _) => Wire::Anthropic,
        (Vendor::Openai, None) => Wire::OpenaiResponses,
        (Vendor::Openai, Some(_)) => Wire::OpenaiChat,
    };
    let base_url = attempt.address.clone().unwrap_or_default();
    let credential = Credential { group: "main".to_owned(), wire, base_url, api_key: attempt.key.clone() };
    let timeouts = Timeouts { first_byte: std::time::Duration::from_secs(20), ..Timeouts::default() };
    let listed = HttpProvider::new(credential, timeouts, clock).models(CancellationToken::new()).await;
    match listed {
        Ok(listed) => Ok(model_list(attempt.vendor, &listed)),
        // Some compatible servers do not list models.
        Err(error) if attempt.address.is_some() && matches!(error.status, Some(404 | 405 | 501)) => {
            Ok(ModelList { models: Vec::new(), default_model: None })
        }
        Err(error) => Err(connection_error(&attempt, &error)),
    }
}

/// Describes a failed connection test.
fn connection_error(attempt: &ConnectionAttempt, error: &ApiError) -> String {
    let place = attempt.address.as_deref().unwrap_or(match attempt.vendor {
        Vendor::Anthropic => "api.anthropic.com",
        Vendor::Openai => "api.openai.com",
    });
    let status = error.status.map_or_else(String::new, |status| format!(" ({status})"));
    match error.class {
        ErrorClass::Auth if attempt.key.is_none() => format!("{place} needs an API key{status}: {}", error.message),
        ErrorClass::Auth => format!("{place} rejected this key{status}: {}", error.message),
        ErrorClass::Network => {
            format!("cannot reach {place}; check the address, and that the server is running: {}", error.message)
        }
        ErrorClass::Timeout => format!("{place} did not respond in time; try again, or go back and change the address"),
        ErrorClass::Credit
        | ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Truncated
        | ErrorClass::Runaway
        | ErrorClass::InvalidRequest
        | ErrorClass::ContextOverflow
        | ErrorClass::UnknownModel
        | ErrorClass::Refused
        | ErrorClass::Cancelled => format!("{place} returned an error{status}: {}", error.message),
    }
}

fn model_list(vendor: Vendor, listed: &[ListedModel]) -> ModelList {
    let catalogue = Catalogue::default().with_listed(listed.to_vec());
    let ids: Vec<&str> = listed.iter().map(|listed| listed.id.as_str()).collect();
    let default_model = default_model(vendor, &ids).map(str::to_owned);
    let models =
        listed.iter().map(|listed| model_option(ModelOffer::new(&listed.id, catalogue.facts(&listed.id).ok())));
    ModelList { models: models.collect(), default_model }
}

/// Returns the suggested model: the vendor's standard one, else one of its family, else the first.
fn default_model<'a>(vendor: Vendor, ids: &[&'a str]) -> Option<&'a str> {
    let known: &[&str] = match vendor {
        Vendor::Anthropic => &["claude-sonnet-4-6"],
        Vendor::Openai => &["gpt-5.2"],
    };
    let exact = known.iter().find_map(|known| ids.iter().find(|id| *id == known));
    let family = if vendor == Vendor::Anthropic { "sonnet" } else { "gpt-5" };
    exact.or_else(|| ids.iter().find(|id| id.contains(family))).or_else(|| ids.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_model_is_the_standard_one_else_one_of_its_family_else_the_first() {
        assert_eq!(
            default_model(Vendor::Anthropic, &["claude-opus-9", "claude-sonnet-4-6"]),
            Some("claude-sonnet-4-6")
        );
        assert_eq!(default_model(Vendor::Anthropic, &["claude-opus-9", "claude-sonnet-9"]), Some("claude-sonnet-9"));
        assert_eq!(default_model(Vendor::Openai, &["qwen3:8b", "llama3.3"]), Some("qwen3:8b"));
        assert_eq!(default_model(Vendor::Openai, &[]), None);
    }

    #[test]
    fn a_connection_error_names_the_address_and_the_next_step() {
        let attempt = |key: Option<&str>| ConnectionAttempt {
            vendor: Vendor::Openai,
            address: Some("http://box:1".to_owned()),
            key: key.map(crate::base::Secret::new),
        };
        let error = |class, status| ApiError { status, ..ApiError::new(class, "why") };
        for (key, class, status, expected) in [
            (Some("k"), ErrorClass::Auth, Some(401), "http://box:1 rejected this key (401): why"),
            (None, ErrorClass::Auth, Some(401), "http://box:1 needs an API key (401): why"),
            (None, ErrorClass::Server, Some(500), "http://box:1 returned an error (500): why"),
            (
                None,
                ErrorClass::Network,
                None,
                "cannot reach http://box:1; check the address, and that the server is running: why",
            ),
        ] {
            assert_eq!(connection_error(&attempt(key), &error(class, status)), expected);
        }
    }

    #[test]
    fn a_model_with_an_unknown_window_is_marked() {
        let listed =
            ["claude-sonnet-4-6", "home-made"].map(|id| ListedModel { id: id.to_owned(), ..ListedModel::default() });
        let list = model_list(Vendor::Anthropic, &listed);
        assert!(list.models[0].has_window && list.models[0].note == "1M window     $3 in    $15 out /M", "{list:?}");
        assert!(!list.models[1].has_window && list.models[1].note == "unknown window", "{list:?}");
    }
}
