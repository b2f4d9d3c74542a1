//! The check of one session: every line parsed, every parent looked up, every blob it names noted.

use std::collections::{BTreeSet, HashSet};

use crate::base::{EventId, TaskId, text};
use crate::model::content::{BlobId, Content, Image};
use crate::model::event::{Body, Event};
use crate::store::check::{Outcome, Repair, Report, Severity};
use crate::store::disk::Disk;
use crate::store::line::Parsed;
use crate::store::log::{Folder, Log};
use crate::store::session::Sessions;
use crate::store::{StoreError, line};

/// How many line numbers a sentence names.
const NAMED: usize = 5;

#[derive(Default)]
struct Tally {
    line: usize,
    events: usize,
    bad: Vec<usize>,
    glued: Vec<usize>,
    repeated: Vec<usize>,
    orphaned: Vec<usize>,
    unreadable: Vec<usize>,
    unknown: BTreeSet<String>,
    seen: HashSet<EventId>,
}

pub(super) fn check(
    disk: &dyn Disk,
    sessions: &Sessions,
    task: TaskId,
    repair: Repair,
    report: &mut Report,
    referenced: &mut BTreeSet<BlobId>,
) -> Result<(), StoreError> {
    let path = sessions.path(task);
    let mut tally = Tally::default();
    let tail = sessions.scan(task, |span| {
        tally.line += 1;
        match span.bytes.map(line::parse) {
            Some(Parsed::Whole(header)) => tally.event(header.into_event(), referenced),
            Some(Parsed::Behind { header, .. }) => {
                tally.glued.push(tally.line);
                tally.event(header.into_event(), referenced);
            }
            Some(Parsed::Bad) | None => tally.bad.push(tally.line),
            Some(Parsed::Blank) => {}
        }
    })?;
    report.sessions += 1;
    report.events += tally.events;

    if tail.is_torn() {
        let size = text::size(tail.len - tail.good);
        let sentence = format!(
            "the last {size} were cut off in the middle of a write and never counted; \
             they are moved to a file beside it before the next event is added"
        );
        report.add_mendable(repair, &path, sentence);
    } else if tail.unterminated {
        report.add_mendable(repair, &path, "its last line lacks the line end");
    }
    if let Repair::Yes { now } = repair
        && tail.needs_healing()
    {
        Log::open(disk, &path, Folder::MustExist, now)?;
    }
    tally.tell(report, &path);
    Ok(())
}

impl Tally {
    fn event(&mut self, event: Event, referenced: &mut BTreeSet<BlobId>) {
        self.events += 1;
        if !self.seen.insert(event.id) {
            self.repeated.push(self.line);
        }
        if event.parent.is_some_and(|parent| !self.seen.contains(&parent)) {
            self.orphaned.push(self.line);
        }
        match event.body {
            Body::Unknown(unknown) if unknown.problem.is_some() => self.unreadable.push(self.line),
            Body::Unknown(unknown) => {
                self.unknown.insert(unknown.kind);
            }
            body => referenced.extend(blobs_of(&body)),
        }
    }

    fn tell(self, report: &mut Report, path: &std::path::Path) {
        let mut say = |severity, lines: &[usize], sentence: &str| {
            if !lines.is_empty() {
                report.add(severity, Outcome::Remains, path, format!("{}: {sentence}", numbers(lines)));
            }
        };
        say(Severity::Error, &self.bad, "not readable and skipped; everything else is used");
        say(Severity::Warning, &self.glued, "the rest of a torn write stands in front of an event, which is used");
        say(Severity::Warning, &self.repeated, "an event that came before is repeated");
        say(
            Severity::Warning,
            &self.orphaned,
            "the event before it is not in the file; the line in front is taken instead",
        );
        say(
            Severity::Warning,
            &self.unreadable,
            "a known type in a shape that this version cannot read, kept as it is",
        );
        if !self.unknown.is_empty() {
            let kinds = self.unknown.into_iter().collect::<Vec<_>>().join(", ");
            let sentence =
                format!("holds events of types that this version does not know ({kinds}); they are kept as they are");
            report.add(Severity::Note, Outcome::Noted, path, sentence);
        }
    }
}

/// Returns `line 3`, or `lines 3, 7, 9 (and 4 more)`.
fn numbers(lines: &[usize]) -> String {
    let named = lines.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = lines.len().saturating_sub(NAMED);
    let word = if lines.len() == 1 { "line" } else { "lines" };
    if more == 0 { format!("{word} {named}") } else { format!("{word} {named} (and {more} more)") }
}

fn blobs_of(body: &Body) -> Vec<BlobId> {
    let images = |images: &[Image]| images.iter().map(|image| image.data.blob.clone()).collect::<Vec<_>>();
    match body {
        Body::Message(message) => images(&message.images),
        Body::ToolResult(result) => {
            let mut blobs = images(&result.images);
            blobs.extend(result.full.as_ref().map(|full| full.blob.clone()));
            if let Content::Blob(content) = &result.content {
                blobs.push(content.blob.clone());
            }
            blobs
        }
        _ => Vec::new(),
    }
}
