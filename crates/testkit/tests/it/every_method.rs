//! Every method reaches the store, the optional ones and those with a default included.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_sqlite::{SqliteOptions, SqliteStateStore};
use actix_persistence_storage_api::{
    AnyCommand, ChangeEvent, CommandRules, EventDeletion, EventSelection, EventsQuery, FindStates,
    Journal, JournalCapabilities, JournalCommand, PageLimit, Payload, PersistenceIdsQuery,
    PurgeProgress, ReplayRange, SequenceNr, SessionWork, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StateChangesQuery, StateDelete, StateStore, StorageErrorKind, TakeOverRequest,
    Timestamp, WriterId,
};
use actix_persistence_testkit::{
    Intercepted, JournalCall, Rules, SnapshotCall, StateCall, StateStores, Verdict,
};

use crate::{id, update, write};

/// A command that no journal knows.
struct Nameless;

impl JournalCommand for Nameless {
    type Answer = ();

    fn rules(&self) -> CommandRules {
        CommandRules::beside()
    }
}

#[tokio::test]
async fn every_method_of_a_journal_reaches_it() {
    let inner = Intercepted::journal(MemoryStorage::new().journal());
    let (seen, closed) = (inner.on_every_call().record(), inner.on_close().record());
    let journal = Intercepted::journal(inner);
    let (a, writer) = (id("a"), WriterId::NIL);
    let requests = vec![TakeOverRequest::new(a.clone(), writer)];
    journal.initialize().await.unwrap();
    journal.read_head(&a).await.unwrap();
    let epoch = journal.take_over(&requests).await.unwrap()[0].epoch;
    let writes = vec![write("a", 1, epoch)];
    let outcomes = journal.write_messages(writes.clone()).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
    let (range, page) = (ReplayRange::ALL, PageLimit::DEFAULT);
    let replayed = journal.replay_messages(&a, range, page).await.unwrap();
    assert_eq!(replayed.events.len(), 1);
    assert_eq!(journal.read_highest_sequence_nr(&a).await.unwrap(), 1);
    let deletion = EventDeletion::up_to(SequenceNr::MAX);
    journal.delete_messages_to(&a, deletion).await.unwrap();
    assert!(matches!(journal.purge(&a).await, Ok(PurgeProgress::Done)));
    let command = AnyCommand::new(Nameless);
    assert!(journal.run_command(&command).await.unwrap().is_none());
    let queries = journal.event_queries().unwrap();
    let ids = PersistenceIdsQuery::new(1);
    let events = EventsQuery::new(EventSelection::all(), 1);
    queries.current_persistence_ids(ids.clone()).await.unwrap();
    queries.events(events.clone()).await.unwrap();
    let selection = EventSelection::all();
    queries.newest_offset(&selection).await.unwrap();
    assert_eq!(queries.offset_of(&a, 1).await.unwrap(), None);
    queries.bound_holders().await.unwrap();
    journal.ping().await.unwrap();
    journal.close().await;
    let persistence_id = a;
    let expected = [
        JournalCall::Initialize,
        JournalCall::ReadHead {
            persistence_id: persistence_id.clone(),
        },
        JournalCall::TakeOver { requests },
        JournalCall::WriteMessages { writes },
        JournalCall::ReplayMessages {
            persistence_id: persistence_id.clone(),
            range,
            page,
        },
        JournalCall::ReadHighestSequenceNr {
            persistence_id: persistence_id.clone(),
        },
        JournalCall::DeleteMessagesTo {
            persistence_id: persistence_id.clone(),
            deletion,
        },
        JournalCall::Purge {
            persistence_id: persistence_id.clone(),
        },
        JournalCall::RunCommand { command },
        JournalCall::CurrentPersistenceIds { query: ids },
        JournalCall::Events { query: events },
        JournalCall::NewestOffset { selection },
        JournalCall::OffsetOf {
            persistence_id,
            sequence_nr: 1,
        },
        JournalCall::BoundHolders,
        JournalCall::Ping,
    ];
    assert_eq!(seen.calls(), expected);
    assert_eq!(closed.calls(), [JournalCall::Close]);
}

#[tokio::test]
async fn every_method_of_a_snapshot_store_reaches_it() {
    let store = MemoryStorage::new().snapshot_store();
    let inner = Intercepted::snapshot_store(store);
    let (seen, closed) = (inner.on_every_call().record(), inner.on_close().record());
    let store = Intercepted::snapshot_store(inner);
    let (metadata, payload) = (
        SnapshotMetadata::new(id("a"), 1, Timestamp::UNSET),
        Payload::new(1, "snapshot", "x"),
    );
    let (persistence_id, criteria) = (id("a"), SnapshotCriteria::LATEST);
    store.initialize().await.unwrap();
    store.save(metadata.clone(), payload.clone()).await.unwrap();
    let loaded = store.load(&persistence_id, criteria).await.unwrap();
    assert_eq!(loaded.unwrap().payload, payload);
    store.delete(&metadata).await.unwrap();
    store
        .delete_matching(&persistence_id, criteria)
        .await
        .unwrap();
    store.ping().await.unwrap();
    store.close().await;
    let load = SnapshotCall::Load {
        persistence_id: persistence_id.clone(),
        criteria,
    };
    let save = SnapshotCall::Save {
        metadata: metadata.clone(),
        payload,
    };
    let delete_matching = SnapshotCall::DeleteMatching {
        persistence_id,
        criteria,
    };
    let expected = [
        SnapshotCall::Initialize,
        save,
        load,
        SnapshotCall::Delete { metadata },
        delete_matching,
        SnapshotCall::Ping,
    ];
    assert_eq!(seen.calls(), expected);
    assert_eq!(closed.calls(), [SnapshotCall::Close]);
}

