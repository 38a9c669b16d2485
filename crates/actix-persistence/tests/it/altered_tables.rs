//! Tables of a read model that are altered while a projection runs, on every database.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence::Persistence;
use actix_persistence::projection::{ExactlyOnceHandler, ExtensionError, Projection, Session};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::{SessionWork, Sql};
use async_trait::async_trait;
use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, PgConnection};
use tokio::sync::Barrier;

use crate::projections::{Added, LONG, Place, add, newest};

/// Adds up each id, and reads every column.
#[derive(Clone)]
struct Totals {
    table: String,
}

impl Totals {
    fn select(&self) -> Sql {
        Sql::assert_safe(format!("SELECT * FROM {} WHERE id = $1", self.table))
    }
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Totals {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        let Self { table } = self;
        let (id, number) = (item.persistence_id.as_str(), item.sequence_nr as i64);
        let amount = item.events.as_slice()[0].0 as i64;
        let row = session.select_one(self.select(), [id.into()]).await?;
        let (sql, total) = match row {
            Some(row) => (
                format!("UPDATE {table} SET last = $2, total = $3 WHERE id = $1"),
                row.get::<i64>("total")? + amount,
            ),
            None => (
                format!("INSERT INTO {table} (id, last, total) VALUES ($1, $2, $3)"),
                amount,
            ),
        };
        let values = [id.into(), number.into(), total.into()];
        session.execute(Sql::assert_safe(sql), values).await?;
        Ok(())
    }
}

/// Runs the statement of the handler on so many connections at the same time, which keep its plan.
async fn prepare(persistence: &Persistence, totals: &Totals, connections: usize) {
    let barrier = Arc::new(Barrier::new(connections));
    let prepared = (0..connections).map(|_| {
        let (totals, barrier) = (totals.clone(), Arc::clone(&barrier));
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.select(totals.select(), ["".into()]).await?;
                barrier.wait().await;
                Ok(())
            })
        });
        persistence.transact(None, work)
    });
    for prepared in join_all(prepared).await {
        prepared.unwrap();
    }
}

/// Starts a projection that halts at the first failure, and waits until it has handled an event.
async fn totalling(persistence: &Persistence, totals: Totals) -> Projection {
    let new = persistence.projection("totals");
    let new = new.of_events::<Added>(None, EventSelection::all());
    let quick = new.unwrap().with(|settings| {
        settings.max_attempts = 1;
        settings.min_back_off = Duration::from_millis(5);
    });
    let projection = quick.exactly_once(totals).unwrap();
    add(persistence, 1, 1..=1).await;
    let end = newest(persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    projection
}

/// A column that is added is no failure of a handler, however many connections know the table as it was.
pub(crate) async fn a_table_that_is_altered_halts_no_share(kind: &'static str) {
    let place = Place::new(kind, "altered");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let table = place.table("sums");
    let totals = Totals {
        table: table.clone(),
    };
    let projection = totalling(&persistence, totals.clone()).await;

    // All that transactions of the application may have.
    let connections = if kind == "sqlite" { 1 } else { 2 };
    prepare(&persistence, &totals, connections).await;
    let alter = SessionWork::new(move |session| {
        Box::pin(async move {
            let sql = format!("ALTER TABLE {table} ADD COLUMN note VARCHAR(20)");
            session.execute(Sql::assert_safe(sql), []).await?;
            Ok(())
        })
    });
    // Another one than those that know the statement, where there are several.
    place.open().await.transact(None, alter).await.unwrap();

    add(&persistence, 1, 2..=3).await;
    let end = newest(&persistence).await;
    let applied = async {
        while projection.applied(&end, LONG / 60).await.is_err() {
            let shares = projection.record().await.unwrap().unwrap().shares;
            assert_eq!(shares[0].halted, None);
        }
    };
    tokio::time::timeout(LONG, applied).await.unwrap();
    assert_eq!(place.found(&persistence).await, (0, 3, 6));
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Returns a connection whose transaction has run a statement.
async fn begun<C>(url: &str, sql: String) -> C
where
    C: sqlx::Connection,
    for<'c> &'c mut C: sqlx::Executor<'c>,
{
    let mut connection = C::connect(url).await.unwrap();
    for sql in ["BEGIN".to_owned(), sql] {
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
    }
    connection
}

/// The handler waited for the lock until its own time was over, which is shorter, and was refused for it.
pub(crate) async fn a_lock_of_others_is_no_failure_of_a_handler(kind: &'static str) {
    let place = Place::new(kind, "locked");
    // The lock is no failure of the store either.
    let breaker = "persistence.offset-store.test.circuit-breaker.max-failures";
    let config = place.config().with(breaker, 1);
    let persistence = Persistence::builder().config(config).open().await.unwrap();
    place.make_tables(&persistence).await;
    let table = place.table("sums");
    let totals = Totals {
        table: table.clone(),
    };
    let projection = totalling(&persistence, totals).await;

    let update = format!("UPDATE {table} SET total = total + 1");
    let lock: Box<dyn Any> = match kind {
        "postgres" => Box::new(begun::<PgConnection>(place.url(), update).await),
        _ => Box::new(begun::<MySqlConnection>(place.url(), update).await),
    };
    add(&persistence, 1, 2..=2).await;
    let end = newest(&persistence).await;
    let error = async {
        loop {
            let shares = projection.status().shares;
            if let Some(error) = shares.get(&0).and_then(|share| share.error.clone()) {
                return error;
            }
            let waited = projection.applied(&end, LONG / 600).await;
            assert!(waited.is_err(), "the row is locked");
        }
    };
    let error = tokio::time::timeout(LONG, error).await.unwrap();
    assert!(error.contains("let them end"), "{error}");
    // A breaker that had opened would refuse it.
    projection.pause().await.unwrap();
    projection.resume().await.unwrap();
    // The server rolls back.
    drop(lock);

    projection.applied(&end, LONG).await.unwrap();
    assert_eq!(place.found(&persistence).await, (0, 2, 3));
    assert!(persistence.stop(LONG).await.is_complete());
}

/// The driver's thread panicked, and the statement had no rows; a column kept its old name.
#[actix::test]
async fn an_altered_table_shows_all_its_rows_and_columns() {
    let place = Place::new("sqlite", "altered_columns");
    let (persistence, other) = (place.open().await, place.open().await);
    place.make_tables(&persistence).await;
    let table = place.table("sums");
    let totals = Totals {
        table: table.clone(),
    };
    let run = async |sql: String| {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(sql), []).await?;
                Ok(())
            })
        });
        other.transact(None, work).await.unwrap();
    };
    run(format!("INSERT INTO {table} VALUES ('', 1, 2)")).await;
    for (change, column) in [
        ("ADD COLUMN note INTEGER DEFAULT 2", "note"),
        ("RENAME COLUMN total TO all_of_it", "all_of_it"),
        ("DROP COLUMN note", "all_of_it"),
    ] {
        prepare(&persistence, &totals, 1).await;
        run(format!("ALTER TABLE {table} {change}")).await;
        let totals = totals.clone();
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let row = session.select_one(totals.select(), ["".into()]).await?;
                Ok(row.ok_or("it has no rows")?.get::<i64>(column)?)
            })
        });
        assert_eq!(persistence.transact(None, work).await.unwrap(), 2);
    }
}

