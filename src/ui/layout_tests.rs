use proptest::prelude::*;

use super::*;

fn wish(shown: Pane) -> Wish {
    Wish { asks: 4, composer: 1, shown, ..Wish::default() }
}

#[test]
fn panes_stand_side_by_side_from_a_hundred_columns_on() {
    let it = layout((120, 40), &wish(Pane::Tree));
    assert_eq!(it.shape, Shape::Wide);
    assert!(it.tree.area() > 0 && it.asks.area() > 0 && it.detail.area() > 0 && it.composer.area() > 0);
    assert_eq!(layout((99, 40), &wish(Pane::Tree)).shape, Shape::Tabs);
}

#[test]
fn below_that_one_pane_has_the_width_and_the_composer_stays() {
    for shown in [Pane::Tree, Pane::Asks, Pane::Detail, Pane::Composer] {
        let it = layout((80, 24), &wish(shown));
        let visible = [it.tree, it.asks, it.detail].into_iter().filter(|rect| rect.area() > 0).count();
        assert_eq!(visible, 1, "{shown:?}");
        assert_eq!(it.composer.height, 1);
    }
}

#[test]
fn what_waits_for_the_person_is_told_where_its_list_is_not() {
    for shown in [Pane::Tree, Pane::Detail, Pane::Composer] {
        assert_eq!(layout((80, 24), &wish(shown)).strip.height, 1, "{shown:?}");
        assert_eq!(layout((80, 24), &Wish { asks: 0, ..wish(shown) }).strip.height, 0);
    }
    assert_eq!(layout((80, 24), &wish(Pane::Asks)).strip.height, 0);
    assert_eq!(layout((120, 40), &wish(Pane::Tree)).strip.height, 0);
}

#[test]
fn a_question_that_is_open_gets_room() {
    let list = layout((120, 40), &Wish { asks: 30, composer: 1, ..Wish::default() });
    let open = layout((120, 40), &Wish { asks: 30, asking: true, composer: 1, ..Wish::default() });
    assert!(open.asks.height > list.asks.height);
    assert!(open.tree.height >= 3, "the tasks stay in sight");
}

proptest! {
    #[test]
    fn nothing_lies_outside_the_screen_or_on_something_else(
        columns in 0u16..320, rows in 0u16..110, asks in 0u16..60, asking: bool, composer in 0u16..40,
        left in prop::option::of(0u16..400), zoom: bool, shown in 0usize..4,
    ) {
        let shown = [Pane::Tree, Pane::Asks, Pane::Detail, Pane::Composer][shown];
        let it = layout((columns, rows), &Wish { asks, asking, composer, left, zoom, shown });
        let parts = [it.header, it.tabs, it.tree, it.asks_rule, it.asks, it.strip, it.detail, it.composer_rule, it.composer, it.hints];
        for (index, one) in parts.iter().enumerate() {
            prop_assert_eq!(one.intersection(it.screen).area(), one.area());
            for other in &parts[index + 1..] {
                prop_assert_eq!(one.intersection(*other).area(), 0);
            }
        }
        prop_assert!(it.shape == Shape::Tiny || it.composer.area() > 0, "the composer is always there");
    }
}
