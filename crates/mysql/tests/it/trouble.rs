//! The outcome of calls when others are in the way, or the server or the network fails.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sql_tests::{OnServer, Tables};
use actix_persistence_storage_api::{Effect, StorageErrorKind, WriteOutcome, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::database::execute;
use crate::place::{Place, id, numbers, store, write};

actix_persistence_sql_tests::test_trouble!(server Place::new().await);

/// Waits until a statement of the plugin has been waiting for a while, and gives its session.
///
/// Not by the table of transactions: the server makes that anew only if it was not read for a moment.
async fn waiting(place: &Place) -> i64 {
    let mut connection = place.connection().await;
    loop {
        let session: Option<i64> = sqlx::query_scalar(
            "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
             WHERE db = DATABASE() AND command IN ('Execute', 'Query') AND id <> CONNECTION_ID() AND time >= 1 ORDER BY id",
        )
        .fetch_optional(&mut connection)
        .await
        .unwrap();
        if let Some(session) = session {
            return session;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_deadlock_is_tried_again() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    let (a, b, writer) = (id("a"), id("b"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    journal.take_over_one(&b, writer).await.unwrap();
    // The server gives up the one that has changed less: so much that it is the plugin's.
    place
        .run("CREATE TABLE theirs (number INT PRIMARY KEY)")
        .await;
    let mut other = place.connection().await;
    let hold = "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|b' FOR UPDATE";
    execute(&mut other, hold).await;
    let much = (0..1_000).map(|number| format!("({number})"));
    let much = much.collect::<Vec<_>>().join(", ");
    execute(&mut other, format!("INSERT INTO theirs VALUES {much}")).await;
    let call = tokio::spawn({
        let journal = Arc::clone(&journal);
        let group = vec![
            write(&a, epoch, writer, 1..=1),
            write(&b, epoch, writer, 1..=1),
        ];
        async move { journal.write_messages(group).await }
    });
    waiting(&place).await;
    let take = "UPDATE journal_metadata SET epoch = epoch WHERE persistence_id = 'Test|a'; COMMIT";
    execute(&mut other, take).await;
    let outcomes = call.await.unwrap().unwrap();
    assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
    assert_eq!(numbers(&*journal, &a).await, [1]);
}

#[tokio::test]
async fn a_session_that_is_killed_before_its_commit_has_stored_nothing() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    let other = place.hold("journal_metadata", "Test|a").await;
    let call = tokio::spawn({
        let journal = Arc::clone(&journal);
        let group = vec![write(&a, epoch, writer, 1..=1)];
        async move { journal.write_messages(group).await }
    });
    let session = waiting(&place).await;
    place.run(format!("KILL {session}")).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.effect(), Some(Effect::NotStored));
    drop(other);
    let highest = journal.read_highest_sequence_nr(&a).await.unwrap();
    assert_eq!(highest, 0);
    store(&*journal, &a, 1).await;
}
