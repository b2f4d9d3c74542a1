//! The set-up's loop: the terminal, the pages, and what they want done. It ends with what was decided; writing that down
//! is somebody else's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::loaders::offered;
use super::themes::Themes;
use crate::base::keys::Input;
use crate::base::{Clock, Fault};
use crate::config::paths::Home;
use crate::engine::query::ModelOffer;
use crate::git::fresh;
use crate::model::conversation::Wire;
use crate::provider::http::{HttpProvider, Timeouts};
use crate::provider::{ApiError, Catalogue, Credential, ErrorClass, Listed, Provider as _};
use crate::term::{Event, Hush, Options as TermOptions, Reason, Stop, StopSignal, Surroundings, Terminal};
use crate::theme::Appearance;
use crate::ui::Cx;
use crate::ui::setup::{self, Attempt, Effect, Msg, Reached, State};
pub use crate::ui::setup::{Decided, Needs, Offered, Start, Vendor, Way};

/// How the program ends when its terminal is gone.
const TERMINAL_GONE: u8 = 1;

/// What the set-up is opened with.
pub struct Options {
    pub start: Start,
    /// The folder that becomes a repository, if the person wants that.
    pub folder: PathBuf,
    pub home: Home,
    pub theme: String,
    pub clock: Arc<dyn Clock>,
}

/// How the set-up was left.
pub enum End {
    Decided(Box<Decided>),
    Skipped,
    Quit,
    /// A signal, or the terminal is gone: the program ends with this code.
    Stopped(u8),
}

/// Opens the set-up and runs it until it is left. The terminal is as it was, whatever happens.
pub async fn set_up(options: Options) -> Result<End, Fault> {
    let surroundings = Surroundings::read(|name| std::env::var(name).ok());
    let mut terminal = Terminal::open(surroundings, TermOptions::default())?;
    let dark = terminal.learn().await.is_dark().unwrap_or(true);
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
            Some(Effect::Try(attempt)) => {
                // An earlier attempt that is no longer waited for must not answer for this one.
                (msgs, answers) = mpsc::unbounded_channel();
                let (msgs, clock) = (msgs.clone(), Arc::clone(&options.clock));
                tokio::spawn(async move {
                    let _ = msgs.send(Msg::Tried(try_out(attempt, clock).await));
                });
            }
            Some(Effect::MakeRepository) => {
                let (msgs, folder) = (msgs.clone(), options.folder.clone());
                tokio::task::spawn_blocking(move || {
                    let _ = msgs.send(Msg::Made(make_repository(&folder)));
                });
            }
        }
    };
    terminal.close().await;
    Ok(end)
}

/// Asks the same questions in lines: `say` shows one, `lines` brings what is typed. What is secret is typed unseen.
pub async fn set_up_in_lines(
    start: Start,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    lines: &mut mpsc::UnboundedReceiver<std::io::Result<String>>,
    mut say: impl FnMut(&str),
) -> Result<End, Fault> {
    let mut state = State::new(start);
    let deaf = |error: std::io::Error| Fault::environment(format!("signals cannot be heard: {error}"));
    // Heard from here on, not from one question to the next: a key pressed in between counts.
    let mut interrupted = signal(SignalKind::interrupt()).map_err(deaf)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(deaf)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(deaf)?;
    loop {
        let question = state.question();
        // Before the question: whoever answers it at once is not seen either.
        let hush = question.secret.then(Hush::begin);
        question.lines.iter().for_each(|line| say(line));
        // A signal must not leave a terminal behind that shows nothing.
        let typed = tokio::select! {
            line = lines.recv() => line,
            _ = interrupted.recv() => None,
            _ = hung_up.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Hangup).exit_code())),
            _ = terminated.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Terminate).exit_code())),
        };
        drop(hush);
        let Some(typed) = typed else { return Ok(End::Quit) };
        let line = typed.map_err(|error| Fault::environment(format!("cannot read what is typed: {error}")))?;
        match state.answer(&line) {
            None => {}
            Some(Effect::Finish(decided)) => return Ok(End::Decided(decided)),
            Some(Effect::Skip) => return Ok(End::Skipped),
            Some(Effect::Quit) => return Ok(End::Quit),
            Some(Effect::Try(attempt)) => {
                say("Asking\u{2026}");
                let tried = tokio::select! {
                    tried = try_out(attempt, Arc::clone(&clock)) => tried,
                    _ = interrupted.recv() => return Ok(End::Quit),
                    _ = hung_up.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Hangup).exit_code())),
                    _ = terminated.recv() => return Ok(End::Stopped(Stop::Signal(StopSignal::Terminate).exit_code())),
                };
                state.update(Msg::Tried(tried));
            }
            Some(Effect::MakeRepository) => {
                if let Some(Effect::Skip) = state.update(Msg::Made(make_repository(&folder))) {
                    return Ok(End::Skipped);
                }
            }
        }
    }
}

