use super::*;

fn read(source: Source, text: &str) -> Result<Profile, Vec<String>> {
    Profile::read(source, "agents/x.md", "x", text.as_bytes())
        .map_err(|flaws| flaws.iter().map(ToString::to_string).collect())
}

/// Reads a profile with these fields and a description.
fn with(source: Source, fields: &str) -> Result<Profile, Vec<String>> {
    read(source, &format!("---\n{fields}\ndescription: d\n---\np"))
}

fn names(named: &[ListedName]) -> Vec<&str> {
    named.iter().map(|named| named.name.as_str()).collect()
}

#[test]
fn a_complete_profile_is_read() {
    let text = "---\nname: scout\ndescription: Looks\nmodel: m-1\nauth: cheap\neffort: high\ntools: [read_file, search]\n\
                disallowed_tools: bash\nmax_turns: 40\nbudget: $2.50\nreview: yes\n---\n\nLook, do not touch.\n";
    let profile = read(Source::User, text).unwrap();
    assert_eq!(profile.full_name(), "user:scout");
    assert_eq!((profile.description.as_str(), profile.model.as_deref()), ("Looks", Some("m-1")));
    assert_eq!((profile.auth.as_deref(), profile.effort.as_deref()), (Some("cheap"), Some("high")));
    assert_eq!(names(profile.tools.as_deref().unwrap()), ["read_file", "search"]);
    assert_eq!(names(&profile.disallowed_tools), ["bash"]);
    assert_eq!((profile.max_turns, profile.budget), (Some(40), MicroUsd::from_dollars(2.5)));
    assert_eq!(profile.review, Some(true));
    assert_eq!(profile.prompt, "Look, do not touch.");
    assert_eq!(profile.place("model"), "agents/x.md:4");
    assert_eq!(profile.warnings, []);
}

#[test]
fn an_agent_file_of_another_program_is_accepted() {
    let text = "---\nname: code-reviewer\ndescription: Use PROACTIVELY after edits. Examples:\\n\\n<example>x: y</example>\n\
                tools: Read, Grep, Glob, Bash\nmodel: inherit\ncolor: red\ndisallowedTools: Write\nmaxTurns: 9\n\
                permissionMode: plan\nhooks:\n  Stop:\n    - hooks: []\nskills: [a]\nisolation: worktree\n---\nYou review.\n";
    let profile = read(Source::Project, text).unwrap();
    assert_eq!(profile.full_name(), "project:code-reviewer");
    assert_eq!(profile.description, "Use PROACTIVELY after edits. Examples:\n\n<example>x: y</example>");
    assert_eq!(profile.model, None);
    assert_eq!(names(profile.tools.as_deref().unwrap()), ["Read", "Grep", "Glob", "Bash"]);
    assert_eq!((names(&profile.disallowed_tools), profile.max_turns), (vec!["Write"], Some(9)));
    assert_eq!(profile.permissions, Some(Mode::Plan));
    assert_eq!(names(profile.skills.as_deref().unwrap()), ["a"]);
    let kinds: Vec<_> = profile.warnings.iter().map(|it| (it.place.at.unwrap().line, &it.kind)).collect();
    assert!(
        matches!(kinds[..], [(3, ProfileProblemKind::NotYaml(_)), (10, ProfileProblemKind::Unsupported { .. })]),
        "{kinds:?}"
    );
}

#[test]
fn the_default_name_is_the_file_name_and_the_default_tools_are_all() {
    let profile = read(Source::User, "---\ndescription: d\n---\n").unwrap();
    assert_eq!((profile.name.as_str(), profile.tools), ("x", None));
    assert_eq!(with(Source::User, "tools: '*'").unwrap().tools, None);
    assert_eq!(with(Source::User, "tools: []").unwrap().tools, Some(Vec::new()));
}

#[test]
fn the_fields_that_say_how_it_works_are_read() {
    let fields = "label: The Scout\nbackend: claude\nsystem: replace\nskills: a, b\npreload:\n- a\ninclude: [docs/style.md]\n\
                  mode_after: edits\nplan_review: above\nmax_depth: 0\nreadonly: true";
    let profile = with(Source::User, fields).unwrap();
    assert_eq!((profile.label(), profile.backend.as_deref()), ("The Scout", Some("claude")));
    assert_eq!((profile.system, profile.max_depth), (SystemPrompt::Replace, Some(0)));
    assert_eq!(names(profile.skills.as_deref().unwrap()), ["a", "b"]);
    assert_eq!((names(&profile.preload), names(&profile.include)), (vec!["a"], vec!["docs/style.md"]));
    assert_eq!((profile.mode_after, profile.plan_review), (Some(Mode::Edits), PlanReview::Above));
    assert_eq!(names(&profile.disallowed_tools), fields::WRITING_TOOLS);
    assert_eq!(profile.warnings, []);
    assert_eq!(with(Source::User, "name: y").unwrap().label(), "y");
}

