use crate::base::ProjectId;
use crate::engine::update::Update;
use crate::model::live::Activity;
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg, ProjectChoice};

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