/// Makes the folder a repository with a first commit. What went wrong is said in one line, with what helps.
fn make_repository(folder: &Path) -> Result<(), String> {
    fresh::begin(folder).map_err(|error| {
        let fault = Fault::from(error);
        std::iter::once(fault.message.as_str())
            .chain(fault.hints.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("; ")
    })
}

/// Asks the endpoint which models it has. A key that is not accepted is found out here.
async fn try_out(attempt: Attempt, clock: Arc<dyn Clock>) -> Result<Reached, String> {
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
        Ok(listed) => Ok(reached(attempt.vendor, &listed)),
        // Some servers speak the interface and have no list.
        Err(error) if attempt.address.is_some() && matches!(error.status, Some(404 | 405 | 501)) => {
            Ok(Reached { models: Vec::new(), usual: None })
        }
        Err(error) => Err(trouble(&attempt, &error)),
    }
}

/// Returns why a way does not work, as a sentence for who has just entered it.
fn trouble(attempt: &Attempt, error: &ApiError) -> String {
    let place = attempt.address.as_deref().unwrap_or(match attempt.vendor {
        Vendor::Anthropic => "api.anthropic.com",
        Vendor::Openai => "api.openai.com",
    });
    let status = error.status.map_or_else(String::new, |status| format!(" ({status})"));
    match error.class {
        ErrorClass::Auth if attempt.key.is_none() => format!("{place} wants a key{status}: {}", error.message),
        ErrorClass::Auth => format!("{place} does not accept this key{status}: {}", error.message),
        ErrorClass::Network => {
            format!("{place} cannot be reached; is the address right, and does the server run? {}", error.message)
        }
        ErrorClass::Timeout => format!("{place} does not answer in time; try again, or go back to another address"),
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
        | ErrorClass::Cancelled => format!("{place} answers with an error{status}: {}", error.message),
    }
}

fn reached(vendor: Vendor, listed: &[Listed]) -> Reached {
    let catalogue = Catalogue::default().with_listed(listed.to_vec());
    let ids: Vec<&str> = listed.iter().map(|listed| listed.id.as_str()).collect();
    let usual = usual(vendor, &ids).map(str::to_owned);
    let models = listed.iter().map(|listed| offered(ModelOffer::new(&listed.id, catalogue.facts(&listed.id).ok())));
    Reached { models: models.collect(), usual }
}

/// Returns the model that most people would take: the vendor's everyday one, the newest of its kind in the list.
fn usual<'a>(vendor: Vendor, ids: &[&'a str]) -> Option<&'a str> {
    let known: &[&str] = match vendor {
        Vendor::Anthropic => &["claude-sonnet-4-6"],
        Vendor::Openai => &["gpt-5.2"],
    };
    let exact = known.iter().find_map(|known| ids.iter().find(|id| *id == known));
    let kind = if vendor == Vendor::Anthropic { "sonnet" } else { "gpt-5" };
    exact.or_else(|| ids.iter().find(|id| id.contains(kind))).or_else(|| ids.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_model_is_the_everyday_one_else_one_of_its_kind_else_the_first() {
        assert_eq!(usual(Vendor::Anthropic, &["claude-opus-9", "claude-sonnet-4-6"]), Some("claude-sonnet-4-6"));
        assert_eq!(usual(Vendor::Anthropic, &["claude-opus-9", "claude-sonnet-9"]), Some("claude-sonnet-9"));
        assert_eq!(usual(Vendor::Openai, &["qwen3:8b", "llama3.3"]), Some("qwen3:8b"));
        assert_eq!(usual(Vendor::Openai, &[]), None);
    }

    #[test]
    fn what_went_wrong_names_the_place_and_what_to_look_at() {
        let attempt = |key: Option<&str>| Attempt {
            vendor: Vendor::Openai,
            address: Some("http://box:1".to_owned()),
            key: key.map(crate::base::Secret::new),
        };
        let error = |class, status| ApiError { status, ..ApiError::new(class, "why") };
        for (key, class, status, said) in [
            (Some("k"), ErrorClass::Auth, Some(401), "http://box:1 does not accept this key (401): why"),
            (None, ErrorClass::Auth, Some(401), "http://box:1 wants a key (401): why"),
            (None, ErrorClass::Server, Some(500), "http://box:1 answers with an error (500): why"),
            (
                None,
                ErrorClass::Network,
                None,
                "http://box:1 cannot be reached; is the address right, and does the server run? why",
            ),
        ] {
            assert_eq!(trouble(&attempt(key), &error(class, status)), said);
        }
    }

    #[test]
    fn a_model_whose_window_nobody_knows_says_so() {
        let listed = ["claude-sonnet-4-6", "home-made"].map(|id| Listed { id: id.to_owned(), ..Listed::default() });
        let reached = reached(Vendor::Anthropic, &listed);
        assert!(reached.models[0].windowed && reached.models[0].note.starts_with("1000k  $3 in"), "{reached:?}");
        assert!(!reached.models[1].windowed && reached.models[1].note == "window not known", "{reached:?}");
    }
}
