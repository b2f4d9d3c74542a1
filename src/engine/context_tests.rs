use super::*;
use crate::config::profile::Source;

#[test]
fn an_opening_message_is_split_at_its_headings() {
    let names: Vec<_> = parts("Task: x\n# Your task\n\nDo it.\n# AGENTS.md (already read for you)\n\nRules.");
    let names: Vec<_> = names.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(
        names,
        ["opening message: place", "opening message: Your task", "opening message: AGENTS.md (already read for you)"]
    );
}

#[test]
fn a_task_that_does_not_exist_yet_has_its_prompt_files_and_skills() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "Same.").unwrap();
    std::fs::write(folder.path().join("CLAUDE.md"), "Same.").unwrap();
    std::fs::write(folder.path().join("style.md"), "Brief.").unwrap();
    let text = "---\ndescription: d\ninclude: style.md\nsystem: replace\n---\nMine.";
    let profile = Profile::read(Source::User, "x.md", "x", text.as_bytes()).unwrap();
    let agent = NewAgent {
        task: TaskId::from_ulid(1_u128.into()),
        title: "t".to_owned(),
        description: "why".to_owned(),
        is_root: false,
        top: Some(folder.path().to_owned()),
    };
    let sections = of_new_agent(&agent, &profile, &[]);
    let names: Vec<_> = sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "system prompt, shared",
            "system prompt, place and own",
            "opening message: task",
            "opening message: AGENTS.md",
            "opening message: style.md"
        ]
    );
    assert!(sections[1].text.ends_with("Mine.") && sections.iter().all(|section| section.tokens() > 0));
}
