use std::io;
use std::sync::Mutex;

use super::*;
use crate::agent::compaction::Trim;
use crate::agent::testing::{consumed, ended, event, ids, message, said};
use crate::base::IdSource;
use crate::model::content::{BlobId, BlobRef, Image};
use crate::model::event::{Event, StopReason};
use crate::model::message::{Message, Source};

#[derive(Default)]
struct Album(Mutex<usize>);

impl BlobSource for Album {
    fn read(&self, _: &BlobId) -> io::Result<Vec<u8>> {
        *self.0.lock().unwrap() += 1;
        Ok(b"png".to_vec())
    }
}

/// A conversation with a picture at its beginning.
struct Scene {
    ids: IdSource,
    log: Vec<Event>,
    requests: Requests,
    config: Arc<SessionConfig>,
    album: Album,
}

impl Scene {
    fn new() -> Self {
        let config = Arc::new(SessionConfig::default());
        let mut scene =
            Self { ids: ids(), log: Vec::new(), requests: Requests::default(), config, album: Album::default() };
        let blob = serde_json::from_value(serde_json::json!("0".repeat(64))).unwrap();
        let picture = Image { data: BlobRef { blob, bytes: 3 }, media_type: "image/png".to_owned(), name: None };
        scene.hear(Message { images: vec![picture], ..message(&scene.ids, Source::User, "Look.") });
        scene
    }

    fn hear(&mut self, message: Message) {
        let consumed = consumed(&message);
        self.log.push(event(&self.ids, message));
        self.log.push(event(&self.ids, consumed));
    }

    fn exchange(&mut self, words: &str) {
        self.log.push(event(&self.ids, said("Well.")));
        self.log.push(event(&self.ids, ended(&self.ids, StopReason::EndTurn)));
        self.hear(message(&self.ids, Source::User, words));
    }

    fn draft(&mut self, purpose: Purpose) -> Draft {
        let conversation = Conversation::replay(&self.log);
        self.requests.draft(&conversation, &self.config, Wanted::Response(purpose, BodyOptions::streaming()))
    }

    fn spell(&mut self, draft: Draft) -> Result<Call, ApiError> {
        self.requests.spell(draft, &self.album)
    }

    /// What somebody who has never seen this conversation would send.
    fn anew(&self, purpose: Purpose) -> Call {
        let (mut requests, conversation) = (Requests::default(), Conversation::replay(&self.log));
        let draft = requests.draft(&conversation, &self.config, Wanted::Response(purpose, BodyOptions::streaming()));
        requests.spell(draft, &self.album).unwrap()
    }
}

#[test]
fn only_what_is_new_is_read_from_the_disk() {
    let mut scene = Scene::new();
    let first = scene.draft(Purpose::Respond);
    assert!(first.reads());
    scene.spell(first).unwrap();
    scene.exchange("And now?");
    for purpose in [Purpose::Respond, Purpose::Summarise { trim: Trim::Whole }] {
        let draft = scene.draft(purpose);
        assert!(!draft.reads(), "{purpose:?}");
        let spelled = scene.spell(draft).unwrap();
        assert_eq!(*scene.album.0.lock().unwrap(), 1, "{purpose:?}");
        assert_eq!(spelled.body, Scene::anew(&scene, purpose).body, "{purpose:?}");
        *scene.album.0.lock().unwrap() = 1;
    }
}

#[test]
fn a_draft_that_comes_late_changes_nothing() {
    let mut scene = Scene::new();
    let late = scene.draft(Purpose::Respond);
    scene.exchange("And now?");
    let current = scene.draft(Purpose::Respond);
    scene.spell(current).unwrap();
    scene.exchange("And then?");
    let next = scene.draft(Purpose::Respond);
    assert_eq!(scene.spell(late).unwrap_err().class, ErrorClass::Cancelled);
    let spelled = scene.spell(next).unwrap();
    assert_eq!(spelled.body, scene.anew(Purpose::Respond).body);
}
