//! What the program says about itself: completions, manual pages, topics, the schema, the version; and exported tasks.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::{World, hinted_commands};
use crate::engine_support::{bash, play, root, say};

#[allow(dead_code, reason = "the script's own entry is cargo's to call")]
#[path = "../../assets/build.rs"]
mod build_script;

#[allow(dead_code, reason = "the build itself is tried by hand")]
#[path = "../dist/main.rs"]
mod dist;

fn is_installed(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(program).is_file())
}

#[test]
fn every_shell_gets_completions_that_it_can_read() {
    let world = World::new();
    for (shell, check) in [
        ("bash", Some(["bash", "-n"])),
        ("zsh", Some(["zsh", "-n"])),
        ("fish", Some(["fish", "-n"])),
        ("powershell", None),
        ("nushell", None),
    ] {
        let script = world.mxd(&world.root(), ["completions", shell]).ok();
        // Three shells ask the program for the words; the others are given them.
        let wanted = if check.is_some() { &["__complete"][..] } else { &["doctor", "completions", "json"] };
        assert!(wanted.iter().all(|word| script.contains(word)), "{shell}");
        let file = world.root().join(format!("mxd.{shell}"));
        fs::write(&file, script).unwrap();
        if let Some([program, flag]) = check.filter(|[program, _]| is_installed(program)) {
            let ran = world.command(program, &world.root()).arg(flag).arg(&file).output().unwrap();
            assert!(ran.status.success(), "{shell}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    assert_eq!(world.mxd(&world.root(), ["completions", "tcsh"]).code, 3);
}

#[test]
fn a_shell_is_offered_tasks_settings_and_topics() {
    let world = World::new();
    let project = world.project("app");
    let offered = |words: &[&str]| {
        let args = ["__complete", "--"].iter().chain(words);
        project.mxd(args).ok().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["log", ""]), [""; 0], "there are no tasks yet");
    project.mxd(["task", "new", "--later", "Token store"]).ok();
    assert_eq!(offered(&["log", "tok"]), ["2\tToken store"]);
    assert!(offered(&["config", "set", "theme", ""]).contains(&"matrix-light".to_owned()));
    assert_eq!(offered(&["task", "new", "x", "--profile", "eng"]).len(), 1);
    assert_eq!(offered(&["help", "troub"]), ["troubleshooting"]);
    assert!(offered(&["tre"])[0].starts_with("tree\t"));
    let elsewhere = world.mxd(&world.folder("nothing"), ["__complete", "--", "log", ""]);
    assert_eq!(elsewhere.ok(), "", "a shell gets no error in its command line");
}

#[test]
fn bash_completes_a_task_by_its_title() {
    if !is_installed("bash") {
        return;
    }
    let world = World::new();
    let project = world.project("app");
    project.mxd(["task", "new", "--later", "Token store"]).ok();
    let script = project.path.join("mxd.bash");
    fs::write(&script, project.mxd(["completions", "bash"]).ok()).unwrap();
    let line = format!(
        ". {}; COMP_WORDS=({} log tok); COMP_CWORD=2; _mxd; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        env!("CARGO_BIN_EXE_mxd")
    );
    let ran = world.command("bash", &project.path).args(["-c", &line]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n", "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::new();
    let page = world.mxd(&world.root(), ["man"]).ok();
    assert!(page.contains(".TH mxd 1") && page.contains("doctor"), "{page}");
    assert!(world.mxd(&world.root(), ["man", "config", "set"]).ok().contains("value"));
    let err = world.mxd(&world.root(), ["man", "nonsense"]).refused(3, "there is no command `mxd nonsense`");
    for command in hinted_commands(&err) {
        world.paste(&world.root(), &command).ok();
    }
    let folder = world.root().join("pages/man1");
    world.mxd(&world.root(), ["man", "--into", folder.to_str().unwrap()]).ok();
    for name in ["mxd.1", "mxd-run.1", "mxd-doctor.1", "mxd-config-set.1"] {
        assert!(folder.join(name).is_file(), "{name} in {:?}", fs::read_dir(&folder).unwrap().collect::<Vec<_>>());
    }
}

#[test]
fn help_explains_commands_and_every_topic_it_names() {
    let world = World::new();
    let help = world.mxd(&world.root(), ["help"]).ok();
    let (_, topics) = help.split_once("`mxd help TOPIC` explains:").unwrap();
    let topics: Vec<&str> = topics.split_whitespace().collect();
    for page in fs::read_dir(format!("{}/docs", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let page = page.unwrap().path();
        let name = page.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_page = page.is_file() && !matches!(name.as_str(), "README" | "CHANGELOG");
        assert!(!is_page || topics.contains(&name.as_str()), "docs/{name}.md is no topic: {topics:?}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let contents = fs::read_to_string(docs.join("README.md")).unwrap();
    for topic in topics {
        let [for_users, for_developers] = ["", "dev/"].map(|folder| format!("{folder}{topic}.md"));
        let page = if docs.join(&for_users).is_file() { for_users } else { for_developers };
        assert!(contents.contains(&format!("[{topic}]({page})")), "docs/README.md does not link to {page}");
        let page = fs::read_to_string(docs.join(page)).unwrap();
        assert_eq!(world.mxd(&world.root(), ["help", topic]).ok().trim_end(), page.trim_end());
    }
    assert!(world.mxd(&world.root(), ["help", "task", "new"]).ok().contains("--draft"));
    let err = world.mxd(&world.root(), ["help", "recovry"]).refused(3, "or topic");
    assert_eq!(hinted_commands(&err), ["mxd help recovery"]);
    for topic in ["recovry", "zzz"] {
        let err = world.mxd(&world.root(), ["help", topic]).refused(3, topic);
        for command in hinted_commands(&err) {
            world.paste(&world.root(), &command).ok();
        }
    }
}

#[test]
fn the_schema_is_that_of_the_table() {
    let world = World::new();
    let schema: Value = serde_json::from_str(&world.mxd(&world.root(), ["config", "schema"]).ok()).unwrap();
    assert_eq!(schema, mxd::config::schema());
    assert!(!world.data().exists(), "asking for it keeps nothing");
}

#[test]
fn the_version_is_the_packages() {
    let world = World::new();
    let said = world.mxd(&world.root(), ["--version"]).ok();
    let rest = said.strip_prefix(concat!("mxd ", env!("CARGO_PKG_VERSION"))).unwrap().trim_end();
    assert!(rest.is_empty() || (rest.starts_with(" (") && rest.ends_with(')')), "{said:?}");
}

#[test]
fn the_commit_of_a_release_is_found_in_every_kind_of_checkout() {
    let world = World::new();
    let repository = world.repository("app");
    let commit = world.git(&repository, ["rev-parse", "HEAD"]);
    let found = |folder: &Path| build_script::commit(folder).map(|found| found.id);
    assert_eq!(found(&repository).as_ref(), Some(&commit));
    for file in build_script::commit(&repository).unwrap().files {
        assert!(file.exists(), "{} would be built for every time", file.display());
    }
    world.git(&repository, ["pack-refs", "--all"]);
    assert_eq!(found(&repository).as_ref(), Some(&commit));
    world.git(&repository, ["worktree", "add", "-q", "-b", "other", "../linked"]);
    assert_eq!(found(&world.root().join("linked")).as_ref(), Some(&commit));
    world.git(&repository, ["checkout", "-q", "--detach"]);
    assert_eq!(found(&repository).as_ref(), Some(&commit));

    assert_eq!(found(&world.folder("nothing")), None);
    let unborn = world.folder("unborn");
    world.git(&unborn, ["init", "-q"]);
    assert_eq!(found(&unborn), None);
    fs::write(world.folder("odd").join(".git"), "nonsense").unwrap();
    assert_eq!(found(&world.root().join("odd")), None);
}

#[test]
fn a_task_is_exported_in_three_forms() {
    let world = World::new();
    play(&world, json!([root(json!([bash("echo '</details><b>'; printf '\\033[31mred'"), say("**Done** <script>")]))]));
    let project = world.project("app");
    project.run(["Say", "<hello>"]).ok();
    let root = project.id("orchestrator");

    let page = project.mxd(["export", &root]).ok();
    assert_eq!(page, project.mxd(["export", &root, "--md"]).ok());
    for wanted in ["# orchestrator", "## you", "## agent", "**Done** &lt;script>", "<details><summary>bash ", "red"] {
        assert!(page.contains(wanted), "{wanted:?} in {page}");
    }
    let html = project.mxd(["export", &root, "--html"]).ok();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"), "{html}");
    assert!(html.contains("<strong>Done</strong>") && !html.contains("<script"), "{html}");
    assert_eq!(html.matches("<details").count(), html.matches("</details>").count(), "{html}");
    for text in [&page, &html] {
        assert!(!text.contains('\u{1b}'));
    }
    let document: Value = serde_json::from_str(&project.mxd(["export", &root, "--json"]).ok()).unwrap();
    assert_eq!(document["node"]["title"], "orchestrator");
    let kinds: Vec<&str> =
        document["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"tool_result") && kinds.contains(&"message"), "{kinds:?}");

    let file = world.root().join("page.html");
    project.mxd(["export", &root, "--html", "-o", file.to_str().unwrap()]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), html);
    project.mxd(["export", "01NEVERWAS"]).refused(3, "01NEVERWAS");
    assert_eq!(project.mxd(["export", &root, "--md", "--html"]).code, 3);
}

#[test]
fn an_archive_holds_the_program_with_completions_pages_and_licences() {
    let world = World::new();
    let folder = world.root().join("archive");
    let program = Path::new(env!("CARGO_BIN_EXE_mxd"));
    dist::stage(Path::new(env!("CARGO_MANIFEST_DIR")), program, &folder).unwrap();
    let mut wanted: Vec<String> = dist::COMPLETIONS.iter().map(|(_, name)| format!("completions/{name}")).collect();
    wanted.extend(["mxd", "README.md", "licences/MIT.txt", "man/man1/mxd.1", "man/man1/mxd-gc.1"].map(str::to_owned));
    for name in wanted {
        assert!(fs::metadata(folder.join(&name)).unwrap().len() > 0, "{name}");
    }
    let ran = world.command(folder.join("mxd"), &world.root()).arg("--version").output().unwrap();
    assert!(ran.status.success());
    assert!(dist::stage(Path::new("/nowhere"), program, &folder).unwrap_err().contains("cannot write"));
}
