//! The available tools, in the order in which models see them.

use std::sync::Arc;

use crate::model::ToolSpec;
use crate::tools::background::Background;
use crate::tools::bash::Bash;
use crate::tools::edit_file::EditFile;
use crate::tools::list_files::ListFiles;
use crate::tools::names;
use crate::tools::read_file::ReadFile;
use crate::tools::search::Search;
use crate::tools::tool::{Tool, TypedTool};
use crate::tools::write_file::WriteFile;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool called \"{0}\"; give the other one's server another name")]
pub struct DuplicateTool(pub String);

#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// Returns a registry of the built-in tools.
    pub fn builtin() -> Self {
        Self {
            tools: vec![
                Arc::new(TypedTool::new(Bash)),
                Arc::new(TypedTool::new(Background)),
                Arc::new(TypedTool::new(ReadFile)),
                Arc::new(TypedTool::new(WriteFile)),
                Arc::new(TypedTool::new(EditFile)),
                Arc::new(TypedTool::new(ListFiles)),
                Arc::new(TypedTool::new(Search)),
            ],
        }
    }

    /// Appends a tool of another module.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let name = &tool.spec().name;
        if self.tools.iter().any(|known| known.spec().name == *name) {
            return Err(DuplicateTool(name.clone()));
        }
        self.tools.push(tool);
        Ok(())
    }

    /// Keeps the tools whose wire name `keeps` allows.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.tools.retain(|tool| keeps(&tool.spec().name));
    }

    /// Returns the tool that a log or a model calls `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let exact = self.tools.iter().find(|tool| tool.spec().name == name);
        exact.or_else(|| {
            let current = names::canonical(name);
            self.tools.iter().find(|tool| tool.spec().name == current)
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Returns the specs for models, in a stable order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Returns the name most similar to an unknown one.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        let wanted = names::display_name(name);
        let distance =
            |tool: &Arc<dyn Tool>| strsim::damerau_levenshtein(&names::display_name(&tool.spec().name), &wanted);
        let best = self.tools.iter().min_by_key(|tool| distance(tool))?;
        (distance(best) <= wanted.chars().count() / 2).then(|| best.spec().name.as_str())
    }
}
