//! Keys in, commands and screens out.

use std::sync::Arc;

use crate::base::keys::{Input, Modifiers, Mouse, MouseButton, MouseKind};
use crate::base::{Fault, MessageId, TaskId};
use crate::engine::command::{Begun, Changes, Command, Draft, Outcome, Outgoing, Start, StopScope};
use crate::engine::snapshot::ProfileView;
use crate::engine::update::Update;
use crate::model::Live;
use crate::model::ask::{ChoiceId, Given};
use crate::model::live::Activity;
use crate::model::message::Delivery;
use crate::model::message::{Message, Source};
use crate::ui::action::Context;
use crate::ui::testing::{Screen, events};
use crate::ui::{Effect, Msg, Purpose, Redraw, Tag};

fn created(task: TaskId) -> Outcome {
    Outcome::Created { task, title: "Docs".to_owned(), start: Begun::Yes }
}

fn last_tag(screen: &Screen) -> Tag {
    let mut tags = screen.effects.iter().rev().filter_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    tags.next().unwrap()
}

#[test]
fn one_can_write_at_once_and_enter_sends_it_to_the_selected_task() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("fix the login").keys("enter");
    let message = Outgoing { text: "fix the login".to_owned(), images: Vec::new() };
    assert_eq!(screen.commands(), [Command::Send { task: root, message, mode: Delivery::Steer }]);
    assert!(screen.shows("message orchestrator"), "the composer is empty again");
}

#[test]
fn a_message_that_could_not_be_sent_is_back_in_the_composer() {
    let mut screen = Screen::new(120, 40);
    screen.typed("precious words").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Err(Fault::environment("the disk is full").hint("make room")) });
    assert!(screen.shows("› precious words"));
    assert!(screen.shows("the disk is full") && screen.shows("make room"));
}

#[test]
fn the_cursor_stands_where_one_writes() {
    let mut screen = Screen::new(120, 40);
    let empty = screen.cursor().unwrap();
    screen.typed("日本");
    assert_eq!(screen.cursor().unwrap(), (empty.0 + 4, empty.1));
    screen.keys("esc");
    assert_eq!(screen.cursor(), None, "nothing is written in the tasks");
    screen.keys("n");
    assert!(screen.cursor().is_some());
}

#[test]
fn the_mode_says_how_a_message_reaches_an_agent_at_work() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    assert!(screen.shows("steer ⏎"));
    screen.keys("ctrl-t");
    assert!(screen.shows("next ⏎"));
    screen.keys("ctrl-t").typed("stop that").keys("enter");
    assert!(matches!(screen.commands()[..], [Command::Send { mode: Delivery::Interrupt, .. }]));
}

#[test]
fn a_new_task_is_made_beside_or_below_and_as_a_draft_if_wanted() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).keys("esc n").typed("rate limits").keys("enter");
    let draft = Draft { title: "rate limits".to_owned(), ..Draft::default() };
    let expected = Command::Create { parent: ids.root, before: Some(ids.docs), draft, start: Start::Now };
    assert_eq!(screen.commands(), [expected]);
    screen.keys("N").typed("later").keys("alt-enter");
    let draft = Draft { title: "later".to_owned(), ..Draft::default() };
    assert_eq!(screen.commands(), [Command::Create { parent: ids.login, before: None, draft, start: Start::Draft }]);
}

#[test]
fn who_does_the_work_is_chosen_from_a_list_that_narrows() {
    let mut snapshot = crate::ui::testing::snapshot();
    snapshot.project.profiles = [("engineer", "Builds"), ("reviewer", "Judges"), ("project:scout", "Looks")]
        .map(|(name, description)| ProfileView { name: name.to_owned(), description: description.to_owned() })
        .to_vec();
    let mut screen = Screen::of(120, 40, snapshot);
    screen.keys("esc n").typed("judge it").keys("tab");
    assert!(screen.shows("who does the work?") && screen.shows("Judges"));
    screen.typed("judg").keys("enter");
    assert!(screen.shows("profile  reviewer") && screen.shows("judge it"));
    screen.keys("enter");
    let commands = screen.commands();
    let [Command::Create { draft, .. }] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((draft.title.as_str(), draft.profile.as_deref()), ("judge it", Some("reviewer")));
    // Where no task is being made there is nobody to choose.
    screen.keys("r tab");
    assert!(!screen.shows("who does the work?"));
}

