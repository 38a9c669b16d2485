//! Events that are small as they are stored, and large in memory, are decoded a few at a time.

use std::cell::Cell;
use std::ops::Range;

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    Compression, Event, EventMeta, NoSnapshot, PersistError, PersistentActor, PersistentContext,
    Reply, replay_actor, replay_events,
};
use actix_persistence_storage_api::{PersistenceId, ReplayRange};
use serde::{Deserialize, Serialize};

use crate::history::end;
use crate::world::{World, run};

const MIB: usize = 1024 * 1024;
const LEN: usize = 900 * 1024;
const EVENTS: u64 = 20;

thread_local! {
    /// The number of texts that are in memory, and the most that ever were.
    static TEXTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A text that is counted as long as it is in memory.
#[derive(Serialize, Deserialize)]
#[serde(from = "String")]
struct Text(String);

impl From<String> for Text {
    fn from(text: String) -> Self {
        let (now, most) = TEXTS.get();
        TEXTS.set((now + 1, most.max(now + 1)));
        Self(text)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let (now, most) = TEXTS.get();
        TEXTS.set((now - 1, most));
    }
}

impl Event for Text {
    const MANIFEST: &'static str = "test.text";
    const VERSION: u32 = 1;
    const COMPRESSION: Option<Compression> = Some(Compression::Zstd { min_bytes: 0 });
}

#[derive(Default)]
struct Book {
    lengths: Vec<usize>,
}

fn id() -> PersistenceId {
    PersistenceId::of("Book", "1")
}

impl Actor for Book {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Book {
    type Event = Text;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Text) {
        self.lengths.push(event.0.len());
    }
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Append(usize);

impl Handler<Append> for Book {
    type Result = Reply<Append>;

    fn handle(&mut self, Append(len): Append, ctx: &mut Self::Context) -> Reply<Append> {
        ctx.persist("x".repeat(len).into()).reply(|_| Ok(()))
    }
}

fn lengths() -> Vec<usize> {
    let numbers: Range<usize> = 0..EVENTS as usize;
    numbers.map(|n| LEN + n).collect()
}

#[test]
fn no_more_than_a_few_large_events_of_a_page_are_decoded_at_a_time() {
    run(|| async {
        let world = World::new();
        let book = world.start(Book::default).unwrap();
        for len in lengths() {
            book.send(Append(len)).await.unwrap().unwrap();
        }
        end(&world, book).await;
        // What is decoded when there are 4 MiB, and the event that makes them so many.
        let portion = 4 * MIB / LEN + 1;

        TEXTS.set((0, 0));
        let (book, at) = replay_actor(Book::default(), world.environment.clone())
            .await
            .unwrap();
        assert_eq!((book.lengths, at), (lengths(), EVENTS));
        assert_eq!(TEXTS.get(), (0, portion));

        TEXTS.set((0, 0));
        let fold = |seen: &mut Vec<usize>, _: &EventMeta, text: Text| seen.push(text.0.len());
        let read =
            replay_events(&world.environment, id(), ReplayRange::ALL, Vec::new(), fold).await;
        assert_eq!(read.unwrap(), lengths());
        assert_eq!(TEXTS.get(), (0, portion));
    });
}
