//! A journal whose disk is full.

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Operation, Payload, PersistenceId, SequenceNr,
    StorageErrorKind, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::{SqliteJournal, SqliteOptions};

fn write(id: &PersistenceId, writer: WriterId, number: SequenceNr, bytes: usize) -> AtomicWrite {
    let payload = Payload::new(1, "m", vec![1; bytes]);
    let event = EventRecord::new(number, Timestamp::now(), writer, payload);
    AtomicWrite::new(id.clone(), 1, vec![event]).unwrap()
}

#[tokio::test]
async fn a_write_that_finds_the_disk_full_fails_and_is_not_a_rejection() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.db");
    let journal = SqliteJournal::new(SqliteOptions::new(path.to_str().unwrap())).unwrap();
    journal.initialize().await.unwrap();
    let (id, writer) = (PersistenceId::of("T", "1"), WriterId::random());
    journal.take_over_one(&id, writer).await.unwrap();
    let outcomes = journal
        .write_messages(vec![write(&id, writer, 1, 10)])
        .await;
    assert!(outcomes.unwrap()[0].is_stored());

    let large = write(&id, writer, 2, 500_000);
    // Alone it is stored by texts that hold its transaction; beside one that loses, with care.
    let groups = [
        vec![large.clone()],
        vec![large, write(&PersistenceId::of("T", "2"), writer, 1, 1)],
    ];
    for group in &groups {
        limit(&journal).await;
        let error = journal.write_messages(group.clone()).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
        assert!(error.is_not_stored());
        assert_eq!(journal.read_highest_sequence_nr(&id).await.unwrap(), 1);
    }

    let [_, group] = groups;
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[0].is_stored());
    assert_eq!(journal.read_highest_sequence_nr(&id).await.unwrap(), 2);
}

/// Limits the connection that writes next, as if there were no space for a while.
async fn limit(journal: &SqliteJournal) {
    let limited = journal
        .connections()
        .write(Operation::WriteMessages, (), |connection, ()| {
            Box::pin(async move {
                sqlx::query("PRAGMA max_page_count = 1")
                    .execute(connection)
                    .await?;
                Ok(())
            })
        });
    limited.await.unwrap();
}
