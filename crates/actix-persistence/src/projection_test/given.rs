//! The events that a test gives, stored in memory as a journal keeps them.

use std::marker::PhantomData;

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    Event, NoSnapshot, PersistError, PersistentActor, PersistentContext, Reply,
};
use actix_persistence_query::{EventQuery, QuerySettings};
use actix_persistence_storage_api::{EventOffset, EventSelection, ExtensionError, PersistenceId};
use futures_util::TryStreamExt;

use crate::Persistence;

/// An event of a test.
pub(super) struct Given<E> {
    pub(super) persistence_id: PersistenceId,
    pub(super) event: E,
    pub(super) tags: Vec<String>,
}

/// The events of a test, to be queried.
pub(super) struct GivenEvents {
    pub(super) queries: EventQuery,
    /// The offset after all of them.
    pub(super) end: EventOffset,
}

impl GivenEvents {
    /// Stores events in this order.
    pub(super) async fn store<E: Event>(given: Vec<Given<E>>) -> Result<Self, ExtensionError> {
        // One page has all of them, so that groups do not depend on the time at which a page comes.
        let settings = QuerySettings::default().with_page_size(given.len());
        let persistence = Persistence::memory().await?;
        for Given {
            persistence_id,
            event,
            tags,
        } in given
        {
            let giver = persistence.start_when_stopped(move || Giver::<E> {
                id: persistence_id.clone(),
                events: PhantomData,
            });
            giver.await?.send(Give { event, tags }).await??;
        }
        let queries = persistence.event_queries_with(None, settings)?;
        let mut all = queries.current_event_records(EventSelection::all(), EventOffset::start());
        while all.try_next().await?.is_some() {}
        let end = all.offset().clone();
        Ok(Self { queries, end })
    }
}

/// The actor of an id, for as long as it stores an event.
struct Giver<E> {
    id: PersistenceId,
    events: PhantomData<fn() -> E>,
}

impl<E: Event> Actor for Giver<E> {
    type Context = PersistentContext<Self>;
}

impl<E: Event> PersistentActor for Giver<E> {
    type Event = E;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn on_event(&mut self, _: &E) {}
}

/// Stores an event.
struct Give<E> {
    event: E,
    tags: Vec<String>,
}

impl<E: 'static> Message for Give<E> {
    type Result = Result<(), PersistError>;
}

impl<E: Event> Handler<Give<E>> for Giver<E> {
    type Result = Reply<Give<E>>;

    fn handle(&mut self, give: Give<E>, ctx: &mut Self::Context) -> Self::Result {
        ctx.tagged(give.tags).persist(give.event).reply(|_| Ok(()))
    }
}
