//! Servers in the background: starts `mxd serve` for a project, and waits until it answers.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::place::ServerPlace;
use crate::base::Fault;
use crate::config::paths::ProjectFolder;
use crate::model::Project;
use crate::process;

/// How long a server may take to open a project.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// Starts `mxd serve` with these arguments in the background.
pub fn start(project: &Path, logs: &Path, arguments: &[String]) -> Result<(), Fault> {
    let failed =
        |error: std::io::Error| Fault::environment(format!("cannot start the engine in the background: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut line = vec!["-C".into(), project.as_os_str().to_owned(), OsString::from("serve")];
    line.extend(arguments.iter().map(OsString::from));
    process::start_detached(program.as_os_str(), &line, project, &logs.join("serve.log")).map_err(failed)
}

/// Starts a server and waits until a process other than `former` serves the project. Returns its number.
pub async fn take_over(
    folder: &ProjectFolder,
    project: &Project,
    former: u32,
    arguments: &[String],
) -> Result<u32, Fault> {
    start(&project.path, &folder.logs(), arguments)?;
    let (place, started) = (ServerPlace::new(folder, project.id), Instant::now());
    loop {
        if let Some(info) = place.info().filter(|info| info.pid != former)
            && place.connect().await.is_ok_and(|stream| stream.is_some())
        {
            return Ok(info.pid);
        }
        if started.elapsed() >= START_TIMEOUT {
            let log = folder.logs().join("serve.log");
            let fault = Fault::environment("the engine in the background does not answer");
            return Err(fault
                .hint(format!("{} says why", log.display()))
                .hint("nothing is lost: `mxd` or `mxd serve` continues the work"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
