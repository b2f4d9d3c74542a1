//! The state of the screen: project mirror, panes, layers and pending replies.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::keys::Key;
use crate::base::{AskId, Fault, MicroUsd, TaskId, Timestamp};
use crate::engine::review::TurnView;
use crate::engine::snapshot::{Snapshot, Wait};
use crate::model::ClientView;
use crate::model::live_turn::LiveTurns;
use crate::ui::action::{Action, Context};
use crate::ui::detail::{self, Tab};
use crate::ui::effect::{Drafts, Effect, Tag};
use crate::ui::hints::key_label;
use crate::ui::keymap::{Keymap, Problem};
use crate::ui::layer::{Layer, UnsentBrief};
use crate::ui::layout::{Layout, Pane};
use crate::ui::live_lines::LiveLines;
use crate::ui::msg::{HostProjects, ProjectChoice};
use crate::ui::position::{self, ScreenPosition};
use crate::ui::project_state::ProjectState;
use crate::ui::setup::ModelOption;
use crate::ui::toast::Toasts;
use crate::ui::token_rate::TokenRate;
use crate::ui::transcript::Transcript;
use crate::ui::{advice, asks, composer, review, stuck, tree};

/// How long a frame of a spinner lasts.
pub(super) const SPINNER_MILLIS: i64 = 250;

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
    /// Where the last run ended.
    pub position: ScreenPosition,
    /// The goal that an empty composer offers, until the first message.
    pub suggestion: Option<&'static str>,
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
    pub engine: EngineHost,
}

/// Where the engine of a screen runs, which decides what leaving means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EngineHost {
    /// In this process, and it ends with the screen.
    #[default]
    Private,
    /// In this process. Another process can take over.
    Own,
    /// In another process.
    Joined {
        /// The version of its program, if it is older than this one.
        outdated: Option<String>,
    },
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
            engine: EngineHost::default(),
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
    /// Selects the new task. On failure its text goes back into the brief.
    Created {
        brief: String,
    },
    Answered(AskId),
    /// Marks the review comments as sent.
    Reviewed(TaskId),
    /// Closes the merge dialog.
    Merged(TaskId),
    /// Refreshes the merge dialog after the verify command.
    Checked(TaskId),
    /// Shows this text on success.
    Plain(Option<&'static str>),
    /// The engine finishes what is in progress, then it moves.
    HandedOver,
    /// Leaves, whether it was carried out or not.
    Leave(Box<Effect>),
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
    /// The projects that were listed last, and those of other machines.
    pub(super) listed_projects: Vec<ProjectChoice>,
    pub(super) host_projects: BTreeMap<String, HostProjects>,
    /// Who is attached to the engine, this screen included.
    pub(super) clients: Vec<ClientView>,
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
    /// The text of a new task that was neither started nor saved.
    pub(super) brief: UnsentBrief,
    pub(super) toasts: Toasts,
    /// The layers that were open when the user opened a question above them.
    pub(super) set_aside: Vec<Layer>,
    /// When Esc left the empty composer: a second one opens the rewind dialog.
    pub(super) escaped_at: Option<Timestamp>,
    /// The goal that the empty composer of the root offers.
    pub(super) suggestion: Option<&'static str>,
    /// The keys of a pending chord.
    pub(super) keys: Vec<Key>,
    pub(super) left: Option<u16>,
    pub(super) zoom: bool,
    /// Whether a third column is wanted.
    pub(super) side: bool,
    pub(super) layout: Layout,
    pub(super) expected: BTreeMap<Tag, PendingReply>,
    pub(super) next_tag: u64,
    /// Whether the terminal has the focus, as far as it reports it.
    pub(super) terminal_focused: bool,
    /// The Asks that were announced by a notification.
    pub(super) notified: BTreeSet<AskId>,
    pub(super) notified_counts: NotifiedCounts,
    pub(super) token_rate: TokenRate,
    pub(super) live_lines: LiveLines,
    /// What agents have streamed since their last saved events, also of tasks whose transcript is not open.
    pub(super) live_turns: LiveTurns,
    pub(super) title: String,
    /// Whether the terminal translates the wheel into arrow keys.
    pub(super) wheel: bool,
    /// What follows when another process has taken the engine over.
    pub(super) leaving: Option<Effect>,
    /// Until when a second Ctrl-C quits.
    pub(super) quit_armed_until: Option<Timestamp>,
    /// The turns loaded last, for the compare list.
    pub(super) turns: Vec<TurnView>,
    /// The path of the selected task when the position was last saved.
    pub(super) saved_path: Vec<TaskId>,
    /// Whether the divider is being dragged.
    pub(super) dragging: bool,
    /// The theme on the screen: of the settings, or selected in the list of themes.
    pub(super) shown_theme: String,
}

