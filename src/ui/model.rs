//! The state of the screen: project mirror, panes, layers and pending replies.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::keys::Key;
use crate::base::{AskId, MicroUsd, TaskId, Timestamp};
use crate::engine::review::TurnView;
use crate::engine::snapshot::Snapshot;
use crate::ui::action::{Action, Context};
use crate::ui::detail::{self, Tab};
use crate::ui::effect::{Drafts, Tag};
use crate::ui::hints::key_label;
use crate::ui::keymap::{Keymap, Problem};
use crate::ui::layer::Layer;
use crate::ui::layout::{Layout, Pane};
use crate::ui::project_state::ProjectState;
use crate::ui::setup::ModelOption;
use crate::ui::toast::Toasts;
use crate::ui::token_rate::TokenRate;
use crate::ui::transcript::Transcript;
use crate::ui::{asks, composer, review, stuck, tree};

/// Everything needed to start the screen.
#[derive(Clone, Debug)]
pub struct Setup {
    pub snapshot: Snapshot,
    /// Key overrides from the settings, by action name.
    pub keys: BTreeMap<String, Vec<String>>,
    pub settings: Settings,
    /// Drafts saved by the last run.
    pub drafts: Drafts,
    /// Review notes saved by the last run.
    pub reviews: review::ReviewNotes,
}

/// The settings that the screen shows or obeys.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub theme: String,
    pub themes: Vec<String>,
    pub mouse: bool,
    pub notify_desktop: bool,
    pub notify_bell: bool,
    pub project_budget: Option<MicroUsd>,
    /// The models known to be available, or likely to be.
    pub models: Vec<ModelOption>,
    /// The model chosen on this screen. Agents use it from the next start.
    pub next_model: Option<String>,
    /// Why nothing can be changed. Set if another process holds the project.
    pub read_only: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: "auto".to_owned(),
            themes: Vec::new(),
            mouse: false,
            notify_desktop: true,
            notify_bell: true,
            project_budget: None,
            models: Vec::new(),
            next_model: None,
            read_only: None,
        }
    }
}

/// The follow-up when a command is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PendingReply {
    /// On failure the text goes back into the composer.
    Sent {
        task: TaskId,
        text: String,
    },
    /// Selects the new task.
    Created,
    Answered(AskId),
    /// Marks the review comments as sent.
    Reviewed(TaskId),
    /// Closes the merge dialog.
    Merged(TaskId),
    /// Refreshes the merge dialog after the verify command.
    Checked(TaskId),
    /// Shows this text on success.
    Plain(Option<&'static str>),
    Quit,
}

/// The counts at the last notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NotifiedCounts {
    pub working: usize,
    pub failed: usize,
}

/// The state of the screen.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub struct Model {
    pub(super) project: ProjectState,
    pub(super) keymap: Keymap,
    pub(super) settings: Settings,
    pub(super) focus: Pane,
    /// The pane that gets the focus back after an answer or a message.
    pub(super) return_focus: Pane,
    pub(super) tree: tree::State,
    pub(super) asks: asks::State,
    pub(super) detail: detail::State,
    pub(super) review: review::State,
    pub(super) composer: composer::State,
    pub(super) layers: Vec<Layer>,
    pub(super) toasts: Toasts,
    /// The keys of a pending chord.
    pub(super) keys: Vec<Key>,
    pub(super) left: Option<u16>,
    pub(super) zoom: bool,
    pub(super) layout: Layout,
    pub(super) expected: BTreeMap<Tag, PendingReply>,
    pub(super) next_tag: u64,
    /// Whether the terminal has the focus, as far as it reports it.
    pub(super) terminal_focused: bool,
    /// The Asks that were announced by a notification.
    pub(super) notified: BTreeSet<AskId>,
    pub(super) notified_counts: NotifiedCounts,
    pub(super) token_rate: TokenRate,
    pub(super) title: String,
    /// Whether the terminal translates the wheel into arrow keys.
    pub(super) wheel: bool,
    /// Until when a second Ctrl-C quits.
    pub(super) quit_armed_until: Option<Timestamp>,
    /// The turns loaded last, for the compare list.
    pub(super) turns: Vec<TurnView>,
    /// Whether the divider is being dragged.
    pub(super) dragging: bool,
}

impl Model {
    /// Returns the initial screen with the focus in the composer, and the problems of the `keys` setting.
    pub fn new(setup: Setup) -> (Self, Vec<Problem>) {
        let (keymap, problems) = Keymap::new(&setup.keys);
        let project = ProjectState::new(setup.snapshot);
        let notified = project.pending_asks().into_iter().map(|(_, ask)| ask.id).collect();
        let model = Self {
            tree: tree::State::new(&project),
            project,
            keymap,
            settings: setup.settings,
            focus: Pane::Composer,
            return_focus: Pane::Tree,
            asks: asks::State::new(setup.drafts.answers),
            detail: detail::State::default(),
            review: review::State::new(setup.reviews),
            composer: composer::State::new(setup.drafts.messages),
            layers: Vec::new(),
            toasts: Toasts::default(),
            keys: Vec::new(),
            left: None,
            zoom: false,
            layout: Layout::default(),
            expected: BTreeMap::new(),
            next_tag: 0,
            terminal_focused: true,
            notified,
            notified_counts: NotifiedCounts::default(),
            token_rate: TokenRate::default(),
            title: String::new(),
            wheel: false,
            quit_armed_until: None,
            turns: Vec::new(),
            dragging: false,
        };
        (model, problems)
    }

