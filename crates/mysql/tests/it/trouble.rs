//! The outcome of calls when others are in the way, or the server or the network fails.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, ServerOptions};
use actix_persistence_storage_api::{Effect, Journal, StorageErrorKind, WriteOutcome, WriterId};
use actix_persistence_test_servers::{Cut, Direction, FaultProxy, Flow};
use sqlx::MySqlConnection;

use crate::database::execute;
use crate::place::{Place, assert_error, id, numbers, store, write};

fn times(lock: u64, statement: u64) -> impl Fn(ServerOptions) -> ServerOptions {
    move |mut server| {
        server.lock_timeout = Duration::from_secs(lock);
        server.statement_timeout = Duration::from_secs(statement);
        server
    }
}

/// Locks the row of an id, as another application may.
async fn hold(place: &Place, name: &str) -> MySqlConnection {
    let mut other = place.connection().await;
    let sql = format!(
        "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = '{name}' FOR UPDATE"
    );
    execute(&mut other, sql).await;
    other
}

/// Waits until a statement of the plugin has been waiting for a while, and gives its session.
///
/// Not by the table of transactions: the server makes that anew only if it was not read for a moment.
async fn waiting(place: &Place) -> i64 {
    let mut connection = place.connection().await;
    loop {
        let session: Option<i64> = sqlx::query_scalar(
            "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
             WHERE db = DATABASE() AND command = 'Execute' AND id <> CONNECTION_ID() AND time >= 1 ORDER BY id",
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
async fn a_lock_of_another_ends_a_write_in_time_and_nothing_is_stored() {
    let place = Place::new().await;
    let journal = place
        .journal_with(place.options().with_server(times(1, 4)))
        .await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.recover(&a, writer).await.unwrap().epoch;
    let other = hold(&place, "Test|a").await;
    let group = vec![write(&a, epoch, writer, 1..=1)];
    let error = journal.write_messages(group.clone()).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unavailable, "'lock-timeout'");
    assert_eq!(error.effect(), Some(Effect::NotStored));
    drop(other);
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[0].is_stored(), "the same write works later");
}

#[tokio::test]
async fn a_deadlock_is_tried_again() {
    let place = Place::new().await;
    let journal = place
        .journal_with(place.options().with_server(times(20, 30)))
        .await;
    let journal = Arc::new(journal);
    let (a, b, writer) = (id("a"), id("b"), WriterId::random());
    let epoch = journal.recover(&a, writer).await.unwrap().epoch;
    journal.recover(&b, writer).await.unwrap();
    // The server gives up the one that has changed less: so much that it is the plugin's.
    place
        .run("CREATE TABLE theirs (number INT PRIMARY KEY)")
        .await;
    let mut other = hold(&place, "Test|b").await;
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
    let journal = place
        .journal_with(place.options().with_server(times(20, 30)))
        .await;
    let journal = Arc::new(journal);
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.recover(&a, writer).await.unwrap().epoch;
    let other = hold(&place, "Test|a").await;
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
    let highest = journal.read_highest_sequence_nr(&a, 0).await.unwrap();
    assert_eq!(highest, 0);
    store(&*journal, &a, 1).await;
}

/// MariaDB ends the statement; MySQL has no limit for it, and the client gives up a second later.
#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.statement_timeout = Duration::from_millis(200);
        server.lock_timeout = Duration::from_millis(100);
        server
    });
    let journal = place.journal_with(options).await;
    place
        .run("CREATE TRIGGER slow BEFORE INSERT ON event_journal FOR EACH ROW DO SLEEP(60)")
        .await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.recover(&a, writer).await.unwrap().epoch;
    let group = vec![write(&a, epoch, writer, 1..=1)];
    let error = journal.write_messages(group).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Timeout, "{error:?}");
    assert_eq!(error.effect(), Some(Effect::NotStored));
}

