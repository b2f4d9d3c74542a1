use super::*;
use crate::base::{IdSource, SystemClock};

fn place_in(folder: &Path) -> ServerPlace {
    std::fs::create_dir_all(folder).unwrap();
    ServerPlace::new(&ProjectFolder::at(folder), ProjectId::fresh(&IdSource::new(Arc::new(SystemClock))))
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn the_socket_and_its_description_are_private_and_go_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let place = place_in(folder.path());
    assert!(place.connect().await.unwrap().is_none());
    let listening = place.listen(Timestamp::EPOCH).unwrap();
    let info = place.info().unwrap();
    assert_eq!((info.pid, &info.socket), (std::process::id(), &folder.path().join("engine.sock")));
    assert_eq!((mode(&info.socket), mode(&folder.path().join("serve.json"))), (0o600, 0o600));
    assert!(place.connect().await.unwrap().is_some());
    listening.files.remove();
    assert!(place.info().is_none() && !info.socket.exists());
}

#[tokio::test]
async fn the_leftover_of_a_killed_server_is_nobody_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let place = place_in(folder.path());
    drop(place.listen(Timestamp::EPOCH).unwrap().listener);
    assert!(place.info().unwrap().socket.exists());
    assert!(place.connect().await.unwrap().is_none());
    let _listening = place.listen(Timestamp::EPOCH).unwrap();
    assert!(place.connect().await.unwrap().is_some());
}

#[tokio::test]
async fn a_path_that_is_too_long_falls_back_to_a_short_private_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = place_in(&folder.path().join("long".repeat(30)));
    let listening = place.listen(Timestamp::EPOCH).unwrap();
    let socket = place.info().unwrap().socket;
    assert!(fits(&socket), "{}", socket.display());
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    assert!(place.connect().await.unwrap().is_some());
    listening.files.remove();
    assert!(!socket.exists());
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    assert!(private_folder(&open).is_err());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    assert!(private_folder(&link).is_err());
    assert!(private_folder(&folder.path().join("new")).is_ok());
}
