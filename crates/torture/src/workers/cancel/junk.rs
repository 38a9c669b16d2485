//! An actor whose events and snapshots are there to be cleaned up.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{PersistFuture, SnapshotCriteria};

use super::Desk;
use crate::workers::fault;
use crate::workers::stream::{Digest, Written};

/// The number of events that are written at once.
const EVENTS: u64 = 3;

static NEXT: AtomicU64 = AtomicU64::new(1);

pub(super) struct Junk(pub(super) PersistenceId);

impl Actor for Junk {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Junk {
    type Event = Written;
    type Snapshot = Digest;

    fn persistence_id(&self) -> PersistenceId {
        self.0.clone()
    }

    fn on_event(&mut self, _: &Written) {}

    fn on_snapshot(&mut self, _: SnapshotOffer<Digest>) {}
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Fill(Vec<u64>);

impl Handler<Fill> for Junk {
    type Result = ResponseActFuture<Self, Result<(), PersistError>>;

    fn handle(&mut self, fill: Fill, ctx: &mut Self::Context) -> Self::Result {
        let events = fill.0.into_iter().map(|uid| Written { uid });
        let stored: PersistFuture = ctx.persist_all(events).into_future();
        Box::pin(stored.into_actor(self).map(|stored, _, ctx| {
            ctx.save_snapshot(&Digest { digest: 0 });
            stored
        }))
    }
}

/// The id that belongs to a desk.
pub(super) fn junk_id(desk: &Desk) -> PersistenceId {
    PersistenceId::of("Junk", &desk.number.to_string())
}

/// Writes events and a snapshot, and sees to it that they are there: whatever was dropped before deletes nothing of them.
pub(super) async fn fill(desk: Rc<Desk>) {
    let id = junk_id(&desk);
    let uids: Vec<u64> = (0..EVENTS)
        .map(|_| NEXT.fetch_add(1, Ordering::Relaxed))
        .collect();
    let own = id.clone();
    let persistence = &desk.persistence;
    let started = persistence.start_when_stopped(move || Junk(own.clone()));
    let junk = match started.await {
        Ok(junk) => junk,
        Err(StartError::Stopping) => return,
        Err(error) => return fault(format!("{id} cannot be started: {error}")),
    };
    let stored = junk.send(Fill(uids.clone())).await;
    drop(junk);
    persistence.stopped(&id).await;
    if !matches!(stored, Ok(Ok(()))) {
        eprintln!("{id} could not be filled: {stored:?}");
        return;
    }
    let mut seen = Vec::new();
    let each = |_: &EventMeta, event: Written| seen.push(event.uid);
    match persistence.replay_events(id.clone(), each).await {
        Ok(()) if seen.ends_with(&uids) => {}
        Ok(()) => fault(format!(
            "{id} was told to have stored {uids:?}, and shows {seen:?}"
        )),
        Err(error) => eprintln!("{id} cannot be read: {error}"),
    }
}

/// A request of a context to its stores.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    SaveSnapshot,
    DeleteSnapshot,
    DeleteSnapshots,
    DeleteMessages,
}

/// Asks the stores, and ends at once: what is under way is dropped with the actor.
#[derive(Message)]
#[rtype(result = "()")]
struct Leave(Request);

impl Handler<Leave> for Junk {
    type Result = ();

    fn handle(&mut self, Leave(request): Leave, ctx: &mut Self::Context) {
        // The newest snapshots stay: without one that covers what is deleted the actor would not start.
        let old = ctx.last_sequence_nr().saturating_sub(2 * EVENTS);
        match request {
            Request::SaveSnapshot => ctx.save_snapshot(&Digest { digest: 0 }),
            Request::DeleteSnapshot => ctx.delete_snapshot(old),
            Request::DeleteSnapshots => ctx.delete_snapshots(SnapshotCriteria::up_to(old)),
            Request::DeleteMessages => ctx.delete_messages(1),
        }
        ctx.terminate();
    }
}

/// Starts an actor that asks its stores and ends, and waits until its id is free.
pub(super) async fn leave(desk: &Desk, request: Request) {
    let (id, persistence) = (junk_id(desk), &desk.persistence);
    let own = id.clone();
    let started = persistence.start_when_stopped(move || Junk(own.clone()));
    if let Ok(junk) = started.await {
        // It may have failed to recover.
        let _ = junk.send(Leave(request)).await;
        drop(junk);
        persistence.stopped(&id).await;
    }
}
