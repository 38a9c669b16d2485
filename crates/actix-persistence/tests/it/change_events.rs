//! Events that tell a journal of the changes of durable states.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventSelection};
use actix_persistence::{
    Config, PersistError,
    error::{ErrorChain, RejectionCause},
};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::note::{Note, Written};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum NoteEvent {
    Replaced { bytes: usize },
    Deleted,
}

impl Event for NoteEvent {
    const MANIFEST: &'static str = "note.event";
    const VERSION: u32 = 1;
}

/// Replaces the text and says so; deletes it if there is none.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Announce(Option<&'static str>);

impl Handler<Announce> for Note {
    type Result = Reply<Announce>;

    fn handle(&mut self, Announce(text): Announce, ctx: &mut Self::Context) -> Self::Result {
        match text {
            Some(text) => {
                let event = NoteEvent::Replaced { bytes: text.len() };
                ctx.persist_with_event(Written(text.to_owned()), &event)
                    .reply_with(|_, ctx| Ok(ctx.revision()))
            }
            None => ctx
                .delete_with_event(&NoteEvent::Deleted)
                .reply_with(|_, ctx| Ok(ctx.revision())),
        }
    }
}

/// The same events in a second version, which is not stored yet.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum LaterEvent {
    Replaced { kilobytes: f64 },
    Deleted,
}

impl From<NoteEvent> for LaterEvent {
    fn from(event: NoteEvent) -> Self {
        match event {
            NoteEvent::Replaced { bytes } => LaterEvent::Replaced {
                kilobytes: bytes as f64 / 1_000.0,
            },
            NoteEvent::Deleted => LaterEvent::Deleted,
        }
    }
}

impl From<&LaterEvent> for NoteEvent {
    fn from(event: &LaterEvent) -> Self {
        match event {
            LaterEvent::Replaced { kilobytes } => NoteEvent::Replaced {
                bytes: (kilobytes * 1_000.0).round() as usize,
            },
            LaterEvent::Deleted => NoteEvent::Deleted,
        }
    }
}

impl Event for LaterEvent {
    const MANIFEST: &'static str = "note.event";
    const VERSION: u32 = 2;

    fn upcasters() -> Upcasters<Self> {
        let chain = Chain::of::<NoteEvent>(1);
        Upcasters::new().chain(chain).writes::<NoteEvent>(1)
    }
}

/// A second version that says nothing of the first one.
#[derive(Serialize, Deserialize)]
struct Undeclared;

impl Event for Undeclared {
    const MANIFEST: &'static str = "note.event";
    const VERSION: u32 = 2;
}

/// Replaces the text, with this event.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct AnnounceAs<E: Event>(&'static str, E);

impl<E: Event> Handler<AnnounceAs<E>> for Note {
    type Result = Reply<AnnounceAs<E>>;

    fn handle(
        &mut self,
        AnnounceAs(text, event): AnnounceAs<E>,
        ctx: &mut Self::Context,
    ) -> Self::Result {
        ctx.persist_with_event(Written(text.to_owned()), &event)
            .reply_with(|_, ctx| Ok(ctx.revision()))
    }
}

const CONFIG: &str = r#"
[persistence.journal]
plugin = "events"
[persistence.journal.events]
kind = "sqlite"
[persistence.state]
plugin = "notes"
[persistence.state.notes]
kind = "sqlite"
change-event-journal = "events"
"#;

/// Returns the config of a journal and a state store whose changes have events in it, each in its file.
pub(crate) fn config(journal: &str, states: &str) -> Config {
    let config = Config::from_toml(CONFIG, "app.toml").unwrap();
    config
        .with("persistence.journal.events.url", journal)
        .with("persistence.state.notes.url", states)
}

#[actix::test]
async fn an_actor_tells_the_journal_of_its_changes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    let file = file.to_str().unwrap();
    let persistence = Persistence::open(config(file, file)).await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    for (text, revision) in [(Some("one"), 1), (Some("three"), 2), (None, 3)] {
        assert_eq!(note.send(Announce(text)).await.unwrap().unwrap(), revision);
    }
    let mut events = Vec::new();
    let id = PersistenceId::of("Note", "1");
    let read = persistence.replay_events(id, |meta, event: NoteEvent| {
        events.push((meta.sequence_nr, event))
    });
    read.await.unwrap();
    let expected = [
        (1, NoteEvent::Replaced { bytes: 3 }),
        (2, NoteEvent::Replaced { bytes: 5 }),
        (3, NoteEvent::Deleted),
    ];
    assert_eq!(events, expected);
}

/// The journal looks again after an hour: what comes was noticed.
#[actix::test]
async fn a_live_query_of_events_sees_a_change_of_this_process_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    let file = file.to_str().unwrap();
    let config = config(file, file);
    let config = config.with("persistence.journal.events.query.refresh-interval", "1h");
    let persistence = Persistence::open(config).await.unwrap();
    let queries = persistence.event_queries(None).unwrap();
    let mut live = queries.events::<NoteEvent>(EventSelection::all(), EventOffset::start());
    let note = persistence.start(|| Note::named("1")).unwrap();
    for (text, number) in [(Some("one"), 1), (Some("three"), 2), (None, 3)] {
        note.send(Announce(text)).await.unwrap().unwrap();
        let next = timeout(Duration::from_secs(30), live.next()).await;
        assert_eq!(next.unwrap().unwrap().unwrap().sequence_nr, number);
    }
}

#[actix::test]
async fn events_of_changes_have_versions_as_others_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    let file = file.to_str().unwrap();
    let persistence = Persistence::open(config(file, file)).await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    note.send(Announce(Some("one"))).await.unwrap().unwrap();
    let later = || LaterEvent::Replaced { kilobytes: 0.005 };
    let stored = note.send(AnnounceAs("three", later())).await.unwrap();
    assert_eq!(stored.unwrap(), 2);
    let refused = note.send(AnnounceAs("four", Undeclared)).await.unwrap();
    let error = ErrorChain(&refused.unwrap_err()).to_string();
    assert!(
        error.contains("nothing reads version 1 of \"note.event\""),
        "{error}"
    );

    let id = || PersistenceId::of("Note", "1");
    let mut events = Vec::new();
    let read = persistence.replay_events(id(), |_, event: LaterEvent| events.push(event));
    read.await.unwrap();
    assert_eq!(events, [LaterEvent::Replaced { kilobytes: 0.003 }, later()]);
    let mut events = Vec::new();
    let read = persistence.replay_events(id(), |_, event: NoteEvent| events.push(event));
    read.await.unwrap();
    let expected = [3, 5].map(|bytes| NoteEvent::Replaced { bytes });
    assert_eq!(events, expected);
}

#[actix::test]
async fn a_journal_elsewhere_is_a_mistake_of_the_config() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let opened = Persistence::open(config(&file("events.db"), &file("notes.db"))).await;
    let text = opened.err().unwrap().to_string();
    assert!(
        text.contains(
            "'persistence.state.notes.change-event-journal' must name a journal with the same 'url'"
        ),
        "{text}"
    );
}

#[actix::test]
async fn without_a_journal_an_event_is_rejected_and_the_actor_goes_on() {
    let persistence = Persistence::memory().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    let refused = note.send(Announce(Some("one"))).await.unwrap();
    let Err(PersistError::Rejected(RejectionCause::Storage(error))) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        error.to_string().contains("'change-event-journal'"),
        "{error}"
    );
    let stored = note.send(crate::note::Write('a')).await.unwrap();
    assert_eq!(stored.unwrap(), "a");
}
