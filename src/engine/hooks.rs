//! The lifecycle hooks of a project: from which files they come, which of them may run, and what tasks need to call
//! them.
//!
//! The user's own hooks are in their settings. A repository proposes hooks in `.mxd/config.json`, `.mxd/hooks.json` and
//! `.claude/settings.json` of the main checkout; each runs once the user has approved it. The files are read again when
//! one of them has changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::base::{MessageId, TaskId};
use crate::config::hooks::definitions;
use crate::config::paths::RepoFiles;
use crate::config::{HookDefinition, Layer, LayerFile, Merged, Problem};
use crate::engine::driver::EngineContext;
use crate::engine::permissions::Stamp;
use crate::engine::settings_files::{self, SettingsFiles};
use crate::engine::update::{Level, Notice, Update};
use crate::git::repo_file;
use crate::hooks::{Hook, HookHost, HookSet, HookSite, HttpPolicy, Reach, TaskHooks, scripts};
use crate::model::hook::{HookEvent, HookRan};
use crate::model::message::{HookMessage, Message, MessageSource};
use crate::model::{TaskNode, TaskNumber};
use crate::permit::Mode;
use crate::tools::PolicySource;

/// A hook of a settings file, and whether it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedHook {
    pub definition: HookDefinition,
    pub state: HookState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookState {
    Active,
    /// From the repository. An approval stores this hash.
    NeedsApproval {
        hash: String,
    },
    /// It cannot run.
    Unusable(String),
    /// All hooks are switched off.
    Disabled,
}

/// The hooks of a project's files.
#[derive(Clone, Debug, Default)]
pub struct ListedHooks {
    pub hooks: Vec<ListedHook>,
    /// The problems of the files that only contain hooks. Those of settings files are reported with the settings.
    pub problems: Vec<Problem>,
    set: Arc<HookSet>,
}

impl ListedHooks {
    /// Reads the files. `merged` are the settings of the same files.
    pub fn read(files: &SettingsFiles, merged: &Merged) -> Self {
        let mut read = layer_files(files);
        let hook_files = files.repository.iter().flat_map(|top| hook_files(top));
        let mut problems = Vec::new();
        for path in hook_files {
            let top = files.repository.as_deref().unwrap_or(Path::new("/"));
            let file = match repo_file::read(top, &path, repo_file::SMALL) {
                Ok(None) => continue,
                Ok(Some(bytes)) => LayerFile::read_hooks(Layer::Repo, &path, &bytes),
                Err(error) => LayerFile::unreadable(Layer::Repo, &path, error.to_string()),
            };
            problems.extend(file.problems().iter().cloned());
            read.push(file);
        }
        let settings = &merged.settings;
        let project = files.repository.clone().unwrap_or_default();
        let (mut hooks, mut active) = (Vec::new(), Vec::new());
        for definition in definitions(&read) {
            let approval = if definition.layer == Layer::Repo {
                match scripts::read(&definition, &project, &project) {
                    Ok(scripts) => Some(definition.approval_hash(&scripts)),
                    Err(error) => {
                        hooks.push(ListedHook { definition, state: HookState::Unusable(error.to_string()) });
                        continue;
                    }
                }
            } else {
                None
            };
            let is_approved = |hash: &String| settings.approved_lifecycle_hooks.contains(hash);
            let state = match (Hook::new(&definition, approval.clone()), approval) {
                (Err(why), _) => HookState::Unusable(why),
                (Ok(_), Some(hash)) if !is_approved(&hash) => HookState::NeedsApproval { hash },
                (Ok(_), _) if settings.disable_all_hooks => HookState::Disabled,
                (Ok(hook), _) => {
                    active.push(hook);
                    HookState::Active
                }
            };
            hooks.push(ListedHook { definition, state });
        }
        let http = HttpPolicy { allowed: settings.allowed_http_hook_urls.clone() };
        Self { hooks, problems, set: Arc::new(HookSet { hooks: active, http }) }
    }

    pub fn set(&self) -> Arc<HookSet> {
        Arc::clone(&self.set)
    }

    /// Returns the hooks that wait for the user's approval.
    pub fn waiting(&self) -> impl Iterator<Item = (&HookDefinition, &str)> {
        self.hooks.iter().filter_map(|hook| match &hook.state {
            HookState::NeedsApproval { hash } => Some((&hook.definition, hash.as_str())),
            HookState::Active | HookState::Unusable(_) | HookState::Disabled => None,
        })
    }

    /// Returns the notice about hooks that wait for approval, or `None` if none does.
    pub fn approval_notice(&self) -> Option<Notice> {
        let count = self.waiting().count();
        let hooks = crate::base::text::count(count, "lifecycle hook", "lifecycle hooks");
        let verb = if count == 1 { "does" } else { "do" };
        let text = format!(
            "The repository has {hooks} that {verb} not run until you approve {}: `mxd hooks approve`",
            if count == 1 { "it" } else { "them" }
        );
        (count > 0).then_some(Notice { level: Level::Info, text, task: None })
    }
}

/// Returns the settings files of all layers. Unreadable ones were reported with the settings.
fn layer_files(files: &SettingsFiles) -> Vec<LayerFile> {
    let read = |(layer, path): (Layer, PathBuf)| {
        let bytes = settings_files::read(layer, &path).ok()??;
        Some(LayerFile::read(layer, &path, &bytes))
    };
    files.paths().into_iter().filter_map(read).collect()
}

