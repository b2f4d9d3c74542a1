//! Lists to choose from, lines to write and boards: how they are opened, and what a choice means.

use crate::base::{MicroUsd, TaskId};
use crate::engine::command::{Changes, Command, Draft, Start};
use crate::engine::update::Level;
use crate::ui::action::{Context, TABLE};
use crate::ui::effect::{Effect, Setting};
use crate::ui::hints::key_words;
use crate::ui::layer::{Board, BoardKind, Chooser, Item, Layer, Pick, Prompt, PromptFor};
use crate::ui::model::{Expect, Model};
use crate::ui::msg::{Cx, ProjectChoice};
use crate::ui::setup::Offered;
use crate::ui::update::act::{self, Accepted};
use crate::ui::update::{Out, act_review, act_rewind, act_tree, ending, go_to};
use crate::ui::words;

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
            note: key.map(|chord| key_words(&chord.to_string())).unwrap_or_default(),
            group: None,
            pick: Pick::Act(entry.action),
        }
    });
    let mut items: Vec<_> = items.collect();
    // What belongs to where one is comes first.
    items.sort_by_key(|item| match item.pick {
        Pick::Act(action) => !action.entry().contexts.iter().any(|context| contexts.contains(context)),
        _ => true,
    });
    choose(model, "commands", "what do you want to do?", items);
}

pub fn open_help(model: &mut Model) {
    let here = model.contexts();
    let rest = Context::ALL.iter().copied().filter(|context| !here.contains(context));
    let order: Vec<_> = here.iter().copied().chain(rest).collect();
    let mut items = Vec::new();
    for context in order {
        for entry in TABLE.iter().filter(|entry| entry.contexts.contains(&context)) {
            let chords = model.keymap.chords(context, entry.action);
            let keys: Vec<_> = chords.iter().map(|chord| key_words(&chord.to_string())).collect();
            if keys.is_empty() {
                continue;
            }
            items.push(Item {
                label: entry.help.to_owned(),
                also: format!("{} {}", entry.name.replace('_', " "), entry.label),
                note: keys.join("  "),
                group: Some(context.title()),
                pick: Pick::Act(entry.action),
            });
        }
    }
    choose(model, "help", "look for a word", items);
}

pub fn open_projects(model: &mut Model, projects: Vec<ProjectChoice>) {
    let items = projects.into_iter().map(|project| Item {
        label: crate::base::sanitize::line(&project.name).into_owned(),
        also: String::new(),
        note: format!("{} {}", crate::base::sanitize::line(&project.note), crate::base::sanitize::line(&project.path)),
        group: None,
        pick: Pick::Project(project.id),
    });
    choose(model, "projects", "which project?", items.collect());
}

pub fn open_colours(model: &mut Model, task: TaskId) {
    let mut items: Vec<_> = words::COLOURS
        .iter()
        .map(|colour| Item {
            label: words::colour(*colour).to_owned(),
            also: String::new(),
            note: String::new(),
            group: None,
            pick: Pick::Colour(task, Some(*colour)),
        })
        .collect();
    items.push(Item {
        label: "no colour".to_owned(),
        also: String::new(),
        note: String::new(),
        group: None,
        pick: Pick::Colour(task, None),
    });
    choose(model, "colour", "which colour?", items);
}

pub fn open_move(model: &mut Model, task: TaskId, cx: &Cx<'_>) {
    if task == model.world.root() {
        return model.toasts.say(Level::Warning, "the root cannot be moved", cx.now);
    }
    let below: Vec<_> = model.world.walk(task).collect();
    let now = model.world.node(task).and_then(|node| node.parent);
    let places = model.world.walk(model.world.root()).filter(|id| !below.contains(id) && Some(*id) != now);
    let items: Vec<_> = places
        .map(|parent| Item {
            label: model.world.title(parent),
            also: String::new(),
            note: model.world.above(parent).next().map(|above| model.world.title(above)).unwrap_or_default(),
            group: None,
            pick: Pick::MoveBelow { task, parent },
        })
        .collect();
    choose(model, "move below", "which task?", items);
}

/// Opens the list of those who could do the work of the task that is being made.
pub fn open_profiles(model: &mut Model) {
    let making = matches!(model.layers.last(), Some(Layer::Prompt(Prompt { purpose: PromptFor::NewTask { .. }, .. })));
    if !making {
        return;
    }
    let mut items = vec![Item {
        label: "the usual one".to_owned(),
        also: "default".to_owned(),
        note: String::new(),
        group: None,
        pick: Pick::Profile(None),
    }];
    items.extend(model.world.project.profiles.iter().map(|profile| Item {
        label: crate::base::sanitize::line(&profile.name).into_owned(),
        also: crate::base::sanitize::line(&profile.description).into_owned(),
        note: crate::base::sanitize::line(&profile.description).into_owned(),
        group: None,
        pick: Pick::Profile(Some(profile.name.clone())),
    }));
    choose(model, "profile", "who does the work?", items);
}

fn open_themes(model: &mut Model) {
    let auto = std::iter::once("auto".to_owned()).chain(model.settings.themes.iter().cloned());
    let items = auto.map(|name| Item {
        note: if name == model.settings.theme { "now".to_owned() } else { String::new() },
        group: None,
        pick: Pick::Theme(name.clone()),
        label: name,
        also: String::new(),
    });
    choose(model, "theme", "which theme?", items.collect());
}

