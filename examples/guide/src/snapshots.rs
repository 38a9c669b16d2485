//! Counts the visitors of a museum, and takes snapshots by a rule.
//!
//! ```text
//! cargo run -p guide -- snapshots museum.db 4 2 7
//! ```
//!
//! Each number is a group that enters. Run it again: it goes on from its latest snapshot.

use actix::prelude::*;
use actix_persistence::{
    error::{ErrorChain, LoadSnapshotError},
    prelude::*,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Entered {
    visitors: u64,
}

impl Event for Entered {
    const MANIFEST: &'static str = "museum.entered";
    const VERSION: u32 = 1;
}

// ANCHOR: snapshot
/// The whole state of the museum.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Visits {
    visitors: u64,
    largest_group: u64,
}

impl Snapshot for Visits {
    const MANIFEST: &'static str = "museum.visits";
    const VERSION: u32 = 1;
}
// ANCHOR_END: snapshot

#[derive(Default)]
struct Museum {
    visits: Visits,
}

impl Actor for Museum {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Museum {
    type Event = Entered;
    type Snapshot = Visits;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Museum", "entrance")
    }

    fn on_event(&mut self, event: &Entered) {
        self.visits.visitors += event.visitors;
        self.visits.largest_group = self.visits.largest_group.max(event.visitors);
    }

    // ANCHOR: on_snapshot
    fn on_snapshot(&mut self, offer: SnapshotOffer<Visits>) {
        self.visits = offer.snapshot;
    }
    // ANCHOR_END: on_snapshot

    // ANCHOR: retention
    fn retention(&self) -> Option<Retention<Self>> {
        let rule = Retention::snapshot_every(3, |museum: &Self| museum.visits.clone())
            .with_kept_snapshots(2)
            .with_delete_events();
        Some(rule)
    }
    // ANCHOR_END: retention

    // ANCHOR: on_store_response
    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        if let Some(error) = response.error() {
            eprintln!(
                "the museum goes on, but its stores are in trouble: {}",
                ErrorChain(error)
            );
        }
    }
    // ANCHOR_END: on_store_response
}

/// Answers with all visitors so far.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Enter {
    visitors: u64,
}

impl Handler<Enter> for Museum {
    type Result = Reply<Enter>;

    fn handle(&mut self, Enter { visitors }: Enter, ctx: &mut Self::Context) -> Reply<Enter> {
        ctx.persist(Entered { visitors })
            .reply(|museum| Ok(museum.visits.visitors))
    }
}

// ANCHOR: load
/// Answers with the visitors up to that event, as far as a snapshot of then or earlier shows; `None` without one.
#[derive(Message)]
#[rtype(result = "Result<Option<u64>, LoadSnapshotError>")]
struct VisitorsAt {
    event: SequenceNr,
}

impl Handler<VisitorsAt> for Museum {
    type Result = ResponseFuture<Result<Option<u64>, LoadSnapshotError>>;

    fn handle(&mut self, at: VisitorsAt, ctx: &mut Self::Context) -> Self::Result {
        let loading = ctx.load_snapshot(SnapshotCriteria::up_to(at.event));
        Box::pin(async move { Ok(loading.await?.map(|loaded| loaded.snapshot.visitors)) })
    }
}
// ANCHOR_END: load

/// Answers with the numbers of the snapshot and of the last event.
#[derive(Message)]
#[rtype(result = "(SequenceNr, SequenceNr)")]
struct Recovered;

impl Handler<Recovered> for Museum {
    type Result = MessageResult<Recovered>;

    fn handle(&mut self, _: Recovered, ctx: &mut Self::Context) -> Self::Result {
        MessageResult((ctx.snapshot_sequence_nr(), ctx.last_sequence_nr()))
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "museum.db".to_owned());
    let persistence = Persistence::sqlite(&database).await?;
    let museum = persistence.start(Museum::default)?;
    let (snapshot, last) = museum.send(Recovered).await?;
    println!("snapshot {snapshot}, then events to {last}");
    if let Some(visitors) = museum.send(VisitorsAt { event: snapshot }).await?? {
        println!("{visitors} visitors by event {snapshot}");
    }
    for group in arguments {
        let visitors = group.parse()?;
        let all = museum.send(Enter { visitors }).await??;
        println!("{all} visitors");
    }
    // A snapshot that is being saved is not waited for by anybody else.
    persistence.drained().await;
    Ok(())
}