#[test]
fn a_task_that_was_just_made_is_selected_unless_one_is_writing() {
    let mut screen = Screen::new(120, 40);
    let docs = screen.ids().docs;
    screen.keys("esc n").typed("x").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(docs)) });
    assert_eq!(screen.model.selected(), docs);
    let root = screen.ids().root;
    screen.keys("n").typed("y").keys("enter").select(root).keys("i").typed("half a thought");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(docs)) });
    assert_eq!(screen.model.selected(), root);
}

#[test]
fn a_task_is_selected_when_the_reply_arrives_before_the_tree_has_it() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let [docs, root] = [ids.docs, ids.root].map(|id| screen.model.world.task(id).unwrap().clone());
    let arrive = |screen: &mut Screen| {
        for task in [&docs, &root] {
            screen.msg(Msg::Engine(Update::Task { task: Box::new(task.clone()) }));
        }
    };
    screen.msg(Msg::Engine(Update::Removed { task: ids.docs }));
    screen.keys("esc n").typed("x").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(ids.docs)) });
    arrive(&mut screen);
    assert_eq!(screen.model.selected(), ids.docs);

    screen.msg(Msg::Engine(Update::Removed { task: ids.docs }));
    screen.keys("n").typed("y").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(ids.docs)) });
    screen.select(ids.store).keys("k");
    let moved_to = screen.model.selected();
    arrive(&mut screen);
    assert_eq!(screen.model.selected(), moved_to, "a selection that was moved since stays");
}

#[test]
fn a_question_is_answered_in_place_by_its_digit_and_one_is_back_where_one_was() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.typed("half a sentence").keys("ctrl-n");
    assert!(screen.shows("1 /auth/callback"));
    screen.keys("2").typed(" goes on").keys("enter");
    let commands = screen.commands();
    assert_eq!(
        commands[0],
        Command::Answer { task: ids.callback, ask: ids.ask, reply: Given::Choice(ChoiceId::Option(1)) }
    );
    assert!(matches!(&commands[1], Command::Send { message, .. } if message.text == "half a sentence goes on"));
}

#[test]
fn a_question_is_answered_in_ones_own_words() {
    let mut screen = Screen::new(80, 24);
    let ids = screen.ids();
    screen.keys("esc a i").typed("neither 1 nor 2").keys("enter");
    let reply = Given::Text("neither 1 nor 2".to_owned());
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply }]);
}

#[test]
fn a_question_in_a_transcript_opens_where_it_is_answered() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let ask = screen.model.world.task(ids.callback).unwrap().asks[0].clone();
    let raised = crate::ui::testing::event(900, 3, crate::model::Body::AskRaised(ask));
    screen.select(ids.callback).engine(Update::Event { task: ids.callback, event: Arc::new(raised) });
    screen.keys("esc enter enter 1");
    assert_eq!(
        screen.commands(),
        [Command::Answer { task: ids.callback, ask: ids.ask, reply: Given::Choice(ChoiceId::Option(0)) }]
    );
    assert_eq!(screen.model.contexts()[0], Context::Transcript, "one is back where one was");
}

#[test]
fn the_log_stays_at_its_end_and_older_events_do_not_move_it() {
    let mut screen = Screen::new(120, 14);
    let login = screen.ids().login;
    screen.answers = false;
    screen.select(login);
    let all = events(login);
    screen.msg(Msg::Page { task: login, before: None, events: all[5..].to_vec(), more: true });
    screen.keys("esc 5");
    let last = screen.text();
    assert!(last.contains("cargo clippy\"}"), "{last}");
    screen.keys("tab tab k k");
    let before = screen.text().replace('▐', " ");
    screen.msg(Msg::Page { task: login, before: Some(all[5].id), events: all[..5].to_vec(), more: false });
    assert_eq!(screen.text().replace('▐', " "), before);
}

#[test]
fn a_digit_answers_only_what_can_be_read() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc tab 1");
    assert_eq!(screen.commands(), [], "the first press opens the question");
    screen.keys("9");
    assert_eq!(screen.commands(), [], "there is no ninth choice");
    screen.keys("1");
    assert_eq!(screen.commands().len(), 1);
}

#[test]
fn nothing_that_arrives_moves_the_focus_or_eats_a_key() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).typed("one ");
    let mut asking = screen.model.world.task(ids.docs).unwrap().clone();
    asking.asks = screen.model.world.task(ids.callback).unwrap().asks.clone();
    asking.asks[0].id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(5, 5));
    screen.engine(Update::Task { task: Box::new(asking) });
    for event in events(ids.login) {
        screen.engine(Update::Event { task: ids.login, event: Arc::new(event) });
    }
    screen.typed("1 two").keys("enter");
    let commands = screen.commands();
    assert_eq!(commands.len(), 1);
    assert!(matches!(&commands[0], Command::Send { message, .. } if message.text == "one 1 two"));
}

