//! Lists of profiles: for a new task, for all new tasks, for a hand-over.

use super::choose;
use crate::base::{sanitize, text};
use crate::engine::snapshot::ProfileView;
use crate::engine::update::Level;
use crate::model::task::{Status, TaskNode};
use crate::ui::effect::{Effect, Setting};
use crate::ui::layer::{ChooserAction, Item, Layer};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::Out;

/// Opens the list of profiles for the new task.
pub fn open_profiles(model: &mut Model) {
    if !matches!(model.layers.last(), Some(Layer::Brief(_))) {
        return;
    }
    let mut profiles: Vec<_> = model.project.info.profiles.iter().collect();
    profiles.sort_by_key(|profile| !profile.is_default);
    let items = profiles.into_iter().map(|profile| {
        let name = sanitize::line(&profile.name);
        let description = sanitize::line(&profile.description).into_owned();
        Item {
            label: if profile.is_default { format!("{name} (default)") } else { name.into_owned() },
            also: description.clone(),
            note: description,
            group: None,
            pick: ChooserAction::Profile((!profile.is_default).then(|| profile.name.clone())),
        }
    });
    let items = items.collect();
    choose(model, "profile", "which profile?", items);
}

/// Returns what a profile sets, and how many tasks have it.
fn about_profile(model: &Model, profile: &ProfileView) -> String {
    let open = |node: &&TaskNode| node.status != Status::Closed;
    let nodes = model.project.walk(model.project.root()).filter_map(|task| model.project.node(task));
    let own = nodes.filter(open).filter(|node| node.profile.as_deref() == Some(profile.full_name.as_str())).count();
    let source = profile.full_name.split_once(':').map_or("built in", |(source, _)| source);
    let parts = [
        Some(source.to_owned()),
        profile.backend.clone(),
        profile.model.clone(),
        profile.mode.as_ref().map(|mode| format!("mode {mode}")),
        profile.tools.map(|count| text::count(count, "tool", "tools")),
        (own > 0).then(|| text::count(own, "task", "tasks")),
    ];
    sanitize::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")).into_owned()
}

fn profile_label(profile: &ProfileView) -> String {
    match &profile.label {
        Some(label) => sanitize::line(&format!("{label} ({})", profile.name)).into_owned(),
        None => sanitize::line(&profile.name).into_owned(),
    }
}

/// Opens the board of profiles: who does new tasks, what each sets, which cannot be used.
pub fn open_who(model: &mut Model) {
    let info = &model.project.info;
    let mark = |label: String, name: &str| if info.selection == name { format!("{label} (selected)") } else { label };
    let usable = info.profiles.iter().map(|profile| Item {
        label: if profile.is_default {
            format!("{} (selected)", profile_label(profile))
        } else {
            profile_label(profile)
        },
        also: sanitize::line(&profile.description).into_owned(),
        note: about_profile(model, profile),
        group: Some("Profiles"),
        pick: ChooserAction::Select(profile.name.clone()),
    });
    let broken = info.broken_profiles.iter().map(|broken| Item {
        label: sanitize::line(&broken.full_name).into_owned(),
        also: String::new(),
        note: sanitize::line(&broken.problem).into_owned(),
        group: Some("Cannot be used"),
        pick: ChooserAction::BrokenProfile(broken.problem.clone()),
    });
    let other = [("ask", "you choose for each task"), ("inherit", "the profile of the task above")];
    let other = other.into_iter().map(|(name, about)| Item {
        label: mark(name.to_owned(), name),
        also: String::new(),
        note: about.to_owned(),
        group: Some("Or"),
        pick: ChooserAction::Select(name.to_owned()),
    });
    // A fault comes first: until it is gone, a task may wait for it.
    let items = broken.chain(usable).chain(other).collect();
    choose(model, "who does new tasks", "which profile?", items);
}

/// Saves who does new tasks, and says which tasks keep another profile.
pub(super) fn select(model: &mut Model, name: String, cx: &Cx<'_>, out: &mut Out) {
    let chosen = model.project.info.profiles.iter().find(|profile| profile.name == name);
    let full = chosen.map(|profile| profile.full_name.clone());
    let root = model.project.root();
    let nodes = model.project.walk(root).filter_map(|task| model.project.node(task));
    let keeps = |node: &&TaskNode| {
        node.id != root
            && node.status != Status::Closed
            && node.profile.is_some()
            && full.is_some()
            && node.profile != full
    };
    let kept: Vec<String> = nodes.filter(keeps).map(|node| format!("#{}", node.handle())).collect();
    let shown = sanitize::line(&name).into_owned();
    let words = if kept.is_empty() {
        format!("new tasks: {shown}")
    } else {
        format!(
            "new tasks: {shown}; {} keep their profile: {}",
            text::count(kept.len(), "task", "tasks"),
            kept.join(" ")
        )
    };
    model.toasts.say(Level::Info, words, cx.now);
    out.effect(Effect::SaveSetting { setting: Setting::Profile(name) });
}

/// Opens the list of profiles that the selected task can be given to.
pub fn open_handover(model: &mut Model, cx: &Cx<'_>) {
    let task = model.selected();
    let Some(node) = model.project.node(task) else { return };
    let own = node.profile.clone();
    let others = model.project.info.profiles.iter().filter(|profile| Some(&profile.full_name) != own.as_ref());
    let items: Vec<Item> = others
        .map(|profile| Item {
            label: profile_label(profile),
            also: sanitize::line(&profile.description).into_owned(),
            note: about_profile(model, profile),
            group: None,
            pick: ChooserAction::HandOver { task, to: profile.name.clone() },
        })
        .collect();
    if items.is_empty() {
        return model.toasts.say(Level::Warning, "There is no other profile", cx.now);
    }
    choose(model, "hand over", "to which profile?", items);
}
