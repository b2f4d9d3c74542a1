//! The search over all tasks: runs queries while the user types, and opens results.

use crate::model::search::{Hit, HitKind, SearchQuery, SearchResults};
use crate::ui::action::Context;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::field::Field;
use crate::ui::layer::{Find, Layer};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::{Out, actions, go_to};

/// Opens the search, with the text of the search or filter that the user was typing.
pub fn open(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let words = current_query(model);
    if matches!(model.layers.last(), Some(Layer::Choose(_) | Layer::Search(_))) {
        model.layers.pop();
    }
    model.layers.push(Layer::Search(Box::new(Find::with(&words))));
    if !words.is_empty() {
        on_text_changed(model, cx, out);
    }
}

/// Returns the filter or search text that the user is typing.
fn current_query(model: &Model) -> String {
    if model.contexts().first() != Some(&Context::Filter) {
        return String::new();
    }
    match (model.focus, model.detail.tab) {
        (Pane::Tree, _) => model.tree.filter.content(),
        (_, Tab::Transcript) => {
            let transcript = model.detail.transcript(model.selected());
            transcript.map(|transcript| transcript.search().field.content()).unwrap_or_default()
        }
        (_, Tab::Diff | Tab::Description | Tab::Info | Tab::Log) => model.detail.search.content(),
    }
}

/// Runs the query after the text has changed.
pub fn on_text_changed(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let project = &model.project;
    let Some(Layer::Search(find)) = model.layers.last_mut() else { return };
    let selected = model.tree.selected();
    let task = |name: &str| match name {
        "here" => Some(selected),
        _ if name.len() < 8 => None,
        _ => {
            let name = name.to_ascii_uppercase();
            let mut fitting = project.walk(project.root()).filter(|id| id.to_string().starts_with(&name));
            fitting.next().filter(|_| fitting.next().is_none())
        }
    };
    if let Some(question) = find.ask(cx.now, cx.zone, task) {
        out.effect(Effect::Search { question });
    }
}

pub fn on_results(model: &mut Model, asked: &SearchQuery, found: Result<SearchResults, String>) {
    let layer = model.layers.iter_mut().rev().find_map(|layer| match layer {
        Layer::Search(find) => Some(find),
        Layer::Choose(_)
        | Layer::Prompt(_)
        | Layer::Brief(_)
        | Layer::Confirm(_)
        | Layer::Board(_)
        | Layer::Merge(_)
        | Layer::Rewind(_) => None,
    });
    let Some(find) = layer else { return };
    if find.answer(asked, found) && find.take_open_request() && matches!(model.layers.last(), Some(Layer::Search(_))) {
        accept(model);
    }
}

/// Opens the selected result. If results for the typed text are pending, opens the best one when they arrive.
pub fn accept(model: &mut Model) {
    let Some(Layer::Search(find)) = model.layers.last_mut() else { return };
    if find.open_when_ready() {
        return;
    }
    let Some(hit) = find.chosen().cloned() else { return };
    let problem = if model.project.task(hit.task).is_none() {
        Some("The task no longer exists".to_owned())
    } else if hit.rewound {
        let task = hit.task.short();
        Some(format!("This was rewound. See `mxd log {task} --raw`."))
    } else {
        None
    };
    // Shown in the dialog, where the user looks.
    find.problem = problem;
    if find.problem.is_some() {
        return;
    }
    model.layers.clear();
    show(model, &hit);
}

fn show(model: &mut Model, hit: &Hit) {
    go_to(model, hit.task);
    model.return_focus = Pane::Tree;
    model.focus = Pane::Detail;
    let transcript = model.detail.open_transcript(hit.task);
    match (hit.event, hit.place) {
        (Some(event), _) => {
            transcript.seek(event);
            // Highlight the match, so that `n` finds the next one.
            let word = hit.marks.first().and_then(|mark| hit.excerpt.get(mark.clone())).unwrap_or_default();
            transcript.search_mut().field = Field::with(word);
            transcript.search_mut().current = None;
        }
        (None, HitKind::Description) => model.detail.show(Tab::Description),
        (None, _) => {}
    }
}

/// Goes to the sought event once it is loaded.
pub fn go_to_sought_event(model: &mut Model, cx: &Cx<'_>) {
    let task = model.selected();
    if model.detail.tab != Tab::Transcript {
        return;
    }
    if let Some(event) = model.detail.transcript_mut(task).and_then(crate::ui::transcript::Transcript::take_sought) {
        actions::detail::go_to_event(model, event, cx);
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
