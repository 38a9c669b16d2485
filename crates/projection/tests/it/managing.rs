//! Projections that are managed while no process runs them.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_projection::{Projections, ResetError};
use actix_persistence_storage_api::{
    EventOffset, OffsetStore, ProjectionKey, StateOffset, StorageErrorKind,
};
use tokio::runtime::Handle;

fn key(name: &str) -> ProjectionKey {
    ProjectionKey::new(name).unwrap()
}

/// Returns projections with these names, whose shares continue after these offsets.
async fn projections(of: &[(&str, &str)]) -> Projections {
    let store = Arc::new(MemoryStorage::new().offset_store());
    for (name, offset) in of {
        store.register(&key(name), 2, offset).await.unwrap();
    }
    Projections::new(store, Handle::current(), ())
}

#[tokio::test]
async fn a_projection_is_managed_while_no_process_runs_it() {
    let projections = projections(&[("mails", ""), ("balances", "0/1.7.0.0:")]).await;
    assert_eq!(
        projections.keys().await.unwrap(),
        [key("balances"), key("mails")]
    );
    let balances = projections.projection(key("balances"));
    balances.pause().await.unwrap();
    assert!(balances.record().await.unwrap().unwrap().paused);
    balances.resume().await.unwrap();
    balances.divide(3).await.unwrap();
    let record = balances.record().await.unwrap().unwrap();
    assert!(!record.paused);
    assert_eq!(record.shares.len(), 3);
    assert_eq!(balances.skipped(10).await.unwrap(), []);
    balances.remove().await.unwrap();
    assert_eq!(projections.keys().await.unwrap(), [key("mails")]);
    assert_eq!(balances.record().await.unwrap(), None);
    let error = balances.pause().await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unsupported);
}

#[tokio::test]
async fn an_offset_of_another_kind_or_store_is_refused_and_not_stored() {
    let projections = projections(&[
        ("of-events", "3/8.7.0.0:"),
        ("of-states", "3/8.7.0:"),
        ("new", ""),
    ])
    .await;
    let events: EventOffset = "3/8.5.0.0:".parse().unwrap();
    let states: StateOffset = "3/8.5.0:".parse().unwrap();
    let of_events = projections.projection(key("of-events"));
    let of_states = projections.projection(key("of-states"));
    let before = of_events.record().await.unwrap();
    let error = of_events.reset(&states).await.unwrap_err();
    assert!(matches!(error, ResetError::OtherKind(_)), "{error:?}");
    let other: EventOffset = "0/1.5.0.0:".parse().unwrap();
    let error = of_events.reset(&other).await.unwrap_err();
    assert!(matches!(error, ResetError::OtherPartitions(_)), "{error:?}");
    assert_eq!(of_events.record().await.unwrap(), before);
    let error = of_states.reset(&events).await.unwrap_err();
    assert!(matches!(error, ResetError::OtherKind(_)), "{error:?}");

    // The start of everything is of any kind, and a projection that has no place yet takes any.
    of_states.reset(&EventOffset::start()).await.unwrap();
    of_events.reset(&events).await.unwrap();
    projections
        .projection(key("new"))
        .reset(&states)
        .await
        .unwrap();
    for (name, expected) in [
        ("of-events", "3/8.5.0.0:"),
        ("of-states", ""),
        ("new", "3/8.5.0:"),
    ] {
        let record = projections.projection(key(name)).record().await.unwrap();
        for share in record.unwrap().shares {
            assert_eq!(share.progress.pieces()[0].offset, expected, "{name}");
        }
    }
    let unknown = projections.projection(key("unknown"));
    let error = unknown.reset(&events).await.unwrap_err();
    assert!(matches!(error, ResetError::Storage(_)), "{error:?}");
}
