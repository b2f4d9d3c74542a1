use super::*;

#[test]
fn a_result_names_the_file_relative_to_the_top_folder() {
    let input = |path: &str| Json::parse(format!(r#"{{"path": "{path}"}}"#)).unwrap();
    let path = |result: &str, asked: &str| path_in_result(result, &input(asked)).map(|path| path.display().to_string());
    assert_eq!(path("Edited src/a.rs.\n--- src/a.rs", "a.rs").as_deref(), Some("src/a.rs"));
    assert_eq!(path("Edited src/a.rs (3 replacements).\n", "./a.rs").as_deref(), Some("src/a.rs"));
    assert_eq!(path("Created odd (1) name (2 lines, 9 B).", "odd (1) name").as_deref(), Some("odd (1) name"));
    assert_eq!(path("Replaced src/a.rs (2 lines, 9 B). WARNING", "/w/src/a.rs").as_deref(), Some("src/a.rs"));
    assert_eq!(path("a.rs was not changed: no", "a.rs"), None);
}
