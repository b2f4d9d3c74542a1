use std::io;
use std::sync::Mutex;

use super::*;
use crate::agent::compaction::Trim;
use crate::agent::testing::{assistant_text, consumed, ended, event, ids, message};
use crate::base::IdSource;
use crate::model::content::{BlobId, BlobRef, Image};
use crate::model::event::{Event, StopReason};
use crate::model::message::{Message, MessageSource};

#[derive(Default)]
struct CountingBlobs(Mutex<usize>);

impl BlobSource for CountingBlobs {
    fn read(&self, _: &BlobId) -> io::Result<Vec<u8>> {
        *self.0.lock().unwrap() += 1;
        Ok(b"png".to_vec())
    }
}

/// A conversation with a picture at its beginning.
struct Fixture {
    ids: IdSource,
    log: Vec<Event>,
    requests: RequestBuilder,
    config: Arc<SessionConfig>,
    blobs: CountingBlobs,
}

impl Fixture {
    fn new() -> Self {
        let config = Arc::new(SessionConfig::default());
        let mut fixture = Self {
            ids: ids(),
            log: Vec::new(),
            requests: RequestBuilder::default(),
            config,
            blobs: CountingBlobs::default(),
        };
        let blob = serde_json::from_value(serde_json::json!("0".repeat(64))).unwrap();
        let picture = Image { data: BlobRef { blob, bytes: 3 }, media_type: "image/png".to_owned(), name: None };
        fixture.add(Message { images: vec![picture], ..message(&fixture.ids, MessageSource::User, "Look.") });
        fixture
    }

    fn add(&mut self, message: Message) {
        let consumed = consumed(&message);
        self.log.push(event(&self.ids, message));
        self.log.push(event(&self.ids, consumed));
    }

    fn exchange(&mut self, words: &str) {
        self.log.push(event(&self.ids, assistant_text("Well.")));
        self.log.push(event(&self.ids, ended(&self.ids, StopReason::EndTurn)));
        self.add(message(&self.ids, MessageSource::User, words));
    }

    fn draft(&mut self, purpose: Purpose) -> Draft {
        let conversation = Conversation::replay(&self.log);
        self.requests.draft(&conversation, &self.config, RequestKind::Response(purpose, BodyOptions::streaming()))
    }

    fn encode(&mut self, draft: Draft) -> Result<ProviderRequest, ApiError> {
        self.requests.encode(draft, &self.blobs)
    }

    /// Encodes the whole conversation with an empty cache.
    fn encode_from_scratch(&self, purpose: Purpose) -> ProviderRequest {
        let (mut requests, conversation) = (RequestBuilder::default(), Conversation::replay(&self.log));
        let draft =
            requests.draft(&conversation, &self.config, RequestKind::Response(purpose, BodyOptions::streaming()));
        requests.encode(draft, &self.blobs).unwrap()
    }
}

#[test]
fn only_new_messages_are_read_from_disk() {
    let mut fixture = Fixture::new();
    let first = fixture.draft(Purpose::Respond);
    assert!(first.needs_disk());
    fixture.encode(first).unwrap();
    fixture.exchange("And now?");
    for purpose in [Purpose::Respond, Purpose::Summarise { trim: Trim::Whole }] {
        let draft = fixture.draft(purpose);
        assert!(!draft.needs_disk(), "{purpose:?}");
        let encoded = fixture.encode(draft).unwrap();
        assert_eq!(*fixture.blobs.0.lock().unwrap(), 1, "{purpose:?}");
        assert_eq!(encoded.body, Fixture::encode_from_scratch(&fixture, purpose).body, "{purpose:?}");
        *fixture.blobs.0.lock().unwrap() = 1;
    }
}

#[test]
fn an_outdated_draft_is_rejected() {
    let mut fixture = Fixture::new();
    let late = fixture.draft(Purpose::Respond);
    fixture.exchange("And now?");
    let current = fixture.draft(Purpose::Respond);
    fixture.encode(current).unwrap();
    fixture.exchange("And then?");
    let next = fixture.draft(Purpose::Respond);
    assert_eq!(fixture.encode(late).unwrap_err().class, ErrorClass::Cancelled);
    let encoded = fixture.encode(next).unwrap();
    assert_eq!(encoded.body, fixture.encode_from_scratch(Purpose::Respond).body);
}
