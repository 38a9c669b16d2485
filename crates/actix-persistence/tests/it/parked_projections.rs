//! Ids that a projection parks, on every database.

use std::sync::atomic::Ordering;

use actix_persistence::projection::OnFailure;

use crate::projections::{LONG, Place, add, newest, start};

/// Nothing of a parked id is in the read model from the bad event on, until a retry hands over what waits, each event once.
pub(crate) async fn what_is_parked_waits_and_is_handled_once_when_retried(kind: &'static str) {
    let place = Place::new(kind, "parked");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let model = place.read_model();
    model.fails_for.store(5, Ordering::SeqCst);
    let projection = start(&persistence, &model, |settings| {
        settings.on_failure = OnFailure::Park;
        settings.max_attempts = 2;
        settings.shares = 2;
    });
    add(&persistence, 3, 1..=9).await;
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    assert_eq!(place.found(&persistence).await, (12, 12, 30));
    let parked = projection.parked(None, 10).await.unwrap();
    assert_eq!(parked.len(), 3);
    for id in &parked {
        assert_eq!((id.number, id.waiting), (5, 5), "{id:?}");
        assert!(id.reason.contains("5 is too much"), "{id:?}");
    }
    model.fails.store(false, Ordering::SeqCst);
    projection.divide(3).await.unwrap();
    projection.retry(None).await.unwrap();
    let retried = async { while !projection.parked(None, 1).await.unwrap().is_empty() {} };
    tokio::time::timeout(LONG, retried).await.unwrap();
    assert_eq!(place.found(&persistence).await, (27, 27, 135));
    let record = projection.record().await.unwrap().unwrap();
    let handled: u64 = record.shares.iter().map(|share| share.handled).sum();
    assert_eq!((handled, record.parked), (27, 0));
    assert!(persistence.stop(LONG).await.is_complete());
}
