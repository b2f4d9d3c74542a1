use super::*;
use crate::base::Fault;
use crate::model::{BlobId, BlobRef, Image};
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg};

/// Takes the paths that were requested to be attached.
fn attached(screen: &mut Screen) -> Vec<String> {
    let effects = std::mem::take(&mut screen.effects);
    let paths = effects.into_iter().filter_map(|effect| match effect {
        Effect::Attach { path, .. } => Some(path),
        _ => None,
    });
    paths.collect()
}

fn image() -> Image {
    let data = BlobRef { blob: BlobId::of_hash(&[7; 32]), bytes: 7 };
    Image { data, media_type: "image/png".to_owned(), name: None }
}

fn answer(screen: &mut Screen, path: &str, image: Result<Image, Fault>) {
    let task = screen.model.selected();
    screen.msg(Msg::Attached { task, path: path.to_owned(), image });
}

#[test]
fn dropped_image_path_is_attached() {
    for (pasted, path) in [
        ("/tmp/shot.png", "/tmp/shot.png"),
        ("'/tmp/my shot.PNG' ", "/tmp/my shot.PNG"),
        ("/tmp/my\\ shot.png", "/tmp/my shot.png"),
        ("file:///tmp/my%20sh%C3%B6t.webp", "/tmp/my sh\u{f6}t.webp"),
        ("~/shot.jpeg", "~/shot.jpeg"),
    ] {
        let mut screen = Screen::new(120, 40);
        screen.paste(pasted);
        assert_eq!(attached(&mut screen), [path], "{pasted}");
    }
    for text in ["a.png", "see /tmp/a.png", "/tmp/a.rs", "/tmp/a.png\n/tmp/b.png", "file:///%ff%fe.png", "png"] {
        let mut screen = Screen::new(120, 40);
        screen.paste(text);
        assert_eq!(attached(&mut screen), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn failed_attachment_becomes_text() {
    let mut screen = Screen::new(120, 40);
    screen.paste("/tmp/shot.png");
    answer(&mut screen, "/tmp/shot.png", Err(Fault::user("it is no picture")));
    assert!(screen.shows("\u{203a} /tmp/shot.png") && screen.shows("it is no picture"), "{}", screen.text());
}

#[test]
fn backspace_removes_an_image_chip() {
    let mut screen = Screen::new(120, 40);
    answer(&mut screen, "/tmp/one.png", Ok(image()));
    answer(&mut screen, "/tmp/two.png", Ok(image()));
    assert!(screen.shows(" one.png ") && screen.shows(" two.png "), "{}", screen.text());
    assert!(screen.shows("Backspace removes it"), "{}", screen.text());
    screen.typed("x").keys("backspace");
    assert!(screen.shows("two.png"), "a letter was taken away, not a picture: {}", screen.text());
    screen.keys("backspace");
    assert!(screen.shows("one.png") && !screen.shows("two.png"), "{}", screen.text());
    screen.keys("enter");
    let sent = screen.commands();
    assert!(matches!(&sent[..], [Command::Send { message, .. }] if message.images.len() == 1), "{sent:?}");
}

#[test]
fn mentioned_image_is_attached() {
    let mut screen = Screen::new(120, 40);
    let task = screen.model.selected();
    for (file, attaches) in [("docs/shot.png", true), ("src/main.rs", false)] {
        screen.typed("@x");
        screen.effects.clear();
        screen.msg(Msg::Files { task, query: "x".to_owned(), paths: vec![file.to_owned()] });
        screen.keys("enter");
        assert_eq!(attached(&mut screen).len(), usize::from(attaches), "{file}");
    }
    assert!(screen.shows("\u{203a} docs/shot.png src/main.rs"), "{}", screen.text());
    answer(&mut screen, "docs/shot.png", Err(Fault::user("it is no picture")));
    assert_eq!(screen.text().matches("docs/shot.png").count(), 1, "{}", screen.text());
}

#[test]
fn command_is_found_by_its_help_text() {
    let mut screen = Screen::new(120, 40);
    screen.typed("/them");
    assert!(screen.shows("/settings"), "{}", screen.text());
    screen.keys("ctrl-c").typed("/st");
    let text = screen.text();
    assert!(text.find("/stop ").unwrap() < text.find("/verify").unwrap_or(usize::MAX), "names come first: {text}");
}

#[test]
fn mention_offers_files_and_tasks() {
    let mut screen = Screen::new(120, 40);
    let task = screen.model.selected();
    screen.typed("@");
    assert!(screen.shows("docs"), "{}", screen.text());
    let paths = (0..30).map(|number| format!("src/file{number}.rs")).collect();
    screen.msg(Msg::Files { task, query: String::new(), paths });
    let popup = screen.model.composer.popup.as_ref().unwrap();
    let place = |label: &str| popup.offers.iter().position(|offer| offer.label == label);
    assert_eq!(place("src/file4.rs"), Some(4));
    assert!(place("docs").is_some_and(|at| (5..10).contains(&at)), "{:?}", popup.offers);
}
