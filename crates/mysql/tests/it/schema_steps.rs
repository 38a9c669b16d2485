//! The application's own tables, made step by step, where definitions commit.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sql_tests::states::schema_steps::{open, with_steps};
use actix_persistence_storage_api::{SchemaStep, StateExtensions, StorageErrorKind};

use crate::database::execute;
use crate::place::{Place, assert_error};

actix_persistence_sql_tests::test_schema_steps!(Place::new().await);

/// Returns the number of steps: a table, one more column, and one more table.
fn steps(number: usize) -> StateExtensions {
    let steps = [
        "CREATE TABLE customer_order (id BIGINT PRIMARY KEY)",
        "ALTER TABLE customer_order ADD COLUMN note TEXT",
        "CREATE TABLE order_line (id BIGINT PRIMARY KEY)",
    ];
    with_steps(steps.into_iter().take(number).map(SchemaStep::new))
}

impl Place {
    /// Lets no step of this number be noted as one that has run.
    async fn refuse_note_of(&self, step: usize) {
        for event in ["INSERT", "UPDATE"] {
            let trigger = format!(
                "CREATE TRIGGER refuses_{event} BEFORE {event} ON actix_persistence_schema FOR EACH ROW \
                 SET NEW.version = IF(NEW.table_name = 'application: orders/{step}' AND NEW.version > 0, \
                 (SELECT 1 UNION SELECT 2), NEW.version)"
            );
            self.run(trigger).await;
        }
    }

    async fn take_notes(&self) {
        for event in ["INSERT", "UPDATE"] {
            self.run(format!("DROP TRIGGER refuses_{event}")).await;
        }
    }
}

#[tokio::test]
async fn a_step_that_ran_and_was_not_noted_goes_on() {
    let place = Place::new().await;
    open(&place, &StateExtensions::default()).await.unwrap();
    for step in 1..=3 {
        place.refuse_note_of(step).await;
        open(&place, &steps(step)).await.unwrap_err();
        // Each step adds one column, and this one has run.
        let columns = "SELECT COUNT(*) FROM information_schema.columns \
            WHERE table_schema = DATABASE() AND table_name IN ('customer_order', 'order_line')";
        assert_eq!(place.number(columns).await, step as i64);
        place.take_notes().await;
        open(&place, &steps(step)).await.unwrap();
    }
    let notes = "SELECT COUNT(*) FROM actix_persistence_schema WHERE component = 'application: orders' AND version > 0";
    assert_eq!(place.number(notes).await, 3);
}

#[tokio::test]
async fn a_table_that_no_step_made_is_not_taken_for_one_that_did() {
    let place = Place::new().await;
    open(&place, &steps(2)).await.unwrap();
    place.run("CREATE TABLE order_line (their_own INT)").await;
    for _ in 0..2 {
        let error = open(&place, &steps(3)).await.unwrap_err();
        let says = "step 3 of the schema steps 'orders' failed";
        assert_error(&error, StorageErrorKind::SchemaMismatch, says);
    }
}

#[tokio::test]
async fn rows_of_a_step_are_stored_with_its_note_or_not_at_all() {
    let place = Place::new().await;
    open(&place, &StateExtensions::default()).await.unwrap();
    place.refuse_note_of(2).await;
    let steps = with_steps([
        SchemaStep::new("CREATE TABLE customer_order (id BIGINT)"),
        SchemaStep::new("INSERT INTO customer_order VALUES (1)"),
    ]);
    open(&place, &steps).await.unwrap_err();
    place.take_notes().await;
    open(&place, &steps).await.unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM customer_order").await, 1);
}

#[tokio::test]
async fn a_step_whose_session_ended_runs_at_the_next_start() {
    let place = Arc::new(Place::new().await);
    open(&*place, &steps(1)).await.unwrap();
    let mut other = place.connection().await;
    execute(&mut other, "BEGIN; SELECT COUNT(*) FROM customer_order").await;
    let opening = tokio::spawn({
        let place = Arc::clone(&place);
        async move { open(&*place, &steps(3)).await }
    });
    let waiting = "SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED) FROM information_schema.processlist \
        WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'";
    let session = loop {
        match place.number(waiting).await {
            0 => tokio::time::sleep(Duration::from_millis(10)).await,
            session => break session,
        }
    };
    place.run(format!("KILL {session}")).await;
    opening.await.unwrap().unwrap_err();
    execute(&mut other, "COMMIT").await;
    open(&*place, &steps(3)).await.unwrap();
    let notes = "SELECT COUNT(note) FROM customer_order";
    assert_eq!(place.number(notes).await, 0);
}

#[test]
fn a_step_of_several_statements_is_a_mistake() {
    let section = actix_persistence_storage_api::Section::new(
        "test",
        actix_persistence_storage_api::Origin::code(),
    );
    let section = section.with("url", "mysql://user@localhost/bank");
    let plugin = actix_persistence_mysql::MysqlPlugin::new();
    let several = with_steps([SchemaStep::new(
        "CREATE TABLE a (b INT); CREATE TABLE c (d INT)",
    )]);
    let made = actix_persistence_storage_api::Plugin::state_store(&plugin, &section, &several);
    let errors = made.err().unwrap().to_string();
    let says = "'test': the schema steps 'orders' have a step 1 that has 2 statements on mysql, where those that define tables \
        commit; let each be a step of its own";
    assert!(errors.contains(says), "{errors}");
}
