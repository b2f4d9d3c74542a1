use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/.mxd")).unwrap();
        fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret"), "secret").unwrap();
        Self { folder }
    }

    fn top(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    fn file(&self) -> PathBuf {
        self.top().join(".mxd/config.json")
    }

    fn read(&self) -> Result<Option<Vec<u8>>, Refusal> {
        read(&self.top(), &self.file(), 100).map_err(|error| error.refusal)
    }
}

#[test]
fn a_regular_file_is_read_and_a_missing_one_is_none() {
    let repository = Repository::new();
    assert_eq!(repository.read().unwrap(), None);
    fs::write(repository.file(), "{}").unwrap();
    assert_eq!(repository.read().unwrap(), Some(b"{}".to_vec()));
    assert_eq!(read(&repository.top(), Path::new(".mxd/config.json"), 100).unwrap(), Some(b"{}".to_vec()));
}

#[test]
fn a_device_a_pipe_a_socket_and_a_folder_are_refused_at_once() {
    let repository = Repository::new();
    symlink("/dev/zero", repository.file()).unwrap();
    assert!(matches!(repository.read(), Err(Refusal::LeadsOut)));
    fs::remove_file(repository.file()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, repository.file(), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(matches!(repository.read(), Err(Refusal::NotAFile("a pipe"))));
    fs::remove_file(repository.file()).unwrap();
    let _socket = UnixListener::bind(repository.file()).unwrap();
    assert!(matches!(repository.read(), Err(Refusal::NotAFile(_))));
    fs::remove_file(repository.file()).unwrap();
    fs::create_dir(repository.file()).unwrap();
    assert!(matches!(repository.read(), Err(Refusal::NotAFile("a folder"))));
}

#[test]
fn a_file_over_the_limit_is_refused_without_being_read() {
    let repository = Repository::new();
    File::create(repository.file()).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(repository.read(), Err(Refusal::TooLarge(100))));
    fs::write(repository.file(), [b'x'; 100]).unwrap();
    assert!(repository.read().unwrap().is_some());
}

#[test]
fn links_are_followed_inside_the_repository_only() {
    let repository = Repository::new();
    fs::write(repository.top().join("shared.json"), "{}").unwrap();
    symlink("../shared.json", repository.file()).unwrap();
    assert_eq!(repository.read().unwrap(), Some(b"{}".to_vec()));
    fs::remove_dir_all(repository.top().join(".mxd")).unwrap();
    symlink(repository.outside(), repository.top().join(".mxd")).unwrap();
    fs::write(repository.outside().join("config.json"), "{}").unwrap();
    assert!(matches!(repository.read(), Err(Refusal::LeadsOut)));
    fs::remove_file(repository.top().join(".mxd")).unwrap();
    symlink(".git", repository.top().join(".mxd")).unwrap();
    assert!(matches!(repository.read(), Err(Refusal::LeadsIntoGit)));
}

#[test]
fn nothing_is_created_through_a_link_that_leads_out() {
    let repository = Repository::new();
    assert!(create_new(&repository.top(), &repository.top().join(".mxd/hooks/example"), b"x").unwrap());
    assert!(!create_new(&repository.top(), &repository.top().join(".mxd/hooks/example"), b"y").unwrap());
    fs::remove_dir_all(repository.top().join(".mxd")).unwrap();
    symlink(repository.outside(), repository.top().join(".mxd")).unwrap();
    let refused = create_new(&repository.top(), &repository.top().join(".mxd/memory.md"), b"x").unwrap_err();
    assert!(matches!(refused.refusal, Refusal::LeadsOut));
    let refused = writable(&repository.top(), &repository.top().join(".mxd/deep/config.json")).unwrap_err();
    assert!(matches!(refused.refusal, Refusal::LeadsOut));
    assert_eq!(fs::read_dir(repository.outside()).unwrap().count(), 1, "nothing but what was there");
    // A dangling link would be written through, too.
    fs::remove_file(repository.top().join(".mxd")).unwrap();
    fs::create_dir(repository.top().join(".mxd")).unwrap();
    symlink(repository.outside().join("new"), repository.file()).unwrap();
    assert!(writable(&repository.top(), &repository.file()).is_err());
    assert!(!create_new(&repository.top(), &repository.file(), b"x").unwrap(), "the link is left as it is");
    assert_eq!(fs::read_dir(repository.outside()).unwrap().count(), 1);
}

#[test]
fn a_writable_path_is_the_real_one_with_its_folders_made() {
    let repository = Repository::new();
    let path = writable(&repository.top(), &repository.top().join(".mxd/tasks/a.json")).unwrap();
    assert!(path.parent().unwrap().is_dir());
    fs::create_dir(repository.top().join("elsewhere")).unwrap();
    fs::remove_dir_all(repository.top().join(".mxd/tasks")).unwrap();
    symlink("../elsewhere", repository.top().join(".mxd/tasks")).unwrap();
    let path = writable(&repository.top(), &repository.top().join(".mxd/tasks/a.json")).unwrap();
    assert_eq!(path, fs::canonicalize(repository.top()).unwrap().join("elsewhere/a.json"));
}