#[test]
fn notifications_come_once_and_only_while_one_looks_elsewhere() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mut asking = screen.model.world.task(ids.docs).unwrap().clone();
    asking.asks = screen.model.world.task(ids.callback).unwrap().asks.clone();
    asking.asks[0].id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(5, 5));
    screen.msg(Msg::Input(Input::Focus(false)));
    screen.effects.clear();
    screen.engine(Update::Task { task: Box::new(asking.clone()) }).engine(Update::Task { task: Box::new(asking) });
    let told: Vec<_> = screen.effects.iter().filter(|effect| matches!(effect, Effect::Notify { .. })).collect();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn one_is_told_of_a_failure_and_of_silence() {
    let mut screen = Screen::new(120, 40);
    screen.msg(Msg::Input(Input::Focus(false)));
    let ids = screen.ids();
    let mut failed = screen.model.world.task(ids.login).unwrap().clone();
    failed.node.status = crate::model::Status::Failed;
    failed.activity = Activity::Stopped;
    screen.effects.clear();
    screen.engine(Update::Task { task: Box::new(failed) });
    let told = |screen: &Screen| {
        let bodies = screen.effects.iter().filter_map(|effect| match effect {
            Effect::Notify { body, .. } => Some(body.clone()),
            _ => None,
        });
        bodies.collect::<Vec<_>>()
    };
    assert_eq!(told(&screen), ["2 tasks failed"]);
    screen.engine(Update::Live { task: ids.wide, live: Live::Activity { activity: Activity::Idle } });
    assert_eq!(told(&screen)[1..], ["no agent is at work any more"]);
}

#[test]
fn an_update_that_changes_nothing_costs_no_frame() {
    let mut screen = Screen::new(120, 40);
    let same = screen.model.world.task(screen.ids().login).unwrap().clone();
    screen.redraw = Redraw::No;
    screen.engine(Update::Task { task: Box::new(same) });
    assert_eq!(screen.redraw, Redraw::No);
}

#[test]
fn the_screen_can_be_sent_to_another_thread() {
    fn sendable<T: Send>() {}
    sendable::<crate::ui::Model>();
}

#[test]
fn the_title_of_the_terminal_says_what_the_header_says() {
    let mut screen = Screen::new(120, 40);
    assert!(screen.effects.contains(&Effect::SetTitle { title: "? 1 ● 2 ✗ 1 matrix".to_owned() }));
    let ids = screen.ids();
    let mut calm = screen.model.world.task(ids.callback).unwrap().clone();
    calm.asks.clear();
    screen.engine(Update::Task { task: Box::new(calm) });
    assert!(screen.effects.contains(&Effect::SetTitle { title: "● 2 ✗ 1 matrix".to_owned() }));
}

#[test]
fn deleting_needs_a_yes_and_enter_is_none() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc D enter");
    assert_eq!(screen.commands(), []);
    screen.keys("n D y");
    assert_eq!(screen.commands(), [Command::Delete { task: login }]);
    let root = screen.ids().root;
    screen.select(root).keys("D y");
    assert_eq!(screen.commands(), [], "the root stays");
}

#[test]
fn tasks_are_renamed_reordered_moved_and_marked() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.docs).keys("esc r").typed(" for people").keys("enter");
    let changes = Changes { title: Some("docs for people".to_owned()), ..Changes::default() };
    assert_eq!(screen.commands(), [Command::Update { task: ids.docs, changes }]);
    screen.keys("K");
    let order = vec![ids.docs, ids.login, ids.wide, ids.draft, ids.closed];
    assert_eq!(screen.commands(), [Command::Reorder { parent: ids.root, order }]);
    screen.keys("M").typed("token").keys("enter");
    assert_eq!(screen.commands(), [Command::Move { task: ids.docs, parent: ids.store, before: None }]);
    screen.keys("c").typed("purple").keys("enter");
    let colour = Some(Some(crate::model::task::Colour::Purple));
    assert_eq!(
        screen.commands(),
        [Command::Update { task: ids.docs, changes: Changes { colour, ..Changes::default() } }]
    );
    screen.keys("b").typed("2.50").keys("enter");
    let budget = Some(Some(crate::base::MicroUsd(2_500_000)));
    assert_eq!(
        screen.commands(),
        [Command::Update { task: ids.docs, changes: Changes { budget, ..Changes::default() } }]
    );
    screen.keys("b").typed("much").keys("enter");
    assert!(screen.shows("is not an amount"));
}

