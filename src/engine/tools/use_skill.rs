//! `use_skill`: returns the text of a skill.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::skills::Skill;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct UseSkill(pub(super) Arc<[Skill]>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The name of the skill, one of those you were told of.
    name: String,
}

impl Handler for UseSkill {
    const NAME: &'static str = names::USE_SKILL;
    const DESCRIPTION: &'static str = "Returns the instructions of a skill, and the folder with its other files. Read a \
        skill before you do what its description speaks of.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"name": "release-notes"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, _: Call) -> Reply {
        let wanted = input.name.trim();
        match self.0.iter().find(|skill| skill.name == wanted) {
            Some(skill) => Reply::text(skill.whole()),
            None => {
                let known: Vec<&str> = self.0.iter().map(|skill| skill.name.as_str()).collect();
                Reply::error(format!("There is no skill \"{wanted}\". There are: {}.", known.join(", ")))
            }
        }
    }
}
