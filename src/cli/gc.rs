//! `mxd gc`: frees what is no longer needed, and says what it was. Work that is nowhere else is archived first or stays.

use crate::base::{Clock as _, Fault, SystemClock, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::inside::Reach;
use crate::cli::place::{Here, Located, home, registry};
use crate::cli::work::runtime;
use crate::config::paths::Home;
use crate::engine::leftovers::{Attic, Leftover, Look, find_in_home, free_in_home};
use crate::store::EngineLock;
use crate::store::lock::LockError;

#[derive(clap::Args)]
pub struct Args {
    /// Say what would be freed, and free nothing.
    #[arg(long)]
    dry_run: bool,
    /// Every registered project, not only this one.
    #[arg(long)]
    all: bool,
}

/// What came of it so far.
#[derive(Default)]
struct Tally {
    things: usize,
    bytes: u64,
    failed: bool,
}

impl Args {
    /// Returns what the command does to tasks and files.
    pub fn reach(&self) -> Reach {
        Reach::changes(!self.dry_run)
    }
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let home = home()?;
    let keep = here.settings(&home)?.settings.session_keep;
    let located = if args.all { None } else { here.try_located(&home)? };
    let projects = match located {
        Some(located) => vec![located],
        None => registry(&home)
            .list()?
            .into_iter()
            .map(|project| Located { folder: home.project(project.id), project })
            .collect(),
    };
    let mut tally = Tally::default();
    let runtime = runtime()?;
    runtime.block_on(async {
        for leftover in find_in_home(&home) {
            let freed = if args.dry_run { Ok(()) } else { free_in_home(&leftover).await };
            tally.add(console, &leftover, args.dry_run, freed.map(|()| None))?;
        }
        for located in &projects {
            one(console, &home, located, args.dry_run, keep, &mut tally).await?;
        }
        Ok::<(), Failure>(())
    })?;
    let what = format!("{} in {}", text::size(tally.bytes), text::count(tally.things, "place", "places"));
    console.line(&match (tally.things, args.dry_run) {
        (0, _) => "nothing to free".to_owned(),
        (_, true) => format!("{what} would be freed; without --dry-run it is"),
        (_, false) => format!("freed {what}"),
    })?;
    console.finish()?;
    Ok(if tally.failed { exit::PROBLEMS } else { 0 })
}

async fn one(
    console: &mut Console,
    home: &Home,
    located: &Located,
    dry_run: bool,
    keep: Option<u32>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let Located { project, folder } = located;
    if !folder.root().is_dir() {
        return Ok(());
    }
    // Whoever works on a project may need any of it. Looking needs no lock, but would see what is only half done.
    let lock = if dry_run {
        EngineLock::holder(&folder.lock()).map(|holder| holder.map(LockError::Held).map_or(Ok(None), Err))?
    } else {
        EngineLock::acquire(&folder.lock(), SystemClock.now()).map(Some)
    };
    let _lock = match lock {
        Ok(lock) => lock,
        Err(busy @ LockError::Held(_)) => {
            console.line(&format!("left alone: {}: {busy}", project.name))?;
            return Ok(());
        }
        Err(LockError::Store(error)) => return Err(error.into()),
    };
    let attic = Attic::open(home, project).await?;
    for leftover in attic.find(Look::Thorough, keep).await? {
        if let Some(why) = &leftover.stays {
            console.line(&format!("left alone: {} ({}): {why}", leftover.what, text::size(leftover.bytes)))?;
            continue;
        }
        let freed = if dry_run { Ok(None) } else { attic.free(&leftover).await };
        tally.add(console, &leftover, dry_run, freed)?;
    }
    Ok(())
}

impl Tally {
    /// Counts one, and says what became of it. What cannot be freed stops nothing else.
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
                self.things += 1;
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
