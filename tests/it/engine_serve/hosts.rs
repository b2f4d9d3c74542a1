//! Other machines: a screen and a list of projects over a real sshd on the loopback interface.

use std::time::{Duration, Instant};

use mxd::engine::Handle;
use mxd::engine::command::Outcome;
use mxd::serve::Remote;
use mxd::serve::protocol::ClientKind;
use mxd::serve::ssh::SshAddress;
use serde_json::json;

use super::{Servers, messages, patient_root, send, until_quiet};
use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{PATIENCE, play};
use crate::support::dice::{Dice, fresh_seed, number};
use crate::support::sshd::Sshd;

/// Starts an sshd whose sessions find the program and the data folder of `world`.
fn sshd(world: &World) -> Option<Sshd> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mxd")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.display());
    let variables = [("PATH", path), ("MXD_HOME", world.data().display().to_string())];
    Sshd::start(&world.root(), &variables)
}

fn address(sshd: &Sshd, project: &Project<'_>) -> SshAddress {
    SshAddress::parse(&format!("127.0.0.1:{}{}", sshd.port, project.path.display())).unwrap()
}

/// Sends messages over ssh while the connection is cut at random moments. Each arrives once.
async fn the_connection_is_cut(cuts: u64, seed: u64) {
    let world = World::new();
    let Some(sshd) = sshd(&world) else { return };
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    servers.starter(&project)().unwrap();
    super::serving(&project);
    let connector = address(&sshd, &project).connector_with(&sshd.ssh.display().to_string());
    let far = Handle::new(Remote::connect(connector, ClientKind::Screen, "far".to_owned()).await.unwrap());
    let (mut dice, mut wanted, mut slowest) = (Dice::new(seed), Vec::new(), Duration::ZERO);
    for cut in 0..cuts {
        let text = format!("message {cut}");
        let sending = send(&far, text.clone());
        let cutting = async {
            tokio::time::sleep(Duration::from_millis(dice.below(200))).await;
            assert!(sshd.cut() > 0, "nothing was cut");
            Instant::now()
        };
        let (outcome, was_cut) = tokio::join!(tokio::time::timeout(PATIENCE, sending), cutting);
        assert!(matches!(outcome.expect("an outcome"), Outcome::Sent { .. }));
        wanted.push((text, 1));
        tokio::time::timeout(PATIENCE, far.tasks()).await.expect("it is back").unwrap();
        slowest = slowest.max(was_cut.elapsed());
    }
    until_quiet(&far).await;
    assert_eq!(messages(&project), wanted.into_iter().collect(), "seed {seed}");
    println!("{cuts} cuts, back after {slowest:?} at most");
    far.quit().await;
    servers.kill_all();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_over_ssh_arrive_once_although_the_connection_is_cut() {
    the_connection_is_cut(3, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes; see docs/dev/testing.md"]
async fn proof_messages_over_ssh_arrive_once_although_the_connection_is_cut() {
    let seed = fresh_seed("ssh");
    the_connection_is_cut(number("MXD_CUTS", 100), seed).await;
}

#[test]
fn the_projects_of_other_machines_are_listed() {
    let world = World::new();
    let Some(sshd) = sshd(&world) else { return };
    play(&world, patient_root());
    let project = world.project("app");
    let hosts = json!([format!("127.0.0.1:{}", sshd.port), "127.0.0.1:1"]).to_string();
    project.mxd(["config", "set", "--global", "hosts", &hosts]).ok();
    let mut command = world.mxd_command(&project.path);
    let path = format!("{}:/usr/bin:/bin", sshd.ssh.parent().unwrap().display());
    let listed = command.args(["projects", "--hosts", "--json"]).env("PATH", path).output().unwrap();
    let rows = json_lines(&String::from_utf8(listed.stdout).unwrap());
    let of = |host: Option<&str>| rows.iter().filter(|row| row["host"].as_str() == host).count();
    assert_eq!((of(None), of(Some(&format!("127.0.0.1:{}", sshd.port)))), (1, 1), "{rows:#?}");
    let err = String::from_utf8_lossy(&listed.stderr);
    assert!(err.contains("127.0.0.1:1: ssh ended with 255"), "{err}");
    assert_eq!(listed.status.code(), Some(1), "one machine did not answer");
}
