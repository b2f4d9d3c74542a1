//! Opens lists, prompts and boards, and handles their results.

mod profiles;

use crate::base::{AskId, MicroUsd, TaskId};
use crate::engine::command::{Command, TaskChanges, TaskDraft, TaskStart};
use crate::engine::update::Level;
use crate::model::{ClientKind, ClientView};
use crate::ui::action::{Action, Context, TABLE};
use crate::ui::effect::{Effect, Setting};
use crate::ui::hints::key_label;
use crate::ui::labels;
use crate::ui::layer::{Board, BoardKind, Chooser, ChooserAction, Item, Layer, PromptPurpose};
use crate::ui::layout::Pane;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::{Cx, HostProjects, ProjectChoice};
use crate::ui::setup::ModelOption;
use crate::ui::toast::Toast;
use crate::ui::update::actions;
use crate::ui::update::{Out, go_to, quit};
pub use profiles::{open_handover, open_profiles, open_who};

pub fn choose(model: &mut Model, title: &'static str, placeholder: &'static str, items: Vec<Item>) {
    model.layers.push(Layer::Choose(Chooser::new(title, placeholder, items)));
}

pub fn open_palette(model: &mut Model) {
    let contexts = model.contexts();
    let offered = TABLE.iter().filter(|entry| entry.in_palette());
    let items = offered.map(|entry| {
        let key =
            entry.contexts.iter().find_map(|context| model.keymap.chords(*context, entry.action).first().copied());
        Item {
            label: format!("{}: {}", entry.name.replace('_', " "), entry.help),
            also: String::new(),
            note: key.map(|chord| key_label(&chord.to_string())).unwrap_or_default(),
            group: None,
            pick: ChooserAction::Act(entry.action),
        }
    });
    let mut items: Vec<_> = items.collect();
    // Actions of the current context come first.
    items.sort_by_key(|item| match item.pick {
        ChooserAction::Act(action) => !action.spec().contexts.iter().any(|context| contexts.contains(context)),
        _ => true,
    });
    choose(model, "commands", "type to find an action", items);
}

/// The actions with which a new user gets through the day.
const FIRST_KEYS: [Action; 10] = [
    Action::Send,
    Action::FocusNext,
    Action::NextAsk,
    Action::NewTask,
    Action::Interrupt,
    Action::ShowDiff,
    Action::Merge,
    Action::Rewind,
    Action::Palette,
    Action::Quit,
];

/// Returns the line of an action in the help: in a context, or among the first keys. `None` if it has no key there.
fn help_item(model: &Model, action: Action, context: Option<Context>) -> Option<Item> {
    let entry = action.spec();
    let contexts = context.as_ref().map_or(entry.contexts, std::slice::from_ref);
    let chords =
        contexts.iter().map(|context| model.keymap.chords(*context, action)).find(|chords| !chords.is_empty())?;
    let keys: Vec<_> = chords.iter().map(|chord| key_label(&chord.to_string())).collect();
    Some(Item {
        label: entry.help.to_owned(),
        also: format!("{} {}", entry.name.replace('_', " "), entry.label),
        note: keys.join("  "),
        group: Some(context.map_or("First keys", Context::title)),
        pick: ChooserAction::Act(action),
    })
}

pub fn open_help(model: &mut Model, cx: &Cx<'_>) {
    let here = model.contexts();
    let rest = Context::ALL.iter().copied().filter(|context| !here.contains(context));
    let order: Vec<_> = here.iter().copied().chain(rest).collect();
    // Cursor movements are the same in every text input: they come last.
    let (texts, order): (Vec<_>, Vec<_>) = order.into_iter().partition(|context| *context == Context::Text);
    let mut items: Vec<_> = FIRST_KEYS.iter().filter_map(|action| help_item(model, *action, None)).collect();
    for context in order.into_iter().chain(texts) {
        let mut entries: Vec<_> = TABLE.iter().filter(|entry| entry.contexts.contains(&context)).collect();
        // What is used most comes first.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.weight));
        items.extend(entries.into_iter().filter_map(|entry| help_item(model, entry.action, Some(context))));
    }
    items.extend(legend_items(cx));
    choose(model, "help", "type to find a key or action, or a sign", items);
}

