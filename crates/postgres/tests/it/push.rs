//! Hints of other journals, with `NOTIFY`: docs/adr/0028-push-between-processes.md.

use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_postgres::{PostgresJournal, PostgresOptions};
use actix_persistence_query::{EventQuery, QuerySettings, RecordStream};
use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::{EventOffset, EventSelection, Journal};
use actix_persistence_store_actor::StoreThread;
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::database::execute;
use crate::place::{Place, id, store};

/// Longer than anything takes that works, and shorter than the interval of a query that is to be told.
const LONG: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

const END_LISTENERS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
    WHERE datname = current_database() AND query LIKE 'LISTEN%'";
const LISTENERS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND query LIKE 'LISTEN%'";

async fn open(options: PostgresOptions) -> PostgresJournal {
    let journal = PostgresJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    journal
}

async fn pushing(place: &Place) -> PostgresJournal {
    open(place.options().with_push(true)).await
}

/// Waits for another number of hints.
async fn next(journal: &PostgresJournal, seen: u64) -> u64 {
    let hints = journal.event_queries().unwrap().hints(seen);
    timeout(LONG, hints).await.expect("a hint")
}

/// Queries of a journal of their own, which look again after this time.
fn queries(options: PostgresOptions, refresh_interval: Duration) -> (EventQuery, StoreThread) {
    let thread = StoreThread::start("events").unwrap();
    let journal = std::sync::Arc::new(PostgresJournal::new(options).unwrap());
    let (settings, runtime) = (JournalSettings::new("tests"), Handle::current());
    let handle = JournalHandle::start(journal, settings, runtime.clone(), &thread);
    let settings = QuerySettings::default().with_refresh_interval(refresh_interval);
    let queries = EventQuery::new(handle, runtime, (), settings).unwrap();
    (queries, thread)
}

/// Takes the next event, and expects this number.
async fn expect(stream: &mut RecordStream, number: u64) {
    let next = timeout(LONG, stream.next())
        .await
        .expect("an event in time");
    assert_eq!(next.unwrap().unwrap().record.sequence_nr, number);
}

#[tokio::test]
async fn each_append_of_another_journal_is_a_hint_and_none_of_ones_own() {
    let place = Place::new().await;
    let (one, other) = (pushing(&place).await, pushing(&place).await);
    let listens = next(&one, 0).await;
    let mut seen = listens;
    for _ in 0..3 {
        store(&one, &id("mine"), 1).await;
        store(&other, &id("theirs"), 1).await;
        seen = next(&one, seen).await;
    }
    assert_eq!(seen, listens + 3);
}

/// A hint that came before the rows would be in vain.
#[tokio::test]
async fn a_hint_comes_when_its_events_can_be_read() {
    let place = Place::new().await;
    let (reader, writer) = (pushing(&place).await, pushing(&place).await);
    let mut reading = crate::event_reader::Reader::new(&place);
    let mut seen = next(&reader, 0).await;
    for number in 1..=20 {
        store(&writer, &id("a"), 1).await;
        seen = next(&reader, seen).await;
        reading.read_until(number).await;
    }
}

#[tokio::test]
async fn a_live_query_is_told_of_events_of_another_journal() {
    let place = Place::new().await;
    let writer = pushing(&place).await;
    let (queries, _thread) = queries(place.options().with_push(true), HOUR);
    let mut stream = queries.event_records(EventSelection::all(), EventOffset::start());
    for number in 1..=5 {
        let id = id("a");
        tokio::join!(store(&writer, &id, 1), expect(&mut stream, number));
    }
}

/// So the test above says something.
#[tokio::test]
async fn a_journal_that_does_not_push_has_no_hints_and_no_listener() {
    let place = Place::new().await;
    let (silent, pushing) = (open(place.options()).await, pushing(&place).await);
    next(&pushing, 0).await;
    store(&silent, &id("a"), 1).await;
    store(&pushing, &id("b"), 1).await;
    let silent = silent.event_queries().unwrap();
    assert!(futures_util::FutureExt::now_or_never(silent.hints(0)).is_none());
    assert_eq!(place.number(LISTENERS).await, 1);
    let told = pushing.event_queries().unwrap().hints(1);
    assert!(futures_util::FutureExt::now_or_never(told).is_none());
}

#[tokio::test]
async fn a_listener_that_is_ended_comes_back_and_queries_poll_meanwhile() {
    let place = Place::new().await;
    let writer = pushing(&place).await;
    let (queries, _thread) = queries(place.options().with_push(true), Duration::from_millis(50));
    let mut stream = queries.event_records(EventSelection::all(), EventOffset::start());
    let mut connection = place.connection().await;
    for number in 1..=10 {
        execute(&mut connection, END_LISTENERS).await;
        let id = id("a");
        tokio::join!(store(&writer, &id, 1), expect(&mut stream, number));
    }
    let reader = pushing(&place).await;
    let seen = next(&reader, 0).await;
    execute(&mut connection, END_LISTENERS).await;
    // It says that it listens again, because something may have been missed.
    let again = next(&reader, seen).await;
    store(&writer, &id("b"), 1).await;
    next(&reader, again).await;
}

#[tokio::test]
async fn a_closed_journal_listens_no_more() {
    let place = Place::new().await;
    let journal = pushing(&place).await;
    next(&journal, 0).await;
    assert_eq!(place.number(LISTENERS).await, 1);
    journal.close().await;
    until_number(&place, LISTENERS, |number| number == 0).await;
}
