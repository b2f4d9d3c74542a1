//! The examples of `docs/serve.md`, as they are there.

use super::{Served, script};
use crate::cli_support::{Ran, World};
use mxd::serve::http::Timeouts;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_the_documentation_works() {
    let world = World::new();
    if world.command("curl", &world.root()).arg("--version").output().is_err() {
        eprintln!("SKIPPED: curl is not installed");
        return;
    }
    let served = Served::with(&world, script(), Timeouts::default(), None).await;
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/serve.md")).unwrap();
    let examples: Vec<&str> = page.lines().filter(|line| line.starts_with("curl ")).collect();
    assert!(examples.len() >= 7, "{examples:?}");
    for example in examples {
        let is_endless = example.contains("/updates");
        let line =
            example.replace("calc", "app").replace("ROOT", &served.root).replacen("curl ", "curl -f --max-time 20 ", 1);
        // Follows for a moment: curl ends with 28 when the time is over.
        let line = if is_endless { line.replace("--max-time 20", "--max-time 1") } else { line };
        let mut command = world.command("sh", &world.root());
        command.args(["-c", &line]).env("MXD", format!("http://{}", served.address)).env("TOKEN", &served.token);
        let ran = tokio::task::spawn_blocking(move || Ran::of(&command.output().unwrap())).await.unwrap();
        assert_eq!(ran.code, if is_endless { 28 } else { 0 }, "{example}: {ran:?}");
        let wanted = if is_endless { "event: snapshot" } else { "{" };
        assert!(ran.out.contains(wanted), "{example}: {ran:?}");
    }
    served.end().await;
}
