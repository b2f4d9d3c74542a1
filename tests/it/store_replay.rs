//! Any interleaving of appends, batches, rewinds, compactions, forks and restarts: what is folded live is what is
//! replayed, and both are what a naive model says.

use std::collections::{BTreeMap, HashMap};

use mxd::base::Timestamp;
use mxd::base::{AskId, EventId, IdSource, MessageId, TaskId};
use mxd::model::ask::{Answer, AnsweredBy};
use mxd::model::content::Content;
use mxd::model::event::{
    AskAnswered, AskWithdrawn, BackgroundRef, Batch, Body, Event, ForkMarker, MessagesConsumed, MessagesWithdrawn,
    ToolResult,
};
use mxd::model::fold::SessionState;
use mxd::model::message::{Message, MessageSource};
use mxd::store::state_cache::Summary;
use mxd::store::{Sessions, StateCache, Store, line};
use proptest::prelude::*;

use crate::support::sim_disk::SimDisk;
use crate::support::store::{
    Bench, ask, block_on, call, cases, compact_marker, compact_started, head_moved, ids, message, owned, result, text,
    turn_ended, usage,
};

/// Something that is done to a session. Numbers pick among what is there.
#[derive(Clone, Debug)]
enum Step {
    Append(Kind),
    Batch(Vec<Kind>),
    /// To any event that was ever in the session, or to none.
    Move(Option<usize>),
    /// With messages on the way; whether it is completed.
    Compact {
        messages: usize,
        completed: bool,
        usage: bool,
    },
    Fork,
    Reopen,
    /// Keeps what the sessions add up to, as a program that ends does.
    Digest,
    /// The program ended in the middle of something.
    Crash(Torn),
}

/// What a crash left at the end of a file.
#[derive(Clone, Debug)]
enum Torn {
    Line,
    Batch,
    Newline,
}

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Message,
    Consume(usize),
    Withdraw(usize),
    Usage { model: u8, output: u64, priced: bool },
    Call(u8),
    Result(u8),
    TurnEnded,
    Ask,
    Answer(usize),
    AskWithdrawn(usize),
    Background(u8),
    BackgroundDone(u8),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Text),
        Just(Kind::Message),
        any::<usize>().prop_map(Kind::Consume),
        any::<usize>().prop_map(Kind::Withdraw),
        (0..3_u8, 0..1_000_u64, any::<bool>()).prop_map(|(model, output, priced)| Kind::Usage {
            model,
            output,
            priced
        }),
        (0..3_u8).prop_map(Kind::Call),
        (0..3_u8).prop_map(Kind::Result),
        Just(Kind::TurnEnded),
        Just(Kind::Ask),
        any::<usize>().prop_map(Kind::Answer),
        any::<usize>().prop_map(Kind::AskWithdrawn),
        (0..3_u8).prop_map(Kind::Background),
        (0..3_u8).prop_map(Kind::BackgroundDone),
    ]
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        8 => kind().prop_map(Step::Append),
        3 => prop::collection::vec(kind(), 2..5).prop_map(Step::Batch),
        3 => prop::option::weighted(0.9, any::<usize>()).prop_map(Step::Move),
        2 => (0..3_usize, any::<bool>(), any::<bool>())
            .prop_map(|(messages, completed, usage)| Step::Compact { messages, completed, usage }),
        1 => Just(Step::Fork),
        1 => Just(Step::Reopen),
        2 => Just(Step::Digest),
        1 => prop_oneof![Just(Torn::Line), Just(Torn::Batch), Just(Torn::Newline)].prop_map(Step::Crash),
    ];
    (any::<usize>(), step)
}

/// What a session must come to, kept by the simplest means: no carries, no windows.
#[derive(Clone, Default)]
struct Model {
    live: SessionState,
    /// Everything in the file, in order.
    events: Vec<Event>,
    /// What was active when an event was the head.
    active_at: HashMap<EventId, Vec<EventId>>,
    messages: Vec<MessageId>,
    asks: Vec<AskId>,
    usage: BTreeMap<String, (u64, u64, u64, u64)>,
}

