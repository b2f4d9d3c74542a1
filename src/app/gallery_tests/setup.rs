//! The guided set-up, page by page.

use crate::base::keys::{Chord, Input};
use crate::ui::setup::{ConnectionOption, ModelList, ModelOption, Msg, Needs, Start, State, Vendor};

/// A page: a name, and how one gets there.
pub type Page = (&'static str, fn() -> State);

pub const PAGES: &[Page] = &[
    ("setup-repository", || State::new(Start { no_repository: Some("/home/me/calc".to_owned()), ..start() })),
    ("setup-commit", || {
        let mut state = State::new(Start { no_commit: Some("/home/me/calc".to_owned()), ..start() });
        state.update(Msg::Input(Input::Key(key("enter"))));
        state.update(Msg::RepositoryCreated(Err(
            "git says: unable to create .git/objects: permission denied".to_owned()
        )));
        state
    }),
    ("setup-ways", || State::new(start())),
    ("setup-address", || pressed("down down down enter")),
    ("setup-key", || {
        let mut state = pressed("enter");
        state.update(Msg::Input(Input::Paste("sk-ant-0123456789".to_owned())));
        state
    }),
    ("setup-key-refused", || {
        let mut state = pressed("enter x enter");
        state.update(Msg::ConnectionTested(Err(
            "Anthropic does not know this key (401): look whether all of it was copied".to_owned(),
        )));
        state
    }),
    ("setup-asking", || pressed("enter x enter")),
    ("setup-models", || reached(&["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"])),
    ("setup-models-unlisted", || reached(&[])),
    ("setup-budget", || {
        let mut state = reached(&["claude-opus-4-6", "claude-sonnet-4-6"]);
        for name in ["enter", "m", "enter"] {
            state.update(Msg::Input(Input::Key(key(name))));
        }
        state
    }),
];

fn key(name: &str) -> crate::base::keys::Key {
    name.parse::<Chord>().unwrap().keys()[0]
}

fn start() -> Start {
    let way = |label: &str, note: &str, vendor, needs| ConnectionOption {
        label: label.to_owned(),
        note: note.to_owned(),
        vendor,
        address: None,
        needs,
    };
    Start {
        found: vec!["No key was found in ANTHROPIC_API_KEY or OPENAI_API_KEY.".to_owned()],
        connections: vec![
            way("Anthropic", "needs an API key", Vendor::Anthropic, Needs::Key),
            way("OpenAI", "needs an API key", Vendor::Openai, Needs::Key),
            way("Ollama on this machine", "answers at 127.0.0.1:11434", Vendor::Openai, Needs::Nothing),
            way("Another server", "anything with OpenAI's interface", Vendor::Openai, Needs::Address),
        ],
        ..Start::default()
    }
}

fn pressed(keys: &str) -> State {
    let mut state = State::new(start());
    for name in keys.split(' ') {
        state.update(Msg::Input(Input::Key(key(name))));
    }
    state
}

fn reached(ids: &[&str]) -> State {
    let mut state = pressed("enter x enter");
    let offered = |id: &&str| ModelOption {
        id: (*id).to_owned(),
        note: "1000k  $5 in, $25 out per million".to_owned(),
        has_window: true,
    };
    let models = ids.iter().map(offered).collect();
    state.update(Msg::ConnectionTested(Ok(ModelList { models, default_model: Some("claude-sonnet-4-6".to_owned()) })));
    state
}
