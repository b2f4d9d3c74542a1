use super::*;

/// Waits for the next change and scans again, as the UI does.
async fn next(themes: &mut Themes, news: &mut mpsc::UnboundedReceiver<()>) {
    news.recv().await.expect("the watcher lives");
    while news.try_recv().is_ok() {}
    themes.scan();
}

#[tokio::test]
async fn a_folder_that_is_created_later_is_watched() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("themes");
    let (changed, mut news) = mpsc::unbounded_channel();
    let mut themes = Themes::new(folder.clone());
    themes.watch(changed);
    assert!(!themes.names().contains(&"mine".to_owned()));
    std::fs::create_dir(&folder).unwrap();
    next(&mut themes, &mut news).await;
    std::fs::write(folder.join("mine.toml"), "inherits = \"matrix-dark\"\n").unwrap();
    next(&mut themes, &mut news).await;
    assert!(themes.names().contains(&"mine".to_owned()));
    let (_, problems) = themes.load("mine", Appearance::Dark);
    assert_eq!(problems, Vec::<String>::new());
}

#[tokio::test]
async fn changes_beside_the_folder_are_ignored() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("themes");
    let (changed, mut news) = mpsc::unbounded_channel();
    let mut themes = Themes::new(folder.clone());
    themes.watch(changed);
    std::fs::write(home.path().join("config.json"), "{}").unwrap();
    std::fs::create_dir(&folder).unwrap();
    next(&mut themes, &mut news).await;
    assert!(themes.watches_folder, "the first word is about the folder, not about the file before it");
}
