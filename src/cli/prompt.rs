//! `mxd prompt`: one question to a model, without a task.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::{Fault, MicroUsd, SystemClock};
use crate::cli::config::settings;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::{check_model_access, runtime};
use crate::cli::{agents, stdin};
use crate::engine::models::{CommandLineChoice, Models};
use crate::engine::oneshot::{self, Question};
use crate::engine::profiles::Profiles;

#[derive(clap::Args)]
pub struct Args {
    /// The question. `-` reads it from stdin.
    #[arg(required = true)]
    text: Vec<String>,
    /// Ask with the model and prompt of this profile.
    #[arg(long)]
    profile: Option<String>,
    /// Demand an answer that fits this JSON schema.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The most that it may cost, in USD.
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Print answer, tokens and cost as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    check_model_access(&merged.settings, &CommandLineChoice::default())?;
    let profiles = Profiles::load(&agents::folders(here, &home), &merged.settings.profile);
    let profile = args.profile.as_deref().map(|name| profiles.choose(name)).transpose()?;
    let schema = args.schema.as_ref().map(|path| {
        let failed = |reason: String| Fault::user(format!("cannot read the schema {}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    });
    let limit = args.budget.map(|amount| {
        MicroUsd::from_dollars(amount)
            .ok_or_else(|| Fault::user(format!("--budget {amount} is not an amount of dollars")))
    });
    let question = Question {
        purpose: "prompt".to_owned(),
        prompt: stdin::read_args(&args.text)?,
        schema: schema.transpose()?,
        limit: limit.transpose()?,
    };
    let models = Models::new(merged.settings.clone(), CommandLineChoice::default(), Arc::new(SystemClock));
    let (answer, record) = runtime()?.block_on(oneshot::ask(&models, profile, &question, &SystemClock));
    if let Some(record) = &record {
        let path = here.peek(&home)?.map_or_else(|| home.oneshots(), |located| located.folder.oneshots());
        oneshot::record(&path, record)?;
    }
    let answer = answer?;
    match (&answer.value, args.json) {
        (_, true) => console.json(&answer)?,
        (Some(value), false) => console.line(&value.to_string())?,
        (None, false) => console.text(&format!("{}\n", answer.text))?,
    }
    console.finish()?;
    Ok(0)
}
