//! Every method of an offset store reaches it.

use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{
    OffsetStore, ParkedItem, ParkedRequest, PersistenceId, Progress, ProgressCommit,
    ProjectionChange, ProjectionKey, Replacement, SessionWork, Skipped, StorageErrorKind,
    Timestamp,
};
use actix_persistence_testkit::{Intercepted, OffsetCall};

const LEASE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_method_of_an_offset_store_reaches_it() {
    let inner = Intercepted::offset_store(MemoryStorage::new().offset_store());
    let (seen, closed) = (inner.on_every_call().record(), inner.on_close().record());
    let store = Intercepted::offset_store(inner);
    let projection = ProjectionKey::new("balances").unwrap();
    let owner = "a".to_owned();
    store.initialize().await.unwrap();
    store.register(&projection, 2, "0").await.unwrap();
    assert_eq!(
        store.keys().await.unwrap(),
        std::slice::from_ref(&projection)
    );
    let record = store.attend(&projection, "a", LEASE).await.unwrap();
    assert_eq!(record.shares.len(), 2);
    let taken = store.take_share(&projection, 1, "a", LEASE).await.unwrap();
    let claim = taken.claim.clone();
    assert_eq!(store.count_attempt(&claim).await.unwrap(), 1);
    let skipped = Skipped::new("Account|1 7", "1", "no such account", Timestamp::UNSET);
    let to = Progress::new(taken.progress.slices(), "1");
    // In the second half of the slices.
    let parked_id = PersistenceId::of("TestEntity", "p1");
    let item = ParkedItem::new(
        parked_id.clone(),
        7,
        "it",
        "1",
        Default::default(),
        Timestamp::UNSET,
    );
    let commit = ProgressCommit::new(claim.clone(), taken.progress, to)
        .with_skipped(skipped)
        .with_parked(item);
    store.commit(commit.clone(), None).await.unwrap();
    let found = store.skipped(&projection, 3).await.unwrap();
    assert_eq!(found, commit.skipped);
    assert_eq!(store.begin_retry(&claim, &parked_id).await.unwrap(), 1);
    store.note_parked(&claim, &parked_id, "no").await.unwrap();
    let parked = store
        .parked(&projection, 512..=1023, None, 4)
        .await
        .unwrap();
    assert_eq!((parked.len(), &*parked[0].reason), (1, "no"));
    let items = store
        .parked_items(&projection, &parked_id, 5)
        .await
        .unwrap();
    assert_eq!(items.len(), 1);
    store.release_share(&claim).await.unwrap();
    store.halt(&claim, "no way").await.unwrap();
    let request = ProjectionChange::RequestParked {
        persistence_id: Some(parked_id.clone()),
        request: ParkedRequest::Retry,
    };
    store.change(&projection, request.clone()).await.unwrap();
    assert_eq!(store.live_version("balances").await.unwrap(), Some(1));
    let change = ProjectionChange::Pause;
    store.change(&projection, change.clone()).await.unwrap();
    let record = store.read(&projection).await.unwrap().unwrap();
    assert!(record.paused);
    let next = projection.clone().with_version(2);
    let progress = record.shares.into_iter().map(|share| share.progress);
    let replacement = Replacement::new(next, projection.clone(), progress.collect());
    let refused = store.replace(replacement.clone(), None).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    store.leave(&projection, "a").await.unwrap();
    store.ping().await.unwrap();
    store.close().await;
    let expected = [
        OffsetCall::Initialize,
        OffsetCall::Register {
            projection: projection.clone(),
            shares: 2,
            offset: "0".to_owned(),
        },
        OffsetCall::Keys,
        OffsetCall::Attend {
            projection: projection.clone(),
            owner: owner.clone(),
            lease: LEASE,
        },
        OffsetCall::TakeShare {
            projection: projection.clone(),
            share: 1,
            owner: owner.clone(),
            lease: LEASE,
        },
        OffsetCall::CountAttempt {
            claim: claim.clone(),
        },
        OffsetCall::Commit { commit, work: None },
        OffsetCall::Skipped {
            projection: projection.clone(),
            limit: 3,
        },
        OffsetCall::BeginRetry {
            claim: claim.clone(),
            persistence_id: parked_id.clone(),
        },
        OffsetCall::NoteParked {
            claim: claim.clone(),
            persistence_id: parked_id.clone(),
            reason: "no".to_owned(),
        },
        OffsetCall::Parked {
            projection: projection.clone(),
            slices: 512..=1023,
            after: None,
            limit: 4,
        },
        OffsetCall::ParkedItems {
            projection: projection.clone(),
            persistence_id: parked_id,
            limit: 5,
        },
        OffsetCall::ReleaseShare {
            claim: claim.clone(),
        },
        OffsetCall::Halt {
            claim,
            reason: "no way".to_owned(),
        },
        OffsetCall::Change {
            projection: projection.clone(),
            change: request,
        },
        OffsetCall::LiveVersion {
            name: "balances".to_owned(),
        },
        OffsetCall::Change {
            projection: projection.clone(),
            change,
        },
        OffsetCall::Read {
            projection: projection.clone(),
        },
        OffsetCall::Replace {
            replacement,
            work: None,
        },
        OffsetCall::Leave { projection, owner },
        OffsetCall::Ping,
    ];
    assert_eq!(seen.calls(), expected);
    assert_eq!(closed.calls(), [OffsetCall::Close]);
}

#[tokio::test]
async fn the_work_of_commits_and_replacements_reaches_the_store() {
    let store = Intercepted::offset_store(MemoryStorage::new().offset_store());
    let projection = ProjectionKey::new("balances").unwrap();
    store.register(&projection, 1, "").await.unwrap();
    let taken = store.take_share(&projection, 0, "a", LEASE).await.unwrap();
    let commit = ProgressCommit::new(taken.claim, taken.progress.clone(), taken.progress);
    let work = || Some(SessionWork::new(|_| Box::pin(async { Ok(()) })));
    let refused = store.commit(commit, work()).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    let next = projection.clone().with_version(2);
    store.register(&next, 1, "").await.unwrap();
    let change = ProjectionChange::Remove;
    store.change(&projection, change).await.unwrap();
    let replacement = Replacement::of_none(next);
    let refused = store
        .replace(replacement.clone(), work())
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    assert!(store.replace(replacement, None).await.is_ok());
}

#[test]
fn a_test_may_say_that_there_are_transactions() {
    let store = Intercepted::offset_store(MemoryStorage::new().offset_store());
    assert!(!store.has_transactions());
    assert!(store.with_capabilities(true).has_transactions());
}
