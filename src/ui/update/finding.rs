//! Search over everything: asking while it is written, and going to what was chosen.

use crate::model::search::{Found, Hit, Place, Question};
use crate::ui::action::Context;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::field::Field;
use crate::ui::layer::{Find, Layer};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::{Out, act_detail, go_to};

/// Opens it. What is being looked for in one place is looked for everywhere.
pub fn open(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let words = looked_for(model);
    if matches!(model.layers.last(), Some(Layer::Choose(_) | Layer::Find(_))) {
        model.layers.pop();
    }
    model.layers.push(Layer::Find(Box::new(Find::with(&words))));
    if !words.is_empty() {
        written(model, cx, out);
    }
}

/// Returns what is being written into a filter or a search of one place.
fn looked_for(model: &Model) -> String {
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

/// What is looked for was written on.
pub fn written(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let world = &model.world;
    let Some(Layer::Find(find)) = model.layers.last_mut() else { return };
    let selected = model.tree.selected();
    let task = |name: &str| match name {
        "here" => Some(selected),
        _ if name.len() < 8 => None,
        _ => {
            let name = name.to_ascii_uppercase();
            let mut fitting = world.walk(world.root()).filter(|id| id.to_string().starts_with(&name));
            fitting.next().filter(|_| fitting.next().is_none())
        }
    };
    if let Some(question) = find.ask(cx.now, cx.zone, task) {
        out.effect(Effect::Search { question });
    }
}

pub fn answered(model: &mut Model, asked: &Question, found: Result<Found, String>) {
    let layer = model.layers.iter_mut().rev().find_map(|layer| match layer {
        Layer::Find(find) => Some(find),
        Layer::Choose(_)
        | Layer::Prompt(_)
        | Layer::Confirm(_)
        | Layer::Board(_)
        | Layer::Merge(_)
        | Layer::Rewind(_) => None,
    });
    let Some(find) = layer else { return };
    if find.answer(asked, found) && find.is_hurried() && matches!(model.layers.last(), Some(Layer::Find(_))) {
        accept(model);
    }
}

/// Goes to the chosen place. While what was typed last is still being looked for, that is what is meant.
pub fn accept(model: &mut Model) {
    let Some(Layer::Find(find)) = model.layers.last_mut() else { return };
    if find.hurry() {
        return;
    }
    let Some(hit) = find.chosen().cloned() else { return };
    let problem = if model.world.task(hit.task).is_none() {
        Some("that task is gone".to_owned())
    } else if hit.rewound {
        let task = hit.task.short();
        Some(format!("the conversation was taken back to before this; `mxd log {task} --raw` has it"))
    } else {
        None
    };
    // Said where the person looks.
    find.problem = problem;
    if find.problem.is_some() {
        return;
    }
    model.layers.clear();
    show(model, &hit);
}

fn show(model: &mut Model, hit: &Hit) {
    go_to(model, hit.task);
    model.came_from = Pane::Tree;
    model.focus = Pane::Detail;
    let transcript = model.detail.look_at(hit.task);
    match (hit.event, hit.place) {
        (Some(event), _) => {
            transcript.seek(event);
            // What was found is marked, and `n` goes on to the next of it.
            let word = hit.marks.first().and_then(|mark| hit.excerpt.get(mark.clone())).unwrap_or_default();
            transcript.search_mut().field = Field::with(word);
            transcript.search_mut().current = None;
        }
        (None, Place::Description) => model.detail.show(Tab::Description),
        (None, _) => {}
    }
}

/// Goes to the event that is looked for, once it has been read.
pub fn arrive(model: &mut Model, cx: &Cx<'_>) {
    let task = model.selected();
    if model.detail.tab != Tab::Transcript {
        return;
    }
    if let Some(event) = model.detail.transcript_mut(task).and_then(crate::ui::transcript::Transcript::sought) {
        act_detail::go_to_event(model, event, cx);
    }
}

#[cfg(test)]
#[path = "finding_tests.rs"]
mod tests;