/// The files of a repository that only propose hooks.
fn hook_files(top: &Path) -> [PathBuf; 2] {
    [RepoFiles::new(top).hooks(), top.join(".claude").join("settings.json")]
}

/// The hooks that apply in a project now.
pub(in crate::engine) struct ProjectHooks {
    files: SettingsFiles,
    read: Mutex<(Vec<Stamp>, Arc<HookSet>)>,
}

impl ProjectHooks {
    pub(in crate::engine) fn new(files: SettingsFiles) -> Self {
        Self { files, read: Mutex::default() }
    }

    /// Reads files if one has changed.
    pub(in crate::engine) fn current(&self) -> Arc<HookSet> {
        let settings = self.files.paths().into_iter().map(|(_, path)| path);
        let proposals = self.files.repository.iter().flat_map(|top| hook_files(top));
        let stamps: Vec<Stamp> =
            settings.chain(proposals).map(|path| crate::engine::permissions::stamp(&path)).collect();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 != stamps {
            // While a file is broken, the hooks stay as they were.
            match self.files.merged() {
                Ok(merged) if merged.fault().is_none() => {
                    *read = (stamps, ListedHooks::read(&self.files, &merged).set());
                }
                Ok(_) | Err(_) => tracing::warn!("the settings cannot be read; the lifecycle hooks stay as they were"),
            }
        }
        Arc::clone(&read.1)
    }
}

/// The task that hooks are called for.
#[derive(Clone, Debug)]
pub(in crate::engine) struct HookedTask {
    pub(in crate::engine) id: TaskId,
    title: String,
    number: Option<u32>,
    profile: String,
    is_root: bool,
    worktree: Option<PathBuf>,
}

impl HookedTask {
    /// Returns a task of which only the id is known.
    pub(in crate::engine) fn unnamed(id: TaskId) -> Self {
        let (title, profile) = (String::new(), String::new());
        Self { id, title, number: None, profile, is_root: false, worktree: None }
    }
}

impl From<&TaskNode> for HookedTask {
    fn from(node: &TaskNode) -> Self {
        Self {
            id: node.id,
            title: node.title.clone(),
            number: node.number.map(TaskNumber::get),
            profile: node.profile.clone().unwrap_or_default(),
            is_root: node.parent.is_none(),
            worktree: node.worktree.clone(),
        }
    }
}

impl EngineContext {
    /// Returns the hooks of a task. `policy` decides about its calls; without it, the settings' mode counts.
    pub(in crate::engine) fn task_hooks(
        self: &Arc<Self>,
        task: &HookedTask,
        policy: Option<Arc<dyn PolicySource>>,
    ) -> TaskHooks {
        let folder = self.home.project(self.project.id);
        let worktree = task.worktree.as_ref().map(|stored| folder.worktree(stored)).filter(|path| path.is_dir());
        let site = HookSite {
            session: task.id.to_string(),
            transcript: folder.session(task.id),
            agent: (!task.is_root).then(|| (task.id.to_string(), task.profile.clone())),
            task: json!({ "id": task.id, "number": task.number, "title": task.title }),
            reach: Reach {
                cwd: worktree.unwrap_or_else(|| self.project.path.clone()),
                project_dir: self.project.path.clone(),
                environment: self.agent_git.environment(self.environment(task.id), std::env::vars_os()),
                records: Some(self.records.clone()),
                spill: Some(self.spill.clone()),
            },
            env_file: Some(self.spill.join(format!("hooks-{}.env", task.id))),
            ids: self.ids.clone(),
        };
        let policy = policy.unwrap_or_else(|| Arc::clone(&self.permissions) as Arc<dyn PolicySource>);
        TaskHooks::new(Arc::new(TaskHost { ctx: Arc::clone(self), task: task.id, policy }), site)
    }
}

/// Connects the hooks of a task with the engine.
struct TaskHost {
    ctx: Arc<EngineContext>,
    task: TaskId,
    policy: Arc<dyn PolicySource>,
}

impl HookHost for TaskHost {
    fn hooks(&self) -> Arc<HookSet> {
        self.ctx.hooks.current()
    }

    fn permission_mode(&self) -> String {
        let mode = self.policy.current().mode;
        let word = match mode {
            Mode::Ask | Mode::Open => "default",
            Mode::Edits | Mode::Sandboxed => "acceptEdits",
            Mode::Refuse => "dontAsk",
            Mode::Bypass => "bypassPermissions",
            Mode::Plan | Mode::Delegate => mode.word(),
        };
        word.to_owned()
    }

    fn record(&self, ran: HookRan) {
        // Nothing waits for the record: a hook must not become slower by being written down.
        let saved = self.ctx.store.submit(self.task, None, vec![ran.into()]);
        let task = self.task;
        tokio::spawn(async move {
            if let Err(error) = saved.await {
                tracing::warn!(%task, %error, "the record of a lifecycle hook could not be saved");
            }
        });
    }

    fn tell_user(&self, event: HookEvent, text: String) {
        let text = format!("{event} hook: {}", crate::base::text::headline(&text, 400));
        let notice = Notice { level: Level::Info, text, task: Some(self.task) };
        self.ctx.feed.publish(&Update::Notice { notice });
    }

    fn tell_agent(&self, event: HookEvent, text: String) {
        let from = MessageSource::Hook { event, effect: HookMessage::Wakes };
        let message = Message::new(MessageId::fresh(&self.ctx.ids), self.ctx.clock.now(), from, text);
        drop(tokio::spawn(self.ctx.store.submit(self.task, None, vec![message.into()])));
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
