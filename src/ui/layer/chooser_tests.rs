use crate::ui::layer::Layer;
use crate::ui::setup::ModelOption;
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg, Setting};

/// Returns the ids of the actions that the palette finds for a query, best first.
fn commands_for(typed: &str) -> Vec<String> {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc :").typed(typed);
    let Some(Layer::Choose(chooser)) = screen.model.layers.last() else { panic!("no palette") };
    chooser.found().map(|(item, _)| item.label.split(':').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn palette_ranks_names_first_and_ignores_scattered_letters() {
    for (typed, first) in [
        ("merge", "merge"),
        ("undo", "undo merge"),
        ("set up", "set up"),
        ("theme", "choose theme"),
        ("diff", "show diff"),
        ("nt", "new task"),
        ("delete", "delete task"),
        ("stop all", "stop all"),
        ("budg", "budget"),
        ("intrpt", "interrupt"),
        ("color", "colour"),
    ] {
        assert_eq!(commands_for(typed).first().map(String::as_str), Some(first), "{typed}: {:?}", commands_for(typed));
    }
    for typed in ["xyz", "oauth", "rtz", "diffuse", "gdw"] {
        assert_eq!(commands_for(typed), [""; 0], "{typed}");
    }
    let all = ["stop all", "stop", "stop subtree", "quit"];
    assert_eq!(commands_for("stop"), all, "those that stop something, and no others");
}

fn models(screen: &Screen) -> Vec<String> {
    let Some(Layer::Choose(chooser)) = screen.model.layers.last() else { panic!("no list") };
    chooser.found().map(|(item, _)| item.label.clone()).collect()
}

fn offered(ids: &[&str]) -> Vec<ModelOption> {
    ids.iter().map(|id| ModelOption { id: (*id).to_owned(), note: "200k".to_owned(), has_window: true }).collect()
}

#[test]
fn model_list_merges_known_and_reported_models() {
    let mut screen = Screen::new(120, 40);
    screen.msg(Msg::Models(offered(&["sonnet", "haiku"])));
    screen.keys("esc").keys("g s").keys("j enter");
    assert!(screen.effects.contains(&Effect::ListModels), "{:?}", screen.effects);
    assert_eq!(models(&screen), ["sonnet", "haiku"]);
    assert!(screen.shows("now  200k"), "the one in use is marked: {}", screen.text());
    screen.keys("down");
    screen.msg(Msg::Models(offered(&["opus", "haiku"])));
    assert_eq!(models(&screen), ["opus", "haiku"]);
    screen.msg(Msg::Models(Vec::new()));
    assert_eq!(models(&screen), ["opus", "haiku"], "nobody told anything new");
    screen.keys("enter");
    let saved = Effect::SaveSetting { setting: Setting::TaskModel("haiku".to_owned()) };
    assert!(screen.effects.contains(&saved), "what was chosen stays chosen: {:?}", screen.effects);
    assert!(screen.shows("haiku (from the next start)"), "{}", screen.text());
}

#[test]
fn unlisted_model_is_accepted_as_typed() {
    let mut screen = Screen::new(120, 40);
    screen.msg(Msg::Models(offered(&["sonnet", "haiku"])));
    screen.keys("esc").keys("g s").keys("j enter").typed("son");
    assert_eq!(models(&screen), ["sonnet", "son"], "the list first");
    screen.typed("net");
    assert_eq!(models(&screen), ["sonnet"], "what is in the list is not offered twice");
    screen.typed("-9");
    assert_eq!(models(&screen), ["sonnet-9"]);
    assert!(screen.shows("as typed"), "{}", screen.text());
    screen.keys("enter");
    let saved = Effect::SaveSetting { setting: Setting::TaskModel("sonnet-9".to_owned()) };
    assert!(screen.effects.contains(&saved), "{:?}", screen.effects);
}
