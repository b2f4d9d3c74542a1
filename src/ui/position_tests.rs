use super::*;
use crate::engine::update::Update;
use crate::model::{Body, Event};
use crate::ui::testing::{Screen, event, snapshot};
use crate::ui::{Effect, Msg};

fn texts(count: u128) -> Vec<Event> {
    let text = |number| crate::model::event::AssistantText { text: format!("paragraph {number}") };
    (1..=count).map(|number| event(number, 10, Body::AssistantText(text(number)))).collect()
}

/// Returns a screen that starts at a position, with a transcript of 60 paragraphs in every task.
fn started(position: ScreenPosition) -> Screen {
    let mut screen = Screen::started_at(120, 30, snapshot(), position);
    answer(&mut screen);
    screen
}

/// Answers requests for the newest events, until there are none.
fn answer(screen: &mut Screen) {
    for effect in std::mem::take(&mut screen.effects) {
        if let Effect::LoadPage { task, before: None, .. } = effect {
            screen.msg(Msg::Page { task, before: None, events: texts(60), more: false });
        }
    }
}

fn restarted(screen: &Screen) -> Screen {
    let json = serde_json::to_string(&screen.model.position()).unwrap();
    started(serde_json::from_str(&json).unwrap())
}

#[test]
fn selection_and_scroll_are_the_same_after_a_restart() {
    let mut screen = started(ScreenPosition::default());
    let login = screen.ids().login;
    screen.select(login);
    answer(&mut screen);
    screen.keys("esc enter ctrl-u ctrl-u");
    let before = screen.text();
    assert!(!screen.shows("paragraph 60"), "it is scrolled up: {before}");
    let top = |text: &str| text.lines().find_map(|line| Some(line[line.find("paragraph")?..].trim().to_owned()));
    let after = restarted(&screen);
    assert_eq!(after.model.selected(), login);
    assert_eq!(top(&after.text()), top(&before), "{}", after.text());
}

#[test]
fn a_transcript_that_followed_its_end_follows_it_again() {
    let mut screen = started(ScreenPosition::default());
    let login = screen.ids().login;
    screen.select(login);
    answer(&mut screen);
    let mut after = restarted(&screen);
    assert!(after.shows("paragraph 60"));
    let said = crate::model::event::AssistantText { text: "one more".to_owned() };
    let event = std::sync::Arc::new(event(99, 0, Body::AssistantText(said)));
    after.engine(Update::Event { task: login, event });
    assert!(after.shows("one more"), "{}", after.text());
}

#[test]
fn a_deleted_task_selects_the_nearest_that_is_left() {
    let mut screen = started(ScreenPosition::default());
    let (login, store) = (screen.ids().login, screen.ids().store);
    screen.select(store);
    let position = screen.model.position();
    assert_eq!(position.path[..2], [store, login]);
    let mut left = snapshot();
    left.tasks.retain(|task| task.node.id != store);
    left.tasks.iter_mut().for_each(|task| task.node.children.retain(|child| *child != store));
    assert_eq!(Screen::started_at(120, 30, left, position).model.selected(), login);
}

#[test]
fn a_change_of_the_selection_is_saved() {
    let mut screen = Screen::new(120, 30);
    assert!(!screen.effects.iter().any(|effect| matches!(effect, Effect::SavePosition { .. })), "nothing has changed");
    let login = screen.ids().login;
    screen.select(login);
    let saved = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::SavePosition { position } => Some(position.clone()),
        _ => None,
    });
    assert_eq!(saved.unwrap().path[0], login);
}
