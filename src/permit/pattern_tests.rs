use super::*;

#[test]
fn a_space_before_the_last_star_is_the_end_of_a_word() {
    for (pattern, text, expected) in [
        ("cargo test *", "cargo test", true),
        ("cargo test *", "cargo test --lib a", true),
        ("cargo test *", "cargo tester", false),
        ("ls*", "lsof", true),
        ("git * main", "git push origin main", true),
        ("git * main", "git push origin main2", false),
        ("git * *", "git push", true),
        ("*", "", true),
        ("a?", "ab", false),
        ("a*b*c", "aXbYbZc", true),
    ] {
        assert_eq!(matches_text(pattern, text), expected, "{pattern} / {text}");
    }
}

#[test]
fn a_path_matches_by_parts_and_a_folder_covers_what_is_in_it() {
    for (pattern, path, expected) in [
        ("/w/src/**", "/w/src/a/b.rs", true),
        ("/w/src/**", "/w/src", false),
        ("/w/src", "/w/src/a.rs", true),
        ("/w/src", "/w/srcs", false),
        ("/w/*.rs", "/w/a.rs", true),
        ("/w/*.rs", "/w/a/b.rs", false),
        ("/w/**/*.env", "/w/a/b/x.env", true),
        ("/w/**/.env", "/w/.env", true),
        ("/w/?.rs", "/w/a.rs", true),
        ("/**", "/etc/passwd", true),
    ] {
        let pattern_parts = parts(Path::new(pattern));
        assert_eq!(matches_parts(&pattern_parts, &parts(Path::new(path))), expected, "{pattern} / {path}");
    }
}
