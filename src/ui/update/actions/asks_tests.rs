use crate::engine::command::Command;
use crate::engine::update::Update;
use crate::model::ask::{AskReply, Choice, ChoiceId, Subject};
use crate::ui::Effect;
use crate::ui::field::Field;
use crate::ui::layer::Layer;
use crate::ui::layout::Pane;
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
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
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
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
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

#[test]
fn written_number_of_a_choice_is_that_choice() {
    let mut screen = asked();
    let ids = screen.ids();
    let second =
        Command::Answer { task: ids.callback, ask: ids.ask, reply: AskReply::Choice(ChoiceId::Option(1)), by: None };
    // Typed before the card had settled, and typed with a space.
    screen.typed(" 2").keys("enter");
    assert_eq!(screen.commands(), std::slice::from_ref(&second));
    // Into the composer of a task that does not ask.
    let mut screen = Screen::new(120, 40);
    screen.select(ids.store).typed("2").keys("enter");
    assert!(
        screen.shows("answer callback route") && screen.shows("send a message to token store"),
        "{}",
        screen.text()
    );
    screen.keys("enter");
    assert_eq!(screen.commands(), [second]);
    assert!(screen.shows("message token store"), "{}", screen.text());
    // A number that is no choice is a message.
    screen.typed("9").keys("enter");
    assert!(matches!(&screen.commands()[..], [Command::Send { message, .. }] if message.text == "9"));
}

#[test]
fn the_key_opens_the_question_above_a_dialog_and_gives_everything_back() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen
        .select(ids.store)
        .typed("half a message")
        .keys("esc n")
        .typed("Rate limits")
        .keys("ctrl-j")
        .typed("per user");
    screen.keys("ctrl-n");
    assert!(screen.shows("callback route asks") && !screen.shows("Rate limits"), "{}", screen.text());
    screen.keys("2");
    assert!(matches!(&screen.commands()[..], [Command::Answer { task, .. }] if *task == ids.callback));
    assert!(screen.shows("Rate limits") && screen.shows("per user"), "{}", screen.text());
    screen.keys("esc");
    assert_eq!(screen.model.selected(), ids.store);
    assert!(screen.shows("half a message"), "{}", screen.text());
}

#[test]
fn a_task_that_waits_for_a_subtask_shows_its_question() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    assert!(!screen.shows("callback route asks"));
    let mut root = screen.task(ids.root).clone();
    root.waits = Some(crate::engine::snapshot::Wait::Task { task: ids.login });
    screen.engine(Update::Task { task: Box::new(root) });
    assert!(screen.shows("callback route asks"), "{}", screen.text());
    screen.typed("quick").keys("enter");
    let reply = AskReply::Text("quick".to_owned());
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
    assert!(screen.shows("message orchestrator"), "{}", screen.text());
}

#[test]
fn card_without_the_focus_says_how_to_answer() {
    let mut screen = asked();
    assert!(screen.shows("1-2 to choose, or type your answer"), "{}", screen.text());
    screen.keys("shift-tab");
    assert!(screen.shows("i to answer") && !screen.shows("to choose"), "{}", screen.text());
    screen.keys("i 2");
    assert!(matches!(&screen.commands()[..], [Command::Answer { .. }]));
}

#[test]
fn changing_a_key_opens_the_set_up_and_remembers_the_question() {
    let mut screen = asked();
    let ids = screen.ids();
    let mut task = screen.task(ids.callback).clone();
    task.asks[0].choices.push(crate::model::ask::Choice::new(ChoiceId::ChangeKey, "Change the key"));
    screen.engine(Update::Task { task: Box::new(task) }).keys("3");
    // Other agents work: leaving asks first, and Enter is yes.
    assert!(screen.shows("Open the set-up to change the key?"), "{}", screen.text());
    screen.keys("enter");
    assert!(screen.effects.contains(&Effect::SetUp { retry: Some((ids.callback, ids.ask)) }), "{:?}", screen.effects);
}

#[test]
fn digit_in_the_tree_goes_into_the_answer_field_and_enter_sends_it() {
    let mut screen = asked();
    let ids = screen.ids();
    screen.keys("tab");
    assert_eq!(screen.model.focus, Pane::Tree);
    screen.keys("2");
    assert_eq!(
        (screen.model.focus, screen.commands()),
        (Pane::Composer, Vec::new()),
        "nothing is answered by it alone"
    );
    assert!(screen.shows("→ "), "it says what the number stands for: {}", screen.text());
    screen.keys("enter");
    let reply = AskReply::Choice(ChoiceId::Option(1));
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
    assert_eq!(screen.model.focus, Pane::Tree, "back to where the user was");
}

#[test]
fn digit_that_is_no_choice_keeps_its_meaning_in_the_tree() {
    let mut screen = asked();
    let choices = screen.task(screen.ids().callback).asks[0].choices.len();
    screen.keys("tab");
    screen.keys(&(choices + 1).to_string());
    assert_eq!(screen.model.focus, Pane::Tree);
    assert!(screen.model.asks.draft(screen.ids().ask).is_none_or(Field::is_empty));
}

#[test]
fn enter_on_a_task_that_asks_goes_to_its_question() {
    let mut screen = asked();
    screen.keys("tab enter");
    assert_eq!(screen.model.focus, Pane::Composer);
    let login = screen.ids().login;
    screen.keys("tab").select(login);
    screen.keys("enter");
    assert_eq!(screen.model.focus, Pane::Detail, "others are opened");
}

/// Makes the question of the callback route a review of its work.
fn reviewed() -> Screen {
    let mut screen = asked();
    let ids = screen.ids();
    let mut task = screen.task(ids.callback).clone();
    task.node.branch = Some("mxd/1/callback-route".to_owned());
    task.asks[0].subject = Subject::Review;
    task.asks[0].choices = vec![Choice::new(ChoiceId::Approve, "Approve"), Choice::new(ChoiceId::Merge, "Merge")];
    screen.engine(Update::Task { task: Box::new(task) });
    screen
}

#[test]
fn reviewed_work_is_merged_by_way_of_its_preview() {
    let mut screen = reviewed();
    let callback = screen.ids().callback;
    screen.keys("2");
    assert_eq!(screen.commands(), [], "nothing is merged that nobody has seen");
    assert!(matches!(screen.model.layers.last(), Some(Layer::Merge(dialog)) if dialog.task == callback));
    let mut screen = reviewed();
    let ids = screen.ids();
    screen.keys("1");
    let reply = AskReply::Choice(ChoiceId::Approve);
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
}
