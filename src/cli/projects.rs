//! `mxd projects`: lists registered repositories, here and on other machines.

use serde::Serialize;

use crate::base::text;
use crate::cli::config::settings;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{ProjectLocator, home, registry};
use crate::cli::open_engine::runtime;
use crate::cli::paint::Style;
use crate::cli::table::{Column, Fit, Table, cell};
use crate::engine::projects::entries;
use crate::engine::query::ProjectEntry;
use crate::model::Project;
use crate::serve::ssh::SshAddress;

#[derive(clap::Args)]
pub struct Args {
    /// Also list projects of the machines in `hosts`.
    #[arg(long)]
    hosts: bool,
    /// Print one JSON project per line.
    #[arg(long)]
    json: bool,
}

/// A project of this machine.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    project: Project,
    exists: bool,
    open: bool,
    waiting: usize,
}

/// A project of another machine.
#[derive(Serialize)]
struct HostRow<'a> {
    host: &'a str,
    #[serde(flatten)]
    project: ProjectEntry,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let mut states = entries(&home)?;
    let rows: Vec<Row> = registry(&home)
        .list()?
        .into_iter()
        .map(|project| {
            let at = states.iter().position(|state| state.id == project.id);
            let state = at.map(|at| states.swap_remove(at));
            let (open, waiting) = state.map_or((false, 0), |state| (state.open, state.waiting));
            Row { exists: project.path.is_dir(), project, open, waiting }
        })
        .collect();
    if rows.is_empty() && !args.json {
        console.note("no repository is registered yet; go to one and run `mxd init`");
    }
    if console.is_terminal() && !args.json && !rows.is_empty() {
        console.table(&table(&rows))?;
    } else {
        let width = rows.iter().map(|row| row.project.name.chars().count()).max().unwrap_or(0);
        for row in &rows {
            if args.json {
                console.json(row)?;
                continue;
            }
            let gone = if row.exists { "" } else { "  (folder not found)" };
            let Project { id, name, path, base_branch, .. } = &row.project;
            let state = state(row.open, row.waiting);
            let state = if state.is_empty() { state } else { format!("  {state}") };
            console.line(&format!("{id}  {name:<width$}  {base_branch}  {}{gone}{state}", path.display()))?;
        }
    }
    console.finish()?;
    if args.hosts {
        let hosts = settings(console, here, &home)?.settings.hosts;
        return print_hosts(console, &hosts, args.json);
    }
    Ok(0)
}

/// Prints the projects of other machines, as each answers.
fn print_hosts(console: &mut Console, hosts: &[String], json: bool) -> Outcome {
    if hosts.is_empty() {
        console.note("no other machine is set; `mxd config set --global hosts '[\"me@bigbox\"]'` sets one");
    }
    let runtime = runtime()?;
    let mut code = 0;
    for host in hosts {
        let listed = SshAddress::parse(host).and_then(|address| runtime.block_on(address.projects()));
        match listed {
            Ok(projects) => {
                for project in projects {
                    if json {
                        console.json(&HostRow { host, project })?;
                        continue;
                    }
                    let ProjectEntry { id, name, path, open, waiting } = &project;
                    let state = state(*open, *waiting);
                    let state = if state.is_empty() { state } else { format!("  {state}") };
                    console.line(&format!("{id}  {name}  ssh://{host}{path}{state}"))?;
                }
            }
            Err(fault) => {
                console.fault(&fault);
                code = crate::cli::exit::PROBLEMS;
            }
        }
        console.finish()?;
    }
    Ok(code)
}

/// Returns what goes on in a project, in words.
fn state(open: bool, waiting: usize) -> String {
    let asks = (waiting > 0).then(|| text::count(waiting, "question", "questions"));
    asks.into_iter().chain(open.then(|| "open".to_owned())).collect::<Vec<_>>().join(", ")
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        Column::left("Project"),
        Column::left("State"),
        Column::left("Branch"),
        Column::left("Folder").fit(Fit::Flexible),
        Column::left("Id").fit(Fit::Optional),
    ]);
    for Row { project, exists, open, waiting } in rows {
        let path = project.path.display();
        let folder = if *exists { path.to_string() } else { format!("{path} (not found)") };
        table.push(vec![
            cell(&project.name, Style::Strong),
            cell(state(*open, *waiting), if *waiting > 0 { Style::Warning } else { Style::Plain }),
            cell(&project.base_branch, Style::Plain),
            cell(folder, if *exists { Style::Plain } else { Style::Bad }),
            cell(project.id.to_string(), Style::Dim),
        ]);
    }
    table
}
