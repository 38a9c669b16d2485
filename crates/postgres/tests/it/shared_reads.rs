//! Reads that wait for a connection: those that share a statement leave the other connections to others, and outlive its end.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sql_tests::{Tables, until_number};
use actix_persistence_storage_api::{
    AtomicWrite, PageLimit, ReplayPage, ReplayRange, StorageError, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use tokio::task::JoinHandle;

use crate::database::execute;
use crate::place::{Place, id};

actix_persistence_sql_tests::test_shared_reads!(server Place::new().await);

/// The sessions that wait for a lock, without those that were ended.
struct Waiting<'p> {
    place: &'p Place,
    ended: Vec<i64>,
}

impl Waiting<'_> {
    /// Returns the query for a number that is computed from them.
    fn query(&self, what: &str) -> String {
        let ended: Vec<_> = self.ended.iter().map(i64::to_string).collect();
        format!(
            "SELECT COALESCE({what}, 0)::bigint FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock' AND pid <> ALL(ARRAY[{}]::bigint[])",
            ended.join(",")
        )
    }

    async fn until_there_are(&self, sessions: i64) {
        let query = self.query("count(*)");
        until_number(self.place, &query, |number| number >= sessions).await;
    }

    /// Ends the one whose statement began first.
    async fn end_first(&mut self) {
        let first = self.query("(array_agg(pid ORDER BY query_start))[1]");
        let pid = self.place.number(&first).await;
        self.ended.push(pid);
        let end = format!("SELECT pg_terminate_backend({pid})");
        self.place.run(end).await;
    }
}

type Read = JoinHandle<Result<ReplayPage, StorageError>>;

#[tokio::test]
async fn reads_that_share_a_statement_leave_the_other_connections_to_others() {
    const EVENTS: u64 = 5;
    let place = Place::new().await;
    let journal = Tables::journal_with(&place, place.section().with("read-connections", 3)).await;
    for number in 0..12 {
        let (id, writer) = (id(&number.to_string()), WriterId::random());
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        let events = (1..=EVENTS).map(|number| {
            actix_persistence_sql_tests::steps::event(number, writer, "x").with_tags(["t"])
        });
        let write = AtomicWrite::new(id, epoch, events.collect()).unwrap();
        assert!(journal.write_messages(vec![write]).await.unwrap()[0].is_stored());
    }
    let read = |number: u64| -> Read {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move {
            let (range, limit) = (ReplayRange::new(1, EVENTS), PageLimit::DEFAULT);
            let id = id(&number.to_string());
            journal.replay_messages(&id, range, limit).await
        })
    };

    // The events of a page can be read, and not their tags.
    let mut locked = place.connection().await;
    execute(
        &mut locked,
        "BEGIN; LOCK TABLE event_tag IN ACCESS EXCLUSIVE MODE",
    )
    .await;
    let mut waiting = Waiting {
        place: &place,
        ended: Vec::new(),
    };
    let mut alone = Vec::new();
    for number in 0..3 {
        alone.push(read(number));
        waiting.until_there_are(number as i64 + 1).await;
    }
    let together: Vec<_> = (3..12).map(read).collect();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // Eight share the first seat that is free, and one gets the next one.
    for read in alone {
        waiting.end_first().await;
        assert!(read.await.unwrap().is_err());
        let sessions = if waiting.ended.len() < 3 { 3 } else { 2 };
        waiting.until_there_are(sessions).await;
    }
    let id = id("0");
    let head = tokio::time::timeout(Duration::from_secs(20), journal.read_head(&id)).await;
    let head = head.expect("a connection is free").unwrap();
    assert_eq!(head.highest_sequence_nr, EVENTS);

    // The end of a session is no answer to those who share it.
    waiting.end_first().await;
    waiting.end_first().await;
    execute(&mut locked, "ROLLBACK").await;
    let mut failed = 0;
    for read in together {
        match read.await.unwrap() {
            Ok(page) => assert_eq!(page.events.len(), EVENTS as usize),
            Err(_) => failed += 1,
        }
    }
    assert!(failed <= 1, "{failed} reads failed, of which one was alone");
}
