//! Opens lists, prompts and boards, and handles their results.

use crate::base::{AskId, MicroUsd, TaskId};
use crate::engine::command::{Command, TaskChanges, TaskDraft, TaskStart};
use crate::engine::update::Level;
use crate::ui::action::{Context, TABLE};
use crate::ui::effect::{Effect, Setting};
use crate::ui::hints::key_label;
use crate::ui::labels;
use crate::ui::layer::{Board, BoardKind, Chooser, ChooserAction, Item, Layer, Prompt, PromptPurpose};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::{Cx, ProjectChoice};
use crate::ui::setup::ModelOption;
use crate::ui::update::actions::{self, AcceptMode};
use crate::ui::update::{Out, go_to, quit};

fn choose(model: &mut Model, title: &'static str, placeholder: &'static str, items: Vec<Item>) {
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

pub fn open_help(model: &mut Model) {
    let here = model.contexts();
    let rest = Context::ALL.iter().copied().filter(|context| !here.contains(context));
    let order: Vec<_> = here.iter().copied().chain(rest).collect();
    let mut items = Vec::new();
    for context in order {
        for entry in TABLE.iter().filter(|entry| entry.contexts.contains(&context)) {
            let chords = model.keymap.chords(context, entry.action);
            let keys: Vec<_> = chords.iter().map(|chord| key_label(&chord.to_string())).collect();
            if keys.is_empty() {
                continue;
            }
            items.push(Item {
                label: entry.help.to_owned(),
                also: format!("{} {}", entry.name.replace('_', " "), entry.label),
                note: keys.join("  "),
                group: Some(context.title()),
                pick: ChooserAction::Act(entry.action),
            });
        }
    }
    choose(model, "help", "type to find a key or action", items);
}

pub fn open_projects(model: &mut Model, projects: Vec<ProjectChoice>) {
    let items = projects.into_iter().map(|project| Item {
        label: crate::base::sanitize::line(&project.name).into_owned(),
        also: String::new(),
        note: format!("{} {}", crate::base::sanitize::line(&project.note), crate::base::sanitize::line(&project.path)),
        group: None,
        pick: ChooserAction::Project(project.id),
    });
    choose(model, "projects", "which project?", items.collect());
}

/// Asks whether the text of the composer answers the open question of the task.
pub fn open_answer_or_message(model: &mut Model, task: TaskId, ask: AskId) {
    let question = model.project.ask(ask).map(|(_, ask)| crate::ui::asks::brief(ask)).unwrap_or_default();
    let item = |label: &str, note: &str, pick| Item {
        label: label.to_owned(),
        also: String::new(),
        note: crate::base::text::headline(note, 60),
        group: None,
        pick,
    };
    let items = vec![
        item("answer the question", &question, ChooserAction::AnswerWith(task, ask)),
        item("send a message", "drops the question", ChooserAction::SendMessage),
    ];
    choose(model, "answer or message?", "this task waits for an answer", items);
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

/// Opens the list of profiles for the new task.
pub fn open_profiles(model: &mut Model) {
    let making =
        matches!(model.layers.last(), Some(Layer::Prompt(Prompt { purpose: PromptPurpose::NewTask { .. }, .. })));
    if !making {
        return;
    }
    let mut items = vec![Item {
        label: "default".to_owned(),
        also: String::new(),
        note: String::new(),
        group: None,
        pick: ChooserAction::Profile(None),
    }];
    items.extend(model.project.info.profiles.iter().map(|profile| Item {
        label: crate::base::sanitize::line(&profile.name).into_owned(),
        also: crate::base::sanitize::line(&profile.description).into_owned(),
        note: crate::base::sanitize::line(&profile.description).into_owned(),
        group: None,
        pick: ChooserAction::Profile(Some(profile.name.clone())),
    }));
    choose(model, "profile", "which profile?", items);
}

fn open_themes(model: &mut Model) {
    let auto = std::iter::once("auto".to_owned()).chain(model.settings.themes.iter().cloned());
    let items = auto.map(|name| Item {
        note: if name == model.settings.theme { "now".to_owned() } else { String::new() },
        group: None,
        pick: ChooserAction::Theme(name.clone()),
        label: name,
        also: String::new(),
    });
    choose(model, "theme", "which theme?", items.collect());
}

/// Opens the list of known models and asks the endpoint for the current ones.
fn open_models(model: &mut Model, out: &mut Out) {
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
        ChooserAction::MoveBelow { task, parent } => {
            out.command(model, Command::Move { task, parent, before: None }, PendingReply::Plain(None), cx);
        }
        // The current project is open already.
        ChooserAction::Project(project) if project == model.project.info.id => {}
        ChooserAction::Project(project) => {
            quit::leave_for(model, "Switch project?", Effect::OpenProject { project }, out);
        }
        ChooserAction::AnswerWith(task, ask) => actions::asks::answer_with_message(model, task, ask, cx, out),
        ChooserAction::SendMessage => actions::composer::send_message(model, cx, out),
        ChooserAction::File(file) => actions::review::go_to_file(model, file, cx),
        ChooserAction::Compare(range) => actions::review::show(model, range, out),
        ChooserAction::CompareFrom(turn) => actions::review::open_compare_to(model, turn, cx),
        ChooserAction::Profile(name) => {
            if let Some(Layer::Prompt(prompt)) = model.layers.last_mut() {
                prompt.profile = name;
            }
        }
        ChooserAction::Model(name) => {
            // Running agents keep their model: the engine was opened with it.
            model.settings.next_model = Some(name.clone());
            out.effect(Effect::SaveSetting { setting: Setting::TaskModel(name) });
        }
        ChooserAction::Theme(name) => {
            model.settings.theme.clone_from(&name);
            out.effect(Effect::SaveSetting { setting: Setting::Theme(name) });
        }
    }
}

/// Handles the input of a prompt.
pub fn submit_prompt(model: &mut Model, how: AcceptMode, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Prompt(prompt)) = model.layers.last_mut() else { return };
    let text = prompt.field.content().trim().to_owned();
    let purpose = prompt.purpose;
    let profile = prompt.profile.clone();
    let money = match purpose {
        PromptPurpose::Budget(_) | PromptPurpose::ProjectBudget => match dollars(&text) {
            Ok(money) => money,
            Err(problem) => {
                prompt.problem = Some(problem);
                return;
            }
        },
        PromptPurpose::NewTask { .. } | PromptPurpose::Rename(_) | PromptPurpose::Fork { .. } if text.is_empty() => {
            prompt.problem = Some("Enter a title".to_owned());
            return;
        }
        PromptPurpose::NewTask { .. } | PromptPurpose::Rename(_) | PromptPurpose::Fork { .. } => None,
    };
    model.layers.pop();
    match purpose {
        PromptPurpose::NewTask { parent, before } => {
            let start = match how {
                AcceptMode::Plain => TaskStart::Now,
                AcceptMode::Draft => TaskStart::Draft,
            };
            let draft = TaskDraft { title: text, profile, ..TaskDraft::default() };
            out.command(model, Command::Create { parent, before, draft, start }, PendingReply::Created, cx);
        }
        PromptPurpose::Fork { task, at } => {
            actions::rewind::close_picker(model);
            let draft = TaskDraft { title: text, ..TaskDraft::default() };
            out.command(model, Command::Fork { task, at, draft, start: TaskStart::Later }, PendingReply::Created, cx);
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
            if let Some(task) = board.tasks.get(board.cursor.chosen).copied() {
                model.layers.clear();
                go_to(model, task);
                model.focus = crate::ui::layout::Pane::Detail;
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
