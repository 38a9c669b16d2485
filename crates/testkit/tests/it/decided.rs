//! Calls that a rule answers.

use std::sync::Arc;

use actix_persistence_memory::{MemoryJournal, MemoryStorage};
use actix_persistence_storage_api::{
    Effect, Journal, Operation, StateStore, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{Fault, Hook, Intercepted, Next, StoreKind, Verdict};
use async_trait::async_trait;
use tokio::time::timeout;

use crate::{id, update};

#[tokio::test]
async fn a_write_that_fails_is_not_stored_and_one_that_only_says_so_is() {
    let storage = MemoryStorage::new();
    let states = Intercepted::state_store(storage.state_store());
    let script = states.on(Operation::UpsertState).script([
        Verdict::fail(StorageErrorKind::Backend),
        Verdict::fail(Fault::new(StorageErrorKind::Timeout).with_unknown_effect()),
        Verdict::reject(StorageErrorKind::TooLarge),
        Verdict::store_but_fail(StorageErrorKind::Backend),
    ]);
    let upsert = async |revision| states.upsert(update("a", revision)).await;
    let stored = async || storage.state_store().get(&id("a")).await.unwrap().revision;
    for (kind, effect) in [
        (StorageErrorKind::Backend, Effect::NotStored),
        (StorageErrorKind::Timeout, Effect::Unknown),
        (StorageErrorKind::TooLarge, Effect::NotStored),
    ] {
        let error = upsert(1).await.unwrap_err();
        assert_eq!((error.kind(), error.effect()), (kind, Some(effect)));
        assert_eq!(stored().await, 0);
    }
    assert_eq!(script.left(), 1);
    let error = upsert(1).await.unwrap_err();
    assert_eq!(error.effect(), Some(Effect::Unknown));
    assert_eq!(stored().await, 1);
    script
        .then(Verdict::Pass)
        .then(Verdict::store_but_fail(StorageErrorKind::Backend));
    upsert(2).await.unwrap();
    // The store itself refuses this one, and is heard.
    let error = upsert(2).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::RevisionConflict);
    upsert(3).await.unwrap();
    assert_eq!(stored().await, 3);
}

#[tokio::test]
async fn an_error_of_the_test_is_given_as_it_is() {
    let journal = Intercepted::journal(MemoryJournal::new());
    let error = StorageError::new(StorageErrorKind::Corrupt, Operation::Transact);
    let fault = Fault::from(error.not_stored()).with_message("the disk is full");
    journal.on_every_call().store_but_fail(fault);
    let error = journal.ping().await.unwrap_err();
    assert_eq!(error.operation(), Operation::Transact);
    assert_eq!(error.effect(), Some(Effect::NotStored));
    assert_eq!(error.message(), Some("the disk is full"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_never_answers_and_one_that_panics_does() {
    let journal = Arc::new(Intercepted::journal(MemoryJournal::new()));
    journal.on(Operation::ReadHead).next(1).hang();
    journal.on(Operation::ReadHead).panic("out of order");
    let hour = std::time::Duration::from_secs(3_600);
    assert!(timeout(hour, journal.read_head(&id("a"))).await.is_err());
    let looking = tokio::spawn(async move { journal.read_head(&id("a")).await });
    let panic = looking.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "out of order");
}

#[tokio::test]
async fn code_of_the_test_may_call_the_store_as_often_as_it_likes() {
    let storage = MemoryStorage::new();
    let states = Intercepted::state_store(storage.state_store());
    states
        .on(Operation::UpsertState)
        .run(|call, next| async move {
            // What a driver does that sends a write again after its connection was lost.
            next.clone().run(call.clone()).await?;
            next.run(call).await
        });
    let error = states.upsert(update("a", 1)).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::RevisionConflict);
    assert_eq!(states.store().get(&id("a")).await.unwrap().revision, 1);
}

/// Counts calls, and lets the first ones fail.
struct Failing(std::sync::atomic::AtomicUsize);

#[async_trait]
impl<S: StoreKind> Hook<S> for Failing {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        match self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Err(Fault::new(StorageErrorKind::Busy).of(&call)),
            _ => next.run(call).await,
        }
    }
}

#[tokio::test]
async fn a_hook_of_the_test_can_be_shared_by_stores_of_all_kinds() {
    let (storage, hook) = (MemoryStorage::new(), Arc::new(Failing(0.into())));
    let journal = Intercepted::journal_with(storage.journal(), hook.clone());
    let states = Intercepted::state_store_with(storage.state_store(), hook.clone());
    assert!(journal.ping().await.is_err());
    assert!(states.ping().await.is_ok());
    assert_eq!(states.0.load(std::sync::atomic::Ordering::Relaxed), 2);
}