impl Model {
    /// Returns the initial screen with the focus in the composer, and the problems of the `keys` setting.
    pub fn new(mut setup: Setup) -> (Self, Vec<Problem>) {
        let live_turns = std::mem::take(&mut setup.snapshot.live);
        let clients = std::mem::take(&mut setup.snapshot.clients);
        let (keymap, problems) = Keymap::new(&setup.keys);
        let project = ProjectState::new(setup.snapshot);
        let notified = project.pending_asks().into_iter().map(|(_, ask)| ask.id).collect();
        let mut tree = tree::State::new(&project);
        if let Some(task) = setup.position.task(&project) {
            tree.select(&project, task);
        }
        let model = Self {
            saved_path: position::path(&project, tree.selected()),
            tree,
            project,
            listed_projects: Vec::new(),
            host_projects: BTreeMap::new(),
            clients,
            keymap,
            shown_theme: setup.settings.theme.clone(),
            settings: setup.settings,
            focus: Pane::Composer,
            return_focus: Pane::Tree,
            asks: asks::State::new(setup.drafts.answers),
            detail: detail::State::reading(setup.position.reading),
            review: review::State::new(setup.reviews),
            composer: composer::State::new(setup.drafts.messages),
            layers: Vec::new(),
            set_aside: Vec::new(),
            escaped_at: None,
            suggestion: setup.suggestion,
            brief: UnsentBrief::new(setup.drafts.brief),
            toasts: Toasts::default(),
            keys: Vec::new(),
            left: None,
            zoom: false,
            side: true,
            layout: Layout::default(),
            expected: BTreeMap::new(),
            next_tag: 0,
            terminal_focused: true,
            notified,
            notified_counts: NotifiedCounts::default(),
            token_rate: TokenRate::default(),
            live_lines: LiveLines::of_turns(&live_turns),
            live_turns,
            title: String::new(),
            wheel: false,
            leaving: None,
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

    /// Returns where the user is on the screen.
    pub fn position(&self) -> ScreenPosition {
        let path = position::path(&self.project, self.selected());
        ScreenPosition { path, reading: self.detail.reading_positions() }
    }

    /// Returns the page of the third column, if there is one.
    pub(super) fn side_tab(&self) -> Option<Tab> {
        let task = self.project.task(self.selected());
        (!self.layout.page.is_empty()).then(|| self.detail.side_tab(task))
    }

    /// Returns true if a tab of the selected task is visible.
    pub(super) fn shows(&self, tab: Tab) -> bool {
        self.detail.tab == tab || self.side_tab() == Some(tab)
    }

    /// Returns the worktree of a task, if it has its own.
    pub fn worktree(&self, task: TaskId) -> Option<std::path::PathBuf> {
        self.project.node(task)?.worktree.clone()
    }

    /// Returns the pane that the focus moves to next, from pane to pane.
    pub(super) fn next_pane(&self) -> Pane {
        match self.focus {
            Pane::Tree if !self.asks.is_empty() => Pane::Asks,
            Pane::Tree | Pane::Asks => Pane::Detail,
            Pane::Detail => Pane::Composer,
            Pane::Composer => Pane::Tree,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the name of the theme on the screen.
    pub fn shown_theme(&self) -> &str {
        &self.shown_theme
    }

    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Returns when the screen next changes by itself. `None` if only on input.
    pub fn next_tick(&self, now: Timestamp) -> Option<Timestamp> {
        // A spinner turns four times a second while an agent works; a clock alone needs one tick a second.
        let step = if self.project.total().working > 0 { SPINNER_MILLIS } else { 1_000 };
        let second = Timestamp::from_millis((now.as_millis() / step + 1) * step);
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

    /// Returns a fault in words that name keys instead of commands of the shell.
    pub(super) fn fault_words(&self, fault: &Fault) -> String {
        advice::fault(fault, |action| self.key_of(action))
    }

    /// Returns why the selected task is stuck, if it is.
    pub(super) fn stuck_reason(&self) -> Option<String> {
        self.stuck_reason_of(self.selected())
    }

    pub(super) fn stuck_reason_of(&self, task: TaskId) -> Option<String> {
        let task = self.project.task(task).filter(|task| task.waits.is_some())?;
        stuck::reason(task, &self.project, |action| self.key_of(action))
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

    /// Returns the goal that Enter sends from the empty composer, in a project in which nothing was said yet.
    pub(super) fn suggestion(&self) -> Option<&'static str> {
        let (root, task) = (self.project.root(), self.selected());
        let is_new = task == root && self.project.task(root).is_some_and(|task| !task.alive && task.turns == 0);
        self.suggestion.filter(|_| is_new && !self.composer.has_text(task))
    }

    /// Returns the question that takes the place of the composer: the one the user opened, that of the selected task, or
    /// one of a subtask that the selected task waits for.
    ///
    /// A message that is being written keeps its place until the user opens the question.
    pub(super) fn card(&self) -> Option<(TaskId, AskId)> {
        let selected = self.selected();
        let card = self.asks.card(selected).or_else(|| self.question_below(selected))?;
        (self.asks.is_opened() || !self.composer.has_text(selected)).then_some(card)
    }

    /// Returns the first question below a task that only waits for its subtasks.
    fn question_below(&self, task: TaskId) -> Option<(TaskId, AskId)> {
        let waits = self.project.task(task)?.waits.as_ref();
        let is_below = |asking: TaskId| self.project.ancestors(asking).any(|above| above == task);
        let mut fresh = self.asks.items().iter().filter(|(_, id)| self.asks.is_fresh(*id));
        matches!(waits, Some(Wait::Task { .. })).then(|| fresh.find(|(asking, _)| is_below(*asking)).copied())?
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
