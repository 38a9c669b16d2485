//! The health of projections on database servers.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::projection::Projection;
use actix_persistence::sql::SessionWork;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

use crate::projections::{LONG, Place, add, newest, start};

/// Returns work that announces to readers that it may store events, as a transaction of a store does, and waits.
fn announces(begun: &Arc<Semaphore>, ends: &Arc<Semaphore>) -> SessionWork {
    const ANNOUNCE: &str = "SELECT pg_advisory_xact_lock_shared(
        (1::bigint << 48) | pg_snapshot_xmax(pg_current_snapshot())::text::bigint)::text AS locked";
    let (begun, ends) = (Arc::clone(begun), Arc::clone(ends));
    SessionWork::new(move |session| {
        Box::pin(async move {
            session.select(ANNOUNCE, []).await?;
            begun.add_permits(1);
            ends.acquire().await?.forget();
            Ok(())
        })
    })
}

async fn until_bound_is(projection: &Projection, expected: impl Fn(Duration) -> bool) {
    let waiting = async {
        loop {
            let health = projection.health().await.unwrap();
            if health.bound_age().is_some_and(&expected) {
                return;
            }
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

/// A transaction that holds readers back is no fault of the projection, and is shown beside its state.
pub(crate) async fn the_age_of_the_bound_is_part_of_the_health(kind: &'static str) {
    let place = Place::new(kind, "bound_age");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let projection = start(&persistence, &place.read_model(), |_| {});
    add(&persistence, 2, 1..=3).await;
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    let health = projection.health().await.unwrap();
    assert!(health.status.is_healthy(LONG), "{health:?}");
    assert!(
        health
            .reading
            .is_some_and(|reading| reading.last_cycle.is_some())
    );
    if kind == "postgres" {
        until_bound_is(&projection, |age| age.is_zero()).await;
        let [begun, ends] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
        let work = announces(&begun, &ends);
        let holding = actix_rt::spawn({
            let persistence = persistence.clone();
            async move { persistence.transact(None, work).await }
        });
        begun.acquire().await.unwrap().forget();
        until_bound_is(&projection, |age| !age.is_zero()).await;
        let health = projection.health().await.unwrap();
        assert!(health.status.is_healthy(LONG), "{health:?}");
        ends.add_permits(1);
        holding.await.unwrap().unwrap();
        until_bound_is(&projection, |age| age.is_zero()).await;
    }
    assert!(persistence.stop(LONG).await.is_complete());
}
