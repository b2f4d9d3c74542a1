use super::*;

struct Ground {
    _folder: tempfile::TempDir,
    top: PathBuf,
    folders: Folders,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let (user, top) = (folder.path().join("user"), folder.path().join("repo"));
    let agents = top.join(".mxd/agents");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::create_dir_all(&agents).unwrap();
    let folders = Folders { user, project: Some((top.clone(), agents)) };
    Ground { _folder: folder, top, folders }
}

impl Ground {
    fn user(&self, file: &str, text: &str) {
        std::fs::write(self.folders.user.join(file), text).unwrap();
    }

    fn project(&self, file: &str, text: &str) {
        std::fs::write(self.top.join(".mxd/agents").join(file), text).unwrap();
    }

    fn load(&self) -> Profiles {
        Profiles::load(&self.folders, USUAL_PROFILE)
    }
}

fn chosen(profiles: &Profiles, name: &str) -> Result<String, String> {
    profiles.choose(Some(name)).map(Profile::full_name).map_err(|fault| fault.to_string())
}

#[test]
fn the_built_in_profiles_are_in_order_and_the_researcher_only_reads() {
    let profiles = Profiles::built_in();
    for entry in profiles.entries() {
        assert!(entry.read.is_ok() && entry.warnings.is_empty(), "{entry:?}");
    }
    let names: Vec<_> = profiles.entries().iter().map(Entry::full_name).collect();
    assert_eq!(names, ["orchestrator", "engineer", "reviewer", "researcher"]);
    let tools = &profiles.bound("researcher").unwrap().tools;
    for gone in ["bash", "write_file", "edit_file", "background", "create_task", "send_message_to_project"] {
        assert!(!tools.allows(&crate::tools::names::wire(gone)), "{gone}");
    }
    assert_eq!(profiles.choose(None).unwrap().full_name(), "engineer");
    assert!(profiles.bound("reviewer").unwrap().tools.allows("mcp__mxd__bash"));
    assert!(!profiles.bound("reviewer").unwrap().tools.allows("mcp__mxd__edit_file"));
}

#[test]
fn a_person_may_replace_a_profile_for_new_tasks_and_a_repository_may_not() {
    let ground = ground();
    ground.user("engineer.md", "---\ndescription: mine\n---\n");
    ground.project("reviewer.md", "---\ndescription: theirs\n---\n");
    ground.project("scout.md", "---\ndescription: theirs\n---\n");
    let profiles = ground.load();
    assert_eq!(chosen(&profiles, "engineer").unwrap(), "user:engineer");
    assert_eq!(chosen(&profiles, "builtin:engineer").unwrap(), "engineer");
    assert_eq!(chosen(&profiles, "reviewer").unwrap(), "reviewer");
    assert_eq!(chosen(&profiles, "project:reviewer").unwrap(), "project:reviewer");
    assert_eq!(chosen(&profiles, "scout").unwrap(), "project:scout");
    // A task that was made before keeps what it had.
    assert_eq!(profiles.bound("engineer").unwrap().profile.source, Source::BuiltIn);
    let hidden = profiles.entries().iter().find(|entry| entry.full_name() == "project:reviewer").unwrap();
    let said = hidden.warnings[0].to_string();
    assert!(said.starts_with(".mxd/agents/reviewer.md: \"reviewer\" is the name of a built-in profile"), "{said}");
    let names: Vec<_> = profiles.views().into_iter().map(|view| view.name).collect();
    assert_eq!(
        names,
        ["orchestrator", "builtin:engineer", "reviewer", "researcher", "engineer", "project:reviewer", "scout"]
    );
}

#[test]
fn what_is_missing_or_broken_is_said_with_its_file_and_nothing_stands_in() {
    let ground = ground();
    ground.user("broken.md", "---\ntools: Bsh\n---\np");
    ground.project("broken.md", "---\ndescription: fine\n---\n");
    let profiles = ground.load();
    let said = chosen(&profiles, "nobody").unwrap_err();
    assert!(said.starts_with("there is no profile \"nobody\"; there are orchestrator, engineer"), "{said}");
    let said = chosen(&profiles, "broken").unwrap_err();
    assert!(
        said.contains("\"user:broken\" cannot be used") && said.contains("broken.md:2: there is no tool Bsh"),
        "{said}"
    );
    let said = profiles.bound("project:gone").unwrap_err().to_string();
    assert!(said.contains(".mxd/agents/gone.md is not there"), "{said}");
    assert!(profiles.bound("gone").is_err());
}

#[test]
fn two_files_with_one_name_and_what_is_no_file_are_refused() {
    let ground = ground();
    ground.user("a.md", "---\nname: same\n---\np");
    ground.user("b.md", "---\nname: same\n---\np");
    ground.user("README.md", "not a profile");
    ground.user("notes.txt", "not a profile");
    std::fs::create_dir(ground.folders.user.join("folder.md")).unwrap();
    std::fs::write(ground.folders.user.join("long.md"), vec![b'x'; MOST_BYTES + 1]).unwrap();
    let profiles = ground.load();
    let of_user: Vec<_> = profiles.entries().iter().filter(|entry| entry.source == Source::User).collect();
    let names: Vec<_> = of_user.iter().map(|entry| (entry.name.as_str(), entry.read.is_ok())).collect();
    assert_eq!(names, [("same", true), ("b.md", false), ("folder", false), ("long", false)]);
}

#[test]
fn a_link_of_a_repository_leads_nowhere_outside_of_it() {
    let ground = ground();
    ground.user("secret.md", "---\nsecret: x\n---\np");
    let link = ground.top.join(".mxd/agents/link.md");
    std::os::unix::fs::symlink(ground.folders.user.join("secret.md"), link).unwrap();
    let said = chosen(&ground.load(), "link").unwrap_err();
    assert!(said.contains("leads out of the repository") && !said.contains("secret"), "{said}");
}