#[test]
fn the_description_is_edited_outside_and_unchanged_text_changes_nothing() {
    let mut screen = Screen::new(120, 40);
    let docs = screen.ids().docs;
    screen.select(docs).keys("esc e");
    let purpose = Purpose::Description(docs);
    assert!(screen.effects.contains(&Effect::OpenEditor { purpose, text: String::new() }));
    screen.commands();
    screen.msg(Msg::Edited { purpose, text: Some(String::new()) }).msg(Msg::Edited { purpose, text: None });
    assert_eq!(screen.commands(), []);
    screen.msg(Msg::Edited { purpose, text: Some("new words".to_owned()) });
    assert_eq!(screen.commands().len(), 1);
}

#[test]
fn a_message_not_read_yet_is_a_chip_and_can_be_taken_back() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    let id = MessageId::from_ulid(ulid::Ulid::from_parts(3, 3));
    let mut view = screen.model.world.task(login).unwrap().clone();
    view.unread.push(Message::new(id, screen.now, Source::User, "and the docs"));
    screen.engine(Update::Task { task: Box::new(view) });
    assert!(screen.shows("not read yet:  and the docs"));
    screen.keys("ctrl-r");
    assert_eq!(screen.commands(), [Command::Withdraw { task: login, messages: vec![id] }]);
    assert!(screen.shows("› and the docs"), "the words come back to be changed");
}

#[test]
fn slash_and_at_complete() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("/stop_a");
    assert!(screen.shows("/stop_all"));
    screen.keys("tab");
    assert!(screen.shows("Stop them?"));
    screen.keys("n").typed("look at @sto");
    assert!(screen.effects.contains(&Effect::ListFiles { task: root, query: "sto".to_owned() }));
    screen.msg(Msg::Files { task: root, query: "sto".to_owned(), paths: vec!["src/store.rs".to_owned()] });
    screen.keys("enter").typed("please").keys("enter");
    let commands = screen.commands();
    assert!(matches!(&commands[..], [Command::Send { message, .. }] if message.text == "look at src/store.rs please"));
}

#[test]
fn an_answer_to_an_older_question_about_files_is_ignored() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("@ab").msg(Msg::Files { task: root, query: "a".to_owned(), paths: vec!["zzz".to_owned()] });
    assert!(!screen.shows("zzz"));
}

#[test]
fn a_large_paste_is_a_chip_and_a_paste_never_acts() {
    let mut screen = Screen::new(120, 40);
    screen.paste(&"line\n".repeat(100));
    assert!(screen.shows("[paste 1: 100 lines]"));
    screen.keys("esc").paste("qD");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("nothing is being written here"));
    screen.keys("i").paste("/tmp/shot.png");
    assert!(
        screen.effects.iter().any(|effect| matches!(effect, Effect::Attach { path, .. } if path == "/tmp/shot.png"))
    );
}

#[test]
fn drafts_are_kept_as_they_are_written() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("ab");
    let last = screen.effects.iter().rev().find(|effect| matches!(effect, Effect::SaveDrafts { .. }));
    assert_eq!(last, Some(&Effect::SaveDrafts { drafts: vec![(root, "ab".to_owned())] }));
}

#[test]
fn chords_show_what_can_follow_and_esc_gives_them_up() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc g");
    assert!(screen.shows("g …") && screen.shows("Show what the task has changed"), "{}", screen.text());
    screen.keys("esc");
    assert!(!screen.shows("g …"));
    screen.keys("g x");
    assert!(screen.shows("g x means nothing here"));
    screen.keys("g d");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::LoadDiff { .. })));
}

#[test]
fn every_pane_is_reached_with_tab_also_on_a_small_screen() {
    for size in [(120, 40), (80, 24)] {
        let mut screen = Screen::new(size.0, size.1);
        let mut seen = Vec::new();
        for _ in 0..4 {
            screen.keys("tab");
            seen.push(screen.model.contexts()[0]);
        }
        assert_eq!(seen, [Context::Tree, Context::Asks, Context::Transcript, Context::Composer]);
    }
}

#[test]
fn quitting_asks_while_agents_work_and_ctrl_c_needs_two() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc q");
    assert!(screen.shows("2 agents are at work"));
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Quit]);
    let mut screen = Screen::new(120, 40);
    screen.typed("text").keys("ctrl-c");
    assert!(screen.shows("emptied; Up brings it back"));
    screen.keys("up");
    assert!(screen.shows("› text"));
    screen.keys("ctrl-c ctrl-c ctrl-c");
    assert_eq!(screen.commands(), [Command::Quit]);
}

