//! The demo: a small repository in a temporary folder, and a scripted model that runs a root and three subtasks on the
//! real engine. Removes its folder at the end.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use crate::base::{Clock as _, Fault, IdSource, ProjectId, SystemClock};
use crate::config::paths::Home;
use crate::config::{Environment, merge};
use crate::engine::EngineOptions;
use crate::engine::gc::stages;
use crate::engine::models::CommandLineChoice;
use crate::git::init::{self, Author};
use crate::model::Project;
use crate::provider::Provider;
use crate::provider::scripted::{Scenario, ScriptedProvider};

/// The goal that the demo sends to the root.
pub const GOAL: &str = "Make the tests of this little timer pass.";

/// The notice at the start.
pub const WELCOME: &str =
    "This is a demo: the model is scripted, everything else is real. One agent asks you, and you review its work.";

const SCENARIO: &str = include_str!("../../assets/demo/scenario.json");
/// The profile of the task whose work the user reviews.
const PROFILE: &str = include_str!("../../assets/demo/careful.md");
/// Checks every task's work: its files can be read by the shell.
const VERIFY: &str = "cat lib/*.sh | sh -n";
const BRANCH: &str = "main";
const AUTHOR: Author = Author { name: "Matrix demo", email: "demo@localhost" };

/// The files of the demo project.
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../assets/demo/project/README.md")),
    ("bin/timer", include_str!("../../assets/demo/project/bin/timer")),
    ("lib/announce.sh", include_str!("../../assets/demo/project/lib/announce.sh")),
    ("lib/duration.sh", include_str!("../../assets/demo/project/lib/duration.sh")),
    ("lib/words.sh", include_str!("../../assets/demo/project/lib/words.sh")),
    ("tests/run.sh", include_str!("../../assets/demo/project/tests/run.sh")),
];

/// The speed of the scripted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Natural,
    /// Without delays.
    Fast,
}

/// The project and the data folder of a demo. Dropping it removes both.
pub struct DemoProject {
    _folder: stages::DemoDir,
    pub home: Home,
    pub project: Project,
}

impl DemoProject {
    /// Creates the project and an empty data folder. Removes folders of demos that were killed.
    pub fn build() -> Result<Self, Fault> {
        let ids = IdSource::new(Arc::new(SystemClock));
        let id = ProjectId::fresh(&ids);
        let temporary = std::env::temp_dir();
        for folder in stages::abandoned(&temporary) {
            let _ = fs::remove_dir_all(folder);
        }
        let failed = |path: &Path, error: std::io::Error| {
            let fault = Fault::environment(format!("cannot set up the demo: {}: {error}", path.display()));
            fault.hint("the demo needs a writable folder with free space: it uses $TMPDIR, or /tmp")
        };
        // From here on, dropping `made` removes the folder.
        let made = stages::DemoDir::make(&temporary, &id.to_string()).map_err(|error| failed(&temporary, error))?;
        let folder = made.folder();
        let top = folder.join("timer");
        fs::create_dir(&top).map_err(|error| failed(&top, error))?;
        let top = fs::canonicalize(&top).map_err(|error| failed(&top, error))?;
        let home = Home::locate(Some(folder.join("data").as_os_str()), None, None)?;
        let project = Project {
            id,
            name: "timer (demo)".to_owned(),
            path: top.clone(),
            base_branch: BRANCH.to_owned(),
            created_at: SystemClock.now(),
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let demo = Self { _folder: made, home, project };
        for (name, content) in FILES {
            let path = top.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            }
            fs::write(&path, content).map_err(|error| failed(&path, error))?;
            let mode = if *name == "bin/timer" { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(|error| failed(&path, error))?;
        }
        let profiles = demo.home.agents();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&profiles)
            .map_err(|error| failed(&profiles, error))?;
        let profile = profiles.join("careful.md");
        fs::write(&profile, PROFILE).map_err(|error| failed(&profile, error))?;
        // Suppress the hint about the setup hook.
        let hinted = demo.home.project(id).hinted_at_hook();
        let data = hinted.parent().unwrap_or(&top);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(|error| failed(data, error))?;
        fs::write(&hinted, "").map_err(|error| failed(&hinted, error))?;
        init::make(&top, BRANCH, AUTHOR, "A timer that does not work yet")
            .map_err(|error| Fault::environment(format!("cannot set up the demo: {error}")))?;
        Ok(demo)
    }

    /// Returns the options of the engine.
    pub fn options(&self, pace: Pace) -> Result<EngineOptions, Fault> {
        let clock = Arc::new(SystemClock);
        let scenario = Scenario::parse(SCENARIO)
            .map_err(|error| Fault::internal(format!("cannot parse the demo script: {error}")))?;
        let pace = match pace {
            Pace::Natural => 1.0,
            Pace::Fast => 0.0,
        };
        let provider: Arc<dyn Provider> = Arc::new(ScriptedProvider::new(scenario, pace));
        let mut merged = merge(&Environment::default(), &[])?;
        merged.settings.verify = Some(VERIFY.to_owned());
        Ok(EngineOptions {
            home: self.home.clone(),
            project: self.project.clone(),
            merged,
            choice: CommandLineChoice::default(),
            budget: None,
            mode: None,
            hold: false,
            scripted: Some(provider),
            backend: None,
            ids: IdSource::new(clock.clone()),
            clock,
        })
    }
}