/// The driver's thread panicked over the rows, which are not read.
#[actix::test]
async fn a_statement_that_returns_what_it_changed_knows_an_altered_table() {
    let place = Place::new("sqlite", "altered_returning");
    let (persistence, other) = (place.open().await, place.open().await);
    place.make_tables(&persistence).await;
    let table = place.table("sums");
    let run = async |on: &Persistence, sql: String| {
        let work = SessionWork::new(move |session| {
            Box::pin(async move { Ok(session.execute(Sql::assert_safe(sql), []).await?) })
        });
        on.transact(None, work).await.unwrap()
    };
    run(
        &other,
        format!("INSERT INTO {table} VALUES ('', 1, 2), ('a', 1, 2)"),
    )
    .await;
    let update = format!("UPDATE {table} SET total = total + 1 RETURNING *");
    for change in [
        "ADD COLUMN note INTEGER DEFAULT 2",
        "ADD COLUMN more TEXT",
        "DROP COLUMN note",
    ] {
        assert_eq!(run(&persistence, update.clone()).await, 2);
        run(&other, format!("ALTER TABLE {table} {change}")).await;
        assert_eq!(run(&persistence, update.clone()).await, 2, "{change}");
    }
    assert_eq!(place.found(&persistence).await, (0, 2, 16));
}

/// Adds a column to the table between two looks at all of them.
struct Widens(Totals);

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Widens {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        let Self(totals) = self;
        let alter = format!("ALTER TABLE {} ADD COLUMN note TEXT", totals.table);
        let id = item.persistence_id.as_str();
        session.select(totals.select(), [id.into()]).await?;
        session.execute(Sql::assert_safe(alter), []).await?;
        session.select(totals.select(), [id.into()]).await?;
        Ok(())
    }
}

/// It was tried again for ever, as if others had altered the table.
#[cfg(feature = "postgres")]
#[actix::test]
async fn a_handler_that_alters_what_it_has_read_halts_its_share() {
    let place = Place::new("postgres", "widens");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let new = persistence.projection("widens");
    let new = new.of_events::<Added>(None, EventSelection::all());
    let quick = new.unwrap().with(|settings| {
        settings.max_attempts = 2;
        settings.min_back_off = Duration::from_millis(5);
        settings.max_back_off = Duration::from_millis(20);
    });
    let table = place.table("sums");
    let projection = quick.exactly_once(Widens(Totals { table })).unwrap();
    add(&persistence, 1, 1..=1).await;
    let halted = async {
        loop {
            let record = projection.record().await.unwrap();
            let shares = record.map(|record| record.shares).unwrap_or_default();
            if let Some(reason) = shares.first().and_then(|share| share.halted.clone()) {
                return reason;
            }
        }
    };
    let reason = tokio::time::timeout(LONG / 4, halted).await.unwrap();
    assert!(
        reason.contains("altered after the transaction ran"),
        "{reason}"
    );
    assert!(persistence.stop(LONG).await.is_complete());
}
