//! Tests of projections give events to handlers, and see what became of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence::prelude::*;
use actix_persistence::projection::{
    AtLeastOnceHandler, ExactlyOnceHandler, ExtensionError, GroupHandler, HandlerCall, OnFailure,
    ProjectionTest, ProjectionTestError, Session,
};
use actix_persistence::query::EventEnvelope;
use actix_persistence::sql::SessionWork;
use async_trait::async_trait;
use tempfile::TempDir;

use crate::projections::Added;

/// A file with a table of sums, which has room up to 1,000.
struct Database {
    persistence: Persistence,
    _folder: TempDir,
}

impl Database {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let persistence = Persistence::sqlite(folder.path().join("test.db")).await;
        let persistence = persistence.unwrap();
        let table = SessionWork::new(|session| {
            Box::pin(async move {
                const TABLE: &str =
                    "CREATE TABLE sums (id TEXT PRIMARY KEY, sum INTEGER CHECK (sum <= 1000))";
                session.execute(TABLE, []).await?;
                Ok(())
            })
        });
        persistence.transact(None, table).await.unwrap();
        Self {
            persistence,
            _folder: folder,
        }
    }

    async fn sums(&self) -> Vec<(String, i64)> {
        let rows = SessionWork::new(|session| {
            Box::pin(async move {
                let rows = session.select("SELECT id, sum FROM sums ORDER BY id", []);
                let sums = rows.await?.into_iter();
                sums.map(|row| Ok((row.get("id")?, row.get("sum")?)))
                    .collect()
            })
        });
        self.persistence.transact(None, rows).await.unwrap()
    }
}

struct Sums;

#[async_trait]
impl GroupHandler<EventEnvelope<Added>> for Sums {
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[EventEnvelope<Added>],
    ) -> Result<(), ExtensionError> {
        for item in items {
            ExactlyOnceHandler::handle(self, session, item).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Sums {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        const ADD: &str = "INSERT INTO sums VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET sum = sum + excluded.sum";
        for Added(amount) in &item.events {
            let amount = i64::try_from(*amount)?;
            let id = item.persistence_id.entity_id();
            session.execute(ADD, [id.into(), amount.into()]).await?;
        }
        Ok(())
    }
}

fn ann() -> PersistenceId {
    PersistenceId::of("Sum", "ann")
}

fn bob() -> PersistenceId {
    PersistenceId::of("Sum", "bob")
}

/// Gives three events: two of ann, and one of bob between them.
fn three(database: &Database) -> ProjectionTest<Added> {
    ProjectionTest::on(&database.persistence)
        .given(&ann(), Added(1))
        .given(&bob(), Added(10))
        .given(&ann(), Added(100))
}

fn numbers(call: &HandlerCall) -> Vec<SequenceNr> {
    call.events.iter().map(|(_, number)| *number).collect()
}

#[actix::test]
async fn a_tested_handler_gets_the_given_events_in_order_and_stores_rows() {
    let database = Database::new().await;
    let outcome = three(&database).exactly_once(Sums).await.unwrap();
    assert!(outcome.is_complete());
    let events: Vec<_> = outcome
        .calls
        .into_iter()
        .flat_map(|call| call.events)
        .collect();
    assert_eq!(events, [(ann(), 1), (bob(), 1), (ann(), 2)]);
    let sums = [("ann".to_owned(), 101), ("bob".to_owned(), 10)];
    assert_eq!(database.sums().await, sums);
}

#[actix::test]
async fn a_refused_call_is_taken_back_and_its_event_comes_again() {
    let database = Database::new().await;
    let outcome = three(&database).refusing_call(3).exactly_once(Sums).await;
    let outcome = outcome.unwrap();
    assert!(outcome.is_complete());
    // The transaction of all three, and then each by itself.
    assert_eq!(outcome.calls.len(), 6);
    let failed: Vec<_> = outcome
        .calls
        .iter()
        .map(|call| call.error.clone())
        .collect();
    let refused = Some("the test refuses call 3".to_owned());
    assert_eq!(failed, [None, None, refused, None, None, None]);
    let sums = [("ann".to_owned(), 101), ("bob".to_owned(), 10)];
    assert_eq!(
        database.sums().await,
        sums,
        "what was taken back is not there"
    );
}

#[actix::test]
async fn groups_of_a_test_are_as_large_as_its_settings_say() {
    let database = Database::new().await;
    let sizes = async |size| {
        let test = three(&database).with(|settings| settings.group_size = size);
        let outcome = test.grouped(Sums).await.unwrap();
        let calls = outcome.calls.iter();
        calls.map(|call| call.events.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(100).await, [3]);
    assert_eq!(sizes(2).await, [2, 1]);
    assert_eq!(sizes(1).await, [1, 1, 1]);
}

#[actix::test]
async fn a_test_shows_what_was_skipped_and_why_a_projection_halted() {
    let database = Database::new().await;
    let test = || {
        three(&database)
            .given(&bob(), Added(991))
            .given(&ann(), Added(1))
    };
    let stopped = test().exactly_once(Sums).await.unwrap();
    assert!(!stopped.is_complete());
    let reason = stopped.halted.unwrap();
    assert!(reason.contains("event 2 of"), "{reason}");
    assert_eq!(
        numbers(stopped.calls.last().unwrap()),
        [2],
        "it got no further"
    );
    assert_eq!(stopped.skipped, []);

    let database = Database::new().await;
    let test = three(&database)
        .given(&bob(), Added(991))
        .given(&ann(), Added(1));
    let skipping = test.with(|settings| settings.on_failure = OnFailure::Skip);
    let outcome = skipping.exactly_once(Sums).await.unwrap();
    assert_eq!(outcome.halted, None);
    assert!(outcome.skipped[0].item.contains("event 2 of"));
    let sums = [("ann".to_owned(), 102), ("bob".to_owned(), 10)];
    assert_eq!(database.sums().await, sums);
}

/// Fails the first time.
struct Mails {
    attempts: AtomicUsize,
    sent: Mutex<Vec<u64>>,
}

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Added>> for &'static Mails {
    async fn handle(&self, item: &EventEnvelope<Added>) -> Result<(), ExtensionError> {
        if self.attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err("the server is busy".into());
        }
        let amounts = item.events.iter().map(|Added(amount)| *amount);
        self.sent.lock().unwrap().extend(amounts);
        Ok(())
    }
}

#[actix::test]
async fn an_at_least_once_handler_is_tested_in_memory() {
    static MAILS: Mails = Mails {
        attempts: AtomicUsize::new(0),
        sent: Mutex::new(Vec::new()),
    };
    let persistence = Persistence::memory().await.unwrap();
    let test = || {
        let test = ProjectionTest::on(&persistence);
        test.given(&ann(), Added(1)).given(&ann(), Added(2))
    };
    let outcome = test().at_least_once(&MAILS).await.unwrap();
    let calls: Vec<_> = outcome.calls.iter().map(numbers).collect();
    assert_eq!(calls, [[1], [1], [2]]);
    let error = outcome.calls[0].error.as_deref();
    assert_eq!(error, Some("the server is busy"));
    assert_eq!(*MAILS.sent.lock().unwrap(), [1, 2]);

    let in_memory = test().exactly_once(Sums).await;
    let error = in_memory.unwrap_err();
    assert!(
        matches!(error, ProjectionTestError::Projection(_)),
        "{error}"
    );
}