impl Model {
    fn take(&mut self, events: &[Event]) {
        for event in events {
            self.live.apply(event);
            self.events.push(event.clone());
            self.active_at.insert(event.id, self.naive_active());
            match &event.body {
                Body::Message(message) => self.messages.push(message.id),
                Body::MessagesConsumed(MessagesConsumed { ids })
                | Body::MessagesWithdrawn(MessagesWithdrawn { ids }) => {
                    self.messages.retain(|id| !ids.contains(id));
                }
                Body::AskRaised(ask) => self.asks.push(ask.id),
                Body::AskAnswered(AskAnswered { id, .. }) | Body::AskWithdrawn(AskWithdrawn { id, .. }) => {
                    self.asks.retain(|pending| pending != id);
                }
                Body::Usage(usage) => {
                    let sum = self.usage.entry(usage.model.clone()).or_default();
                    sum.0 += 1;
                    sum.1 += usage.tokens.output;
                    sum.2 += usage.cost.map_or(0, |cost| cost.0);
                    sum.3 += u64::from(usage.cost.is_none());
                }
                Body::ForkMarker(_) => {
                    self.messages.clear();
                    self.asks.clear();
                    self.usage.clear();
                }
                _ => {}
            }
        }
    }

    fn naive_chain(&self) -> Vec<&Event> {
        let by_id: HashMap<_, _> = self.events.iter().map(|event| (event.id, event)).collect();
        let mut chain: Vec<_> =
            std::iter::successors(self.events.last(), |event| event.parent.map(|id| by_id[&id])).collect();
        chain.reverse();
        chain
    }

    /// The chain from its last completed compaction on, with the messages sent while that ran.
    fn naive_active(&self) -> Vec<EventId> {
        let chain = self.naive_chain();
        let Some(marker) = chain.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))) else {
            return chain.iter().map(|event| event.id).collect();
        };
        let start = chain[..marker].iter().rposition(|event| matches!(event.body, Body::CompactStarted(_))).unwrap();
        let window = chain[start..marker]
            .iter()
            .filter(|event| matches!(event.body, Body::Message(_) | Body::CompactStarted(_)));
        window.chain(&chain[marker..]).map(|event| event.id).collect()
    }
}

struct World {
    disk: SimDisk,
    bench: Bench,
    store: Store,
    models: BTreeMap<TaskId, Model>,
}

impl World {
    fn new() -> Self {
        let disk = SimDisk::new();
        let bench = Bench::new(disk.clone(), "/project");
        let store = bench.store();
        let models = (0..2).map(|_| (bench.task(), Model::default())).collect();
        Self { disk, bench, store, models }
    }

    fn append(&mut self, task: TaskId, bodies: Vec<Body>) {
        let events = owned(block_on(self.store.append_batch(task, None, bodies)).unwrap());
        self.models.get_mut(&task).unwrap().take(&events);
    }

    fn step(&mut self, pick: usize, step: &Step) {
        let task = *self.models.keys().nth(pick % self.models.len()).unwrap();
        let model = &self.models[&task];
        match step {
            Step::Append(kind) => {
                let body = body(kind, model, &self.bench.ids);
                self.append(task, vec![body]);
            }
            Step::Batch(kinds) => {
                let bodies = kinds.iter().map(|kind| body(kind, model, &self.bench.ids)).collect();
                self.append(task, bodies);
            }
            Step::Move(to) => {
                let to = to.and_then(|at| model.events.get(at % model.events.len().max(1)));
                self.append(task, vec![head_moved(to.map(|event| event.id))]);
            }
            Step::Compact { messages, completed, usage: with_usage } => {
                self.append(task, vec![compact_started()]);
                for number in 0..*messages {
                    let id = MessageId::fresh(&self.bench.ids);
                    self.append(task, vec![message(id, format!("meanwhile {number}"))]);
                }
                if *with_usage {
                    self.append(task, vec![usage("summariser", 50, Some(70))]);
                }
                if *completed {
                    self.append(task, vec![compact_marker("summary")]);
                }
            }
            Step::Fork => self.fork(task),
            Step::Reopen => {
                self.store.close();
                self.store = self.bench.store();
            }
            Step::Digest => self.digest(),
            Step::Crash(torn) => {
                self.store.close();
                self.tear(task, torn);
                self.check_digests();
                self.store = self.bench.store();
            }
        }
    }

