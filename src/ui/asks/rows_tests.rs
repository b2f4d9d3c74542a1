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
fn markdown_is_rendered_in_list_strip_and_open_question() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = asking(columns, rows, Subject::Clarify);
        assert!(screen.shows("Which greeting for main?"), "{}", screen.text());
        screen.keys("ctrl-n");
        assert!(screen.shows("Which greeting for main?") && screen.shows("1 /auth/callback"), "{}", screen.text());
        assert!(!screen.shows("**") && !screen.shows("`main`"), "{}", screen.text());
    }
}

#[test]
fn plain_questions_are_not_rendered_as_markdown() {
    let mut screen = asking(120, 40, Subject::LaunchFailed(LaunchProblem::default()));
    screen.keys("ctrl-n");
    assert!(screen.shows("Which **greeting** for `main`?") && screen.shows("__init__"), "{}", screen.text());
}

#[test]
fn details_render_as_markdown_in_pane_and_transcript() {
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
fn strip_shows_the_question_that_the_key_opens() {
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
    let strip = screen.text().lines().find(|line| line.contains("Ctrl-N answer")).unwrap().to_owned();
    screen.keys("ctrl-n");
    let opened = screen.model.asks.chosen().unwrap().0;
    let title = screen.model.project.title(opened);
    assert!(strip.contains(&title), "{strip}: {title}");
}
