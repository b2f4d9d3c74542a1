//! Checks one session: parses every line, looks up every parent, and collects the blobs it refers to.

use std::collections::{BTreeSet, HashSet};

use crate::base::{EventId, TaskId, text};
use crate::model::content::{BlobId, Content, Image};
use crate::model::event::{Body, Event};
use crate::store::check::{CheckSeverity, Outcome, Repair, Report};
use crate::store::disk::Disk;
use crate::store::line::Parsed;
use crate::store::log::{FolderPolicy, Log};
use crate::store::session::Sessions;
use crate::store::{StoreError, line};

/// The number of line numbers that a sentence lists.
const NAMED: usize = 5;

#[derive(Default)]
struct SessionCheck {
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
    let mut check = SessionCheck::default();
    let tail = sessions.scan(task, |span| {
        check.line += 1;
        match span.bytes.map(line::parse) {
            Some(Parsed::Whole(header)) => check.event(header.into_event(), referenced),
            Some(Parsed::Behind { header, .. }) => {
                check.glued.push(check.line);
                check.event(header.into_event(), referenced);
            }
            Some(Parsed::Bad) | None => check.bad.push(check.line),
            Some(Parsed::Blank) => {}
        }
    })?;
    report.sessions += 1;
    report.events += check.events;

    if tail.is_torn() {
        let size = text::size(tail.len - tail.good);
        let sentence = format!(
            "the last {size} are an interrupted write and were never acknowledged; \
             they are moved to a file next to it before the next event is added"
        );
        report.add_repairable(repair, &path, sentence);
    } else if tail.unterminated {
        report.add_repairable(repair, &path, "its last line has no line end");
    }
    if let Repair::Yes { now } = repair
        && tail.needs_repair()
    {
        Log::open(disk, &path, FolderPolicy::MustExist, now)?;
    }
    check.report(report, &path);
    Ok(())
}

impl SessionCheck {
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

    fn report(self, report: &mut Report, path: &std::path::Path) {
        let mut add = |severity, lines: &[usize], sentence: &str| {
            if !lines.is_empty() {
                report.add(severity, Outcome::Remains, path, format!("{}: {sentence}", numbers(lines)));
            }
        };
        add(CheckSeverity::Error, &self.bad, "unreadable and skipped; everything else is used");
        add(CheckSeverity::Warning, &self.glued, "the rest of an interrupted write precedes an event, which is used");
        add(CheckSeverity::Warning, &self.repeated, "a repeated event");
        add(
            CheckSeverity::Warning,
            &self.orphaned,
            "its parent event is not in the file; the line before is used instead",
        );
        add(
            CheckSeverity::Warning,
            &self.unreadable,
            "a known type in a form that this version cannot read; it is preserved",
        );
        if !self.unknown.is_empty() {
            let kinds = self.unknown.into_iter().collect::<Vec<_>>().join(", ");
            let sentence = format!("has events of types that this version does not know ({kinds}); they are preserved");
            report.add(CheckSeverity::Note, Outcome::Noted, path, sentence);
        }
    }
}

/// Formats line numbers: `line 3`, or `lines 3, 7, 9 (and 4 more)`.
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