    fn digests(&self) -> StateCache {
        StateCache::load(self.bench.disk.clone(), self.bench.folder.join("digests.json"))
    }

    fn digest(&self) {
        let (mut digests, sessions) = (self.digests(), self.bench.sessions());
        for (task, model) in &self.models {
            let Some(last) = model.events.last() else { continue };
            digests.note(&sessions, *task, last.id, &model.live).unwrap();
        }
        digests.save().unwrap();
    }

    fn tear(&self, task: TaskId, torn: &Torn) {
        let log = self.bench.log(task);
        let (Some(mut content), Some(last)) = (self.disk.content(&log), self.models[&task].events.last()) else {
            return;
        };
        let (id, parent) = (EventId::fresh(&self.bench.ids), Some(last.id));
        let unfinished = Event { id, parent, batch: Some(Batch(1, 2)), body: text("never told"), ..last.clone() };
        match torn {
            Torn::Line => content.extend(b"{\"v\":1,\"id\":\"01M3"),
            Torn::Batch => line::encode(&unfinished, &mut content).unwrap(),
            Torn::Newline => drop(content.pop_if(|byte| *byte == b'\n')),
        }
        self.disk.put(&log, &content);
    }

    /// However little of a session is read behind its digest, it is what the whole session adds up to.
    fn check_digests(&self) {
        let (mut digests, sessions) = (self.digests(), self.bench.sessions());
        for (task, model) in &self.models {
            let whole = Summary { head: model.events.last().map(|event| event.id), state: model.live.clone() };
            assert_eq!(digests.summary(&sessions, *task).unwrap(), whole);
        }
    }

    fn fork(&mut self, from: TaskId) {
        let source = self.bench.sessions().active(from).unwrap();
        let Some(last) = source.events.last().filter(|_| self.models.len() < 6) else { return };
        let (to, source_event) = (self.bench.task(), last.id);
        let plan = move |copied: &[Event]| -> Vec<Body> {
            let open = SessionState::replay(copied).turns.open;
            let mut closing: Vec<Body> = open.iter().map(|open| result(&open.call)).collect();
            let (title, description) = ("Copy".to_owned(), String::new());
            closing.push(ForkMarker { source: from, source_event, title, description }.into());
            closing
        };
        match block_on(self.store.copy_session(from, to, plan)) {
            Ok(events) => {
                let mut model = Model::default();
                model.take(&owned(events));
                self.models.insert(to, model);
            }
            Err(mxd::store::StoreError::Empty(task)) => assert_eq!(task, from),
            Err(error) => panic!("{error}"),
        }
    }

    fn check(&self) {
        let sessions = self.bench.sessions();
        self.check_digests();
        for (task, model) in &self.models {
            let (on_disk, bad) = self.bench.stream(*task);
            assert_eq!((&on_disk, bad), (&model.events, 0), "the answers are what stands in the file");
            let active = sessions.active(*task).unwrap();
            assert_eq!(ids(&active.events), model.naive_active());
            assert_eq!(active.head, model.events.last().map(|event| event.id));
            assert_eq!(active.damage, mxd::store::chain::Damage::default());
            assert_eq!(active.state(), model.live, "live and replayed");
            check_totals(&model.live, model);
            check_pages(&sessions, *task, model);
            for event in model.events.iter().step_by(3) {
                let then = sessions.active_at(*task, event.id).unwrap();
                assert_eq!(ids(&then.events), model.active_at[&event.id], "what was active at {}", event.id);
                assert_eq!(then.head, Some(event.id));
            }
        }
    }
}

