//! Reading one's own writes from a read model, on every database.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::projection::{
    AppliedError, ExactlyOnceHandler, ExtensionError, Projection, ProjectionSettings, Session,
};
use actix_persistence::query::Changed;
use actix_persistence::sql::Sql;
use async_trait::async_trait;

use crate::note::Written;
use crate::projections::{Added, LONG, Place, start};

/// Adds up, and answers with the number under which an amount was stored.
struct Numbered(&'static str);

impl Actor for Numbered {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Numbered {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Sum", self.0)
    }

    fn on_event(&mut self, _: &Added) {}
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Store(u64);

impl Handler<Store> for Numbered {
    type Result = Reply<Store>;

    fn handle(&mut self, Store(amount): Store, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist(Added(amount))
            .reply_with(|_, ctx| Ok(ctx.last_sequence_nr()))
    }
}

struct Page(&'static str);

impl Actor for Page {
    type Context = PersistentContext<Self>;
}

impl DurableState for Page {
    type State = Written;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Page", self.0)
    }

    fn on_state(&mut self, _: Option<&Written>) {}
}

impl Handler<Store> for Page {
    type Result = Reply<Store>;

    fn handle(&mut self, Store(amount): Store, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist(Written(amount.to_string()))
            .reply_with(|_, ctx| Ok(ctx.revision()))
    }
}

/// Keeps the revision of each page.
struct Revisions {
    table: String,
}

#[async_trait]
impl ExactlyOnceHandler<Changed<Written>> for Revisions {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &Changed<Written>,
    ) -> Result<(), ExtensionError> {
        let id = item.persistence_id().as_str();
        let delete = Sql::assert_safe(format!("DELETE FROM {} WHERE id = $1", self.table));
        session.execute(delete, [id.into()]).await?;
        let insert = format!(
            "INSERT INTO {} (id, last, total) VALUES ($1, $2, 1)",
            self.table
        );
        let values = [id.into(), (item.revision() as i64).into()];
        session.execute(Sql::assert_safe(insert), values).await?;
        Ok(())
    }
}

fn quick(settings: &mut ProjectionSettings) {
    settings.lease = Duration::from_millis(800);
    settings.idle_progress = Duration::from_millis(50);
    settings.shares = 3;
}

fn start_revisions(place: &Place, persistence: &Persistence) -> Projection {
    let new = persistence.projection("revisions");
    let new = new.of_changes::<Written>(None, "Page").unwrap();
    let table = place.table("sums");
    new.with(quick).exactly_once(Revisions { table }).unwrap()
}

/// A process that asks an actor, and another one that has the number alone, see the event in the read model.
pub(crate) async fn what_a_reply_names_is_in_the_read_model_after_waiting(kind: &'static str) {
    let place = Place::new(kind, "applied");
    let (first, second) = (place.open().await, place.open().await);
    place.make_tables(&first).await;
    let projections = [
        start(&first, &place.read_model(), quick),
        start(&second, &place.read_model(), quick),
    ];
    let mut stored = 0;
    for name in ["a", "b", "c"] {
        let id = PersistenceId::of("Sum", name);
        let sum = first.start(move || Numbered(name)).unwrap();
        for amount in 1..=3 {
            let number = sum.send(Store(amount)).await.unwrap().unwrap();
            let waiting = &projections[stored % 2];
            waiting.applied_event(&id, number, LONG).await.unwrap();
            stored += 1;
            assert_eq!(place.found(&first).await.0, stored as i64);
        }
        let never = projections[0].applied_event(&id, 4, LONG).await;
        assert!(
            matches!(never, Err(AppliedError::NotStored { number: 4, .. })),
            "{never:?}"
        );
    }
    for projection in projections {
        projection.stop().await;
    }
}

/// The same with durable states: the revision, or a later one, is in the read model.
pub(crate) async fn a_revision_that_a_reply_names_is_in_the_read_model(kind: &'static str) {
    let place = Place::new(kind, "revisions");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let projection = start_revisions(&place, &persistence);
    let id = PersistenceId::of("Page", "1");
    let page = persistence.start(|| Page("1")).unwrap();
    for amount in 1..=3 {
        let revision = page.send(Store(amount)).await.unwrap().unwrap();
        projection.applied_event(&id, revision, LONG).await.unwrap();
        assert_eq!(place.found(&persistence).await.1, amount as i64);
        projection.applied_event(&id, 1, LONG).await.unwrap();
    }
    let never = projection.applied_event(&id, 4, LONG).await;
    assert!(
        matches!(never, Err(AppliedError::NotStored { .. })),
        "{never:?}"
    );
    projection.stop().await;
}