#[test]
fn a_map_of_tools_takes_tools_away_and_a_place_of_another_program_is_no_mode() {
    let profile = with(Source::User, "mode: subagent\ntools:\n  write: false\n  bash: true").unwrap();
    assert_eq!((profile.tools, names(&profile.disallowed_tools)), (None, vec!["write"]));
    assert_eq!((profile.permissions, profile.warnings), (None, vec![]));
    assert_eq!(with(Source::User, "mode: plan").unwrap().permissions, Some(Mode::Plan));
}

#[test]
fn every_error_has_file_and_line() {
    let text = "---\nname: a b\nmax_turns: 0\nbudget: -1\ndisalowed_tools: Bash\ntools:\nmodel: [a]\nmodel: b\n\
                knowledge: x\nsystem: both\n---\np";
    assert_eq!(
        read(Source::User, text).unwrap_err(),
        [
            "agents/x.md:3: max_turns must be an integer, 1 or more",
            "agents/x.md:4: budget must be an amount in USD, such as 2.50",
            "agents/x.md:5: there is no field disalowed_tools; did you mean disallowed_tools?",
            "agents/x.md:6: tools must be names separated by commas; [] for none, or omit the line for all",
            "agents/x.md:7: model must be a string",
            "agents/x.md:8: model is set twice; keep one line",
            "agents/x.md:9: there is no field knowledge; skills: names skills, include: names files",
            "agents/x.md:10: system must be add, replace or minimal",
            "agents/x.md:2: \"a b\" is not a valid profile name: use up to 64 letters, digits, - _ and ., \
             starting with a letter or digit, and not ask or inherit",
            "agents/x.md:1: description is missing: add a line `description: …` that says when to use this profile",
        ]
    );
    let not_yaml = read(Source::User, "---\ndescription: d\ntools: [a\n---\n").unwrap_err();
    assert!(not_yaml[0].starts_with("agents/x.md:3:8: "), "{not_yaml:?}");
    let errors = Profile::read(Source::User, "f", "f", b"---\nname: \xff\n---\n").unwrap_err();
    assert_eq!(errors[0].kind, ProfileProblemKind::NotUtf8);
}

#[test]
fn a_prompt_that_replaces_another_must_exist() {
    assert!(read(Source::User, "---\ndescription: d\nsystem: minimal\n---\n").is_err());
}

#[test]
fn a_repository_can_neither_choose_who_pays_nor_raise_a_limit() {
    let refused = with(Source::Project, "auth: main").unwrap_err();
    assert!(
        refused[0].starts_with("agents/x.md:2: a repository's profile may not choose an auth group"),
        "{refused:?}"
    );
    let usd = MicroUsd::from_dollars;
    let (own, theirs) = (with(Source::User, "budget: 5").unwrap(), with(Source::Project, "budget: 5").unwrap());
    assert_eq!(own.budget_within(usd(1.0)), usd(5.0));
    assert_eq!(theirs.budget_within(usd(1.0)), usd(1.0));
    assert_eq!(theirs.budget_within(usd(9.0)), usd(5.0));
    assert_eq!(theirs.budget_within(None), usd(5.0));
}

#[test]
fn a_full_name_includes_the_source() {
    assert_eq!(full_name(Source::BuiltIn, "engineer"), "engineer");
    assert_eq!(split_name("project:scout"), (Some(Source::Project), "scout"));
    assert_eq!(split_name("builtin: engineer"), (Some(Source::BuiltIn), "engineer"));
    assert_eq!(split_name(" scout "), (None, "scout"));
    assert_eq!(split_name("other:scout"), (None, "other:scout"));
}

#[test]
fn a_repository_can_require_a_review_but_not_skip_one() {
    let review = |source, word: &str| with(source, &format!("review: {word}")).unwrap();
    for usual in [true, false] {
        assert!(review(Source::User, "true").review_within(usual));
        assert!(!review(Source::User, "false").review_within(usual));
        assert!(review(Source::Project, "on").review_within(usual));
        assert_eq!(review(Source::Project, "off").review_within(usual), usual);
        assert_eq!(with(Source::User, "model: m").unwrap().review_within(usual), usual);
    }
    let error = with(Source::User, "review: maybe").unwrap_err();
    assert_eq!(error, ["agents/x.md:2: review must be true or false"]);
}

#[test]
fn a_permission_mode_is_read_and_a_wrong_one_is_an_error() {
    let mode = |source, word: &str| with(source, &format!("permissions: {word}")).map(|read| read.permission_mode());
    assert_eq!(mode(Source::User, "edits"), Ok(ProfileMode { mode: Some(Mode::Edits), is_foreign: false }));
    assert_eq!(mode(Source::Project, "plan"), Ok(ProfileMode { mode: Some(Mode::Plan), is_foreign: true }));
    assert!(mode(Source::User, "everything").is_err());
}
