//! `create_task`: delegates work.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::TaskId;
use crate::config::recurring::Schedule;
use crate::engine::agent_port::AgentPort;
use crate::engine::command::{self, Command, Outcome, StartOutcome, TaskDraft};
use crate::engine::tools::{answer, fields, unexpected};
use crate::model::task::{Overrides, Recurring};
use crate::permit::Mode;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct CreateTask(pub(super) AgentPort);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Start {
    #[default]
    Now,
    Later,
    Draft,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Rounds {
    Reset,
    Continue,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// One line: what is to be done.
    title: String,
    /// The whole briefing, for somebody who knows nothing of this conversation: the goal (what is true afterwards), the
    /// scope (what to touch, what to leave alone), why it is wanted, what you know already, how it will be checked.
    description: String,
    /// now: at once. later: when you first send it a message, for example after a fork. draft: not before
    /// you make it ready. Default now.
    #[serde(default)]
    start: Start,
    /// The task it goes below, in your own sub tree: a number (#12), an id or the start of one. That task, not you, is told what came
    /// of it. Default: yours.
    #[serde(default)]
    parent: Option<String>,
    /// The most it may cost with everything below it, in US dollars; not more than the user allows. Default: as
    /// configured.
    #[serde(default)]
    #[schemars(range(min = 0))]
    budget_usd: Option<f64>,
    /// The profile of the agent that does it, one of those you were told of. Default: the usual one.
    #[serde(default)]
    profile: Option<String>,
    /// It begins with a plan, which you or the user approve before it changes anything: for work where a wrong direction is
    /// dear. Default false.
    #[serde(default)]
    plan: bool,
    /// Instructions behind the profile's own, for this task only.
    #[serde(default)]
    append: Option<String>,
    /// Another model than the profile's, by its id.
    #[serde(default)]
    model: Option<String>,
    /// How hard to think, in the provider's own word.
    #[serde(default)]
    effort: Option<String>,
    /// Ask the user after this many turns.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_turns: Option<u64>,
    /// A mark for the user. red: bug. blue: feature. green: clean-up. yellow: speed. purple: research. gray: chore.
    #[serde(default)]
    colour: Option<fields::Colour>,
    /// For the root only: the task recurs. reset: each run starts with an empty conversation. continue: it continues
    /// the previous conversation.
    #[serde(default)]
    recurring: Option<Rounds>,
    /// How long after a run of a recurring task the next one starts: 30m, 6h, 1d12h.
    #[serde(default)]
    every: Option<String>,
    /// Instead of `every`, a cron line: minute, hour, day of the month, month, weekday. With neither it runs when
    /// it is sent a message.
    #[serde(default)]
    cron: Option<String>,
    /// Whose clocks `cron` follows, such as Europe/Zurich. Default: this machine's.
    #[serde(default)]
    time_zone: Option<String>,
}

impl Handler for CreateTask {
    const NAME: &'static str = names::CREATE_TASK;
    const DESCRIPTION: &'static str = "Hands work down: makes a sub task and sets an agent to work on it. The agent \
        gets a branch and a worktree of its own, made from the last commit of the branch above it: commit before you \
        delegate, or it will not see your changes. It knows the title, the description and your messages, and nothing \
        of this conversation, so the description must say goal, scope and why. Worth it for parts that are \
        independent and large enough for a briefing. What came of it reaches you as a message; until then go on with \
        something else, or yield. Its commits stay on its branch until you merge them. Look with search_tasks whether \
        it was done or tried before.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = concat!(
        r#"{"title": "Limit login attempts", "description": "Goal: after 5 failed logins within a minute an account "#,
        r#"answers 429 for a minute. Scope: src/auth, no new dependency. Why: passwords are being guessed. Known: "#,
        r#"failures are logged in src/auth/log.rs. Check: tests for the limit and for its end.", "budget_usd": 5}"#
    );

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let budget = match fields::budget(input.budget_usd) {
            Ok(budget) => budget,
            Err(problem) => return Reply::error(problem),
        };
        if input.description.trim().is_empty() {
            return Reply::error(
                "\"description\" is empty: its agent would know nothing but a title. Say the goal, the scope and why. \
                 Nothing was done.",
            );
        }
        let start = match input.start {
            Start::Now => command::TaskStart::Now,
            Start::Later => command::TaskStart::Later,
            Start::Draft => command::TaskStart::Draft,
        };
        let draft = TaskDraft {
            title: input.title,
            description: input.description,
            profile: fields::given(input.profile),
            budget,
            mode: input.plan.then_some(Mode::Plan),
            overrides: Box::new(Overrides {
                append: fields::given(input.append),
                model: fields::given(input.model),
                effort: fields::given(input.effort),
                max_turns: input.max_turns,
            }),
            colour: input.colour.map(Into::into),
            recurring: match input.recurring {
                None => Recurring::None,
                Some(Rounds::Reset) => Recurring::Reset,
                Some(Rounds::Continue) => Recurring::Continue,
            },
            schedule: Schedule {
                every: fields::given(input.every),
                cron: fields::given(input.cron),
                time_zone: fields::given(input.time_zone),
            },
        };
        let recurs = draft.recurring != Recurring::None;
        let creating = async {
            let parent = self.0.id_or_own(fields::given(input.parent).as_deref()).await?;
            match self.0.command(Command::Create { parent, before: None, draft, start }).await? {
                Outcome::Created { task, title, start } => {
                    let below = Some(parent).filter(|parent| *parent != self.0.task());
                    Ok(reply_text(task, &title, &start, below, recurs))
                }
                other => Err(unexpected(&other)),
            }
        };
        answer(creating, &call).await
    }
}

/// Describes the created task to the agent that created it.
fn reply_text(task: TaskId, title: &str, start: &StartOutcome, below: Option<TaskId>, recurs: bool) -> String {
    let created = format!("Created task {task} \"{title}\"");
    let text = match (start, below) {
        (StartOutcome::Yes, Some(below)) => format!("{created} below {below} and started it."),
        (StartOutcome::Yes, None) => format!("{created} and started it."),
        (StartOutcome::No, _) => format!("{created}."),
        (StartOutcome::Delayed { reason }, _) => {
            return format!(
                "{created}. Its first message could not be written yet ({reason}); that is tried again until it can, and \
                 then the task starts. Do not create it again."
            );
        }
    };
    if !recurs {
        return text;
    }
    format!(
        "{text} It is written down in .mxd/tasks/{task}.json: commit that file. Without times in it (\"every\" or \
         \"cron\") it runs when you send it a message."
    )
}

#[cfg(test)]
#[path = "create_task_tests.rs"]
mod tests;
