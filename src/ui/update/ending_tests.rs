use crate::base::ProjectId;
use crate::engine::update::Update;
use crate::model::live::Activity;
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg, ProjectChoice};

fn other() -> ProjectId {
    ProjectId::from_ulid(ulid::Ulid::from_parts(7, 7))
}

/// A screen on which the list of projects is open, with the other one chosen.
fn choosing() -> Screen {
    let mut screen = Screen::new(120, 40);
    let choice = |id: ProjectId, name: &str| ProjectChoice {
        id,
        name: name.to_owned(),
        path: format!("/{name}"),
        note: String::new(),
    };
    let here = screen.model.world.project.id;
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
fn going_to_another_project_asks_while_agents_work_here() {
    let mut screen = choosing();
    screen.keys("down enter");
    assert!(screen.shows("Go to another project?") && screen.shows("2 agents are at work."), "{}", screen.text());
    assert_eq!(leaves(&mut screen), []);
    screen.keys("y");
    assert_eq!(leaves(&mut screen), [other()]);

    let mut screen = choosing();
    screen.keys("down enter n");
    assert!(leaves(&mut screen).is_empty() && screen.model.layers.is_empty());
}

#[test]
fn nothing_is_asked_where_nobody_works_and_one_never_leaves_for_where_one_is() {
    let mut screen = choosing();
    let_everybody_rest(&mut screen);
    screen.keys("down enter");
    assert_eq!(leaves(&mut screen), [other()]);

    let mut screen = choosing();
    screen.keys("enter");
    assert!(leaves(&mut screen).is_empty() && screen.model.layers.is_empty(), "{}", screen.text());
}

#[test]
fn the_set_up_asks_too_because_it_starts_the_project_anew() {
    let mut screen = Screen::new(120, 40);
    screen.typed("/set_up").keys("enter");
    assert!(screen.shows("Set up anew?"), "{}", screen.text());
    screen.keys("y");
    assert!(screen.effects.contains(&Effect::SetUp));
}

#[test]
fn that_an_agent_can_be_interrupted_is_said_only_where_one_works() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc ctrl-c");
    assert!(screen.shows("once more to quit; Ctrl-X interrupts the agent"), "{}", screen.text());
    let mut screen = Screen::new(120, 40);
    let_everybody_rest(&mut screen);
    screen.keys("esc ctrl-c");
    assert!(screen.shows("once more to quit") && !screen.shows("interrupts"), "{}", screen.text());
}
