//! Projections that are managed by a process that does not run them, on every database.

use actix_persistence::Timestamp;
use actix_persistence::projection::{Behind, ProjectionKey, ResetError, StoredProjection};
use actix_persistence::query::{EventOffset, EventSelection, StateOffset};

use crate::projections::{LONG, Place, add, newest, start};

/// Waits until something is so.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

async fn handled(stored: &StoredProjection) -> u64 {
    stored.progress().await.unwrap().unwrap().handled
}

pub(crate) async fn a_running_projection_is_managed_from_elsewhere(kind: &'static str) {
    let place = Place::new(kind, "managed");
    let (running, other) = (place.open().await, place.open().await);
    place.make_tables(&running).await;
    let model = place.read_model();
    add(&running, 4, 1..=5).await;
    let projection = start(&running, &model, |settings| settings.shares = 2);
    projection
        .applied(&newest(&running).await, LONG)
        .await
        .unwrap();

    let projections = other.projections(None).unwrap();
    let key = ProjectionKey::new("sums").unwrap();
    assert_eq!(
        projections.keys().await.unwrap(),
        std::slice::from_ref(&key)
    );
    assert_eq!(projections.live_version("sums").await.unwrap(), Some(1));
    let stored = projections.projection(key.clone());
    let progress = stored.progress().await.unwrap().unwrap();
    assert_eq!(progress.handled, 20);
    assert!(progress.reached_time().is_some());
    let queries = other.event_queries(None).unwrap();
    let everything = queries.newest_offset(&EventSelection::all()).await.unwrap();
    until(async || {
        let progress = stored.progress().await.unwrap().unwrap();
        progress.behind(&everything, Timestamp::now()) == Behind::Nothing
    })
    .await;

    stored.pause().await.unwrap();
    let left = async || {
        let record = stored.record().await.unwrap().unwrap();
        record.shares.iter().all(|share| share.lease.is_none())
    };
    until(left).await;
    let states: StateOffset = "0/1.5.0:".parse().unwrap();
    let before = stored.record().await.unwrap().unwrap().shares;
    let error = stored.reset(&states).await.unwrap_err();
    assert!(matches!(error, ResetError::OtherKind(_)), "{error:?}");
    let after = stored.record().await.unwrap().unwrap().shares;
    assert_eq!(after, before);
    add(&running, 4, 6..=7).await;
    stored.divide(3).await.unwrap();
    stored.resume().await.unwrap();
    until(async || handled(&stored).await == 28).await;
    assert_eq!(place.found(&running).await.0, 28);
    let record = stored.record().await.unwrap().unwrap();
    assert_eq!(record.shares.len(), 3);

    projection.stop().await;
    stored.reset(&EventOffset::start()).await.unwrap();
    let progress = stored.progress().await.unwrap().unwrap();
    assert_eq!(
        progress.behind(&everything, Timestamp::now()),
        Behind::Unknown
    );
    stored.remove().await.unwrap();
    assert_eq!(projections.keys().await.unwrap(), []);
    for persistence in [running, other] {
        assert!(persistence.stop(LONG).await.is_complete());
    }
}
