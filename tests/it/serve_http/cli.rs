//! `mxd serve --http`: the real binary.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Answer, exchange, script};
use crate::cli_support::World;
use crate::engine_support::play;

/// A server in a process of its own. Dropped, it is killed.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(address: &str, path: &str, headers: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    exchange(address.parse().unwrap(), request.as_bytes())
}

#[test]
fn the_program_serves_and_says_where_in_a_private_file_that_it_removes() {
    let world = World::new();
    play(&world, script());
    let project = world.project("app");
    let mut command = world.mxd_command(&project.path);
    command.args(["serve", "--http", "0"]).stdout(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("serving process "));
    let page = lines.next().unwrap().unwrap();
    let (address, ticket) = page.strip_prefix("page http://").unwrap().split_once('/').unwrap();
    let file = project.folder.server_info();
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let info: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let (http, token) = (&info["http"], info["http"]["token"].as_str().unwrap());
    assert_eq!(format!("{}:{}", http["host"].as_str().unwrap(), http["port"]), address);
    assert_eq!(get(address, "/v1/health", "").status, 200);
    let projects = get(address, "/v1/projects", &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(projects.json()["projects"][0]["name"], "app");
    assert_eq!(get(address, &format!("/{ticket}"), "").status, 303);
    // A command of another process works on the same engine.
    project.mxd(["task", "new", "Paint", "--draft"]).ok();
    let state = get(address, "/v1/projects/app", &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(state.json()["snapshot"]["tasks"].as_array().unwrap().len(), 2);
    kill_process(Pid::from_raw(i32::try_from(process.0.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(process.0.wait().unwrap().code(), Some(143));
    assert!(!file.exists());
}

#[test]
fn an_address_that_others_reach_is_refused_with_the_way_to_do_it() {
    let world = World::new();
    play(&world, script());
    let project = world.project("app");
    let refused = project.mxd(["serve", "--http", "0.0.0.0:7878"]).refused(3, "without TLS");
    assert!(refused.contains("ssh -N -L 7878:127.0.0.1:7878 USER@HOST"), "{refused}");
    // The setting is the same as the option.
    project.mxd(["config", "set", "serve.http", "10.0.0.1:7878"]).ok();
    project.mxd(["serve"]).refused(3, "refused to listen on 10.0.0.1:7878");
}

#[test]
fn the_description_of_the_interface_is_printed_without_a_project() {
    let world = World::new();
    let printed = world.mxd(&world.root(), ["serve", "openapi"]).ok();
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["openapi"], "3.0.3");
    assert!(document["paths"]["/v1/projects/{project}/updates"]["get"].is_object());
}