/// Money stays spent, messages stay sent and questions stay asked, whatever was rewound or summarised.
fn check_totals(state: &SessionState, model: &Model) {
    let usage: BTreeMap<_, _> = (state.usage.by_model.iter())
        .map(|(name, sum)| (name.clone(), (sum.responses, sum.tokens.output, sum.cost.0, sum.unpriced)))
        .collect();
    assert_eq!(usage, model.usage);
    assert_eq!(state.messages.iter().map(|message| message.id).collect::<Vec<_>>(), model.messages);
    assert_eq!(state.asks.iter().map(|ask| ask.id).collect::<Vec<_>>(), model.asks);
}

fn check_pages(sessions: &Sessions, task: TaskId, model: &Model) {
    let chain: Vec<_> = model.naive_chain().into_iter().map(|event| event.id).collect();
    for size in [1, 3, 1_000] {
        let mut page = sessions.last_page(task, size).unwrap();
        let mut found = ids(&page.events);
        while let Some(cursor) = page.older {
            page = sessions.page_before(task, cursor, size).unwrap();
            assert!(page.events.len() <= size && !page.events.is_empty(), "no page is empty");
            found.splice(0..0, ids(&page.events));
        }
        assert_eq!(found, chain, "pages of {size}");
    }
    for (at, id) in chain.iter().enumerate().step_by(4) {
        let cursor = sessions.cursor_before(task, *id).unwrap();
        assert_eq!(ids(&sessions.page_before(task, cursor, usize::MAX).unwrap().events), chain[..at]);
    }
}

fn body(kind: &Kind, model: &Model, ids: &IdSource) -> Body {
    let pick_message = |at: &usize| {
        let known = &model.messages;
        let id = if known.is_empty() { MessageId::fresh(ids) } else { known[at % known.len()] };
        vec![id]
    };
    let pick_ask = |at: &usize| {
        let known = &model.asks;
        if known.is_empty() { AskId::fresh(ids) } else { known[at % known.len()] }
    };
    match kind {
        Kind::Text => text("said"),
        Kind::Message => message(MessageId::fresh(ids), "hello"),
        Kind::Consume(at) => MessagesConsumed { ids: pick_message(at) }.into(),
        Kind::Withdraw(at) => MessagesWithdrawn { ids: pick_message(at) }.into(),
        Kind::Usage { model, output, priced } => {
            usage(&format!("model {model}"), *output, priced.then_some(*output * 3))
        }
        Kind::Call(n) => call(&format!("call {n}")),
        Kind::Result(n) => result(&format!("call {n}")),
        Kind::TurnEnded => turn_ended(ids),
        Kind::Ask => ask(AskId::fresh(ids), "which?"),
        Kind::Answer(at) => {
            let answer = Answer {
                text: "this".to_owned(),
                choice: None,
                by: AnsweredBy::User,
                rules: Vec::new(),
                cause: None,
                client: None,
            };
            AskAnswered { id: pick_ask(at), answer }.into()
        }
        Kind::AskWithdrawn(at) => AskWithdrawn { id: pick_ask(at), reason: "done".to_owned() }.into(),
        Kind::Background(n) => ToolResult {
            call: format!("call {n}"),
            name: "mcp__shell__run".to_owned(),
            content: Content::text("started"),
            is_error: false,
            images: Vec::new(),
            full: None,
            background: Some(BackgroundRef { id: format!("p{n}"), command: "sleep".to_owned() }),
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        }
        .into(),
        Kind::BackgroundDone(n) => {
            let (process, command) = (format!("p{n}"), "sleep".to_owned());
            let from = MessageSource::BackgroundComplete { process, command, exit: Some(0), duration_ms: 5 };
            let (id, at) = (MessageId::fresh(ids), Timestamp::EPOCH);
            Message::new(id, at, from, "").into()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_the_same_live_and_replayed(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::new();
        for (number, (pick, step)) in steps.iter().enumerate() {
            world.step(*pick, step);
            if number % 8 == 7 {
                world.check();
            }
        }
        world.check();
        world.store.close();
        world.store = world.bench.store();
        world.check();
    }
}
