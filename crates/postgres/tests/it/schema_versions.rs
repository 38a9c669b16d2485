//! Tables of other versions, other names, and made by several at once.

use std::process::Command;

use actix_persistence_postgres::PostgresJournal;
use actix_persistence_sql_tests::journal::schema_versions;
use actix_persistence_storage_api::Journal;

use crate::database::patient;
use crate::place::{Place, id, store};

const CHILD: &str = "ACTIX_PERSISTENCE_TEST_DATABASE";
const STARTERS: usize = 6;

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/version_1.sql");

actix_persistence_sql_tests::test_schema_versions!(Place::new().await);

#[tokio::test]
async fn a_database_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    schema_versions::a_database_of_version_1_opens_and_goes_on(&place, VERSION_1).await;
}

#[tokio::test]
async fn names_that_would_change_a_statement_never_reach_one() {
    let place = Place::new().await;
    for name in ["a\"; DROP TABLE t; --", "a b", "a\0", "", "1a", "pg_class"] {
        let options = place
            .options()
            .with_store(|store| store.with_journal_tables(name, "t", "m"));
        let error = PostgresJournal::new(options).unwrap_err();
        assert_eq!(error.key, "event-table", "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_instances_initialize_one_new_database_at_once() {
    for _ in 0..3 {
        let place = Place::new().await;
        schema_versions::many_instances_initialize_one_new_database_at_once(&place).await;
    }
}

/// Runs itself as the other processes: the variable tells them which database.
#[tokio::test]
async fn many_processes_initialize_one_new_database_at_once() {
    if let Ok(path) = std::env::var(CHILD) {
        let journal = PostgresJournal::new(
            patient(path).with_store(|store| store.with_auto_initialize(true)),
        )
        .unwrap();
        journal.initialize().await.unwrap();
        store(&journal, &id(&std::process::id().to_string()), 1).await;
        return;
    }
    let place = Place::new().await;
    let program = std::env::current_exe().unwrap();
    let name = "schema_versions::many_processes_initialize_one_new_database_at_once";
    let children: Vec<_> = (0..STARTERS)
        .map(|_| {
            let mut command = Command::new(&program);
            command
                .args(["--exact", name])
                .env(CHILD, place.database.url());
            command.stdout(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let events = place.number("SELECT count(*) FROM event_journal").await;
    assert_eq!(events, STARTERS as i64);
}
