use super::*;

struct Fixture {
    _folder: tempfile::TempDir,
    top: PathBuf,
    folders: ProfileFolders,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let (user, top) = (folder.path().join("user"), folder.path().join("repo"));
    let agents = top.join(".mxd/agents");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::create_dir_all(&agents).unwrap();
    let folders = ProfileFolders { user, project: Some((top.clone(), agents)) };
    Fixture { _folder: folder, top, folders }
}

impl Fixture {
    fn user(&self, file: &str, text: &str) {
        std::fs::write(self.folders.user.join(file), text).unwrap();
    }

    fn project(&self, file: &str, text: &str) {
        std::fs::write(self.top.join(".mxd/agents").join(file), text).unwrap();
    }

    fn load(&self) -> Profiles {
        Profiles::load(&self.folders, DEFAULT_PROFILE)
    }
}

fn chosen(profiles: &Profiles, name: &str) -> Result<String, String> {
    profiles.choose(name).map(Profile::full_name).map_err(|fault| fault.to_string())
}

#[test]
fn the_built_in_profiles_are_valid_and_the_researcher_only_reads() {
    let profiles = Profiles::built_in();
    for entry in profiles.entries() {
        assert!(entry.read.is_ok() && entry.warnings.is_empty(), "{entry:?}");
    }
    let names: Vec<_> = profiles.entries().iter().map(ProfileEntry::full_name).collect();
    assert_eq!(names, ["orchestrator", "engineer", "reviewer", "researcher"]);
    let tools = &profiles.by_full_name("researcher").unwrap().tools;
    for gone in ["bash", "write_file", "edit_file", "background", "create_task", "send_message_to_project"] {
        assert!(!tools.allows(&crate::tools::names::wire(gone)), "{gone}");
    }
    assert_eq!(profiles.default_profile().unwrap().full_name(), "engineer");
    assert!(profiles.by_full_name("reviewer").unwrap().tools.allows("mcp__mxd__bash"));
    assert!(!profiles.by_full_name("reviewer").unwrap().tools.allows("mcp__mxd__edit_file"));
}

#[test]
fn a_user_may_replace_a_profile_for_new_tasks_and_a_repository_may_not() {
    let fixture = fixture();
    fixture.user("engineer.md", "---\ndescription: mine\n---\n");
    fixture.project("reviewer.md", "---\ndescription: theirs\n---\n");
    fixture.project("scout.md", "---\ndescription: theirs\n---\n");
    let profiles = fixture.load();
    assert_eq!(chosen(&profiles, "engineer").unwrap(), "user:engineer");
    assert_eq!(chosen(&profiles, "builtin:engineer").unwrap(), "engineer");
    assert_eq!(chosen(&profiles, "reviewer").unwrap(), "reviewer");
    assert_eq!(chosen(&profiles, "project:reviewer").unwrap(), "project:reviewer");
    assert_eq!(chosen(&profiles, "scout").unwrap(), "project:scout");
    // A task that was created before keeps its profile.
    assert_eq!(profiles.by_full_name("engineer").unwrap().profile.source, Source::BuiltIn);
    let hidden = profiles.entries().iter().find(|entry| entry.full_name() == "project:reviewer").unwrap();
    let warning = hidden.warnings[0].to_string();
    assert!(warning.starts_with(".mxd/agents/reviewer.md: ") && warning.contains("a built-in profile"), "{warning}");
    let names: Vec<_> = profiles.views().into_iter().map(|view| view.name).collect();
    assert_eq!(
        names,
        ["orchestrator", "builtin:engineer", "reviewer", "researcher", "engineer", "project:reviewer", "scout"]
    );
}

#[test]
fn a_missing_or_broken_profile_is_an_error_with_its_file_and_has_no_fallback() {
    let fixture = fixture();
    fixture.user("broken.md", "---\ntools: Bsh\ndescription: d\n---\np");
    fixture.project("broken.md", "---\ndescription: fine\n---\n");
    let profiles = fixture.load();
    let error = chosen(&profiles, "nobody").unwrap_err();
    assert!(error.starts_with("there is no profile \"nobody\"; available: orchestrator, engineer"), "{error}");
    let error = chosen(&profiles, "broken").unwrap_err();
    assert!(
        error.contains("\"user:broken\" cannot be used") && error.contains("broken.md:2: there is no tool Bsh"),
        "{error}"
    );
    let error = profiles.by_full_name("project:gone").unwrap_err().to_string();
    assert!(error.contains(".mxd/agents/gone.md is missing"), "{error}");
    assert!(profiles.by_full_name("gone").is_err());
}

#[test]
fn duplicate_names_and_invalid_files_are_refused() {
    let fixture = fixture();
    fixture.user("a.md", "---\nname: same\ndescription: d\n---\np");
    fixture.user("b.md", "---\nname: same\ndescription: d\n---\np");
    fixture.user("README.md", "not a profile");
    fixture.user("notes.txt", "not a profile");
    std::fs::create_dir(fixture.folders.user.join("folder.md")).unwrap();
    std::fs::write(fixture.folders.user.join("long.md"), vec![b'x'; MAX_BYTES + 1]).unwrap();
    let profiles = fixture.load();
    let of_user: Vec<_> = profiles.entries().iter().filter(|entry| entry.source == Source::User).collect();
    let names: Vec<_> = of_user.iter().map(|entry| (entry.name.as_str(), entry.read.is_ok())).collect();
    assert_eq!(names, [("same", true), ("b.md", false), ("folder", false), ("long", false)]);
}

#[test]
fn a_link_must_not_lead_out_of_the_repository() {
    let fixture = fixture();
    fixture.user("secret.md", "---\nsecret: x\ndescription: d\n---\np");
    let link = fixture.top.join(".mxd/agents/link.md");
    std::os::unix::fs::symlink(fixture.folders.user.join("secret.md"), link).unwrap();
    let error = chosen(&fixture.load(), "link").unwrap_err();
    assert!(error.contains("outside the repository") && !error.contains("secret"), "{error}");
}
