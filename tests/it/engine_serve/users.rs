//! Who may connect to the socket.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::Duration;

use mxd::serve::protocol::{ClientFrame, ClientId, ClientKind, Hello, VERSION};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

use super::{PROJECT, Servers, patient_root, place, serving};
use crate::cli_support::World;
use crate::engine_support::play;

/// A user without rights.
const NOBODY: u32 = 65_534;

/// Opens a path for everybody, as far as permissions go.
fn open_for_all(path: &Path) {
    for folder in path.ancestors().take_while(|folder| *folder != Path::new("/")) {
        let mode = folder.metadata().unwrap().permissions().mode();
        if folder.starts_with(std::env::temp_dir()) || folder.starts_with("/dev/shm") {
            let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode | 0o555));
        }
    }
}

fn try_as_nobody(project: &Path, test: &Path) -> String {
    let mut client = std::process::Command::new(test);
    client.args(["--exact", "engine_serve::users::a_client_of_another_user", "--ignored", "--nocapture"]);
    client.env_clear().env(PROJECT, project).current_dir("/").uid(NOBODY).gid(NOBODY);
    let ran = client.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn another_user_of_the_machine_cannot_connect() {
    if rustix::process::geteuid().as_raw() != 0 {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    servers.starter(&project)().unwrap();
    serving(&project);
    let test = world.root().join("client");
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    open_for_all(&test);
    let out = try_as_nobody(project.folder.root(), &test);
    assert!(out.contains("cannot reach the socket"), "the permissions keep it out: {out}");
    // Even if somebody opened the folders and the socket, its credentials are checked.
    let socket = place(&project).info().unwrap().socket;
    open_for_all(&socket);
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::set_permissions(project.folder.root().join("serve.json"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let out = try_as_nobody(project.folder.root(), &test);
    assert!(out.contains("the server said nothing and hung up"), "{out}");
    servers.kill_all();
}

#[tokio::test]
#[ignore = "a part of the test above, as another user"]
async fn a_client_of_another_user() {
    let socket = Path::new(&std::env::var(PROJECT).unwrap()).join("engine.sock");
    let mut stream = match UnixStream::connect(&socket).await {
        Ok(stream) => stream,
        Err(error) => return println!("cannot reach the socket: {error}"),
    };
    let hello = Hello {
        version: VERSION,
        program: "0".to_owned(),
        client: ClientId::fresh(),
        kind: ClientKind::Screen,
        name: "nobody".to_owned(),
    };
    let _ = mxd::serve::frame::write(&mut stream, &ClientFrame::Hello(hello)).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    // It is reset if what was sent was never read.
    assert!(read.is_ok(), "it is kept open");
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    println!("the server said nothing and hung up");
}
