//! The transactions that keep writers from storing what readers would read next.

use std::sync::Arc;

use actix_persistence_storage_api::{BoundHolder, Journal, StorageErrorKind};
use sqlx::MySqlConnection;

use actix_persistence_mysql::MysqlJournal;

use crate::database::{execute, fresh, users};
use crate::place::{Place, id, store};

const HOLD: &str =
    "BEGIN; UPDATE event_journal_ordering SET newest = newest + 1 WHERE partition_nr >= 0";

/// Returns the holders as the server knows them now.
async fn holders(journal: &MysqlJournal) -> Vec<BoundHolder> {
    let queries = journal.event_queries().expect("it has queries");
    fresh(queries.bound_holders()).await.unwrap()
}

async fn session_of(connection: &mut MySqlConnection) -> String {
    let session = sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS CHAR)");
    session.fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn a_transaction_that_holds_a_counter_is_told_by_its_session() {
    let place = Place::new().await;
    let (journal, watcher) = (Arc::new(place.journal().await), place.journal().await);
    let (mut late, mut idle) = (place.connection().await, place.connection().await);
    // It has locks of other tables.
    execute(
        &mut idle,
        "CREATE TABLE theirs (a int); BEGIN; INSERT INTO theirs VALUES (1)",
    )
    .await;
    execute(&mut late, HOLD).await;
    let session = session_of(&mut late).await;
    let store_one = || {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move { store(&*journal, &id("a"), 1).await })
    };
    let mut storing = store_one();
    // Until the writer waits, and the server shows it; it may have waited as long as it does before.
    let holder = loop {
        if storing.is_finished() {
            storing = store_one();
        }
        if let [holder] = &holders(&watcher).await[..] {
            break holder.clone();
        }
    };
    assert_eq!(holder.session, session);
    assert!(
        holder.application.is_some() && holder.state.is_some(),
        "{holder:?}"
    );
    let age = holder.age.unwrap();
    assert!(age.as_secs() < 3_000, "{age:?}");
    execute(&mut late, "ROLLBACK").await;
    if storing.await.is_err() {
        store_one().await.unwrap();
    }
    while !holders(&watcher).await.is_empty() {}
}

#[tokio::test]
async fn a_user_without_the_privilege_is_refused_the_holders() {
    let place = Place::new().await;
    let _owner = place.journal().await;
    let mut connection = place.connection().await;
    let name = place.database.name();
    for user in users(name) {
        execute(&mut connection, format!("GRANT ALL ON {name}.* TO {user}")).await;
    }
    let options = actix_persistence_mysql::MysqlOptions::new(place.database.application_url());
    let journal = MysqlJournal::new(options).unwrap();
    let refused = journal.event_queries().unwrap().bound_holders().await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::AccessDenied);
}
