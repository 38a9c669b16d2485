//! A program of some version: stores what it is asked to, and reads nothing that is there.

use std::marker::PhantomData;

use actix::prelude::*;
use actix_persistence::prelude::*;
use anyhow::ensure;

/// An account of a version whose events are `E` and whose snapshots are `S`.
struct Account<E, S> {
    id: PersistenceId,
    /// Covers all its events, which are deleted then.
    snapshot: Option<S>,
    events: PhantomData<fn() -> E>,
}

impl<E: Event, S: Snapshot + Clone + Unpin> Actor for Account<E, S> {
    type Context = PersistentContext<Self>;
}

impl<E: Event, S: Snapshot + Clone + Unpin> PersistentActor for Account<E, S> {
    type Event = E;
    type Snapshot = S;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn on_event(&mut self, _: &E) {}

    fn recovery(&self) -> Recovery {
        Recovery::none()
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let snapshot = self.snapshot.clone()?;
        let retention = Retention::snapshot_every(2, move |_: &Self| snapshot.clone());
        Some(retention.with_kept_snapshots(1).with_delete_events())
    }
}

/// Stores these events.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Store<E: Event>(Vec<E>);

impl<E: Event, S: Snapshot + Clone + Unpin> Handler<Store<E>> for Account<E, S> {
    type Result = Reply<Store<E>>;

    fn handle(&mut self, Store(events): Store<E>, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist_all(events).reply(|_| Ok(()))
    }
}

/// Stores events as a program of their version, with a snapshot in their place if there is one, and ends that program.
pub(crate) async fn store<E: Event, S: Snapshot + Clone + Unpin>(
    bank: &Persistence,
    account: &str,
    events: impl IntoIterator<Item = E>,
    snapshot: Option<S>,
) -> anyhow::Result<()> {
    let id = PersistenceId::of("Account", account);
    let program = {
        let id = id.clone();
        move || Account {
            id: id.clone(),
            snapshot: snapshot.clone(),
            events: PhantomData,
        }
    };
    let address = bank.start(program)?;
    address.send(Store(events.into_iter().collect())).await??;
    drop(address);
    let failure = bank.stopped(&id).await;
    ensure!(failure.is_none(), "{id:?} was not recovered");
    Ok(())
}