    /// Returns the selected task, which the right side shows.
    pub fn selected(&self) -> TaskId {
        self.tree.selected()
    }

    /// Returns the worktree of a task, if it has its own.
    pub fn worktree(&self, task: TaskId) -> Option<std::path::PathBuf> {
        self.project.node(task)?.worktree.clone()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Returns when the screen next changes by itself. `None` if only on input.
    pub fn next_tick(&self, now: Timestamp) -> Option<Timestamp> {
        let second = Timestamp::from_millis((now.as_millis() / 1_000 + 1) * 1_000);
        let counting = self.project.changes_with_time();
        let ends = [counting.then_some(second), self.toasts.next_end(), self.quit_armed_until];
        ends.into_iter().chain([self.is_searching().then_some(now)]).flatten().min()
    }

    /// Returns true while a long transcript is searched, one chunk per tick.
    pub(super) fn is_searching(&self) -> bool {
        let transcript = self.detail.transcript(self.selected());
        self.detail.tab == Tab::Transcript && transcript.is_some_and(|it| it.search().is_running() || it.is_counting())
    }

    /// Returns the key of an action as text for sentences.
    pub(super) fn key_of(&self, action: Action) -> String {
        let here = self.keymap.shown(&self.contexts(), action);
        let anywhere =
            || action.spec().contexts.iter().find_map(|context| self.keymap.chords(*context, action).first().copied());
        here.or_else(anywhere).map_or_else(|| format!("\"{}\"", action.name()), |chord| key_label(&chord.to_string()))
    }

    /// Returns why the selected task is stuck, if it is.
    pub(super) fn stuck_reason(&self) -> Option<String> {
        self.stuck_reason_of(self.selected())
    }

    pub(super) fn stuck_reason_of(&self, task: TaskId) -> Option<String> {
        let task = self.project.task(task).filter(|task| task.waits.is_some())?;
        stuck::reason(task, &self.project, &self.key_of(Action::Interrupt))
    }

    /// Returns the active key contexts, the most specific first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(layer) = self.layers.last() {
            let mut contexts = layer.contexts().to_vec();
            if !matches!(layer, Layer::Confirm(_)) {
                contexts.push(Context::Anywhere);
            }
            return contexts;
        }
        let writing = |nearest: Context| vec![nearest, Context::Text, Context::Anywhere];
        match self.focus {
            Pane::Tree if self.tree.filtering => writing(Context::Filter),
            Pane::Tree => vec![Context::Tree, Context::Anywhere],
            Pane::Composer if self.card().is_some() => writing(Context::Answer),
            Pane::Asks => vec![Context::Asks, Context::Anywhere],
            Pane::Detail => self.detail_contexts(),
            Pane::Composer => {
                let mut contexts = writing(Context::Composer);
                if self.composer.popup.is_some() {
                    contexts.insert(0, Context::Complete);
                }
                contexts
            }
        }
    }

    /// Returns the question that takes the place of the composer: the one the user opened, or that of the selected task.
    ///
    /// A message that is being written keeps its place until the user opens the question.
    pub(super) fn card(&self) -> Option<(TaskId, AskId)> {
        let selected = self.selected();
        let card = self.asks.card(selected)?;
        (self.asks.is_opened() || !self.composer.has_text(selected)).then_some(card)
    }

    /// Returns true while the user writes a review comment.
    pub(super) fn is_commenting(&self) -> bool {
        self.detail.tab == Tab::Diff && self.review.is_writing() && self.review.task() == Some(self.selected())
    }

    fn detail_contexts(&self) -> Vec<Context> {
        let transcript = self.detail.transcript(self.selected());
        let searching = match self.detail.tab {
            Tab::Transcript => transcript.is_some_and(|transcript| transcript.search().writing),
            Tab::Diff | Tab::Description | Tab::Info | Tab::Log => self.detail.searching,
        };
        if searching {
            return vec![Context::Filter, Context::Text, Context::Anywhere];
        }
        if self.is_commenting() {
            return vec![Context::Comment, Context::Text, Context::Anywhere];
        }
        let here = match self.detail.tab {
            Tab::Transcript if transcript.is_some_and(Transcript::is_selecting) => {
                return vec![Context::Select, Context::Transcript, Context::Anywhere];
            }
            Tab::Transcript => Context::Transcript,
            Tab::Diff if self.review.is_selecting() => {
                return vec![Context::Select, Context::Diff, Context::Anywhere];
            }
            Tab::Diff => Context::Diff,
            Tab::Description | Tab::Info | Tab::Log => Context::Page,
        };
        vec![here, Context::Anywhere]
    }
}
