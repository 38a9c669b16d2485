//! Projections that are changed from outside while what they have parked is retried, on every database.

use std::sync::atomic::Ordering;

use actix_persistence::prelude::*;
use actix_persistence::projection::{OnFailure, Projection, ProjectionSettings, ShareState};
use actix_persistence::query::EventOffset;
use actix_persistence::sql::{SessionWork, Sql};
use tokio::task::yield_now;

use crate::projections::{Add, LONG, Place, add, newest, start, sum};

const IDS: usize = 5;

fn parks(settings: &mut ProjectionSettings) {
    settings.on_failure = OnFailure::Park;
    settings.max_attempts = 1;
    settings.shares = 2;
}

/// Empties the read model.
async fn clear(place: &Place, persistence: &Persistence) {
    let tables = ["log", "sums"].map(|table| place.table(table));
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            for table in tables {
                let delete = Sql::assert_safe(format!("DELETE FROM {table}"));
                session.execute(delete, []).await?;
            }
            Ok(())
        })
    });
    persistence.transact(None, work).await.unwrap();
}

/// Waits until this process has no share.
async fn until_nothing_is_held(projection: &Projection) {
    let all_left = async {
        while projection
            .status()
            .shares
            .values()
            .any(|share| share.state != ShareState::Left)
        {
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, all_left).await.unwrap();
}

/// Retries until nothing is parked and everything was handled.
async fn finish(projection: &Projection, end: &EventOffset) {
    let finishing = async {
        projection.applied(end, LONG).await.unwrap();
        while !projection.parked(None, 1).await.unwrap().is_empty() {
            projection.retry(None).await.unwrap();
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, finishing).await.unwrap();
}

/// A retry that a reset or a removal comes upon stores nothing afterwards: the read model is as after one reading.
pub(crate) async fn resets_and_removals_beside_retries_lose_and_double_nothing(kind: &'static str) {
    let place = Place::new(kind, "managed_retries");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let model = place.read_model();
    let seed = u64::from(std::process::id());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut projection = start(&persistence, &model, parks);
    let mut last = 0;
    for round in 0..6 {
        model.fails.store(true, Ordering::SeqCst);
        let bad = last + 2;
        model.fails_for.store(bad as usize, Ordering::SeqCst);
        add(&persistence, IDS, last + 1..=last + 6).await;
        last += 6;
        let end = newest(&persistence).await;
        projection.applied(&end, LONG).await.unwrap();
        model.fails.store(false, Ordering::SeqCst);
        projection.retry(None).await.unwrap();
        // Somewhere within the retry.
        for _ in 0..random.usize(..300) {
            yield_now().await;
        }
        match (round + random.usize(..2)) % 3 {
            0 => projection.divide(random.u16(1..=4)).await.unwrap(),
            1 => {
                projection.pause().await.unwrap();
                until_nothing_is_held(&projection).await;
                clear(&place, &persistence).await;
                projection.reset(&EventOffset::start()).await.unwrap();
                assert_eq!(projection.parked(None, 1).await.unwrap(), []);
                projection.resume().await.unwrap();
            }
            _ => {
                projection.remove().await.unwrap();
                projection.stop().await;
                clear(&place, &persistence).await;
                projection = start(&persistence, &model, parks);
            }
        }
        finish(&projection, &end).await;
        let (ids, numbers) = (IDS as i64, last as i64);
        let expected = (
            ids * numbers,
            ids * numbers,
            ids * numbers * (numbers + 1) / 2,
        );
        let found = place.found(&persistence).await;
        assert_eq!(found, expected, "seed {seed}, round {round}");
    }
    projection.stop().await;
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Returns the number of the last event of an id that is in the read model.
async fn last_of(place: &Place, persistence: &Persistence, id: &PersistenceId) -> i64 {
    let select = format!("SELECT last FROM {} WHERE id = $1", place.table("sums"));
    let id = id.to_string();
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let row = session.select_one(Sql::assert_safe(select), [id.into()]);
            let row = row.await?;
            Ok(row.map(|row| row.get("last")).transpose()?.unwrap_or(0))
        })
    });
    persistence.transact(None, work).await.unwrap()
}

/// A caller that waits for an event finds it in the read model, whichever share has its id meanwhile.
pub(crate) async fn an_event_is_waited_for_while_shares_are_divided(kind: &'static str) {
    let place = Place::new(kind, "waits_divided");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let model = place.read_model();
    let projection = start(&persistence, &model, |_| {});
    add(&persistence, 1, 1..=1).await;
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    let mut random = fastrand::Rng::with_seed(u64::from(std::process::id()));
    let mut numbers = [1, 0, 0, 0, 0];
    for _ in 0..15 {
        let nr = random.usize(..IDS);
        numbers[nr] += 1;
        let added = sum(&persistence, nr).send(Add(1)).await.unwrap();
        added.unwrap();
        let id = PersistenceId::of("Sum", &nr.to_string());
        let number = numbers[nr];
        let (pause, shares) = (random.usize(..100), random.u16(1..=5));
        let divides = async {
            for _ in 0..pause {
                yield_now().await;
            }
            projection.divide(shares).await.unwrap();
        };
        let waits = async {
            let applied = projection.applied_event(&id, number, LONG).await;
            applied.unwrap();
            let found = last_of(&place, &persistence, &id).await;
            assert!(found >= number as i64, "{found} of {number}");
        };
        tokio::join!(waits, divides);
    }
    projection.stop().await;
    assert!(persistence.stop(LONG).await.is_complete());
}
