use crate::base::{ProjectId, Timestamp};
use crate::engine::command::{Command, Outcome};
use crate::engine::update::Update;
use crate::model::ask::AnsweredBy;
use crate::model::event::{AskAnswered, Body, Event};
use crate::model::live::Activity;
use crate::model::{Answer, ClientKind, ClientView};
use crate::ui::testing::Screen;
use crate::ui::{Effect, EngineHost, HostProjects, Msg, ProjectChoice};

fn other() -> ProjectId {
    ProjectId::from_ulid(ulid::Ulid::from_parts(7, 7))
}

/// Returns a screen with the project list open and the other project selected.
fn choosing() -> Screen {
    let mut screen = Screen::new(120, 40);
    let choice = |id: ProjectId, name: &str| ProjectChoice {
        id,
        name: name.to_owned(),
        path: format!("/{name}"),
        note: String::new(),
        host: None,
    };
    let here = screen.model.project.info.id;
    screen.msg(Msg::Projects(vec![choice(here, "here"), choice(other(), "there")]));
    screen
}

fn leaves(screen: &mut Screen) -> Vec<ProjectId> {
    let effects = std::mem::take(&mut screen.effects);
    let projects = effects.into_iter().filter_map(|effect| match effect {
        Effect::OpenProject { project } => Some(project),
        _ => None,
    });
    projects.collect()
}

fn let_everybody_rest(screen: &mut Screen) {
    let ids = screen.ids();
    for id in [ids.root, ids.login, ids.callback, ids.wide] {
        let mut task = screen.task(id).clone();
        (task.activity, task.alive) = (Activity::Idle, false);
        screen.engine(Update::Task { task: Box::new(task) });
    }
}

#[test]
fn switching_project_asks_while_agents_run() {
    let mut screen = choosing();
    screen.keys("down enter");
    assert!(screen.shows("Switch project?") && screen.shows("2 agents running."), "{}", screen.text());
    assert_eq!(leaves(&mut screen), []);
    screen.keys("y");
    assert_eq!(leaves(&mut screen), [other()]);

    let mut screen = choosing();
    screen.keys("down enter n");
    assert!(leaves(&mut screen).is_empty() && screen.model.layers.is_empty());
}

#[test]
fn switching_without_agents_does_not_ask() {
    let mut screen = choosing();
    let_everybody_rest(&mut screen);
    screen.keys("down enter");
    assert_eq!(leaves(&mut screen), [other()]);

    let mut screen = choosing();
    screen.keys("enter");
    assert!(leaves(&mut screen).is_empty() && screen.model.layers.is_empty(), "{}", screen.text());
}

#[test]
fn set_up_asks_while_agents_run() {
    let mut screen = Screen::new(120, 40);
    screen.typed("/set_up").keys("enter");
    assert!(screen.shows("Set up again?"), "{}", screen.text());
    screen.keys("y");
    assert!(screen.effects.contains(&Effect::SetUp { retry: None }));
}

#[test]
fn interrupt_hint_only_while_an_agent_runs() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc ctrl-c");
    assert!(screen.shows("again to quit. Ctrl-X interrupts the agent."), "{}", screen.text());
    let mut screen = Screen::new(120, 40);
    let_everybody_rest(&mut screen);
    screen.keys("esc ctrl-c");
    assert!(screen.shows("again to quit") && !screen.shows("interrupts"), "{}", screen.text());
}

fn screen_of(engine: EngineHost) -> Screen {
    let mut screen = Screen::new(120, 40);
    screen.model.settings.engine = engine;
    screen
}

fn joined() -> EngineHost {
    EngineHost::Joined { outdated: None }
}

fn clients(screen: &mut Screen, names: &[&str]) {
    let view = |(name, number): (&&str, u64)| ClientView {
        number,
        kind: ClientKind::Screen,
        name: (*name).to_owned(),
        since: Timestamp::EPOCH,
    };
    screen.engine(Update::Clients { clients: names.iter().zip(1..).map(view).collect() });
}

#[test]
fn quitting_offers_to_keep_the_agents_working() {
    let mut screen = screen_of(EngineHost::Own);
    screen.keys("ctrl-q");
    assert!(screen.shows("k keep working ⏎") && screen.shows("s stop"), "{}", screen.text());
    screen.keys("k");
    assert_eq!(screen.commands(), [Command::HandOver { now: false }]);
    assert!(screen.shows("Waiting for 2 turns") && screen.shows("enter interrupt them"), "{}", screen.text());
    assert!(!screen.effects.contains(&Effect::Quit), "the turns finish first");
    screen.engine(Update::Moved);
    assert!(screen.effects.contains(&Effect::Quit));
}

#[test]
fn what_a_hand_over_waits_for_is_counted_and_can_be_interrupted() {
    let mut screen = screen_of(EngineHost::Own);
    screen.keys("ctrl-q enter");
    assert_eq!(screen.commands(), [Command::HandOver { now: false }]);
    let_everybody_rest(&mut screen);
    assert!(!screen.shows("2 turns"), "{}", screen.text());
    // Nothing else closes it: there is no way back.
    screen.keys("esc q");
    assert!(screen.shows("Handing over"), "{}", screen.text());
    screen.keys("enter");
    assert_eq!(screen.commands(), [Command::HandOver { now: true }]);
}

#[test]
fn quitting_can_stop_the_agents() {
    for engine in [EngineHost::Own, joined()] {
        let mut screen = screen_of(engine);
        screen.keys("ctrl-q s");
        assert_eq!(screen.commands(), [Command::Quit]);
        screen.reply(Ok(Outcome::Done));
        assert!(screen.effects.contains(&Effect::Quit));
    }
}

