use crate::engine::command::Command;
use crate::engine::update::Update;
use crate::model::ask::{AskReply, ChoiceId, LaunchProblem, PermissionRequest, RequestedAction, Subject};
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

fn request(command: &str, root: &str) -> PermissionRequest {
    PermissionRequest {
        tool: "bash".to_owned(),
        action: RequestedAction::Command { command: command.to_owned() },
        root: root.to_owned(),
        cwd: root.to_owned(),
        exact: vec![format!("bash({command})")],
        rules: vec!["bash(cargo add *)".to_owned()],
        ..PermissionRequest::default()
    }
}

/// Replaces the questions of the callback task by one about a call, and adds one to each of `others`.
fn held(columns: u16, rows: u16, command: &str, others: usize) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let ids = screen.ids();
    for (number, task) in [ids.callback, ids.login].into_iter().take(others + 1).enumerate() {
        let mut view = screen.task(task).clone();
        let id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(9, number as u128));
        view.asks = vec![request(command, &format!("/w/{number}")).into_ask(id, "call")];
        screen.engine(Update::Task { task: Box::new(view) });
    }
    screen
}

#[test]
fn a_call_that_waits_shows_the_command_the_rule_and_why() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = held(columns, rows, "cargo add serde --features derive", 0);
        screen.keys("ctrl-n");
        for words in [
            "cargo add serde --features derive",
            "Asked because: no rule decides",
            "1 Allow once",
            "3 Allow in the project: bash(cargo add *)",
            "4 Refuse",
            "e to edit the rule",
        ] {
            assert!(screen.shows(words), "{words}\n{}", screen.text());
        }
    }
}

#[test]
fn a_digit_allows_and_words_are_a_refusal() {
    let mut screen = held(120, 40, "cargo add serde", 0);
    let ids = screen.ids();
    screen.keys("ctrl-n");
    screen.keys("1");
    assert!(
        matches!(&screen.commands()[..], [Command::Answer { task, reply: AskReply::Choice(ChoiceId::Once), .. }] if *task == ids.callback)
    );
    let mut screen = held(120, 40, "cargo add serde", 0);
    screen.keys("ctrl-n");
    screen.typed("use miniserde");
    screen.keys("enter");
    assert!(
        matches!(&screen.commands()[..], [Command::Answer { reply: AskReply::Text(text), .. }] if text == "use miniserde")
    );
}

#[test]
fn the_rule_can_be_edited_before_it_is_saved() {
    let mut screen = held(120, 40, "cargo add serde", 0);
    screen.keys("ctrl-n");
    screen.keys("e");
    assert!(screen.shows("bash(cargo add *)") && screen.shows("saves this rule for the project"), "{}", screen.text());
    screen.keys("esc");
    assert!(screen.shows("e to edit the rule") && screen.commands().is_empty(), "{}", screen.text());
    screen.keys("e");
    screen.keys("backspace backspace backspace");
    screen.typed(" serde *)");
    screen.keys("enter");
    let rules = vec!["bash(cargo add serde *)".to_owned()];
    assert!(
        matches!(&screen.commands()[..], [Command::Answer { reply: AskReply::Rules(saved), .. }] if *saved == rules),
        "{:?}",
        screen.commands()
    );
}

#[test]
fn equal_calls_of_several_tasks_are_one_question_with_one_answer() {
    let mut screen = held(120, 40, "cargo add serde", 1);
    assert_eq!(screen.model.asks.items().len(), 1);
    assert!(screen.shows("(2 tasks)"), "{}", screen.text());
    screen.keys("ctrl-n");
    assert!(screen.shows("2 tasks wait for this."), "{}", screen.text());
    screen.keys("1");
    let commands = screen.commands();
    let once = |command: &Command| matches!(command, Command::Answer { reply: AskReply::Choice(ChoiceId::Once), .. });
    assert!(commands.len() == 2 && commands.iter().all(once), "{commands:?}");
    // A rule answers the others by itself.
    let mut screen = held(120, 40, "cargo add serde", 1);
    screen.keys("ctrl-n");
    screen.keys("3");
    assert_eq!(screen.commands().len(), 1);
}
