use std::path::Path;

use super::*;
use crate::config::{Environment, Layer, LayerFile, Merged, merge};

const REPO: &str = r#"{"mcpServers": {"tools": {"command": "./run.sh", "args": ["a"], "future": 1}}}"#;

fn merged(global: &str, repo: &str, local: &str) -> Merged {
    let read = |layer, text: &str| LayerFile::read(layer, Path::new("f"), text.as_bytes());
    let files = [read(Layer::Global, global), read(Layer::Repo, repo), read(Layer::Local, local)];
    merge(&Environment::default(), &files).unwrap()
}

fn wanted_hash(merged: &Merged) -> String {
    let hashes = merged.servers.iter().filter_map(|server| match &server.state {
        ServerState::NeedsApproval { hash } => Some(hash.clone()),
        ServerState::Active | ServerState::Disabled => None,
    });
    hashes.into_iter().next().unwrap()
}

fn approving(hash: &str) -> String {
    format!("{{\"approvedMcpServers\": [\"{hash}\"]}}")
}

#[test]
fn a_repositorys_server_is_inert_until_its_hash_is_approved() {
    let before = merged("", REPO, "");
    assert!(before.settings.mcp_servers.is_empty());
    assert_eq!(before.servers.len(), 1);
    let hash = wanted_hash(&before);

    let after = merged("", REPO, &approving(&hash));
    assert_eq!(after.servers[0].state, ServerState::Active);
    assert!(after.settings.mcp_servers.contains_key("tools"));
}

#[test]
fn any_change_of_the_entry_needs_a_new_approval() {
    let hash = wanted_hash(&merged("", REPO, ""));
    for (from, to) in [("./run.sh", "./run.sh2"), ("[\"a\"]", "[\"a\", \"b\"]"), ("\"future\": 1", "\"future\": 2")] {
        let changed = REPO.replace(from, to);
        assert_ne!(changed, REPO);
        let merged = merged("", &changed, &approving(&hash));
        assert!(matches!(merged.servers[0].state, ServerState::NeedsApproval { .. }), "{to}");
        assert!(merged.settings.mcp_servers.is_empty());
    }
}

#[test]
fn layout_and_order_of_an_entry_do_not_matter() {
    let hash = wanted_hash(&merged("", REPO, ""));
    let moved = "{\"mcpServers\":{\"tools\":{\n\"future\":1,\"args\":[ \"a\" ],\"command\":\"./run.sh\"}}}";
    assert_eq!(merged("", moved, &approving(&hash)).servers[0].state, ServerState::Active);
}

#[test]
fn only_the_local_layer_can_approve() {
    let hash = wanted_hash(&merged("", REPO, ""));
    let own = REPO.replacen('{', &format!("{{\"approvedMcpServers\": [\"{hash}\"], "), 1);
    for merged in [merged(&approving(&hash), REPO, ""), merged("", &own, "")] {
        assert!(merged.settings.mcp_servers.is_empty());
        assert!(matches!(merged.servers[0].state, ServerState::NeedsApproval { .. }));
        let warned =
            |problem: &crate::config::Problem| matches!(problem.kind, crate::config::ProblemKind::WrongLayer { .. });
        assert!(merged.problems.iter().any(warned));
    }
}

#[test]
fn an_unapproved_server_neither_replaces_nor_removes_yours() {
    let yours = r#"{"mcpServers": {"tools": {"command": "mine"}}}"#;
    let merged_with_theirs = merged(yours, REPO, "");
    let states: Vec<_> = merged_with_theirs.servers.iter().map(|server| &server.state).collect();
    assert_eq!(states.len(), 2);
    let running = &merged_with_theirs.settings.mcp_servers["tools"];
    assert!(format!("{running:?}").contains("mine"), "{running:?}");

    let removing = merged(yours, r#"{"mcpServers": {"tools": null}}"#, "");
    assert!(removing.settings.mcp_servers.contains_key("tools"));
    assert_eq!(removing.servers.len(), 1);

    let hash = wanted_hash(&merged_with_theirs);
    let approved = merged(yours, REPO, &approving(&hash));
    assert_eq!(approved.servers.len(), 1);
    assert!(format!("{:?}", approved.settings.mcp_servers["tools"]).contains("run.sh"));
}

#[test]
fn a_disabled_server_stays_off_in_every_layer() {
    let off = r#"{"mcpServers": {"tools": {"command": "x", "disabled": true}}}"#;
    for merged in [merged(off, "", ""), merged("", off, ""), merged("", REPO, off)] {
        let own = merged.servers.iter().find(|server| server.state == ServerState::Disabled);
        assert!(own.is_some(), "{:?}", merged.servers);
        assert!(merged.settings.mcp_servers.is_empty());
    }
}
