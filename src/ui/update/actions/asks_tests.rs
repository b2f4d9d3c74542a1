use crate::engine::command::Command;
use crate::engine::update::Update;
use crate::model::ask::{AskReply, ChoiceId};
use crate::ui::Effect;
use crate::ui::testing::Screen;

/// A screen whose selected task asks, with the focus in the composer.
fn asked() -> Screen {
    let mut screen = Screen::new(120, 40);
    let callback = screen.ids().callback;
    screen.select(callback);
    screen.now = screen.now.later(std::time::Duration::from_secs(1));
    screen
}

#[test]
fn composer_of_a_task_that_asks_is_the_answer_field() {
    let mut screen = asked();
    let ids = screen.ids();
    assert!(screen.shows("callback route asks"), "{}", screen.text());
    // Each letter of it is a command elsewhere; `q` quits.
    screen.typed("quick").keys("enter");
    let reply = AskReply::Text("quick".to_owned());
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply }]);
    assert!(!screen.shows("callback route asks"), "{}", screen.text());
}

#[test]
fn unsent_answer_is_saved() {
    let mut screen = asked();
    screen.typed("half");
    let saved = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::SaveDrafts { drafts } => Some(drafts.answers.clone()),
        _ => None,
    });
    assert_eq!(saved, Some(vec![(screen.ids().ask, "half".to_owned())]));
}

#[test]
fn digit_answers_where_the_cursor_is() {
    let mut screen = asked();
    let ids = screen.ids();
    screen.keys("2");
    let reply = AskReply::Choice(ChoiceId::Option(1));
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply }]);
}

#[test]
fn digit_after_text_is_text() {
    let mut screen = asked();
    screen.typed("route 2").keys("enter");
    assert!(
        matches!(&screen.commands()[..], [Command::Answer { reply: AskReply::Text(text), .. }] if text == "route 2")
    );
}

#[test]
fn digit_typed_as_a_question_appears_is_text() {
    let mut screen = Screen::new(120, 40);
    let callback = screen.ids().callback;
    screen.select(callback);
    screen.keys("2");
    assert_eq!(screen.commands(), []);
}

#[test]
fn question_does_not_take_the_place_of_a_message_being_written() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mut task = screen.task(ids.login).clone();
    screen.select(ids.login).typed("2 things: ");
    let mut ask = screen.task(ids.callback).asks[0].clone();
    ask.id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(5, 6));
    task.asks.push(ask.clone());
    screen.engine(Update::Task { task: Box::new(task) });
    screen.typed("1 and 2");
    assert!(screen.shows("2 things: 1 and 2"), "{}", screen.text());
    // The key opens the question; the message is there again afterwards.
    screen.model.asks.open(ask.id);
    screen.keys("1");
    assert!(matches!(&screen.commands()[..], [Command::Answer { task, .. }] if *task == ids.login));
    assert!(screen.shows("2 things: 1 and 2"), "{}", screen.text());
}

#[test]
fn esc_puts_a_question_off_and_says_how_to_get_it_back() {
    let mut screen = asked();
    screen.typed("half").keys("esc");
    assert!(screen.shows("Ctrl-N opens it again"), "{}", screen.text());
    assert!(screen.shows("message callback route"), "{}", screen.text());
    screen.keys("ctrl-n");
    assert!(screen.shows("› half"), "the answer is kept: {}", screen.text());
}

#[test]
fn message_to_a_task_with_an_open_question_asks_what_it_is() {
    for (pick, is_answer) in [("enter", true), ("down enter", false)] {
        let mut screen = asked();
        screen.keys("esc").typed("retry").keys("enter");
        assert_eq!(screen.commands(), []);
        assert!(screen.shows("answer or message?"), "{}", screen.text());
        screen.keys(pick);
        let commands = screen.commands();
        let answered =
            matches!(&commands[..], [Command::Answer { reply: AskReply::Text(text), .. }] if text == "retry");
        let sent = matches!(&commands[..], [Command::Send { message, .. }] if message.text == "retry");
        assert_eq!((answered, sent), (is_answer, !is_answer), "{commands:?}");
    }
}

#[test]
fn enter_without_an_answer_takes_the_default_or_says_what_to_do() {
    let mut screen = asked();
    screen.keys("enter");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("press the number of a choice"), "{}", screen.text());
    let mut task = screen.task(screen.ids().callback).clone();
    task.asks[0].default = Some(AskReply::Choice(ChoiceId::Option(1)));
    screen.engine(Update::Task { task: Box::new(task) }).keys("enter");
    assert!(matches!(&screen.commands()[..], [Command::Answer { reply: AskReply::Choice(ChoiceId::Option(1)), .. }]));
}
