//! Turns of one agent against a model that answers at once: what a turn costs besides the model and the tool.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use mxd::agent::driver::{self, RunSetup};
use mxd::agent::machine::Limits;
use mxd::agent::prompt::TaskBrief;
use mxd::agent::segment::{SegmentTools, ToolSource, WorktreePreparer};
use mxd::base::{MessageId, RunId, SystemClock, TaskId, Timestamp};
use mxd::model::content::BlobId;
use mxd::model::conversation::Wire;
use mxd::model::event::{Exit, SessionConfig, StopReason};
use mxd::model::message::{Message, MessageSource};
use mxd::model::run::Ending;
use mxd::model::usage::Tokens;
use mxd::provider::budget::Budget;
use mxd::provider::encode::{body, encode_message};
use mxd::provider::{
    ApiError, BlobSource, BodyOptions, EncodedMessage, ListedModel, ModelInfo, Provider, ProviderRequest, RateGate,
    Response, ResponseBlock, Signal,
};
use mxd::store::writer::Options;
use mxd::store::{Durability, RealDisk, Store};
use mxd::tools::Registry;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired;
use crate::{Outcome, fixture, tool_context};

pub fn measure(report: &mut Report) -> Outcome {
    for (turns, durability, name) in
        [(200, Durability::Os, "os"), (200, Durability::Sync, "sync"), (1_000, Durability::Os, "os")]
    {
        turn_row(report, turns, durability, name)?;
    }
    growth_rows(report)
}

/// Answers at once: the same tool call, so many times, then `done`.
pub struct AtOnce {
    turns: usize,
    answered: AtomicUsize,
}

impl AtOnce {
    pub fn reading(turns: usize) -> Self {
        Self { turns, answered: AtomicUsize::new(0) }
    }
}

