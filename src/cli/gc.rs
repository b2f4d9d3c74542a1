//! `mxd gc`: deletes data that is no longer needed, and lists it. Work that exists nowhere else is archived first, or
//! kept.

use crate::base::{Clock as _, Fault, SystemClock, text};
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{LocatedProject, ProjectLocator, home, registry};
use crate::cli::open_engine::runtime;
use crate::config::paths::Home;
use crate::engine::gc::{Collector, Leftover, ScanDepth, delete_in_home, find_in_home};
use crate::store::EngineLock;
use crate::store::lock::LockError;

#[derive(clap::Args)]
pub struct Args {
    /// Show what would be freed, without freeing it.
    #[arg(long)]
    dry_run: bool,
    /// Clean up every registered project.
    #[arg(long)]
    all: bool,
}

#[derive(Default)]
struct Totals {
    count: usize,
    bytes: u64,
    failed: bool,
}

impl Args {
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.dry_run)
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let keep = here.settings(&home)?.settings.session_keep;
    let located = if args.all { None } else { here.try_locate(&home)? };
    let projects = match located {
        Some(located) => vec![located],
        None => registry(&home)
            .list()?
            .into_iter()
            .map(|project| LocatedProject { folder: home.project(project.id), project })
            .collect(),
    };
    let mut totals = Totals::default();
    let runtime = runtime()?;
    runtime.block_on(async {
        for leftover in find_in_home(&home) {
            let freed = if args.dry_run { Ok(()) } else { delete_in_home(&leftover).await };
            totals.add(console, &leftover, args.dry_run, freed.map(|()| None))?;
        }
        for located in &projects {
            collect_project(console, &home, located, args.dry_run, keep, &mut totals).await?;
        }
        Ok::<(), Failure>(())
    })?;
    let what = format!("{} in {}", text::size(totals.bytes), text::count(totals.count, "item", "items"));
    console.line(&match (totals.count, args.dry_run) {
        (0, _) => "nothing to free".to_owned(),
        (_, true) => format!("{what} would be freed; run without --dry-run to free it"),
        (_, false) => format!("freed {what}"),
    })?;
    console.finish()?;
    Ok(if totals.failed { exit::PROBLEMS } else { 0 })
}

async fn collect_project(
    console: &mut Console,
    home: &Home,
    located: &LocatedProject,
    dry_run: bool,
    keep: Option<u32>,
    totals: &mut Totals,
) -> Result<(), Failure> {
    let LocatedProject { project, folder } = located;
    if !folder.root().is_dir() {
        return Ok(());
    }
    // A running process may need any of it. A dry run takes no lock, but it would see unfinished work.
    let lock = if dry_run {
        EngineLock::holder(&folder.lock()).map(|holder| holder.map(LockError::Held).map_or(Ok(None), Err))?
    } else {
        EngineLock::acquire(&folder.lock(), SystemClock.now()).map(Some)
    };
    let _lock = match lock {
        Ok(lock) => lock,
        Err(busy @ LockError::Held(_)) => {
            console.line(&format!("skipped: {}: {busy}", project.name))?;
            return Ok(());
        }
        Err(LockError::Store(error)) => return Err(error.into()),
    };
    let collector = Collector::open(home, project).await?;
    for leftover in collector.find(ScanDepth::Full, keep).await? {
        if let Some(why) = &leftover.keep_reason {
            console.line(&format!("skipped: {} ({}): {why}", leftover.what, text::size(leftover.bytes)))?;
            continue;
        }
        let freed = if dry_run { Ok(None) } else { collector.delete(&leftover).await };
        totals.add(console, &leftover, dry_run, freed)?;
    }
    Ok(())
}

impl Totals {
    /// Counts and prints one item. A failure does not stop the others.
    fn add(
        &mut self,
        console: &mut Console,
        leftover: &Leftover,
        dry_run: bool,
        freed: Result<Option<String>, Fault>,
    ) -> Result<(), Failure> {
        let Leftover { what, bytes, .. } = leftover;
        match freed {
            Ok(note) => {
                self.count += 1;
                self.bytes += bytes;
                let verb = if dry_run { "would free" } else { "freed" };
                let note = note.map(|note| format!("; {note}")).unwrap_or_default();
                console.line(&format!("{verb}: {what} ({}){note}", text::size(*bytes)))
            }
            Err(fault) => {
                self.failed = true;
                console.line(&format!("error: {what}: {}", fault.message))
            }
        }
    }
}
