use crate::engine::update::Update;
use crate::model::ask::{LaunchProblem, Subject};
use crate::ui::testing::Screen;

const QUESTION: &str = "Which **greeting** for `main`?\n\n- [docs](https://example.org)\n- __init__";

fn asking(columns: u16, rows: u16, subject: Subject) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let mut task = screen.task(screen.ids().callback).clone();
    task.asks[0].subject = subject;
    task.asks[0].question = QUESTION.to_owned();
    screen.engine(Update::Task { task: Box::new(task) });
    screen
}

#[test]
fn a_question_is_read_without_its_markup_in_the_list_in_the_strip_and_open() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = asking(columns, rows, Subject::Clarify);
        assert!(screen.shows("Which greeting for main?"), "{}", screen.text());
        screen.keys("ctrl-n");
        assert!(screen.shows("Which greeting for main?") && screen.shows("1 /auth/callback"), "{}", screen.text());
        assert!(!screen.shows("**") && !screen.shows("`main`"), "{}", screen.text());
    }
}

#[test]
fn what_is_no_prose_is_shown_as_it_stands() {
    let mut screen = asking(120, 40, Subject::LaunchFailed(LaunchProblem::default()));
    screen.keys("ctrl-n");
    assert!(screen.shows("Which **greeting** for `main`?") && screen.shows("__init__"), "{}", screen.text());
}

#[test]
fn what_an_agent_found_out_is_read_without_its_markup_in_the_pane_and_in_the_transcript() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = asking(columns, rows, Subject::Clarify);
        let callback = screen.ids().callback;
        let mut task = screen.task(callback).clone();
        task.asks[0].detail = "Found **three** ways:\n\n1. by `name`\n2. by __id__".to_owned();
        screen.engine(Update::Task { task: Box::new(task) });
        screen.keys("ctrl-n");
        assert!(screen.shows("Found three ways:") && screen.shows("1. by name"), "{}", screen.text());
        assert!(!screen.shows("**") && !screen.shows("`name`"), "{}", screen.text());
    }
}

#[test]
fn the_strip_says_what_the_key_opens_although_an_earlier_question_came_later() {
    let mut screen = Screen::new(80, 24);
    let ids = screen.ids();
    let chosen = screen.model.asks.chosen().unwrap().0;
    assert_eq!(chosen, ids.callback);
    let mut above = screen.task(ids.login).clone();
    let mut ask = screen.task(ids.callback).asks[0].clone();
    ask.id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(9, 9));
    ask.question = "The one further up?".to_owned();
    above.asks.push(ask);
    screen.engine(Update::Task { task: Box::new(above) });
    assert_eq!(screen.model.asks.items()[0].0, ids.login, "it is first in the list");
    let strip = screen.text().lines().find(|line| line.contains("answers")).unwrap().to_owned();
    screen.keys("ctrl-n");
    let opened = screen.model.asks.chosen().unwrap().0;
    let title = screen.model.world.title(opened);
    assert!(strip.contains(&title), "{strip}: {title}");
}
