use super::*;
use crate::base::{IdSource, SystemClock};
use std::sync::Arc;

fn locate(chosen: &str) -> Result<Home, HomeError> {
    Home::locate(Some(OsStr::new(chosen)), Some(Path::new("/work/here")), Some(Path::new("/home/ann/.local/share/mxd")))
}

#[test]
fn the_variable_moves_the_data_folder() {
    assert_eq!(locate("/data").unwrap().root(), Path::new("/data"));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    assert_eq!(locate("").unwrap().root(), Path::new("/home/ann/.local/share/mxd"));
    let unset = Home::locate(None, None, Some(Path::new("/usual"))).unwrap();
    assert_eq!(unset.root(), Path::new("/usual"));
}

#[test]
fn a_relative_variable_is_resolved_from_the_current_folder() {
    assert_eq!(locate("data").unwrap().root(), Path::new("/work/here/data"));
    assert_eq!(locate("./data").unwrap().root(), Path::new("/work/here/data"));
    assert_eq!(locate("../data").unwrap().root(), Path::new("/work/here/../data"));
    let gone = Home::locate(Some(OsStr::new("data")), None, Some(Path::new("/usual"))).unwrap_err();
    assert_eq!(gone, HomeError::Relative("data".into()));
}

#[test]
fn without_any_folder_the_fault_says_what_to_set() {
    let fault = Fault::from(Home::locate(None, None, None).unwrap_err());
    assert!(fault.to_string().contains("MXD_HOME"), "{fault}");
    let relative = Home::locate(None, Some(Path::new("/work/here")), Some(Path::new("home/.local/share/mxd")));
    assert_eq!(relative, Err(HomeError::Unknown));
}

#[test]
fn every_file_of_a_project_is_in_its_folder() {
    let ids = IdSource::new(Arc::new(SystemClock));
    let (project, task) = (ProjectId::fresh(&ids), TaskId::fresh(&ids));
    let home = locate("/data").unwrap();
    assert_eq!(home.config(), Path::new("/data/config.json"));
    assert_eq!(home.projects(), Path::new("/data/projects.json"));
    let folder = home.project(project);
    let root = PathBuf::from(format!("/data/projects/{project}"));
    let blob: BlobId = "0".repeat(64).parse().unwrap();
    let expected = [
        (folder.config(), "config.json".to_owned()),
        (folder.tree(), "tree.json".to_owned()),
        (folder.lock(), "engine.lock".to_owned()),
        (folder.session(task), format!("sessions/{task}.jsonl")),
        (folder.blob(&blob), format!("blobs/{blob}")),
        (folder.worktrees(), "worktrees".to_owned()),
        (folder.logs(), "logs".to_owned()),
    ];
    for (path, name) in expected {
        assert_eq!(path, root.join(name));
    }
}

#[test]
fn a_repositorys_files_are_below_dot_mxd() {
    let files = RepoFiles::new(Path::new("/repo"));
    assert_eq!(files.config(), Path::new("/repo/.mxd/config.json"));
    assert_eq!(files.memory(), Path::new("/repo/.mxd/memory.md"));
    assert_eq!(files.setup_hook(), Path::new("/repo/.mxd/hooks/setup_worktree.sh"));
    assert_eq!(files.setup_hook_example(), Path::new("/repo/.mxd/hooks/setup_worktree.sh.example"));
    assert_eq!(files.agents(), Path::new("/repo/.mxd/agents"));
    assert_eq!(files.tasks(), Path::new("/repo/.mxd/tasks"));
}
