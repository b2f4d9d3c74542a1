//! `mxd projects`: lists registered repositories.

use serde::Serialize;

use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{home, registry};
use crate::model::Project;

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON project per line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    project: &'a Project,
    exists: bool,
}

pub fn run(console: &mut Console, args: &Args) -> Outcome {
    let projects = registry(&home()?).list()?;
    if projects.is_empty() && !args.json {
        console.note("no repository is registered yet; go to one and run `mxd init`");
    }
    let width = projects.iter().map(|project| project.name.chars().count()).max().unwrap_or(0);
    for project in &projects {
        let exists = project.path.is_dir();
        if args.json {
            console.json(&Row { project, exists })?;
            continue;
        }
        let gone = if exists { "" } else { "  (folder not found)" };
        let Project { id, name, path, base_branch, .. } = project;
        console.line(&format!("{id}  {name:<width$}  {base_branch}  {}{gone}", path.display()))?;
    }
    console.finish()?;
    Ok(0)
}