/// Returns an item for each sign of the screen. Choosing one changes nothing.
fn legend_items(cx: &Cx<'_>) -> impl Iterator<Item = Item> {
    cx.theme.glyphs.legend().into_iter().map(|sign| Item {
        label: format!("{}  {}", sign.glyph, sign.about),
        also: "sign glyph symbol legend".to_owned(),
        note: String::new(),
        group: Some("Signs"),
        pick: ChooserAction::Sign(sign.role),
    })
}

/// Opens the list of all signs.
pub fn open_legend(model: &mut Model, cx: &Cx<'_>) {
    let items = legend_items(cx).map(|item| Item { group: None, ..item }).collect();
    choose(model, "legend", "type to find a sign", items);
}

pub fn open_projects(model: &mut Model, projects: Vec<ProjectChoice>) {
    model.listed_projects = projects;
    let items = project_items(model);
    choose(model, "projects", "which project?", items);
}

/// Takes in what another machine answered. Its projects come after those that are listed already.
pub fn on_host_projects(model: &mut Model, host: String, projects: HostProjects) {
    model.host_projects.insert(host, projects);
    let items = project_items(model);
    if let Some(Layer::Choose(chooser)) = model.layers.last_mut().filter(|layer| layer.is_project_list()) {
        chooser.offer(items);
    }
}

fn project_items(model: &Model) -> Vec<Item> {
    let clean = |text: &str| crate::base::sanitize::line(text).into_owned();
    let item = |project: &ProjectChoice| {
        let place = project.host.as_ref().map_or_else(String::new, |host| format!("{host}:"));
        Item {
            label: clean(&project.name),
            also: clean(&place),
            note: clean(format!("{} {place}{}", project.note, project.path).trim_start()),
            group: None,
            pick: match &project.host {
                None => ChooserAction::Project(project.id),
                Some(_) if project.id == model.project.info.id => ChooserAction::Nothing,
                Some(host) => ChooserAction::HostProject { host: host.clone(), path: project.path.clone() },
            },
        }
    };
    let says = |host: &str, note: String| Item {
        label: clean(host),
        also: String::new(),
        note: clean(&note),
        group: None,
        pick: ChooserAction::Nothing,
    };
    let mut items: Vec<Item> = model.listed_projects.iter().map(item).collect();
    for (host, projects) in &model.host_projects {
        match projects {
            HostProjects::Asked => items.push(says(host, "asked for its projects …".to_owned())),
            HostProjects::Listed(projects) if projects.is_empty() => items.push(says(host, "no projects".to_owned())),
            HostProjects::Listed(projects) => items.extend(projects.iter().map(item)),
            HostProjects::Failed(fault) => items.push(says(host, fault.message.clone())),
        }
    }
    items
}

/// Lists who is attached to the engine.
pub fn open_clients(model: &mut Model, cx: &Cx<'_>) {
    let kind = |kind: ClientKind| match kind {
        ClientKind::Screen => "screen",
        ClientKind::Http => "page or program",
        ClientKind::Command => "command",
        ClientKind::Other => "program",
    };
    let item = |client: &ClientView| Item {
        label: crate::base::sanitize::line(&client.name).into_owned(),
        also: String::new(),
        note: format!("{} since {}", kind(client.kind), labels::time_of_day(client.since, cx.zone)),
        group: None,
        pick: ChooserAction::Client,
    };
    let items: Vec<Item> = model.clients.iter().map(item).collect();
    if items.is_empty() {
        return model.toasts.say(Level::Info, "Nobody else can attach to this engine", cx.now);
    }
    choose(model, "attached", "who is here", items);
}

