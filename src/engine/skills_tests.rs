use super::*;

fn skill(folder: &Path, name: &str, text: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(FILE), text).unwrap();
}

fn profile(fields: &str) -> Profile {
    let text = format!("---\ndescription: d\n{fields}\n---\np");
    Profile::read(Source::User, "x.md", "x", text.as_bytes()).unwrap()
}

fn fixture() -> (tempfile::TempDir, SkillFolders) {
    let folder = tempfile::tempdir().unwrap();
    let (user, top) = (folder.path().join("user"), folder.path().join("repo"));
    let text = |words: &str| format!("---\nname: {words}\ndescription: About {words}\n---\nDo {words}.");
    skill(&user, "notes", &text("notes"));
    skill(&user, "deploy", &text("deploy"));
    skill(&top.join(".mxd/skills"), "deploy", "---\ndescription: Ours\n---\nOur way.");
    skill(&top.join(".claude/skills"), "review", "---\nname: review\ndescription: Use when: reviewing\n---\nLook.");
    skill(&top.join(".mxd/skills"), "broken", "---\nname: broken\n---\nText.");
    std::fs::create_dir_all(top.join(".mxd/skills/empty")).unwrap();
    (folder, SkillFolders { user, project: Some(top) })
}

#[test]
fn the_repositorys_skills_come_first_and_a_broken_one_has_its_reason() {
    let (_folder, folders) = fixture();
    let entries = load(&folders);
    let seen: Vec<_> = entries.iter().map(|it| (it.name.as_str(), it.source, it.read.is_ok(), it.hidden)).collect();
    assert_eq!(
        seen,
        [
            ("broken", Source::Project, false, false),
            ("deploy", Source::Project, true, false),
            ("deploy", Source::User, true, true),
            ("notes", Source::User, true, false),
            ("review", Source::Project, true, false),
        ]
    );
    assert!(entries[0].read.as_ref().unwrap_err().contains("description is missing"));
    let names: Vec<_> = of_profile(entries, &profile("label: x")).into_iter().map(|skill| skill.name).collect();
    assert_eq!(names, ["deploy", "notes", "review"]);
}

#[test]
fn a_profile_chooses_what_is_listed_and_what_is_given_as_a_whole() {
    let (_folder, folders) = fixture();
    let chosen = profile("skills: [review, none]\npreload: deploy");
    let skills = of_profile(load(&folders), &chosen);
    let notes = opening(&skills, &chosen);
    assert!(notes[0].contains("Our way."), "{notes:?}");
    assert!(notes[1].contains("- review: Use when: reviewing") && !notes[1].contains("notes"), "{notes:?}");
    assert!(notes[2].contains("do not exist here: none"), "{notes:?}");
    let none = profile("skills: []");
    assert_eq!(opening(&of_profile(load(&folders), &none), &none), [""; 0]);
}

#[test]
fn a_line_of_the_list_stays_below_forty_tokens() {
    let long = Skill {
        name: "a".repeat(MAX_NAME),
        description: "word ".repeat(500),
        source: Source::User,
        folder: PathBuf::new(),
        text: "t".to_owned(),
    };
    let all = profile("label: x");
    let (one, two) = (opening(std::slice::from_ref(&long), &all), opening(&[long.clone(), long], &all));
    // Four bytes are about a token.
    assert!(two[0].len() - one[0].len() <= 40 * 4, "{}", two[0].len() - one[0].len());
}
