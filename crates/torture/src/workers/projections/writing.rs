//! Stores events of many ids, and as many states, up to a number.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{
    ChangeEvent, ChangeHandler, ExtensionError, Payload, Session, StateChange, WriterId,
};
use anyhow::Context as _;
use async_trait::async_trait;
use fastrand::Rng;
use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};

use super::{TALLIED, TALLY};
use crate::Line;
use crate::workers::odd_names::odd_name;
use crate::workers::readers::writing::update;
use crate::workers::tell;

/// The largest number of events that are stored together.
const MOST_AT_ONCE: u64 = 4;
/// The number of ids that are written to at the same time.
const AT_ONCE: usize = 40;
/// Two ids in so many have a state, too.
const STATES: u32 = 20;
/// One change of a state in so many is taken back by its handler.
const TAKEN_BACK: u32 = 6;
/// The tag of one event of each id in three.
pub(crate) const THIRD: &str = "third";
/// MessagePack with names, as the product writes it by default.
const SERIALIZER: u32 = 1;
/// The pause after a failed write, so that a server that is away is not asked all the time.
const AFTER_TROUBLE: Duration = Duration::from_millis(20);

/// An event that knows its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ticked {
    pub(crate) nr: u64,
}

impl Event for Ticked {
    const MANIFEST: &'static str = "torture.ticked";
    const VERSION: u32 = 1;
}

/// Returns whether the event with this number has the tag.
pub(crate) fn has_tag(nr: i64) -> bool {
    nr % 3 == 0
}

struct Tally {
    number: u32,
    ticks: u64,
}

impl Actor for Tally {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Tally {
    type Event = Ticked;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(TALLY, &odd_name(self.number))
    }

    fn tags(&self, event: &Ticked) -> Vec<String> {
        let is_tagged = has_tag(event.nr as i64);
        is_tagged.then(|| THIRD.to_owned()).into_iter().collect()
    }

    fn on_event(&mut self, _: &Ticked) {
        self.ticks += 1;
    }
}

/// Asks for so many events at most; none above this number.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Tick {
    at_most: u64,
    upto: u64,
}

impl Handler<Tick> for Tally {
    type Result = Reply<Tick>;

    fn handle(&mut self, tick: Tick, ctx: &mut Self::Context) -> Reply<Tick> {
        let last = tick.upto.min(self.ticks + tick.at_most);
        let events = (self.ticks + 1..=last).map(|nr| Ticked { nr });
        ctx.persist_all(events).reply(|tally| Ok(tally.ticks))
    }
}

pub(super) async fn write(
    persistence: &Persistence,
    (first, end): (u32, u32),
    upto: u64,
    seed: u64,
) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(seed);
    let mut numbers: Vec<u32> = (first..end).collect();
    rng.shuffle(&mut numbers);
    let written = stream::iter(numbers).map(|number| {
        let rng = rng.fork();
        async move {
            tick(persistence, number, upto, rng).await?;
            if number % STATES < 2 {
                raise(persistence, number, upto).await?;
            }
            anyhow::Ok(())
        }
    });
    let written: Vec<_> = written.buffer_unordered(AT_ONCE).collect().await;
    written.into_iter().collect()
}

/// Stores the events that are missing.
async fn tick(
    persistence: &Persistence,
    number: u32,
    upto: u64,
    mut rng: Rng,
) -> anyhow::Result<()> {
    let factory = move || Tally { number, ticks: 0 };
    let mut tally = persistence.start_when_stopped(factory).await?;
    loop {
        let at_most = rng.u64(1..=MOST_AT_ONCE);
        match tally.send(Tick { at_most, upto }).await {
            Ok(Ok(ticks)) => {
                acknowledged(at_most);
                if ticks >= upto {
                    return Ok(());
                }
            }
            Ok(Err(_)) => tokio::time::sleep(AFTER_TROUBLE).await,
            // It could not be recovered while the database was away.
            Err(_) => {
                tokio::time::sleep(AFTER_TROUBLE).await;
                tally = persistence.start_when_stopped(factory).await?;
            }
        }
    }
}

/// Changes a state until it has this revision.
async fn raise(persistence: &Persistence, number: u32, upto: u64) -> anyhow::Result<()> {
    let store = persistence.states(None)?;
    let id = PersistenceId::of(TALLIED, &odd_name(number));
    loop {
        let revision = match store.get(&id).await {
            Ok(found) => found.revision,
            Err(error) if error.kind().is_transient() => {
                tokio::time::sleep(AFTER_TROUBLE).await;
                continue;
            }
            Err(error) => return Err(error).context("a state cannot be read"),
        };
        if revision >= upto {
            return Ok(());
        }
        let next = revision + 1;
        let event = change_event(next)?;
        let update = update(id.clone(), next, next)?.with_change_event(event);
        match store.upsert(update).await {
            Ok(()) => acknowledged(1),
            // The next look shows whether it was stored.
            Err(_) => tokio::time::sleep(AFTER_TROUBLE).await,
        }
    }
}

/// The event of a change.
fn change_event(nr: u64) -> anyhow::Result<ChangeEvent> {
    let bytes = rmp_serde::to_vec_named(&Ticked { nr })?;
    let (manifest, version) = (Ticked::MANIFEST, Ticked::VERSION);
    let payload = Payload::new(SERIALIZER, format!("{manifest}:v{version}"), bytes);
    let tags = has_tag(nr as i64).then_some(THIRD);
    Ok(ChangeEvent::new(payload, WriterId::random()).with_tags(tags))
}

/// Pauses in the transaction that stores a state and its event, and takes some of them back.
pub(super) struct Pausing;

#[async_trait]
impl ChangeHandler for Pausing {
    async fn process(
        &self,
        session: &mut dyn Session,
        _: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let longest = match session.database() {
            // It has one writer at a time.
            "sqlite" => 3,
            _ => 40,
        };
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..=longest))).await;
        match fastrand::u32(..TAKEN_BACK) {
            0 => Err("refused on purpose".into()),
            _ => Ok(()),
        }
    }
}

fn acknowledged(writes: u64) {
    let other = writes.into();
    tell(&Line::Other { other });
}
