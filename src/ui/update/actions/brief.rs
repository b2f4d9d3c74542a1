//! Writing the brief of a new task.

use crate::engine::command::{Command, TaskStart};
use crate::ui::field::Field;
use crate::ui::layer::{Brief, Layer};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::Out;
use crate::ui::update::actions::AcceptMode;

/// Where the new task is, seen from the selected one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Sibling,
    Child,
}

/// Opens the brief, with the text that was not sent the last time.
pub fn open(model: &mut Model, relation: Relation) {
    let here = model.selected();
    let parent = model.project.node(here).and_then(|node| node.parent).filter(|_| relation == Relation::Sibling);
    // The root has no siblings: create a subtask instead.
    let parent_id = parent.unwrap_or(here);
    let before = parent.and_then(|parent| {
        let siblings = &model.project.node(parent)?.children;
        let at = siblings.iter().position(|child| *child == here)?;
        siblings.get(at + 1).copied()
    });
    let title = if parent_id == model.project.root() {
        "New task".to_owned()
    } else {
        format!("New subtask of {}", model.project.title(parent_id))
    };
    let field = Field::with(model.brief.text());
    let brief = Brief { parent: parent_id, before, title, field, profile: None, problem: None };
    model.layers.push(Layer::Brief(Box::new(brief)));
}

/// Keeps the text for the next brief, in case this one is closed.
pub fn keep(model: &mut Model) {
    if let Some(Layer::Brief(brief)) = model.layers.last() {
        model.brief.keep(brief.field.content());
    }
}

/// Takes the text from the editor.
pub fn on_edited(model: &mut Model, text: &str) {
    if let Some(Layer::Brief(brief)) = model.layers.last_mut() {
        brief.field.set(text.trim_end());
        keep(model);
    }
}

/// Creates the task: started at once, or as a draft.
pub fn submit(model: &mut Model, how: AcceptMode, cx: &Cx<'_>, out: &mut Out) {
    let Some(Layer::Brief(brief)) = model.layers.last_mut() else { return };
    let Some(draft) = brief.draft() else {
        brief.problem = Some("Write what should be done");
        return;
    };
    let (parent, before, text) = (brief.parent, brief.before, brief.field.content());
    let start = match how {
        AcceptMode::Plain => TaskStart::Now,
        AcceptMode::Draft => TaskStart::Draft,
    };
    model.layers.pop();
    if model.settings.read_only.is_none() {
        model.brief.keep(String::new());
    }
    out.command(model, Command::Create { parent, before, draft, start }, PendingReply::Created { brief: text }, cx);
}

/// Keeps the text of a task that could not be created, unless another one is being written.
pub fn restore(model: &mut Model, text: String) {
    if model.brief.text().is_empty() {
        model.brief.keep(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::base::Fault;
    use crate::engine::command::{Command, TaskStart};
    use crate::ui::testing::Screen;
    use crate::ui::{Effect, Msg};

    #[test]
    fn a_brief_of_several_lines_is_started_or_saved() {
        for (columns, rows) in [(80, 24), (120, 40)] {
            for (key, start) in [("enter", TaskStart::Now), ("ctrl-s", TaskStart::Draft)] {
                let mut screen = Screen::new(columns, rows);
                screen.keys("esc n");
                assert!(screen.shows("The first line is the title") && screen.shows("profile"), "{}", screen.text());
                screen.typed("quick limits").keys("alt-enter").typed("per user").keys("ctrl-j").typed("not per host");
                assert!(screen.shows("quick limits") && screen.shows("not per host"), "{}", screen.text());
                screen.keys(key);
                let commands = screen.commands();
                let [Command::Create { draft, start: started, .. }] = &commands[..] else { panic!("{commands:?}") };
                assert_eq!((draft.title.as_str(), *started), ("quick limits", start));
                assert_eq!(draft.description, "per user\nnot per host");
            }
        }
    }

    #[test]
    fn an_empty_brief_says_what_is_missing() {
        let mut screen = Screen::new(120, 40);
        screen.keys("esc n enter");
        assert!(screen.shows("Write what should be done") && screen.commands().is_empty(), "{}", screen.text());
    }

    #[test]
    fn esc_keeps_the_text_for_the_next_brief_and_on_disk() {
        let mut screen = Screen::new(120, 40);
        screen.keys("esc n").typed("Rate limits").keys("ctrl-j").typed("per user").keys("esc");
        assert!(!screen.shows("per user"), "{}", screen.text());
        let saved = screen.effects.iter().rev().find_map(|effect| match effect {
            Effect::SaveDrafts { drafts } => Some(drafts.brief.clone()),
            _ => None,
        });
        assert_eq!(saved.as_deref(), Some("Rate limits\nper user"));
        screen.keys("N");
        assert!(screen.shows("Rate limits") && screen.shows("per user"), "{}", screen.text());
        screen.keys("enter n");
        assert!(!screen.shows("per user"), "a started task leaves an empty brief: {}", screen.text());
    }

    #[test]
    fn the_text_of_a_refused_task_is_there_again() {
        let mut screen = Screen::new(120, 40);
        screen.keys("esc n").typed("Rate limits").keys("enter");
        let tag = screen.effects.iter().rev().find_map(|effect| match effect {
            Effect::Engine { tag, .. } => Some(*tag),
            _ => None,
        });
        screen.msg(Msg::Reply { tag: tag.unwrap(), outcome: Err(Fault::environment("the disk is full")) }).keys("n");
        assert!(screen.shows("Rate limits"), "{}", screen.text());
    }
}