/// Lists the last notices, the newest first.
pub fn open_notices(model: &mut Model, cx: &Cx<'_>) {
    let item = |toast: &Toast| {
        let time = labels::time_of_day(toast.at, cx.zone);
        let sign = match toast.level {
            Level::Info => cx.theme.glyphs.dot,
            Level::Warning => cx.theme.glyphs.clash,
            Level::Error => cx.theme.glyphs.failed,
        };
        Item {
            label: format!("{time} {sign} {}", toast.text.split_whitespace().collect::<Vec<_>>().join(" ")),
            also: String::new(),
            note: toast.task.map(|task| model.project.title(task)).unwrap_or_default(),
            group: None,
            pick: ChooserAction::Notice(toast.task),
        }
    };
    let items: Vec<Item> = model.toasts.history().iter().rev().map(item).collect();
    if items.is_empty() {
        return model.toasts.say(Level::Info, "No notices yet", cx.now);
    }
    model.toasts.dismiss();
    choose(model, "notices", "type to filter; Enter goes to the task", items);
}

/// Asks whether the text of the composer answers the open question of a task.
pub fn open_answer_or_message(model: &mut Model, task: TaskId, ask: AskId) {
    let question = model.project.ask(ask).map(|(_, ask)| crate::ui::asks::brief(ask)).unwrap_or_default();
    let item = |label: &str, note: &str, pick| Item {
        label: label.to_owned(),
        also: String::new(),
        note: crate::base::text::headline(note, 60),
        group: None,
        pick,
    };
    let is_here = task == model.selected();
    let (here, title) = (model.project.title(model.selected()), model.project.title(task));
    let items = if is_here {
        vec![
            item("answer the question", &question, ChooserAction::AnswerWith(task, ask)),
            item("send a message", "drops the question", ChooserAction::SendMessage),
        ]
    } else {
        vec![
            item(&format!("answer {title}"), &question, ChooserAction::AnswerWith(task, ask)),
            item(&format!("send a message to {here}"), "the question stays open", ChooserAction::SendMessage),
        ]
    };
    choose(model, "answer or message?", "a task waits for an answer", items);
}

pub fn open_colours(model: &mut Model, task: TaskId) {
    let mut items: Vec<_> = labels::COLOURS
        .iter()
        .map(|colour| Item {
            label: labels::colour(*colour).to_owned(),
            also: String::new(),
            note: String::new(),
            group: None,
            pick: ChooserAction::Colour(task, Some(*colour)),
        })
        .collect();
    items.push(Item {
        label: "no colour".to_owned(),
        also: String::new(),
        note: String::new(),
        group: None,
        pick: ChooserAction::Colour(task, None),
    });
    choose(model, "colour", "which colour?", items);
}

pub fn open_move(model: &mut Model, task: TaskId, cx: &Cx<'_>) {
    if task == model.project.root() {
        return model.toasts.say(Level::Warning, "The root cannot be moved", cx.now);
    }
    let below: Vec<_> = model.project.walk(task).collect();
    let now = model.project.node(task).and_then(|node| node.parent);
    let places = model.project.walk(model.project.root()).filter(|id| !below.contains(id) && Some(*id) != now);
    let items: Vec<_> = places
        .map(|parent| Item {
            label: model.project.title(parent),
            also: String::new(),
            note: model.project.ancestors(parent).next().map(|above| model.project.title(above)).unwrap_or_default(),
            group: None,
            pick: ChooserAction::MoveBelow { task, parent },
        })
        .collect();
    choose(model, "move under", "which task?", items);
}

/// Opens the list of themes. The selected one is shown at once; closing the list shows the one of the settings again.
pub fn open_themes(model: &mut Model) {
    let auto = std::iter::once("auto".to_owned()).chain(model.settings.themes.iter().cloned());
    let names: Vec<_> = auto.collect();
    let now = names.iter().position(|name| *name == model.settings.theme).unwrap_or(0);
    let items = names.into_iter().enumerate().map(|(at, name)| Item {
        note: match (at == now, about_theme(&name)) {
            (true, about) => format!("now  {about}"),
            (false, about) => about,
        },
        group: None,
        pick: ChooserAction::Theme(name.clone()),
        label: name,
        also: String::new(),
    });
    let mut chooser = Chooser::new("theme", "which theme? Enter keeps it, Esc goes back", items.collect());
    chooser.cursor.chosen = now;
    model.layers.push(Layer::Choose(chooser));
}

