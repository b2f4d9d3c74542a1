//! A project, opened for reading from the command line. Works while another process has the project.

use crate::base::{Fault, TaskId};
use crate::cli::console::{Console, Failure};
use crate::cli::place::{Here, home};
use crate::config::{Environment, Settings, merge};
use crate::engine::query::{List, Page};
use crate::engine::{self, Handle};
use crate::model::Event;

/// The way to a project's data for commands that only read. They wait for every answer.
pub struct Viewer {
    handle: Handle,
    runtime: tokio::runtime::Runtime,
}

impl Viewer {
    pub fn open(console: &mut Console, here: &Here) -> Result<Self, Failure> {
        let home = home()?;
        let located = here.located(&home)?;
        let settings = settings(console, here)?;
        let handle = engine::read_only(&home, located.project, &settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Fault::environment(format!("the program cannot start: {error}")))?;
        Ok(Self { handle, runtime })
    }

    /// Asks something and waits for the answer.
    pub fn ask<T>(&self, question: impl AsyncFnOnce(&Handle) -> Result<T, Fault>) -> Result<T, Fault> {
        self.runtime.block_on(question(&self.handle))
    }

    /// As [`Viewer::ask`], for a list: what could not be read is noted.
    pub fn list<T>(
        &self,
        console: &mut Console,
        question: impl AsyncFnOnce(&Handle) -> Result<List<T>, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let List { rows, warnings } = self.ask(question)?;
        warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        Ok(rows)
    }

    /// Returns the task that the user calls `name`.
    pub fn find(&self, name: &str) -> Result<TaskId, Fault> {
        self.ask(async |handle| handle.find(name.to_owned()).await)
    }

    /// Calls `each` with every event of a session, oldest first. Returns whether parts of it could not be read.
    pub fn each_event(
        &self,
        task: TaskId,
        mut each: impl FnMut(Event) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        // Started inside the runtime, which reads ahead while a page is shown.
        let mut pages = self.runtime.block_on(async { self.handle.session(task) });
        let mut is_damaged = false;
        while let Some(page) = self.runtime.block_on(pages.recv()) {
            let Page { events, damaged, .. } = page?;
            is_damaged |= damaged;
            events.into_iter().try_for_each(&mut each)?;
        }
        Ok(is_damaged)
    }
}

/// Returns the settings in force and masks their keys in all output. Falls back to the defaults if they cannot be read.
fn settings(console: &mut Console, here: &Here) -> Result<Settings, Failure> {
    match here.settings(&home()?) {
        Ok(merged) => Ok(merged.settings),
        Err(fault) => {
            console.note(&format!("warning: {fault}"));
            fault.hints.iter().for_each(|hint| console.note(&format!("  hint: {hint}")));
            Ok(merge(&Environment::default(), &[])?.settings)
        }
    }
}
