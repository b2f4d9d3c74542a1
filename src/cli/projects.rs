//! `mxd projects`: lists registered repositories.

use serde::Serialize;

use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{home, registry};
use crate::cli::paint::Style;
use crate::cli::table::{Column, Fit, Table, cell};
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
    if console.is_terminal() && !args.json && !projects.is_empty() {
        console.table(&table(&projects))?;
        console.finish()?;
        return Ok(0);
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

fn table(projects: &[Project]) -> Table {
    let mut table = Table::new(&[
        Column::left("Project"),
        Column::left("Branch"),
        Column::left("Folder").fit(Fit::Flexible),
        Column::left("Id").fit(Fit::Optional),
    ]);
    for project in projects {
        let exists = project.path.is_dir();
        let path = project.path.display();
        let folder = if exists { path.to_string() } else { format!("{path} (not found)") };
        table.push(vec![
            cell(&project.name, Style::Strong),
            cell(&project.base_branch, Style::Plain),
            cell(folder, if exists { Style::Plain } else { Style::Bad }),
            cell(project.id.to_string(), Style::Dim),
        ]);
    }
    table
}
