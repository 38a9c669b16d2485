//! The actors of the benches, which persist one event after the other; further commands are with those who send them.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use actix::dev::ToEnvelope;
use actix::prelude::*;
use actix_persistence::prelude::*;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::series::rate;

/// The bytes of a note.
pub(crate) const PAYLOAD: usize = 200;
/// The bytes of a large one.
const LARGE: usize = 32 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Noted(String);

impl Noted {
    pub(crate) fn new() -> Self {
        Self("x".repeat(PAYLOAD))
    }

    /// A note of 32 KiB that no database can compress.
    pub(crate) fn large() -> Self {
        static TEXT: LazyLock<String> = LazyLock::new(|| {
            std::iter::repeat_with(fastrand::alphanumeric)
                .take(LARGE)
                .collect()
        });
        Self(TEXT.clone())
    }
}

impl Event for Noted {
    const MANIFEST: &'static str = "bench.noted";
    const VERSION: u32 = 1;
}

pub(crate) struct Notebook {
    name: String,
    recovery: Recovery,
    note: fn() -> Noted,
    pub(crate) notes: u64,
}

impl Notebook {
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            recovery: Recovery::default(),
            note: Noted::new,
            notes: 0,
        }
    }

    pub(crate) fn recovering(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// Starts actors that are named after their numbers.
    pub(crate) fn start_many(persistence: &Persistence, count: usize) -> Vec<Addr<Self>> {
        Self::start_noting(persistence, count, Noted::new)
    }

    /// Starts actors that are named after their numbers, and persist such notes in a row.
    pub(crate) fn start_noting(
        persistence: &Persistence,
        count: usize,
        note: fn() -> Noted,
    ) -> Vec<Addr<Self>> {
        let numbers = 0..count;
        numbers
            .map(|number| {
                let make = move || Self {
                    note,
                    ..Self::named(number.to_string())
                };
                persistence.start(make).unwrap()
            })
            .collect()
    }
}

impl Actor for Notebook {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Notebook {
    type Event = Noted;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Notebook", &self.name)
    }

    fn on_event(&mut self, _: &Noted) {
        self.notes += 1;
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

/// The end of a row of events, which has at least one.
#[derive(Clone, Copy)]
enum End {
    At(Instant),
    After(usize),
}

impl End {
    fn is_reached(self, count: usize) -> bool {
        match self {
            Self::At(time) => Instant::now() >= time,
            Self::After(last) => count >= last,
        }
    }
}

/// Persists one event after the other, each in the handler of the one before.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PersistRow {
    end: End,
    /// Receives the number of events.
    stored: oneshot::Sender<usize>,
    count: usize,
}

impl PersistRow {
    pub(crate) fn begin<A: PersistentActor>(
        mut self,
        ctx: &mut PersistentContext<A>,
        event: fn() -> A::Event,
    ) {
        let persisted = ctx.persist(event()).then(move |_, _, ctx| {
            self.count += 1;
            if self.end.is_reached(self.count) {
                let _ = self.stored.send(self.count);
            } else {
                self.begin(ctx, event);
            }
        });
        persisted.detach();
    }
}

impl Handler<PersistRow> for Notebook {
    type Result = ();

    fn handle(&mut self, persist: PersistRow, ctx: &mut Self::Context) {
        persist.begin(ctx, self.note);
    }
}

/// Lets every actor persist one event after the other for this time: events per second.
pub(crate) async fn persisted<A>(actors: &[Addr<A>], time: Duration) -> f64
where
    A: Handler<PersistRow>,
    A::Context: ToEnvelope<A, PersistRow>,
{
    persist_rows(actors, End::At(Instant::now() + time)).await
}

/// Lets every actor persist this many events, one after the other: events per second.
pub(crate) async fn persisted_each(actors: &[Addr<Notebook>], events: usize) -> f64 {
    persist_rows(actors, End::After(events)).await
}

async fn persist_rows<A>(actors: &[Addr<A>], end: End) -> f64
where
    A: Handler<PersistRow>,
    A::Context: ToEnvelope<A, PersistRow>,
{
    let start = Instant::now();
    let counts = actors.iter().map(|actor| {
        let (stored, count) = oneshot::channel();
        actor.do_send(PersistRow {
            end,
            stored,
            count: 0,
        });
        count
    });
    let counts = join_all(counts.collect::<Vec<_>>()).await;
    let count = counts.into_iter().map(Result::unwrap).sum();
    rate(count, start.elapsed())
}