/// Returns the description of a built-in theme.
fn about_theme(name: &str) -> String {
    match crate::theme::builtin::named(name) {
        Some(palette) => palette.about,
        None if name == "auto" => "Dark or light, like the terminal".to_owned(),
        None => String::new(),
    }
}

/// Opens the list of known models and asks the endpoint for the current ones.
pub fn open_models(model: &mut Model, out: &mut Out) {
    let items = model_items(model);
    let chooser = Chooser::new("model", "type to filter, or enter a model name", items).or_typed(ChooserAction::Model);
    model.layers.push(Layer::Choose(chooser));
    out.effect(Effect::ListModels);
}

/// Takes in the models of the endpoint. An empty list keeps the known ones.
pub fn on_models(model: &mut Model, models: Vec<ModelOption>) {
    if models.is_empty() {
        return;
    }
    model.settings.models = models;
    let items = model_items(model);
    if let Some(Layer::Choose(chooser)) = model.layers.last_mut().filter(|layer| layer.is_model_list()) {
        chooser.offer(items);
    }
}

fn model_items(model: &Model) -> Vec<Item> {
    let now = model.project.info.model.as_deref();
    let item = |offered: &ModelOption| Item {
        label: crate::base::sanitize::line(&offered.id).into_owned(),
        also: String::new(),
        note: format!("{}{}", if Some(offered.id.as_str()) == now { "now  " } else { "" }, offered.note),
        group: None,
        pick: ChooserAction::Model(offered.id.clone()),
    };
    model.settings.models.iter().map(item).collect()
}

/// Runs the action of the selected item.
pub fn pick(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Choose(chooser)) = model.layers.last() else { return };
    let Some(pick) = chooser.chosen().map(|item| item.pick.clone()) else { return };
    model.layers.pop();
    match pick {
        ChooserAction::Act(action) => actions::act(model, action, cx, out),
        ChooserAction::Colour(task, colour) => {
            let changes = TaskChanges { colour: Some(colour), ..TaskChanges::default() };
            out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
        }
        ChooserAction::Mode(task, mode) => actions::modes::set(model, task, mode, cx, out),
        ChooserAction::MoveBelow { task, parent } => {
            out.command(model, Command::Move { task, parent, before: None }, PendingReply::Plain(None), cx);
        }
        // The current project is open already.
        ChooserAction::Project(project) if project == model.project.info.id => {}
        ChooserAction::Project(project) => {
            quit::leave_for(model, "Switch project?", Effect::OpenProject { project }, out);
        }
        ChooserAction::AnswerWith(task, ask) => actions::asks::answer_with_message(model, task, ask, cx, out),
        ChooserAction::Notice(Some(task)) if model.project.task(task).is_some() => go_to(model, task),
        ChooserAction::Notice(_) => {}
        ChooserAction::SendMessage => actions::composer::send_message(model, cx, out),
        ChooserAction::File(file) => actions::review::go_to_file(model, file, cx),
        ChooserAction::Compare(range) => actions::review::show(model, range, out),
        ChooserAction::CompareFrom(turn) => actions::review::open_compare_to(model, turn, cx),
        ChooserAction::Profile(name) => {
            if let Some(Layer::Brief(brief)) = model.layers.last_mut() {
                brief.profile = name;
            }
        }
        ChooserAction::Select(name) => profiles::select(model, name, cx, out),
        ChooserAction::BrokenProfile(problem) => model.toasts.say(Level::Error, problem, cx.now),
        ChooserAction::HandOver { task, to } => {
            out.command(model, Command::HandOverTask { task, to, note: None }, PendingReply::Plain(None), cx);
        }
        ChooserAction::Model(name) => {
            // Running agents keep their model: the engine was opened with it.
            model.settings.next_model = Some(name.clone());
            out.effect(Effect::SaveSetting { setting: Setting::TaskModel(name) });
        }
        ChooserAction::HostProject { host, path } => {
            quit::leave_for(model, "Switch project?", Effect::OpenHostProject { host, path }, out);
        }
        ChooserAction::Sign(_) | ChooserAction::Client | ChooserAction::Nothing => {}
        ChooserAction::Theme(name) => {
            model.settings.theme.clone_from(&name);
            out.effect(Effect::SaveSetting { setting: Setting::Theme(name) });
        }
    }
}

