//! The actor as an offset store.

use std::sync::Arc;

use actix_persistence_memory::MemoryOffsetStore;
use actix_persistence_offset_actor::OffsetStoreProxy;
use actix_persistence_storage_api::{
    OffsetStore, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange, Replacement,
    SessionWork, Skipped, StorageErrorKind, Timestamp,
};
use actix_persistence_testkit::{Intercepted, OffsetCall};

use crate::fixture::{LEASE, key, settings};

#[tokio::test]
async fn every_method_reaches_the_store() {
    let store = Intercepted::offset_store(MemoryOffsetStore::new()).with_capabilities(true);
    let (seen, closed) = (store.on_every_call().record(), store.on_close().record());
    let proxy = OffsetStoreProxy::spawn(Arc::new(store), settings()).unwrap();
    assert!(proxy.has_transactions());
    proxy.initialize().await.unwrap();
    proxy.register(&key(), 2, "0").await.unwrap();
    proxy.read(&key()).await.unwrap().unwrap();
    assert_eq!(proxy.keys().await.unwrap(), [key()]);
    let record = proxy.attend(&key(), "a", LEASE).await.unwrap();
    assert_eq!(record.members, ["a".into()]);
    let taken = proxy.take_share(&key(), 1, "a", LEASE).await.unwrap();
    let claim = taken.claim.clone();
    assert_eq!(proxy.count_attempt(&claim).await.unwrap(), 1);
    let skipped = Skipped::new("Account|1 7", "0", "no", Timestamp::UNSET);
    // In the second half of the slices.
    let id = PersistenceId::of("TestEntity", "p1");
    let content = Default::default();
    let item = ParkedItem::new(id.clone(), 7, "it", "1", content, Timestamp::UNSET);
    let commit = ProgressCommit::new(claim.clone(), taken.progress.clone(), taken.progress)
        .with_skipped(skipped.clone())
        .with_parked(item);
    proxy.commit(commit.clone(), None).await.unwrap();
    let work = SessionWork::new(|_| Box::pin(async { Ok(()) }));
    let refused = proxy.commit(commit.clone(), Some(work)).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    assert_eq!(refused.persistence_id(), None);
    assert_eq!(proxy.skipped(&key(), 5).await.unwrap(), [skipped]);
    assert_eq!(proxy.begin_retry(&claim, &id).await.unwrap(), 1);
    proxy.note_parked(&claim, &id, "no").await.unwrap();
    let parked = proxy.parked(&key(), 0..=1023, None, 4).await.unwrap();
    assert_eq!(&*parked[0].reason, "no");
    let items = proxy.parked_items(&key(), &id, 6).await.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(proxy.live_version(key().name()).await.unwrap(), Some(1));
    let replacement = Replacement::of_none(key());
    let refused = proxy.replace(replacement.clone(), None).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::VersionConflict);
    proxy.release_share(&claim).await.unwrap();
    proxy.halt(&claim, "no way").await.unwrap();
    let resume = ProjectionChange::Resume;
    proxy.change(&key(), resume.clone()).await.unwrap();
    proxy.leave(&key(), "a").await.unwrap();
    proxy.ping().await.unwrap();
    proxy.close().await;
    let (projection, owner) = (key(), "a".to_owned());
    let expected = [
        OffsetCall::Initialize,
        OffsetCall::Register {
            projection: key(),
            shares: 2,
            offset: "0".to_owned(),
        },
        OffsetCall::Read { projection: key() },
        OffsetCall::Keys,
        OffsetCall::Attend {
            projection: key(),
            owner: owner.clone(),
            lease: LEASE,
        },
        OffsetCall::TakeShare {
            projection: key(),
            share: 1,
            owner: owner.clone(),
            lease: LEASE,
        },
        OffsetCall::CountAttempt {
            claim: claim.clone(),
        },
        OffsetCall::Commit {
            commit: commit.clone(),
            work: None,
        },
    ];
    let calls = seen.calls();
    assert_eq!(calls[..expected.len()], expected);
    let rest = &calls[expected.len()..];
    assert!(matches!(
        &rest[0],
        OffsetCall::Commit { commit: found, work: Some(_) } if *found == commit
    ));
    let expected = [
        OffsetCall::Skipped {
            projection: key(),
            limit: 5,
        },
        OffsetCall::BeginRetry {
            claim: claim.clone(),
            persistence_id: id.clone(),
        },
        OffsetCall::NoteParked {
            claim: claim.clone(),
            persistence_id: id.clone(),
            reason: "no".to_owned(),
        },
        OffsetCall::Parked {
            projection: key(),
            slices: 0..=1023,
            after: None,
            limit: 4,
        },
        OffsetCall::ParkedItems {
            projection: key(),
            persistence_id: id,
            limit: 6,
        },
        OffsetCall::LiveVersion {
            name: key().name().to_owned(),
        },
        OffsetCall::Replace {
            replacement,
            work: None,
        },
        OffsetCall::ReleaseShare {
            claim: claim.clone(),
        },
        OffsetCall::Halt {
            claim,
            reason: "no way".to_owned(),
        },
        OffsetCall::Change {
            projection: key(),
            change: resume,
        },
        OffsetCall::Leave { projection, owner },
        OffsetCall::Ping,
    ];
    assert_eq!(rest[1..], expected);
    assert_eq!(closed.calls(), [OffsetCall::Close]);
}
