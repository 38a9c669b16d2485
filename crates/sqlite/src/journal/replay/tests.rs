//! How SQLite goes about reading a page.

use std::sync::Arc;

use actix_persistence_storage_api::{Journal, Operation};
use sqlx::{AssertSqlSafe, Row};

use crate::{SqliteJournal, SqliteOptions};

#[tokio::test]
async fn a_page_is_read_without_looking_at_the_events_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.db");
    let journal = SqliteJournal::new(SqliteOptions::new(path.to_str().unwrap())).unwrap();
    journal.initialize().await.unwrap();

    let queries = Arc::clone(&journal.queries);
    let plan = journal
        .database
        .write(Operation::ReplayMessages, move |connection| {
            Box::pin(async move {
                let sql = format!("EXPLAIN QUERY PLAN {}", queries.replay.as_str());
                let rows = sqlx::query(AssertSqlSafe(sql))
                    .fetch_all(connection)
                    .await?;
                let steps = rows.iter().map(|row| row.try_get("detail"));
                Ok(steps.collect::<Result<Vec<String>, _>>()?)
            })
        });
    let plan = plan.await.unwrap();
    assert!(plan.iter().any(|step| step == "SCAN chunk"), "{plan:#?}");
    assert!(
        !plan.iter().any(|step| step == "MATERIALIZE chunk"),
        "every chunk up to the end of the range is looked for first: {plan:#?}"
    );
}