/// Handles the input of a prompt.
pub fn submit_prompt(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Prompt(prompt)) = model.layers.last_mut() else { return };
    let text = prompt.field.content().trim().to_owned();
    let purpose = prompt.purpose;
    let money = match purpose {
        PromptPurpose::Budget(_) | PromptPurpose::ProjectBudget => match dollars(&text) {
            Ok(money) => money,
            Err(problem) => {
                prompt.problem = Some(problem);
                return;
            }
        },
        PromptPurpose::Rename(_) | PromptPurpose::Fork { .. } if text.is_empty() => {
            prompt.problem = Some("Enter a title".to_owned());
            return;
        }
        PromptPurpose::Rename(_) | PromptPurpose::Fork { .. } => None,
    };
    model.layers.pop();
    match purpose {
        PromptPurpose::Fork { task, at } => {
            actions::rewind::close_picker(model);
            let draft = TaskDraft { title: text, ..TaskDraft::default() };
            let expect = PendingReply::Created { brief: String::new() };
            out.command(model, Command::Fork { task, at, draft, start: TaskStart::Later }, expect, cx);
        }
        PromptPurpose::Rename(task) => {
            let changes = TaskChanges { title: Some(text), ..TaskChanges::default() };
            out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
        }
        PromptPurpose::Budget(task) => {
            let changes = TaskChanges { budget: Some(money), ..TaskChanges::default() };
            out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
        }
        PromptPurpose::ProjectBudget => {
            model.settings.project_budget = money;
            out.effect(Effect::SaveSetting { setting: Setting::ProjectBudget(money) });
        }
    }
}

fn dollars(text: &str) -> Result<Option<MicroUsd>, String> {
    let number = text.trim_start_matches('$').trim();
    if number.is_empty() {
        return Ok(None);
    }
    let parsed = number.replace(',', ".").parse::<f64>().ok().and_then(MicroUsd::from_dollars);
    parsed
        .map(Some)
        .ok_or_else(|| format!("\"{text}\" is not an amount. Enter e.g. 2.50, or leave it empty for no limit."))
}

/// The lines of the settings board.
pub const SETTINGS: [&str; 6] = ["theme", "model", "project budget", "notifications", "bell", "mouse"];

/// Opens the selected line of a board.
pub fn open_board_line(model: &mut Model, board: &Board, cx: &Cx<'_>, out: &mut Out) {
    match board.kind {
        BoardKind::Agents => {
            if let Some(task) = board.chosen() {
                model.layers.clear();
                go_to(model, task);
                // A question is answered in the composer.
                let asks = model.project.task(task).is_some_and(|task| !task.asks.is_empty());
                model.focus = if asks { Pane::Composer } else { Pane::Detail };
            }
        }
        BoardKind::Settings => change_setting(model, board.cursor.chosen, cx, out),
    }
}

fn change_setting(model: &mut Model, line: usize, _cx: &Cx<'_>, out: &mut Out) {
    let setting = match line {
        0 => return open_themes(model),
        1 => return open_models(model, out),
        2 => {
            let budget = model.settings.project_budget.or(model.project.info.budget);
            let text = budget.map(|budget| budget.to_string().trim_start_matches('$').to_owned()).unwrap_or_default();
            return actions::tree::prompt(
                model,
                "Project budget in USD",
                "leave empty for no limit",
                text,
                PromptPurpose::ProjectBudget,
            );
        }
        3 => {
            model.settings.notify_desktop = !model.settings.notify_desktop;
            Setting::NotifyDesktop(model.settings.notify_desktop)
        }
        4 => {
            model.settings.notify_bell = !model.settings.notify_bell;
            Setting::NotifyBell(model.settings.notify_bell)
        }
        5 => {
            model.settings.mouse = !model.settings.mouse;
            Setting::Mouse(model.settings.mouse)
        }
        _ => return,
    };
    out.effect(Effect::SaveSetting { setting });
}
