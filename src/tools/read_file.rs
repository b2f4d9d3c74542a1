//! `read_file`: text with line numbers, pictures, and a description of other files.

mod lines;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text::size;
use crate::model::Image;
use crate::tools::context::{Limits, ToolContext};
use crate::tools::fence::{FileTarget, Readable};
use crate::tools::names;
use crate::tools::path_display::spelled;
use crate::tools::picture::{self, Picture};
use crate::tools::read_tracker::FileVersion;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};

/// How many bytes are read to detect the type of a file.
const SNIFF: usize = 8 << 10;
const MAX_FILES: usize = 50;

pub(super) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The files or parts of files to read, in this order.
    #[schemars(length(min = 1))]
    files: Vec<FileRange>,
}

/// A file, or some lines of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileRange {
    /// Relative to the current folder, or absolute.
    path: String,
    /// The first line to read, counted from 1. Default 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many bytes of the first line to skip: the way on in a line that was cut.
    #[serde(default)]
    byte: Option<u64>,
    /// How many lines to read at most. Default 2000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl Handler for ReadFile {
    const NAME: &'static str = names::READ_FILE;
    const DESCRIPTION: &'static str = "Reads files: several, or several ranges, in one call. Each line comes with its \
        number and a tab, which are not part of the file. At most 2000 lines per part and about 48 KB per call; what \
        is left out is said, with the offset to go on from, and the byte to go on from in \
        a very long line. Pictures (png, jpeg, gif, webp) are shown to you, scaled \
        down if they are large. Binary files are recognised and not shown. Files outside the worktree can be read and \
        are marked.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str =
        r#"{"files": [{"path": "src/main.rs"}, {"path": "src/lib.rs", "offset": 40, "limit": 60}]}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        if input.files.len() > MAX_FILES {
            return Reply::error(format!("At most {MAX_FILES} files at once; ask for the others in another call."));
        }
        let mut texts = Vec::new();
        let mut images = Vec::new();
        let mut failed = 0;
        let mut left = context.limits.read_bytes;
        for (index, part) in input.files.iter().enumerate() {
            if context.tokens.is_cancelled() {
                return Reply::error("Interrupted.");
            }
            // A part may use what earlier parts did not need.
            let share = left / (input.files.len() - index);
            match read(part.clone(), share, context).await {
                Ok(FileContent { text, picture }) => {
                    left = left.saturating_sub(text.len());
                    texts.push(text);
                    if let Some(picture) = picture {
                        match save_picture(picture, &part.path, context).await {
                            Ok(image) => images.push(image),
                            Err(error) => texts.push(format!("[the picture could not be kept: {error}]")),
                        }
                    }
                }
                Err(problem) => {
                    failed += 1;
                    texts.push(problem);
                }
            }
        }
        Reply { is_error: failed == input.files.len(), images, ..Reply::text(texts.join("\n\n")) }
    }
}

struct FileContent {
    text: String,
    picture: Option<Picture>,
}

async fn save_picture(picture: Picture, name: &str, context: &ToolContext) -> io::Result<Image> {
    let data = context.blobs.put(picture.bytes).await?;
    Ok(Image { data, media_type: picture.media_type.to_owned(), name: Some(name.to_owned()) })
}

async fn read(part: FileRange, budget: usize, context: &ToolContext) -> Result<FileContent, String> {
    let refused = |problem: String| format!("{}: {problem}", part.path);
    let readable = context
        .path_policy
        .for_reading(&part.path, &context.cwd.get())
        .map_err(|error| refused(format!("{error}.")))?;
    let title = title(&readable, context);
    let (limits, path) = (context.limits, readable.path.clone());
    let (range, cancel) = (part.clone(), context.tokens.clone());
    let read = tokio::task::spawn_blocking(move || {
        let file = FileTarget::of(&path)?.file()?;
        let version = FileVersion::of(&file.metadata()?);
        read_content(file, &range, budget, limits, &|| cancel.is_cancelled()).map(|seen| (seen, version))
    });
    let (mut seen, version) = read
        .await
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| refused(explain_error(&error, &readable.path)))?;
    context.reads.record(&readable.path, version);
    seen.text = format!("{title}{}", seen.text);
    Ok(seen)
}

fn title(readable: &Readable, context: &ToolContext) -> String {
    let mark = if readable.is_outside { " (outside the worktree)" } else { "" };
    format!("{}{mark}", spelled(context.path_policy.shown(&readable.path)))
}

fn read_content(
    mut file: File,
    part: &FileRange,
    budget: usize,
    limits: Limits,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<FileContent> {
    let bytes = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(SNIFF as u64).read_to_end(&mut start)?;
    file.rewind()?;
    if let Some(kind) = picture::kind(&start) {
        let seen =
            picture::read(file, kind, limits).map(|(picture, text)| FileContent { text, picture: Some(picture) });
        return Ok(seen.unwrap_or_else(|problem| FileContent { text: format!(": {problem}"), picture: None }));
    }
    if let Some(what) = binary(&start) {
        return Ok(FileContent { text: format!(": {what}, {}; not shown.", size(bytes)), picture: None });
    }
    let wanted = lines::LineRange { offset: part.offset.unwrap_or(1), byte: part.byte, limit: part.limit };
    let text = lines::read(file, wanted, budget, cancelled)?;
    Ok(FileContent { text, picture: None })
}

/// Returns the kind of a file that is not text.
fn binary(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 7] = [
        (b"\xff\xfe", "UTF-16 text (convert it with iconv -f UTF-16 -t UTF-8)"),
        (b"\xfe\xff", "UTF-16 text (convert it with iconv -f UTF-16 -t UTF-8)"),
        (b"%PDF-", "a PDF document (pdftotext shows its text)"),
        (b"\x7fELF", "a program or library (ELF)"),
        (b"PK\x03\x04", "a zip archive (unzip -l lists it)"),
        (b"\x1f\x8b", "gzip data (zcat shows it)"),
        (b"SQLite format 3\0", "an SQLite database (sqlite3 opens it)"),
    ];
    let named = known.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| *what);
    named.or_else(|| start.contains(&0).then_some("a binary file (xxd shows its bytes)"))
}

fn explain_error(error: &io::Error, path: &Path) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no such file.{}", similar_name(path)),
        io::ErrorKind::IsADirectory => "it is a folder; list_files shows what is in it.".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder.".to_owned(),
        io::ErrorKind::PermissionDenied => "the system does not permit reading it.".to_owned(),
        _ => format!("{error}."),
    }
}

/// Suggests an existing file with a similar name.
fn similar_name(path: &Path) -> String {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return String::new() };
    let name = name.to_string_lossy().to_lowercase();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return format!(" There is no folder {} either.", spelled(folder));
    };
    let alike = |entry: &str| strsim::normalized_damerau_levenshtein(&entry.to_lowercase(), &name);
    let names = entries.flatten().take(2000).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let best = names.map(|entry| (alike(&entry), entry)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.6)
        .map(|(_, entry)| format!(" Did you mean {}?", spelled(Path::new(&entry))))
        .unwrap_or_default()
}
