use proptest::prelude::*;

use super::*;

fn request(shown: Pane) -> LayoutRequest {
    LayoutRequest { asks: 4, composer: 1, shown, ..LayoutRequest::default() }
}

#[test]
fn panes_are_side_by_side_from_100_columns() {
    let it = layout((120, 40), &request(Pane::Tree));
    assert_eq!(it.shape, Shape::Wide);
    assert!(it.tree.area() > 0 && it.asks.area() > 0 && it.detail.area() > 0 && it.composer.area() > 0);
    assert_eq!(layout((99, 40), &request(Pane::Tree)).shape, Shape::Tabs);
}

#[test]
fn narrow_screen_shows_one_pane_and_the_composer() {
    for shown in [Pane::Tree, Pane::Asks, Pane::Detail, Pane::Composer] {
        let it = layout((80, 24), &request(shown));
        let visible = [it.tree, it.asks, it.detail].into_iter().filter(|rect| rect.area() > 0).count();
        assert_eq!(visible, 1, "{shown:?}");
        assert_eq!(it.composer.height, 1);
    }
}

#[test]
fn strip_shows_asks_where_the_list_is_hidden() {
    for shown in [Pane::Tree, Pane::Detail, Pane::Composer] {
        assert_eq!(layout((80, 24), &request(shown)).strip.height, 1, "{shown:?}");
        assert_eq!(layout((80, 24), &LayoutRequest { asks: 0, ..request(shown) }).strip.height, 0);
    }
    assert_eq!(layout((80, 24), &request(Pane::Asks)).strip.height, 0);
    assert_eq!(layout((120, 40), &request(Pane::Tree)).strip.height, 0);
}

#[test]
fn open_question_gets_more_room() {
    let message = layout((120, 40), &LayoutRequest { composer: 30, ..LayoutRequest::default() });
    let card = layout((120, 40), &LayoutRequest { composer: 30, asking: true, ..LayoutRequest::default() });
    assert!(card.composer.height > message.composer.height);
    assert!(card.detail.height >= 3, "the transcript stays in sight");
}

#[test]
fn third_column_appears_where_there_is_room_for_it() {
    let wanted = LayoutRequest { columns: Columns::All, composer: 1, ..LayoutRequest::default() };
    let it = layout((200, 60), &wanted);
    assert!(it.page.width >= 55 && it.detail.width >= 55, "{it:?}");
    assert_eq!(it.composer.width, it.detail.width, "a message belongs to the transcript");
    for (columns, request) in [
        (169, wanted),
        (200, LayoutRequest { columns: Columns::SidebarAndTask, ..wanted }),
        (200, LayoutRequest { columns: Columns::Task, ..wanted }),
        (200, LayoutRequest { left: Some(120), ..wanted }),
    ] {
        assert!(layout((columns, 60), &request).side.is_empty(), "{columns} {request:?}");
    }
}

#[test]
fn the_tree_keeps_most_of_the_sidebar() {
    let it = layout((120, 40), &LayoutRequest { news: 30, composer: 1, ..LayoutRequest::default() });
    assert!(it.tree.height >= 2 * it.news.height && it.news.height > 0, "{it:?}");
}

proptest! {
    #[test]
    fn nothing_lies_outside_the_screen_or_on_something_else(
        columns in 0u16..320, rows in 0u16..110, asks in 0u16..60, asking: bool, composer in 0u16..40,
        left in prop::option::of(0u16..400), wanted in 0usize..3, shown in 0usize..4, notices in 0u16..4, has_tasks: bool,
        news in 0u16..30,
    ) {
        let shown = [Pane::Tree, Pane::Asks, Pane::Detail, Pane::Composer][shown];
        let size = (columns, rows);
        let columns = [Columns::Task, Columns::SidebarAndTask, Columns::All][wanted];
        let it = layout(size, &LayoutRequest { asks, asking, composer, notices, has_tasks, left, columns, news, shown });
        let parts = [it.header, it.tabs, it.tree, it.asks_rule, it.asks, it.strip, it.detail, it.composer_rule, it.composer, it.hints, it.notices, it.divider, it.tasks, it.news, it.side_divider, it.side];
        for (index, one) in parts.iter().enumerate() {
            prop_assert_eq!(one.intersection(it.screen).area(), one.area());
            for other in &parts[index + 1..] {
                prop_assert_eq!(one.intersection(*other).area(), 0);
            }
        }
        prop_assert!(it.shape == Shape::Tiny || it.composer.area() > 0, "the composer is always there");
    }
}