#[test]
fn stopping_one_is_at_once_and_stopping_all_asks() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc X");
    assert_eq!(screen.commands(), [Command::Stop { scope: StopScope::Task(login) }]);
    screen.keys(":").typed("every agent").keys("enter");
    assert!(screen.shows("Stop them?"));
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Stop { scope: StopScope::All }]);
}

#[test]
fn another_process_holds_the_project_and_nothing_is_changed() {
    let mut screen = Screen::new(120, 40);
    screen.model.settings.read_only = Some("another mxd (pid 7) holds this project".to_owned());
    screen.typed("hello").keys("enter");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("› hello") && screen.shows("pid 7"), "what was written stays");
}

#[test]
fn nothing_moves_by_itself_when_nobody_works() {
    let mut screen = Screen::new(120, 40);
    assert!(screen.model.next_tick(screen.now).is_some(), "elapsed times count");
    for view in screen.model.world.tasks().cloned().collect::<Vec<_>>() {
        let live = Live::Activity { activity: Activity::Idle };
        screen.engine(Update::Live { task: view.node.id, live });
    }
    assert_eq!(screen.model.next_tick(screen.now), None);
}

#[test]
fn what_a_hidden_task_writes_costs_no_frame_and_no_layout() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).select(ids.root);
    screen.redraw = Redraw::No;
    let before = screen.model.detail.transcript(ids.login).unwrap().layouts_made();
    for _ in 0..1_000 {
        screen.engine(Update::Live { task: ids.login, live: Live::TextDelta { text: "word ".to_owned() } });
    }
    assert_eq!(screen.redraw, Redraw::No);
    assert_eq!(screen.model.detail.transcript(ids.login).unwrap().layouts_made(), before);
}

#[test]
fn streaming_lays_nothing_out_before_it_is_drawn() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).text();
    let made = |screen: &Screen| screen.model.detail.transcript(login).unwrap().layouts_made();
    let before = made(&screen);
    for _ in 0..1_000 {
        screen.engine(Update::Live { task: login, live: Live::TextDelta { text: "word ".to_owned() } });
    }
    assert_eq!(made(&screen), before);
    screen.text();
    assert_eq!(made(&screen), before + 1);
}

#[test]
fn a_lost_update_means_a_new_snapshot_and_reading_again() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    screen.answers = false;
    screen.effects.clear();
    screen.engine(Update::Resync);
    assert!(screen.effects.contains(&Effect::TakeSnapshot));
    screen.msg(Msg::Snapshot(Box::new(crate::ui::testing::snapshot())));
    assert_eq!(screen.model.selected(), login, "one stays where one is");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::LoadPage { before: None, .. })));
}

#[test]
fn the_mouse_selects_scrolls_and_drags() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mouse = |kind, column, row| Msg::Input(Input::Mouse(Mouse { kind, column, row, mods: Modifiers::NONE }));
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), 8, 3));
    assert_eq!(screen.model.selected(), ids.login);
    let (x, before) = (screen.model.layout.left.right() - 1, screen.model.layout.left.width);
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), x, 10));
    screen.msg(mouse(MouseKind::Drag(MouseButton::Left), x + 6, 10));
    screen.msg(mouse(MouseKind::Release(MouseButton::Left), x + 6, 10));
    assert_eq!(screen.model.layout.left.width, before + 6);
    screen.keys("esc c");
    let row = screen.text().lines().position(|line| line.contains("   green")).unwrap();
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), 60, u16::try_from(row).unwrap()));
    let colour = Some(Some(crate::model::task::Colour::Green));
    let changes = Changes { colour, ..Changes::default() };
    assert_eq!(screen.commands(), [Command::Update { task: ids.login, changes }]);
    screen.resize(120, 16);
    screen.msg(mouse(MouseKind::ScrollUp, 80, 5));
    assert!(screen.shows("not following"));
}

#[test]
fn any_size_and_any_key_is_survived() {
    let keys = [
        "j", "k", "G", "g g", "enter", "tab", "esc", "d", "4", "5", "space", "/", "x", "enter", "n", "v", "y", "?",
        "esc", "Z",
    ];
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    for (at, size) in
        [(40, 10), (41, 11), (99, 12), (100, 10), (300, 100), (39, 9), (1, 1), (100, 24)].iter().enumerate()
    {
        screen.resize(size.0, size.1);
        for key in keys.iter().cycle().skip(at).take(keys.len()) {
            screen.keys(key);
            screen.text();
        }
    }
}