/// A journal behind a network that fails.
async fn behind(proxy: &FaultProxy, place: &Place) -> MysqlJournal {
    let options = MysqlOptions::new(proxy.url(&place.database.url()))
        .with_store(|store| store.with_auto_initialize(true))
        .with_server(|mut server| {
            server.writers = 1;
            server
        });
    place.journal_with(options).await
}

fn server_port(place: &Place) -> u16 {
    let url = place.database.url();
    let (_, host) = url.rsplit_once('@').unwrap();
    let (_, port) = host.split_once('/').unwrap().0.rsplit_once(':').unwrap();
    port.parse().unwrap()
}

/// The reply to the commit comes last.
#[tokio::test]
async fn wherever_the_replies_to_a_write_are_cut_the_error_says_what_is_certain() {
    let place = Place::new().await;
    let proxy = FaultProxy::start(server_port(&place)).unwrap();
    let journal = behind(&proxy, &place).await;
    let (a, writer) = (id("a"), WriterId::random());
    let mut unknown = 0;
    for cut in 0..30 {
        let recovered = journal.recover(&a, writer).await.unwrap();
        let next = recovered.highest_sequence_nr + 1;
        let group = |number| vec![write(&a, recovered.epoch, writer, number..=number)];
        // Once, so that the next one is as long: everything is prepared.
        let before = proxy.passed(Direction::Replies);
        journal.write_messages(group(next)).await.unwrap();
        journal.write_messages(group(next + 1)).await.unwrap();
        let start = proxy.passed(Direction::Replies);
        journal.write_messages(group(next + 2)).await.unwrap();
        let length = proxy.passed(Direction::Replies) - start;
        assert!(start > before && length > 30, "{length}");
        let ends = [Cut::Closed, Cut::Reset];
        proxy.set(
            Direction::Replies,
            Flow::CutAfter(length.saturating_sub(cut * 2 + 1), ends[cut % 2]),
        );
        let result = journal.write_messages(group(next + 3)).await;
        proxy.pass();
        let highest = journal.recover(&a, writer).await.unwrap();
        let is_stored = highest.highest_sequence_nr == next + 3;
        match result {
            Ok(outcomes) => assert!(outcomes[0].is_stored() && is_stored),
            Err(error) if error.is_not_stored() => assert!(!is_stored, "{error:?}"),
            Err(error) => {
                assert_eq!(error.effect(), Some(Effect::Unknown), "{error:?}");
                unknown += usize::from(is_stored);
            }
        }
    }
    assert!(unknown > 0, "no reply to a commit was lost");
}

#[tokio::test]
async fn after_a_cut_the_next_call_has_a_connection_that_works() {
    let place = Place::new().await;
    let proxy = FaultProxy::start(server_port(&place)).unwrap();
    let journal = behind(&proxy, &place).await;
    store(&journal, &id("a"), 1).await;
    for cut in [Cut::Closed, Cut::Reset] {
        proxy.cut(cut);
        // The first call may find out, and whoever comes after it does not have to.
        let first = journal.recover(&id("a"), WriterId::random()).await;
        if let Err(error) = first {
            assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
        }
        store(&journal, &id("a"), 1).await;
    }
    proxy.refuse(true);
    proxy.cut(Cut::Reset);
    let mut refused = None;
    for _ in 0..2 {
        refused = journal.read_highest_sequence_nr(&id("a"), 0).await.err();
    }
    assert_eq!(refused.unwrap().kind(), StorageErrorKind::Unavailable);
    proxy.refuse(false);
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_call_that_gets_no_connection_in_time_says_what_to_change() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.writers = 1;
        server.acquire_timeout = Duration::from_millis(50);
        times(20, 30)(server)
    });
    let journal = Arc::new(place.journal_with(options).await);
    let writer = WriterId::random();
    journal.recover(&id("a"), writer).await.unwrap();
    let other = hold(&place, "Test|a").await;
    let waits = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move { journal.recover(&id("a"), writer).await }
    });
    waiting(&place).await;
    let error = journal.recover(&id("b"), writer).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unavailable, "'writers'");
    drop(other);
    waits.await.unwrap().unwrap();
}
