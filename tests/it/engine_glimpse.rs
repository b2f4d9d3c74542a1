//! A look at a project that is not open: what was last known of it, and nothing is touched.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mxd::base::{AskId, Clock as _, ProjectId, SystemClock};
use mxd::config::paths::{Home, ProjectFolder};
use mxd::config::{Environment, Settings, merge};
use mxd::engine;
use mxd::model::task::{Status, TaskNode};
use mxd::model::{Project, Tree};
use mxd::store::tree_file::TreeFile;
use mxd::store::{Digests, RealDisk};

use crate::support::store::{Bench, ask, block_on, usage};

struct Place {
    _folder: tempfile::TempDir,
    project: Project,
    folder: ProjectFolder,
    settings: Settings,
    bench: Bench,
}

impl Place {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(temporary.path().as_os_str()), None, None).unwrap();
        let bench = Bench::new(RealDisk, temporary.path());
        let id = ProjectId::fresh(&bench.ids);
        let folder = home.project(id);
        let project = Project {
            id,
            name: "calc".to_owned(),
            path: temporary.path().to_owned(),
            base_branch: "main".to_owned(),
            created_at: SystemClock.now(),
            extra: serde_json::Map::new(),
        };
        let bench = Bench { folder: folder.root().to_owned(), ..bench };
        let settings = merge(&Environment::default(), &[]).unwrap().settings;
        Self { _folder: temporary, project, folder, settings, bench }
    }

    fn look(&self) -> Option<engine::snapshot::Snapshot> {
        engine::glimpse(&self.folder, &self.project, &self.settings).unwrap()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fn gather(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    gather(&path, files);
                } else {
                    files.insert(path.display().to_string(), std::fs::read(&path).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        gather(self.folder.root(), &mut files);
        files
    }
}

#[test]
fn what_was_last_known_is_shown_and_nothing_is_touched() {
    let place = Place::new();
    assert_eq!(place.look(), None, "nobody has worked here yet");

    let at = SystemClock.now();
    let (root, below) = (place.bench.task(), place.bench.task());
    let mut node = TaskNode::new(below, "Parse durations", "engineer", at);
    (node.parent, node.status) = (Some(root), Status::InProgress);
    let mut above = TaskNode::new(root, "orchestrator", "orchestrator", at);
    above.children.push(below);
    let tree = Tree::from_nodes(Some(root), [above, node]).unwrap().tree;
    std::fs::create_dir_all(place.folder.root()).unwrap();
    TreeFile::new(Arc::new(RealDisk), place.folder.tree()).save(&tree).unwrap();
    let bare = place.look().unwrap();
    assert_eq!(
        bare.tasks.iter().map(|task| task.node.title.as_str()).collect::<Vec<_>>(),
        ["orchestrator", "Parse durations"]
    );
    assert!(bare.tasks.iter().all(|task| task.asks.is_empty() && task.turns == 0), "of sessions nothing was noted");

    let store = place.bench.store();
    let bodies = vec![usage("model", 10, Some(30)), ask(AskId::fresh(&place.bench.ids), "Which unit?")];
    let last = block_on(store.append_batch(below, None, bodies)).unwrap().last().unwrap().id;
    let sessions = place.bench.sessions();
    let mut digests = Digests::load(Arc::new(RealDisk), place.folder.digests());
    digests.note(&sessions, below, last, &sessions.active(below).unwrap().state()).unwrap();
    digests.save().unwrap();
    block_on(store.append_batch(below, None, vec![usage("model", 10, Some(30))])).unwrap();
    store.close();

    let before = place.files();
    let seen = place.look().unwrap();
    let task = seen.task(below).unwrap();
    assert_eq!((task.asks.len(), task.usage.cost().0), (1, 30), "as it was noted, whatever was appended since");
    assert!(!task.alive, "nobody works");
    assert_eq!(before, place.files(), "nothing was written, locked or mended");
}

#[test]
fn a_tree_that_cannot_be_read_is_left_to_the_engine() {
    let place = Place::new();
    std::fs::create_dir_all(place.folder.root()).unwrap();
    std::fs::write(place.folder.tree(), "{ \"version\": 1, \"root\": ").unwrap();
    assert!(engine::glimpse(&place.folder, &place.project, &place.settings).is_err());
    std::fs::write(place.folder.tree(), "{ \"version\": 99, \"root\": \"another shape\" }").unwrap();
    let fault = engine::glimpse(&place.folder, &place.project, &place.settings).unwrap_err();
    assert!(fault.to_string().contains("99"), "{fault}");
    assert_eq!(place.files().len(), 1, "no copy was made");
}
