//! The outcome of calls when others are in the way, or the server or the network fails.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sql_tests::journal::trouble::network;
use actix_persistence_sql_tests::{OnServer, Tables, until_number};
use actix_persistence_storage_api::{Effect, Journal, StorageErrorKind, WriteOutcome, WriterId};
use actix_persistence_tck::TakeOverOne;
use actix_persistence_test_servers::{Direction, Flow};
use sqlx::AssertSqlSafe;

use crate::database::execute;
use crate::place::{Place, assert_error, id, numbers, store, write};

actix_persistence_sql_tests::test_trouble!(server Place::new().await);

/// Waits until a statement of the plugin waits for a lock, and gives its session.
async fn waiting(place: &Place) -> i32 {
    let mut connection = place.connection().await;
    loop {
        let session = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
            AND application_name = 'actix-persistence' AND wait_event_type = 'Lock'";
        let session: Option<i32> = sqlx::query_scalar(session)
            .fetch_optional(&mut connection)
            .await
            .unwrap();
        if let Some(session) = session {
            return session;
        }
    }
}

#[tokio::test]
async fn a_deadlock_is_tried_again() {
    let place = Place::new().await;
    let mut options = place.options();
    options.server.lock_timeout = Duration::from_secs(8);
    options.server.statement_timeout = Duration::from_secs(9);
    let journal = Arc::new(place.journal_with(options).await);
    let (a, b, writer) = (id("a"), id("b"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    journal.take_over_one(&b, writer).await.unwrap();
    let mut other = place.connection().await;
    let hold = "BEGIN; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|b' FOR UPDATE";
    execute(&mut other, hold).await;
    let call = tokio::spawn({
        let journal = Arc::clone(&journal);
        let group = vec![
            write(&a, epoch, writer, 1..=1),
            write(&b, epoch, writer, 1..=1),
        ];
        async move { journal.write_messages(group).await }
    });
    waiting(&place).await;
    // The one who waits longer notices first; so that it is the plugin, the other one does not look.
    execute(&mut other, "SET LOCAL deadlock_timeout = '1min'").await;
    execute(
        &mut other,
        "UPDATE journal_metadata SET epoch = epoch WHERE persistence_id = 'Test|a'",
    )
    .await;
    execute(&mut other, "COMMIT").await;
    let outcomes = call.await.unwrap().unwrap();
    assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let counted = until_number(&place, deadlocks, |number| number > 0);
    let counted = tokio::time::timeout(Duration::from_secs(60), counted).await;
    assert!(counted.is_ok(), "there was no deadlock");
}

#[tokio::test]
async fn a_session_that_the_server_ends_leaves_the_outcome_unknown() {
    let place = Place::new().await;
    let journal = Arc::new(place.journal().await);
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    let other = place.hold("journal_metadata", "Test|a").await;
    let call = tokio::spawn({
        let journal = Arc::clone(&journal);
        let group = vec![write(&a, epoch, writer, 1..=1)];
        async move { journal.write_messages(group).await }
    });
    let session = waiting(&place).await;
    place
        .run(format!("SELECT pg_terminate_backend({session})"))
        .await;
    let error = call.await.unwrap().unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::Unavailable,
        "the server ended the connection",
    );
    assert_eq!(error.effect(), Some(Effect::Unknown));
    drop(other);
    store(&*journal, &a, 1).await;
    assert_eq!(numbers(&*journal, &a).await, [1]);
}

#[tokio::test]
async fn a_reply_that_is_lost_leaves_the_outcome_unknown_and_the_event_stored() {
    let place = Place::new().await;
    let (proxy, section) = network(&place);
    let section = section
        .with("statement-timeout", "300ms")
        .with("lock-timeout", "200ms");
    let journal = place.new_journal(section.with("writers", 1));
    journal.initialize().await.unwrap();
    // Once, on the only connection, so that the next write needs no reply before it is done: it is prepared.
    store(&*journal, &id("b"), 1).await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    proxy.set(Direction::Replies, Flow::Swallow);
    let group = vec![write(&a, epoch, writer, 1..=1)];
    let error = journal.write_messages(group).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Timeout, "no answer in time");
    assert_eq!(error.effect(), Some(Effect::Unknown));
    proxy.pass();
    let recovered = journal.take_over_one(&a, WriterId::random()).await.unwrap();
    assert_eq!(recovered.highest_sequence_nr, 1);
}

/// The statements of the plugin, when the tables were empty as they were prepared, must not read whole tables later.
#[tokio::test]
async fn no_statement_reads_a_whole_table_when_it_has_grown() {
    let place = Place::new().await;
    let journal = place.journal().await;
    // Prepared and planned while there is nothing.
    for _ in 0..8 {
        store(&journal, &id("a"), 1).await;
        numbers(&journal, &id("a")).await;
    }
    let fill = "INSERT INTO journal_metadata SELECT 'Fill|' || n, 0, 0, 0, 1, decode(repeat('00', 16), 'hex') \
        FROM generate_series(1, 20000) AS n";
    place.run(fill).await;
    let scans = "SELECT sum(seq_scan)::bigint FROM pg_stat_user_tables \
        WHERE relname IN ('event_journal', 'journal_metadata')";
    let mut connection = place.connection().await;
    let before: i64 = sqlx::query_scalar(AssertSqlSafe(scans))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    for _ in 0..8 {
        store(&journal, &id("a"), 1).await;
        numbers(&journal, &id("a")).await;
    }
    drop(journal);
    // The sessions tell what they did when they end.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND application_name = 'actix-persistence'";
    until_number(&place, sessions, |number| number == 0).await;
    let after: i64 = sqlx::query_scalar(AssertSqlSafe(scans))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(after, before);
}
