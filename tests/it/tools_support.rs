//! A worktree in a temporary folder, and everything a tool needs around it.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use mxd::base::{IdSource, Json, SystemClock};
use mxd::model::conversation::ToolUse;
use mxd::model::{BlobRef, Live};
use mxd::process::Environment;
use mxd::tools::picture::raster::Raster;
use mxd::tools::{
    AllowAll, BackgroundJobs, BlobSink, CancelTokens, Completion, Cwd, Folders, Foreground, Limits, PathPolicy,
    ReadTracker, Registry, Reply, ToolContext, execute, names,
};
use serde_json::Value;
use tokio::sync::mpsc;

/// Blobs as files in a folder.
pub struct FolderBlobs(pub PathBuf);

impl BlobSink for FolderBlobs {
    fn put(&self, bytes: Vec<u8>) -> BoxFuture<'_, io::Result<BlobRef>> {
        Box::pin(async move {
            let name = blake3::hash(&bytes).to_hex().to_string();
            std::fs::create_dir_all(&self.0)?;
            std::fs::write(self.0.join(&name), &bytes)?;
            Ok(BlobRef { blob: name.parse().map_err(io::Error::other)?, bytes: bytes.len() as u64 })
        })
    }

    fn put_file(&self, path: PathBuf) -> BoxFuture<'_, io::Result<BlobRef>> {
        Box::pin(async move {
            let bytes = std::fs::read(&path)?;
            std::fs::remove_file(&path)?;
            self.put(bytes).await
        })
    }

    fn path(&self, blob: &BlobRef) -> PathBuf {
        self.0.join(blob.blob.as_str())
    }
}

pub struct Bench {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
    pub data: PathBuf,
    pub context: ToolContext,
    pub completions: mpsc::UnboundedReceiver<Completion>,
    pub live: Arc<Mutex<Vec<Live>>>,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, data) = (base.join("work"), base.join("data"));
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(&data).unwrap();
        let blobs: Arc<dyn BlobSink> = Arc::new(FolderBlobs(data.join("blobs")));
        let (sender, completions) = mpsc::unbounded_channel();
        let limits = Limits::default();
        let live = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&live);
        let context = ToolContext {
            registry: Arc::new(Registry::builtin()),
            gate: Arc::new(AllowAll),
            consent: None,
            hooks: mxd::hooks::TaskHooks::none(IdSource::new(Arc::new(SystemClock))),
            path_policy: Arc::new(PathPolicy::new(&root).unwrap()),
            cwd: Arc::new(Cwd::new(root.clone())),
            reads: Arc::new(ReadTracker::default()),
            jobs: BackgroundJobs::new(sender, Arc::clone(&blobs), limits.output_bytes),
            foreground: Arc::new(Foreground::default()),
            tokens: CancelTokens::default(),
            live: Arc::new(move |update: Live| seen.lock().unwrap().push(update)),
            blobs,
            environment: Environment::new(),
            folders: Folders { spill: data.join("spill"), records: data.join("running") },
            ids: IdSource::new(Arc::new(SystemClock)),
            limits,
        };
        Self { _folder: folder, root, data, context, completions, live }
    }

    pub async fn call(&self, name: &str, input: Value) -> Reply {
        execute(&tool_use(name, &input), &self.context).await
    }

    pub async fn bash(&self, command: &str) -> Reply {
        self.call("bash", serde_json::json!({ "command": command })).await
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub fn cwd(&self) -> PathBuf {
        self.context.cwd.get()
    }

    /// Returns the text shown live so far.
    pub fn shown(&self) -> String {
        let live = self.live.lock().unwrap();
        live.iter()
            .filter_map(|update| match update {
                Live::OutputChunk { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}

pub fn tool_use(name: &str, input: &Value) -> ToolUse {
    let name = if name.starts_with("mcp__") { name.to_owned() } else { names::wire(name) };
    ToolUse { call: "call-1".to_owned(), name, input: Json::of(input).unwrap(), malformed: None }
}

/// Waits until `holds`, looking every few milliseconds; a condition that never holds fails the test.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(std::time::Duration::from_mins(1), async {
        while !holds() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "never came true: {what}");
}

const ALONE: &str = "MXD_TEST_ALONE";

/// Tells whether this process runs one test only.
pub fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Runs a test in a process of its own, for what is measured of the whole process.
pub fn alone(test: &str) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(ALONE, "1").stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Tells whether a process runs: it exists and is not only waiting to be reaped.
pub fn runs(pid: i32) -> bool {
    mxd::process::table::get(pid).is_some_and(|entry| !entry.zombie)
}

/// Returns the path that a notice such as "the whole is in PATH: read" names.
pub fn path_in<'a>(text: &'a str, before: &str, after: &str) -> &'a Path {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}")).1;
    Path::new(rest.split_once(after).unwrap().0)
}

/// Returns a black picture as a PNG file.
pub fn black_png(width: u32, height: u32) -> Vec<u8> {
    let pixels = [0, 0, 0, u8::MAX].repeat(width as usize * height as usize);
    Raster::new(width, height, pixels).and_then(|picture| picture.to_png()).unwrap()
}