#[tokio::test]
async fn every_method_of_a_state_store_reaches_it() {
    let store = MemoryStorage::new().state_store();
    let inner = Intercepted::state_store(store);
    let (seen, closed) = (inner.on_every_call().record(), inner.on_close().record());
    let store = Intercepted::state_store(inner);
    let a = id("a");
    store.initialize().await.unwrap();
    store.upsert(update("a", 1)).await.unwrap();
    assert_eq!(store.get(&a).await.unwrap().revision, 1);
    let deleted = StateDelete::new(a.clone(), 2);
    store.delete(deleted.clone()).await.unwrap();
    let event = ChangeEvent::new(Payload::new(1, "event", "x"), WriterId::NIL);
    let with_event = StateDelete::new(a.clone(), 3).with_change_event(event);
    let refused = store.delete(with_event.clone()).await;
    assert_eq!(refused.unwrap_err().kind(), StorageErrorKind::Unsupported);
    assert!(store.hard_delete(&a).await.unwrap());
    let queries = store.queries().unwrap();
    let (ids, changes) = (
        PersistenceIdsQuery::new(1),
        StateChangesQuery::new("Account", 1),
    );
    queries.current_persistence_ids(ids.clone()).await.unwrap();
    queries.changes(changes.clone()).await.unwrap();
    assert_eq!(queries.last_change(&a).await.unwrap(), None);
    store.ping().await.unwrap();
    store.close().await;
    let expected = [
        StateCall::Initialize,
        StateCall::Upsert {
            update: update("a", 1),
        },
        StateCall::Get {
            persistence_id: id("a"),
        },
        StateCall::Delete { delete: deleted },
        StateCall::Delete { delete: with_event },
        StateCall::HardDelete {
            persistence_id: id("a"),
        },
        StateCall::CurrentPersistenceIds { query: ids },
        StateCall::Changes { query: changes },
        StateCall::LastChange { persistence_id: a },
        StateCall::Ping,
    ];
    assert_eq!(seen.calls(), expected);
    assert_eq!(closed.calls(), [StateCall::Close]);
}

#[tokio::test]
async fn sql_over_states_reaches_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("states.db").to_string_lossy());
    let sqlite = SqliteStateStore::new(options).unwrap();
    let store = Intercepted::state_store(sqlite);
    let seen = store.on_every_call().record();
    store.initialize().await.unwrap();
    store.upsert(update("a", 1)).await.unwrap();
    let sql = store.sql().unwrap();
    let query = FindStates::new("Account", "revision = 1", [], 10);
    assert_eq!(sql.find(query).await.unwrap().len(), 1);
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            session
                .execute("CREATE TABLE notes (text TEXT)", [])
                .await?;
            Ok(())
        })
    });
    sql.transact(work).await.unwrap();
    assert!(matches!(
        seen.calls()[2..],
        [StateCall::Find { .. }, StateCall::Transact { .. }]
    ));
    store.close().await;
}

#[tokio::test]
async fn what_a_store_declares_is_declared_unless_a_test_says_otherwise() {
    let storage = MemoryStorage::new();
    let declared = storage.journal().capabilities();
    let journal = Intercepted::journal(storage.journal());
    assert_eq!(journal.capabilities(), declared);
    let nothing = JournalCapabilities::default();
    assert_ne!(declared, nothing);
    let journal = journal.with_capabilities(nothing.clone());
    assert_eq!(journal.capabilities(), nothing);
    let snapshots = storage.snapshot_store();
    let declared = snapshots.capabilities();
    assert_eq!(
        Intercepted::snapshot_store(snapshots).capabilities(),
        declared
    );

    let states = Intercepted::state_store(storage.state_store());
    assert_eq!(states.capabilities(), storage.state_store().capabilities());
    assert!(states.queries().is_some());
    assert!(states.sql().is_none());
    assert!(states.without_queries().queries().is_none());
}

#[tokio::test]
async fn a_transaction_that_fails_in_a_test_does_not_run() {
    let rules = Rules::<StateStores>::new();
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("states.db").to_string_lossy());
    let sqlite = Arc::new(SqliteStateStore::new(options).unwrap());
    let store = rules.around(sqlite);
    rules
        .on_every_call()
        .matching(|call| matches!(call, StateCall::Transact { .. }))
        .decide(|_| Verdict::fail(StorageErrorKind::Busy));
    store.initialize().await.unwrap();
    let work = SessionWork::new(|_| Box::pin(async { panic!("it runs") }));
    let error = store.sql().unwrap().transact(work).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Busy);
    store.close().await;
}
