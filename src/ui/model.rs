//! Everything the screen knows: the world, the panes, what lies above them, and what is still to be answered.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::keys::Key;
use crate::base::{AskId, MicroUsd, TaskId, Timestamp};
use crate::engine::review::TurnView;
use crate::engine::snapshot::Snapshot;
use crate::ui::action::{Action, Context};
use crate::ui::detail::{self, Tab};
use crate::ui::effect::Tag;
use crate::ui::hints::key_words;
use crate::ui::keymap::{Keymap, Problem};
use crate::ui::layer::Layer;
use crate::ui::layout::{Layout, Pane};
use crate::ui::pace::Pace;
use crate::ui::setup::Offered;
use crate::ui::toast::Toasts;
use crate::ui::transcript::Transcript;
use crate::ui::world::World;
use crate::ui::{asks, composer, plight, review, tree};

/// What the screen is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    pub snapshot: Snapshot,
    /// The keys that the settings give to actions, by name.
    pub keys: BTreeMap<String, Vec<String>>,
    pub settings: Settings,
    /// What was being written when the program last ended.
    pub drafts: Vec<(TaskId, String)>,
    /// What was seen and said in reviews before.
    pub reviews: review::Notes,
}

/// What of the settings the screen shows or obeys.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub theme: String,
    /// The themes that can be chosen.
    pub themes: Vec<String>,
    pub mouse: bool,
    pub notify_desktop: bool,
    pub notify_bell: bool,
    pub project_budget: Option<MicroUsd>,
    /// The models that are known to be reachable, or that mostly are.
    pub models: Vec<Offered>,
    /// The model that was chosen here. Agents have it from the next start.
    pub next_model: Option<String>,
    /// Why nothing can be changed, if that is so: another process holds the project.
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

/// What is to happen when a command is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expect {
    /// The text goes back into the composer if it could not be sent.
    Sent {
        task: TaskId,
        text: String,
    },
    /// The new task is selected.
    Created,
    Answered(AskId),
    /// The remarks of the review count as sent.
    Reviewed(TaskId),
    /// The dialog is closed.
    Merged(TaskId),
    /// The check of a task has run.
    Checked(TaskId),
    /// It is said that it worked, if there is anything to say.
    Plain(Option<&'static str>),
    Quit,
}

/// What was going on when the person was last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub working: usize,
    pub failed: usize,
}

/// The screen.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Model {
    pub(super) world: World,
    pub(super) keymap: Keymap,
    pub(super) settings: Settings,
    pub(super) focus: Pane,
    /// Where the focus goes back to after an answer or a message.
    pub(super) came_from: Pane,
    pub(super) tree: tree::State,
    pub(super) asks: asks::State,
    pub(super) detail: detail::State,
    pub(super) review: review::State,
    pub(super) composer: composer::State,
    pub(super) layers: Vec<Layer>,
    pub(super) toasts: Toasts,
    /// Keys of a chord that is not complete yet.
    pub(super) keys: Vec<Key>,
    pub(super) left: Option<u16>,
    pub(super) zoom: bool,
    pub(super) layout: Layout,
    pub(super) expected: BTreeMap<Tag, Expect>,
    pub(super) next_tag: u64,
    /// Whether the person looks at the terminal, as far as it says.
    pub(super) watched: bool,
    /// What the person has been notified of.
    pub(super) notified: BTreeSet<AskId>,
    pub(super) seen: Seen,
    pub(super) pace: Pace,
    pub(super) title: String,
    /// Whether the terminal was told to turn its wheel into arrow keys.
    pub(super) wheel: bool,
    /// Until when a second press quits.
    pub(super) quitting: Option<Timestamp>,
    /// The turns that were last read, to choose from.
    pub(super) turns: Vec<TurnView>,
    /// A divider is being dragged.
    pub(super) dragging: bool,
}

impl Model {
    /// Returns the screen at its start, with the cursor in the composer, and what is wrong with the keys.
    pub fn new(setup: Setup) -> (Self, Vec<Problem>) {
        let (keymap, problems) = Keymap::new(&setup.keys);
        let world = World::new(setup.snapshot);
        let notified = world.pending_asks().into_iter().map(|(_, ask)| ask.id).collect();
        let model = Self {
            tree: tree::State::new(&world),
            world,
            keymap,
            settings: setup.settings,
            focus: Pane::Composer,
            came_from: Pane::Tree,
            asks: asks::State::default(),
            detail: detail::State::default(),
            review: review::State::new(setup.reviews),
            composer: composer::State::new(setup.drafts),
            layers: Vec::new(),
            toasts: Toasts::default(),
            keys: Vec::new(),
            left: None,
            zoom: false,
            layout: Layout::default(),
            expected: BTreeMap::new(),
            next_tag: 0,
            watched: true,
            notified,
            seen: Seen::default(),
            pace: Pace::default(),
            title: String::new(),
            wheel: false,
            quitting: None,
            turns: Vec::new(),
            dragging: false,
        };
        (model, problems)
    }

    /// Returns the task that everything on the right is about.
    pub fn selected(&self) -> TaskId {
        self.tree.selected()
    }

    /// Returns where a task works, if it has a worktree of its own.
    pub fn place(&self, task: TaskId) -> Option<std::path::PathBuf> {
        self.world.node(task)?.worktree.clone()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Returns when something on the screen changes by itself. Nothing: it stays as it is until something happens.
    pub fn next_tick(&self, now: Timestamp) -> Option<Timestamp> {
        let second = Timestamp::from_millis((now.as_millis() / 1_000 + 1) * 1_000);
        let counting = self.world.is_counting();
        let ends = [counting.then_some(second), self.toasts.next_end(), self.quitting];
        ends.into_iter().chain([self.is_hunting().then_some(now)]).flatten().min()
    }

    /// Tells whether a long transcript is being looked through, a stretch at each tick.
    pub(super) fn is_hunting(&self) -> bool {
        let transcript = self.detail.transcript(self.selected());
        self.detail.tab == Tab::Transcript && transcript.is_some_and(|it| it.search().is_hunting() || it.is_counting())
    }

    /// Returns the key of an action here, as a person reads it, for sentences that mention it.
    pub(super) fn key_of(&self, action: Action) -> String {
        let here = self.keymap.shown(&self.contexts(), action);
        let anywhere =
            || action.entry().contexts.iter().find_map(|context| self.keymap.chords(*context, action).first().copied());
        here.or_else(anywhere).map_or_else(|| format!("\"{}\"", action.name()), |chord| key_words(&chord.to_string()))
    }

    /// Returns why the task that everything on the right is about gets nowhere, if it does.
    pub(super) fn plight(&self) -> Option<String> {
        self.plight_of(self.selected())
    }

    pub(super) fn plight_of(&self, task: TaskId) -> Option<String> {
        let task = self.world.task(task).filter(|task| task.waits.is_some())?;
        plight::of(task, &self.world, &self.key_of(Action::Interrupt))
    }

    /// Returns which keys mean what right now, the nearest context first.
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
            Pane::Asks if self.asks.is_writing() => writing(Context::Answer),
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

    /// Tells whether a remark on lines of a diff is being written.
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
