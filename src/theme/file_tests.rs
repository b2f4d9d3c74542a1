use super::*;

fn load_alone(text: &str) -> (Palette, Vec<String>) {
    let (palette, problems) = load("mine", text, |_| None);
    (palette, problems.iter().map(ToString::to_string).collect())
}

fn fg(palette: &Palette, role: Role) -> Option<Colour> {
    palette.spec(role).full.fg
}

#[test]
fn a_changed_palette_changes_every_role_that_uses_it() {
    let (palette, problems) = load_alone("[palette]\naccent = \"#ffb454\"");
    assert_eq!(problems, [""; 0]);
    let amber = Colour::parse("#ffb454");
    assert_eq!(fg(&palette, Role::Accent), amber);
    assert_eq!(fg(&palette, Role::BorderFocus), amber);
    assert_ne!(fg(&palette, Role::Text), amber);
}

#[test]
fn a_light_theme_inherits_from_the_light_default() {
    let (palette, _) = load_alone("appearance = \"light\"\n[roles]\naccent = \"bright_red\"");
    assert_eq!(palette.appearance, Appearance::Light);
    assert_eq!(fg(&palette, Role::Text), Colour::parse("#1e2722"));
    assert_eq!(fg(&palette, Role::Accent), Some(Colour::Ansi(9)));
}

#[test]
fn an_unset_role_falls_back() {
    let text = "inherits = \"none\"\n[roles]\nbackground = { fg = \"#fff\", bg = \"#000\" }\nmuted = \"#888\"";
    let (palette, problems) = load_alone(text);
    assert_eq!(problems, [""; 0]);
    assert_eq!(fg(&palette, Role::Faint), Colour::parse("#888"));
    assert_eq!(fg(&palette, Role::Text), Colour::parse("#fff"));
    assert_eq!(palette.spec(Role::Text).full.bg, None, "text brings no background along");
    assert_eq!(palette.spec(Role::Popup).full.bg, Colour::parse("#000"));
}

#[test]
fn dotted_and_nested_names_are_the_same() {
    let (a, _) = load_alone("[roles]\ndiff.add = \"bright_red\"\nsyntax.string = \"blue\"");
    let (b, _) = load_alone("[roles.diff]\nadd = \"bright_red\"\n[roles.syntax]\nstring = { fg = \"blue\" }");
    assert_eq!(a, b);
    assert_eq!(fg(&a, Role::DiffAdd), Some(Colour::Ansi(9)));
}

#[test]
fn mistakes_are_reported_with_line_and_likely_name_and_the_rest_applies() {
    let text = r##"
abuot = "x"
[palette]
leaf = "#1faa5a"
[roles]
acent = "leaf"
ok = "laef"
error = { fg = "leaf", modifers = ["bold"] }
warn = { fg = "leaf", modifiers = ["bald"] }
syntax.keywrd = "leaf"
muted = 3
title = "leaf"
"##;
    let (palette, problems) = load_alone(text);
    assert_eq!(
        problems,
        [
            "line 2: a theme has no `abuot`; did you mean `about`?",
            "line 6: there is no role `acent`; did you mean `accent`?",
            "line 7: `laef` is neither a colour (#rrggbb, red, terminal) nor in the palette; did you mean `leaf`?",
            "line 8: a style has no `modifers`; did you mean `modifiers`?",
            "line 9: there is no modifier `bald`; did you mean `bold`?",
            "line 10: there is no role `syntax.keywrd`; did you mean `syntax.keyword`?",
            "line 11: a style is a colour in quotes or a table with `fg`, `bg`, `modifiers`",
        ]
    );
    assert_eq!(fg(&palette, Role::Title), Colour::parse("#1faa5a"));
    assert_eq!(fg(&palette, Role::Error), Colour::parse("#1faa5a"));
}

#[test]
fn broken_toml_invalidates_only_its_line() {
    let (palette, problems) = load_alone("[roles]\naccent = \"bright_red\"\nok = = 3\ntitle = \"blue\"\n");
    assert!(problems[0].starts_with("line 3: "), "{problems:?}");
    assert_eq!(fg(&palette, Role::Accent), Some(Colour::Ansi(9)));
    assert!(palette.spec(Role::Background).full.bg.is_some(), "there is always a whole theme");
}

#[test]
fn parents_may_be_files_and_cycles_end() {
    let find = |name: &str| match name {
        "base" => Some("inherits = \"none\"\n[roles]\nbackground = { fg = \"white\", bg = \"black\" }".to_owned()),
        "a" => Some("inherits = \"b\"\n[roles]\nok = \"green\"".to_owned()),
        "b" => Some("inherits = \"a\"\n[roles]\nerror = \"red\"".to_owned()),
        _ => None,
    };
    let (palette, problems) = load("x", "inherits = \"base\"\n[roles]\nok = \"cyan\"", find);
    assert_eq!((fg(&palette, Role::Text), problems.len()), (Some(Colour::Ansi(7)), 0));
    let (palette, _) = load("c", "inherits = \"a\"", find);
    assert_eq!(fg(&palette, Role::Error), Some(Colour::Ansi(1)));
}

#[test]
fn an_unknown_parent_is_reported_and_the_default_used() {
    let (palette, problems) = load_alone("inherits = \"matrix-drak\"");
    assert_eq!(problems, ["line 1: there is no theme `matrix-drak` to inherit from; did you mean `matrix-dark`?"]);
    assert_eq!(fg(&palette, Role::Text), Colour::parse("#d3dcd6"));
}

#[test]
fn a_file_may_replace_a_built_in_theme_and_inherit_from_it() {
    let mine = "[palette]\naccent = \"#123456\"";
    let (palette, problems) = load("matrix-dark", mine, |name| (name == "matrix-dark").then(|| mine.to_owned()));
    assert_eq!(problems, []);
    assert_eq!(fg(&palette, Role::Accent), Colour::parse("#123456"));
    assert!(palette.spec(Role::Background).full.bg.is_some());
}

proptest::proptest! {
    #[test]
    fn any_file_gives_a_theme(
        text in "(?s).{0,120}|(\\[?[a-z_.]{1,12}\\]?( = (\"#?[0-9a-zA-Z]{0,8}\"|[0-9]{1,4}|\\{[a-z =\"#0-9,]{0,20}\\}))?\n){0,12}|(extends = \"[a-z/.]{0,12}\"\n){1,3}"
    ) {
        // Including one that inherits from itself.
        let (_, problems) = super::load("odd", &text, |_| Some(text.clone()));
        proptest::prop_assert!(problems.len() <= text.len() + 8);
    }
}