/// Opens the list of models with what is known, and asks the endpoint for what it has.
fn open_models(model: &mut Model, out: &mut Out) {
    let items = model_items(model);
    let chooser = Chooser::new("model", "type to narrow, or the name of another one", items).or_typed(Pick::Model);
    model.layers.push(Layer::Choose(chooser));
    out.effect(Effect::ListModels);
}

/// The endpoint has told which models it has. Where nobody told, what is known stays.
pub fn learnt_models(model: &mut Model, models: Vec<Offered>) {
    if models.is_empty() {
        return;
    }
    model.settings.models = models;
    let items = model_items(model);
    if let Some(Layer::Choose(chooser)) = model.layers.last_mut().filter(|layer| layer.is_of_models()) {
        chooser.offer(items);
    }
}

fn model_items(model: &Model) -> Vec<Item> {
    let now = model.world.project.model.as_deref();
    let item = |offered: &Offered| Item {
        label: crate::base::sanitize::line(&offered.id).into_owned(),
        also: String::new(),
        note: format!("{}{}", if Some(offered.id.as_str()) == now { "now  " } else { "" }, offered.note),
        group: None,
        pick: Pick::Model(offered.id.clone()),
    };
    model.settings.models.iter().map(item).collect()
}

/// Something in a list was chosen.
pub fn pick(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Choose(chooser)) = model.layers.last() else { return };
    let Some(pick) = chooser.chosen().map(|item| item.pick.clone()) else { return };
    model.layers.pop();
    match pick {
        Pick::Act(action) => act::act(model, action, None, cx, out),
        Pick::Colour(task, colour) => {
            let changes = Changes { colour: Some(colour), ..Changes::default() };
            out.command(model, Command::Update { task, changes }, Expect::Plain(None), cx);
        }
        Pick::MoveBelow { task, parent } => {
            out.command(model, Command::Move { task, parent, before: None }, Expect::Plain(None), cx);
        }
        // Who is there already need not leave.
        Pick::Project(project) if project == model.world.project.id => {}
        Pick::Project(project) => {
            ending::leave_for(model, "Go to another project?", Effect::OpenProject { project }, out);
        }
        Pick::File(file) => act_review::go_to_file(model, file, cx),
        Pick::Compare(range) => act_review::show(model, range, out),
        Pick::CompareFrom(turn) => act_review::open_compare_to(model, turn, cx),
        Pick::Profile(name) => {
            if let Some(Layer::Prompt(prompt)) = model.layers.last_mut() {
                prompt.profile = name;
            }
        }
        Pick::Model(name) => {
            // The engine was opened with another one, and agents keep theirs while it runs.
            model.settings.next_model = Some(name.clone());
            out.effect(Effect::SaveSetting { setting: Setting::TaskModel(name) });
        }
        Pick::Theme(name) => {
            model.settings.theme.clone_from(&name);
            out.effect(Effect::SaveSetting { setting: Setting::Theme(name) });
        }
    }
}

/// A line was written.
pub fn prompted(model: &mut Model, how: Accepted, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Prompt(prompt)) = model.layers.last_mut() else { return };
    let text = prompt.field.content().trim().to_owned();
    let purpose = prompt.purpose;
    let profile = prompt.profile.clone();
    let money = match purpose {
        PromptFor::Budget(_) | PromptFor::ProjectBudget => match dollars(&text) {
            Ok(money) => money,
            Err(problem) => {
                prompt.problem = Some(problem);
                return;
            }
        },
        PromptFor::NewTask { .. } | PromptFor::Rename(_) | PromptFor::Fork { .. } if text.is_empty() => {
            prompt.problem = Some("something has to stand here".to_owned());
            return;
        }
        PromptFor::NewTask { .. } | PromptFor::Rename(_) | PromptFor::Fork { .. } => None,
    };
    model.layers.pop();
    match purpose {
        PromptFor::NewTask { parent, before } => {
            let start = match how {
                Accepted::Plain => Start::Now,
                Accepted::Draft => Start::Draft,
            };
            let draft = Draft { title: text, profile, ..Draft::default() };
            out.command(model, Command::Create { parent, before, draft, start }, Expect::Created, cx);
        }
        PromptFor::Fork { task, at } => {
            act_rewind::done(model);
            let draft = Draft { title: text, ..Draft::default() };
            out.command(model, Command::Fork { task, at, draft, start: Start::Later }, Expect::Created, cx);
        }
        PromptFor::Rename(task) => {
            let changes = Changes { title: Some(text), ..Changes::default() };
            out.command(model, Command::Update { task, changes }, Expect::Plain(None), cx);
        }
        PromptFor::Budget(task) => {
            let changes = Changes { budget: Some(money), ..Changes::default() };
            out.command(model, Command::Update { task, changes }, Expect::Plain(None), cx);
        }
        PromptFor::ProjectBudget => {
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
    parsed.map(Some).ok_or_else(|| format!("\"{text}\" is not an amount: write 2.50, or nothing for no limit"))
}

/// What can be changed on the board of settings, in its order.
pub const SETTINGS: [&str; 6] = ["theme", "model", "budget of the project", "notifications", "bell", "mouse"];

/// The chosen line of a board was opened.
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
            let budget = model.settings.project_budget.or(model.world.project.budget);
            let text = budget.map(|budget| budget.to_string().trim_start_matches('$').to_owned()).unwrap_or_default();
            return act_tree::prompt(model, "Budget in dollars", "empty: no limit", text, PromptFor::ProjectBudget);
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
