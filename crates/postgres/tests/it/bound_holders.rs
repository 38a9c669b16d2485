//! The transactions that hold readers back, as queries show them: docs/adr/0014-base-and-bound.md.

use std::time::Duration;

use actix_persistence_postgres::PostgresJournal;
use actix_persistence_storage_api::{BoundHolder, Journal};

use crate::database::execute;
use crate::event_reader::{ANNOUNCE, Reader, insert};
use crate::place::{Place, id, store};

async fn holders(journal: &PostgresJournal) -> Vec<BoundHolder> {
    let queries = journal.event_queries().expect("it has queries");
    queries.bound_holders().await.unwrap()
}

#[tokio::test]
async fn a_transaction_that_holds_readers_back_is_told_by_name() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let (mut late, mut idle) = (place.connection().await, place.connection().await);
    // It has a number and stores nothing.
    execute(&mut idle, "BEGIN; SELECT pg_current_xact_id()").await;
    assert_eq!(holders(&journal).await, []);
    let sql = format!(
        "SET application_name = 'importer'; BEGIN; {ANNOUNCE}; {}",
        insert("Late|1", 1)
    );
    execute(&mut late, sql).await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut late)
        .await
        .unwrap();
    store(&journal, &id("a"), 1).await;
    let mut reader = Reader::new(&place);
    assert_eq!(reader.read(10).await, 0);
    let [holder] = &holders(&journal).await[..] else {
        panic!("one transaction holds readers back");
    };
    assert_eq!(holder.session, pid.to_string());
    assert_eq!(holder.application.as_deref(), Some("importer"));
    assert_eq!(holder.state.as_deref(), Some("idle in transaction"));
    let age = holder.age.unwrap();
    execute(&mut idle, "SELECT pg_sleep(0.02)").await;
    let later = holders(&journal).await[0].age.unwrap();
    assert!(
        later >= age + Duration::from_millis(20),
        "{age:?} {later:?}"
    );
    execute(&mut late, "COMMIT").await;
    assert_eq!(holders(&journal).await, []);
    reader.read_until(2).await;
}

#[tokio::test]
async fn a_prepared_transaction_that_holds_readers_back_is_told_by_name() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut late = place.connection().await;
    let gid = place.database.name();
    let sql = format!(
        "BEGIN; {ANNOUNCE}; {}; PREPARE TRANSACTION '{gid}'",
        insert("Late|1", 1)
    );
    execute(&mut late, sql).await;
    let mut first = place.connection().await;
    execute(&mut first, format!("BEGIN; {ANNOUNCE}")).await;
    let found = holders(&journal).await;
    assert_eq!(found.len(), 2, "the oldest comes first: {found:?}");
    assert_eq!(found[0].session, gid);
    assert_eq!(found[0].state.as_deref(), Some("prepared"));
    assert!(found[0].age.unwrap() >= found[1].age.unwrap());
    execute(&mut first, "ROLLBACK").await;
    place.run(format!("COMMIT PREPARED '{gid}'")).await;
    assert_eq!(holders(&journal).await, []);
}

/// The user of an application sees the sessions of others, but not what they do.
#[tokio::test]
async fn a_transaction_of_another_user_is_told_by_its_session() {
    let place = Place::new().await;
    let _owner = place.journal().await;
    let database = &place.database;
    let name = database.name();
    place
        .run(format!(
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}"
        ))
        .await;
    let journal = PostgresJournal::new(database.application_options()).unwrap();
    let mut late = place.connection().await;
    execute(&mut late, format!("BEGIN; {ANNOUNCE}")).await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut late)
        .await
        .unwrap();
    let found = holders(&journal).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].session, pid.to_string());
    assert_eq!(found[0].age, None, "it is not told, and not zero");
    execute(&mut late, "ROLLBACK").await;
}