#[test]
fn leaving_the_engine_of_another_process_sends_nothing() {
    let mut screen = screen_of(joined());
    screen.keys("ctrl-q k");
    assert!(screen.effects.contains(&Effect::Quit));
    assert_eq!(screen.commands(), []);
    let mut screen = screen_of(joined());
    let_everybody_rest(&mut screen);
    screen.keys("ctrl-q");
    assert!(screen.effects.contains(&Effect::Quit), "nobody works, so nothing is asked");
    assert_eq!(screen.commands(), []);
}

#[test]
fn an_engine_with_other_clients_is_handed_over_to_them() {
    let mut screen = screen_of(EngineHost::Own);
    let_everybody_rest(&mut screen);
    clients(&mut screen, &["maria", "phone"]);
    screen.keys("ctrl-q");
    assert_eq!(screen.commands(), [Command::HandOver { now: false }]);
    let mut screen = screen_of(EngineHost::Own);
    let_everybody_rest(&mut screen);
    clients(&mut screen, &["maria"]);
    screen.keys("ctrl-q");
    assert_eq!(screen.commands(), [Command::Quit]);
}

#[test]
fn a_refused_hand_over_leaves_the_screen_as_it_was() {
    let mut screen = screen_of(EngineHost::Own);
    screen.keys("ctrl-q k");
    screen.commands();
    screen.reply(Err(crate::base::Fault::environment("the disk is full")));
    assert!(screen.shows("the disk is full") && !screen.shows("Handing over"), "{}", screen.text());
}

#[test]
fn an_engine_that_somebody_else_moves_is_joined_again() {
    let mut screen = screen_of(EngineHost::Own);
    screen.engine(Update::Moved);
    assert!(screen.effects.contains(&Effect::Rejoin));
}

#[test]
fn an_older_engine_can_be_restarted_once() {
    let mut screen = screen_of(EngineHost::Joined { outdated: Some("0.0.9".to_owned()) });
    screen.typed("/restart_engine").keys("enter");
    assert_eq!(screen.commands(), [Command::HandOver { now: false }]);
    screen.typed("/restart_engine").keys("enter");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("runs this version already"), "{}", screen.text());
}

#[test]
fn the_header_counts_clients_and_a_list_names_them() {
    let mut screen = screen_of(joined());
    clients(&mut screen, &["maria"]);
    assert!(!screen.shows("⧉"), "nobody else is there");
    clients(&mut screen, &["maria", "phone"]);
    assert!(screen.shows("⧉ 2"), "{}", screen.text());
    screen.keys("esc g w");
    assert!(screen.shows("maria") && screen.shows("phone"), "{}", screen.text());
}

fn answered(screen: &Screen, client: &str) -> Update {
    let ids = screen.ids();
    let answer = Answer {
        text: "route 2".to_owned(),
        choice: None,
        by: AnsweredBy::User,
        rules: Vec::new(),
        cause: None,
        client: Some(client.to_owned()),
    };
    let id_source = crate::base::IdSource::new(std::sync::Arc::new(crate::base::SystemClock));
    let body = Body::from(AskAnswered { id: ids.ask, answer });
    let event = Event {
        v: crate::model::event::VERSION,
        id: crate::base::EventId::fresh(&id_source),
        parent: None,
        ts: Timestamp::EPOCH,
        run: None,
        batch: None,
        body,
    };
    Update::Event { task: ids.callback, event: std::sync::Arc::new(event) }
}

#[test]
fn a_question_that_is_answered_elsewhere_says_by_whom() {
    let mut screen = screen_of(joined());
    let update = answered(&screen, "maria");
    screen.engine(update);
    assert!(screen.shows("Answered by maria: route 2"), "{}", screen.text());
}

#[test]
fn an_answer_that_was_being_written_is_not_lost_when_another_comes_first() {
    let mut screen = screen_of(joined());
    screen.keys("ctrl-n").typed("Mine was longer");
    let update = answered(&screen, "maria");
    screen.engine(update);
    assert!(screen.shows("Up recalls what you had written"), "{}", screen.text());
}

#[test]
fn ones_own_answer_is_not_announced() {
    let mut screen = screen_of(joined());
    screen.keys("ctrl-n 1");
    let update = answered(&screen, "maria");
    screen.engine(update);
    assert!(!screen.shows("Answered by"), "{}", screen.text());
}

#[test]
fn projects_of_other_machines_appear_as_they_answer() {
    let mut screen = choosing();
    screen.msg(Msg::HostProjects { host: "bigbox".to_owned(), projects: HostProjects::Asked });
    assert!(screen.shows("asked for its projects"), "{}", screen.text());
    let far = ProjectChoice {
        id: ProjectId::from_ulid(ulid::Ulid::from_parts(8, 8)),
        name: "solver".to_owned(),
        path: "/srv/solver".to_owned(),
        note: "2 questions".to_owned(),
        host: Some("bigbox".to_owned()),
    };
    screen.msg(Msg::HostProjects { host: "bigbox".to_owned(), projects: HostProjects::Listed(vec![far]) });
    assert!(screen.shows("2 questions bigbox:/srv/solver"), "{}", screen.text());
    let_everybody_rest(&mut screen);
    screen.typed("solver").keys("enter");
    let wanted = Effect::OpenHostProject { host: "bigbox".to_owned(), path: "/srv/solver".to_owned() };
    assert!(screen.effects.contains(&wanted), "{:?}", screen.effects);
}

#[test]
fn a_machine_that_does_not_answer_says_why() {
    let mut screen = choosing();
    let fault = crate::base::Fault::environment("bigbox: it does not answer");
    screen.msg(Msg::HostProjects { host: "bigbox".to_owned(), projects: HostProjects::Failed(fault) });
    assert!(screen.shows("it does not answer"), "{}", screen.text());
}