impl Provider for AtOnce {
    fn respond(
        &self,
        _: ProviderRequest,
        _: mpsc::Sender<Signal>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        let number = self.answered.fetch_add(1, Ordering::Relaxed);
        // Each call differs, or the agent would be asked whether it goes in circles.
        let (name, input) = match number {
            number if number < self.turns => {
                ("read_file", format!(r#"{{"path":"notes.txt","limit":{}}}"#, 1_000 + number))
            }
            _ => ("done", r#"{"status":"passed","result":"read it all"}"#.to_owned()),
        };
        let calls = tool_context::call(&format!("call_{number}"), name, &input);
        let blocks = calls.into_iter().map(ResponseBlock::ToolUse).collect();
        let tokens = Tokens { input: 1_000, output: 50, ..Tokens::default() };
        let model = "bench".to_owned();
        let (stop, usage_reported, cut_call) = (StopReason::ToolUse, true, None);
        Box::pin(std::future::ready(Ok(Response { blocks, tokens, usage_reported, stop, cut_call, model })))
    }

    fn count_tokens(&self, _: ProviderRequest, _: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Nothing here is large enough to be kept aside.
pub struct NoBlobs;

impl BlobSource for NoBlobs {
    fn read(&self, _: &BlobId) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn turn_row(report: &mut Report, turns: usize, durability: Durability, name: &str) -> Outcome {
    let what = format!("turn, {turns} turns of read_file, durability {name}");
    if !report.wants(&what) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let root = folder.path().join("work");
    std::fs::create_dir_all(&root)?;
    std::fs::write(root.join("notes.txt"), fixture::text(1_500))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let one = |store: &Store, task| {
        let provider = Arc::new(AtOnce::reading(turns));
        runtime.block_on(run(store, task, &root, folder.path(), provider))
    };

    // What has to be written and sent in any case: every event once, every speech once, every request's bytes.
    let (sample, task) = (open(folder.path(), durability)?, TaskId::fresh(&fixture::ids()));
    one(&sample, task)?;
    let events = sample.sessions().active(task)?.events;
    let conversation = mxd::agent::conversation::Conversation::replay(&events);
    let config = conversation.config().cloned().unwrap_or_default();
    let limit = || -> Outcome {
        let mut lines = Vec::new();
        for event in &events {
            lines.clear();
            serde_json::to_writer(&mut lines, event)?;
        }
        let mut segments = Vec::new();
        for speech in conversation.role_messages() {
            segments.push(encode_message(config.wire, speech, &NoBlobs)?);
            if segments.len() % 2 == 1 {
                std::hint::black_box(body(&config, &segments, &BodyOptions::streaming()));
            }
        }
        Ok(())
    };
    let store = open(&folder.path().join("again"), durability)?;
    let result = paired(|| one(&store, TaskId::fresh(&fixture::ids())), limit)?;
    let nanos = |time: std::time::Duration| time.as_nanos() as f64 / turns as f64;
    report.add(&Row {
        what,
        ours: nanos(result.ours),
        limit: nanos(result.limit),
        unit: Unit::NanosPerTurn,
        ratio: 1.0 / result.speed,
        against: "serialising the same events, speeches and requests".to_owned(),
        target: Target::None,
    })
}

pub fn open(folder: &Path, durability: Durability) -> Outcome<Store> {
    open_at(&folder.join("sessions"), &folder.join("blobs"), durability)
}

pub fn open_at(sessions: &Path, blobs: &Path, durability: Durability) -> Outcome<Store> {
    Ok(Store::start(Options {
        disk: Arc::new(RealDisk),
        clock: Arc::new(SystemClock),
        ids: fixture::ids(),
        sessions: sessions.to_owned(),
        blobs: blobs.to_owned(),
        durability,
    })?)
}

/// Tools that never change.
struct Fixed(Arc<Registry>);

impl ToolSource for Fixed {
    fn open(&self) -> BoxFuture<'_, SegmentTools> {
        Box::pin(async { SegmentTools { registry: Arc::clone(&self.0), notes: Vec::new() } })
    }
}

/// Lets one agent work, without an engine, until it says that it is done.
pub async fn run(store: &Store, task: TaskId, root: &Path, data: &Path, provider: Arc<dyn Provider>) -> Outcome {
    let (tools, completions) = tool_context::context(root, data)?;
    let ids = fixture::ids();
    let clock = Arc::new(SystemClock);
    let config = SessionConfig {
        model: "bench".to_owned(),
        wire: Wire::Anthropic,
        system: mxd::agent::prompt::system(mxd::config::profile::SystemPrompt::Add, "", ""),
        max_output: 8_000,
        ..SessionConfig::default()
    };
    let brief = TaskBrief {
        task,
        title: "Read".to_owned(),
        description: String::new(),
        parent: None,
        branch: None,
        folder: root.to_owned(),
        budget: None,
    };
    let preparer = WorktreePreparer {
        brief,
        worktree: root.to_owned(),
        config,
        tool_source: Arc::new(Fixed(Arc::clone(&tools.registry))),
        notes: Vec::new(),
        cwd: Arc::clone(&tools.cwd),
        tools: Mutex::default(),
        ids: ids.clone(),
        clock: clock.clone(),
    };
    let (mailbox, inbox) = mpsc::unbounded_channel();
    let message = Message::new(MessageId::fresh(&ids), Timestamp::EPOCH, MessageSource::User, "Read the notes.");
    store.append(task, None, message).await?;
    let setup = RunSetup {
        task,
        run: RunId::fresh(&ids),
        store: store.clone(),
        provider,
        gate: Arc::new(RateGate::default()),
        late_catalogue: None,
        facts: ModelInfo { window: 100_000_000, max_output: 8_000, prices: None },
        tools,
        preparer: Arc::new(preparer),
        snapshotter: None,
        budget: Budget::default(),
        limits: Limits::default(),
        ids,
        clock,
        completions,
    };
    let ending = driver::drive(setup, inbox).await?;
    drop(mailbox);
    if ending == Ending::Exited(Exit::DonePassed) {
        Ok(())
    } else {
        Err(format!("the run ended with {ending:?}").into())
    }
}

/// A request shares its bytes with the conversation, so a piece of it costs the same however many there are.
fn growth_rows(report: &mut Report) -> Outcome {
    let per_byte = "request, cost per byte at 1,000 turns against 100".to_owned();
    if !report.wants(&per_byte) {
        return Ok(());
    }
    let config = SessionConfig { wire: Wire::Anthropic, max_output: 8_000, ..SessionConfig::default() };
    let segments = segments(1_000)?;
    let build = |count: usize, times: usize| -> Outcome {
        for _ in 0..times {
            std::hint::black_box(body(&config, &segments[..count], &BodyOptions::streaming()));
        }
        Ok(())
    };
    // The same number of bytes on both sides: one long request, or ten that are a tenth as long.
    let result = paired(|| build(2_000, 40), || build(200, 400))?;
    report.add(&Row {
        what: per_byte,
        ours: result.ours.as_nanos() as f64 / 40.0,
        limit: result.limit.as_nanos() as f64 / 40.0,
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: "ten requests of a tenth of the length".to_owned(),
        target: Target::AtMost(1.3),
    })
}

/// Returns the encoded speeches of so many turns.
fn segments(turns: usize) -> Outcome<Vec<EncodedMessage>> {
    use mxd::model::content::Content;
    use mxd::model::conversation::{Block, Role, RoleMessage, ToolOutcome};
    let mut segments = Vec::new();
    for turn in 0..turns {
        let id = format!("call_{turn}");
        let said = Block::ToolUse(tool_context::call(&id, "read_file", r#"{"path":"notes.txt"}"#)?);
        let heard = Block::ToolResult(ToolOutcome {
            call: id,
            content: Content::text(fixture::text(1_500)),
            is_error: false,
            images: Vec::new(),
        });
        for (role, block) in [(Role::Assistant, said), (Role::User, heard)] {
            segments.push(encode_message(Wire::Anthropic, &RoleMessage { role, blocks: vec![block] }, &NoBlobs)?);
        }
    }
    Ok(segments)
}
