//! Opens a project for read-only commands. Works while another process has the project.

use crate::base::{Fault, TaskId};
use crate::cli::console::{Console, Failure};
use crate::cli::locate::{ProjectLocator, home};
use crate::config::{Environment, Settings, merge};
use crate::engine::query::{List, Page};
use crate::engine::{self, Handle};
use crate::model::Event;

/// Read access to a project. Blocks on every query.
pub struct Viewer {
    handle: Handle,
    runtime: tokio::runtime::Runtime,
}

impl Viewer {
    pub fn open(console: &mut Console, here: &ProjectLocator) -> Result<Self, Failure> {
        let home = home()?;
        let located = here.locate(&home)?;
        let settings = settings(console, here)?;
        let handle = engine::read_only(&home, located.project, &settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Fault::environment(format!("cannot start the async runtime: {error}")))?;
        Ok(Self { handle, runtime })
    }

    /// Runs a query and waits for its result.
    pub fn ask<T>(&self, query: impl AsyncFnOnce(&Handle) -> Result<T, Fault>) -> Result<T, Fault> {
        self.runtime.block_on(query(&self.handle))
    }

    /// Like [`Viewer::ask`], for a list. Prints its warnings.
    pub fn list<T>(
        &self,
        console: &mut Console,
        query: impl AsyncFnOnce(&Handle) -> Result<List<T>, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let List { rows, warnings } = self.ask(query)?;
        warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        Ok(rows)
    }

    /// Finds a task by number, id prefix or part of its title.
    pub fn find(&self, name: &str) -> Result<TaskId, Fault> {
        self.ask(async |handle| handle.find(name.to_owned()).await)
    }

    /// Calls `each` with every event of a session, oldest first. Returns true if parts of it are unreadable.
    pub fn each_event(
        &self,
        task: TaskId,
        mut each: impl FnMut(Event) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        // Start inside the runtime, which reads ahead while a page is printed.
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

/// Returns the effective settings, or the defaults if they cannot be read. Loading them masks their keys in all output.
fn settings(console: &mut Console, here: &ProjectLocator) -> Result<Settings, Failure> {
    match here.settings(&home()?) {
        Ok(merged) => Ok(merged.settings),
        Err(fault) => {
            console.note(&format!("warning: {fault}"));
            fault.hints.iter().for_each(|hint| console.note(&format!("  hint: {hint}")));
            Ok(merge(&Environment::default(), &[])?.settings)
        }
    }
}
