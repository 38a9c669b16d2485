//! The actor of these tests: a diary about people.

use std::borrow::Cow;
use std::sync::Arc;

use actix::{Actor, Handler, Message, ResponseFuture};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    Compression, ErrorChain, Event, KeyStore, PersistError, PersistentActor, PersistentContext,
    RecoveryError, Reply, Serializers, Shredded, Snapshot, SnapshotOffer, StoreResponse,
};
use actix_persistence_storage_api::{
    Journal, PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria,
};
use serde::{Deserialize, Serialize};

use super::keys::Keys;
use crate::tally::Log;
use crate::world::World;

/// An entry of a diary; a forgiving one has a value for what is shredded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry<const FORGIVING: bool> {
    /// The person it is about; nobody if empty.
    pub(crate) about: String,
    pub(crate) text: String,
}

impl<const FORGIVING: bool> Event for Entry<FORGIVING> {
    const MANIFEST: &'static str = "diary.entry";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        (!self.about.is_empty()).then(|| self.about.as_str().into())
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        FORGIVING.then(|| Self {
            about: String::new(),
            text: format!("{what:?}"),
        })
    }
}

/// All entries of a diary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pages {
    pub(crate) about: String,
    pub(crate) lines: Vec<String>,
}

impl Snapshot for Pages {
    const MANIFEST: &'static str = "diary.pages";
    const VERSION: u32 = 1;
    const COMPRESSION: Option<Compression> = Some(Compression::Zstd { min_bytes: 100 });

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        (!self.about.is_empty()).then(|| self.about.as_str().into())
    }
}

pub(crate) fn id() -> PersistenceId {
    PersistenceId::of("Diary", "1")
}

pub(crate) struct Diary<const FORGIVING: bool> {
    pub(crate) lines: Vec<String>,
    log: Log,
}

impl<const FORGIVING: bool> Diary<FORGIVING> {
    pub(crate) fn new(log: &Log) -> Self {
        Self {
            lines: Vec::new(),
            log: log.clone(),
        }
    }

    pub(crate) fn factory(log: &Log) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self::new(&log)
    }
}

impl<const FORGIVING: bool> Actor for Diary<FORGIVING> {
    type Context = PersistentContext<Self>;
}

impl<const FORGIVING: bool> PersistentActor for Diary<FORGIVING> {
    type Event = Entry<FORGIVING>;
    type Snapshot = Pages;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, entry: &Self::Event) {
        self.lines.push(entry.text.clone());
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Pages>) {
        self.log
            .add(format!("snapshot {}", offer.metadata.sequence_nr));
        self.lines = offer.snapshot.lines;
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.log.add(ErrorChain(error).to_string());
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let outcome = match response.error() {
            Some(error) => ErrorChain(error).to_string(),
            None => "saved".to_owned(),
        };
        self.log.add(outcome);
    }
}

/// Writes an entry about a person, after one about nobody if told so; answers with the number of entries.
#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
pub(crate) struct Write(pub(crate) &'static str, pub(crate) &'static str);

impl<const FORGIVING: bool> Handler<Write> for Diary<FORGIVING> {
    type Result = Reply<Write>;

    fn handle(&mut self, Write(about, text): Write, ctx: &mut Self::Context) -> Reply<Write> {
        let (about, text) = (about.to_owned(), text.to_owned());
        ctx.persist_async(Entry { about, text })
            .reply(|diary| Ok(diary.lines.len()))
    }
}

/// Writes entries about a person, together.
#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
pub(crate) struct WriteAll(pub(crate) &'static str, pub(crate) Vec<&'static str>);

impl<const FORGIVING: bool> Handler<WriteAll> for Diary<FORGIVING> {
    type Result = Reply<WriteAll>;

    fn handle(
        &mut self,
        WriteAll(about, texts): WriteAll,
        ctx: &mut Self::Context,
    ) -> Reply<WriteAll> {
        let entries = texts.into_iter().map(|text| Entry {
            about: about.to_owned(),
            text: text.to_owned(),
        });
        ctx.persist_all_async(entries)
            .reply(|diary| Ok(diary.lines.len()))
    }
}

/// Answers with all entries.
#[derive(Message)]
#[rtype(result = "Vec<String>")]
pub(crate) struct Lines;

impl<const FORGIVING: bool> Handler<Lines> for Diary<FORGIVING> {
    type Result = Vec<String>;

    fn handle(&mut self, _: Lines, _: &mut Self::Context) -> Vec<String> {
        self.lines.clone()
    }
}

/// Saves a snapshot about this person.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Save(pub(crate) &'static str);

impl<const FORGIVING: bool> Handler<Save> for Diary<FORGIVING> {
    type Result = ();

    fn handle(&mut self, Save(about): Save, ctx: &mut Self::Context) {
        ctx.save_snapshot(&Pages {
            about: about.to_owned(),
            lines: self.lines.clone(),
        });
    }
}

/// Loads the latest snapshot; answers with its lines, or the error.
#[derive(Message)]
#[rtype(result = "Result<Option<Vec<String>>, String>")]
pub(crate) struct Load;

impl<const FORGIVING: bool> Handler<Load> for Diary<FORGIVING> {
    type Result = ResponseFuture<Result<Option<Vec<String>>, String>>;

    fn handle(&mut self, _: Load, ctx: &mut Self::Context) -> Self::Result {
        let loading = ctx.load_snapshot(SnapshotCriteria::LATEST);
        Box::pin(async {
            let loaded = loading
                .await
                .map_err(|error| ErrorChain(&error).to_string())?;
            Ok(loaded.map(|loaded| loaded.snapshot.lines))
        })
    }
}

/// The same stores with these keys.
pub(crate) fn world_with(storage: &MemoryStorage, keys: &Arc<Keys>) -> World {
    let journal = Arc::new(storage.journal());
    world_on(storage, journal, keys)
}

/// The same stores with these keys, and another journal in front.
pub(crate) fn world_on(
    storage: &MemoryStorage,
    journal: Arc<dyn Journal>,
    keys: &Arc<Keys>,
) -> World {
    let keys = Arc::clone(keys) as Arc<dyn KeyStore>;
    World::on(storage.clone(), journal, |environment| {
        environment.serializers = Serializers::default().with_key_store(keys);
    })
}

/// Returns the payloads of all events, in order.
pub(crate) async fn stored(storage: &MemoryStorage) -> Vec<Payload> {
    let journal = storage.journal();
    let (id, limit) = (id(), PageLimit::DEFAULT);
    let page = journal.replay_messages(&id, ReplayRange::ALL, limit);
    let events = page.await.unwrap().events.into_iter();
    events.map(|event| event.payload).collect()
}

pub(crate) fn contains(payload: &Payload, text: &str) -> bool {
    let mut parts = payload.bytes.windows(text.len());
    parts.any(|part| part == text.as_bytes())
}
