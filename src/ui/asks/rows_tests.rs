use crate::engine::update::Update;
use crate::model::ask::AskKind;
use crate::ui::testing::Screen;

const QUESTION: &str = "Which **greeting** for `main`?\n\n- [docs](https://example.org)\n- __init__";

fn asking(columns: u16, rows: u16, kind: AskKind) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let mut task = screen.task(screen.ids().callback).clone();
    task.asks[0].kind = kind;
    task.asks[0].question = QUESTION.to_owned();
    screen.engine(Update::Task { task: Box::new(task) });
    screen
}

#[test]
fn a_question_is_read_without_its_markup_in_the_list_in_the_strip_and_open() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = asking(columns, rows, AskKind::Clarify);
        assert!(screen.shows("Which greeting for main?"), "{}", screen.text());
        screen.keys("ctrl-n");
        assert!(screen.shows("Which greeting for main?") && screen.shows("1 /auth/callback"), "{}", screen.text());
        assert!(!screen.shows("**") && !screen.shows("`main`"), "{}", screen.text());
    }
}

#[test]
fn what_is_no_prose_is_shown_as_it_stands() {
    let mut screen = asking(120, 40, AskKind::LaunchFailed);
    screen.keys("ctrl-n");
    assert!(screen.shows("Which **greeting** for `main`?") && screen.shows("__init__"), "{}", screen.text());
}
