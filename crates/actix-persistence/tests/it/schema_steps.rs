//! The application's own tables are made step by step, before anything uses them.

use std::path::Path;

use actix_persistence::prelude::*;
use actix_persistence::sql::{
    ChangeHandler, ExtensionError, SchemaStep, SchemaSteps, Session, SessionWork, StateChange,
};
use actix_persistence::{Builder, Config, OpenError, error::StorageErrorKind};
use async_trait::async_trait;

use crate::note::{Note, Write};

/// Counts changes, in a table of the application.
struct Counts;

#[async_trait]
impl ChangeHandler for Counts {
    async fn process(
        &self,
        session: &mut dyn Session,
        _: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.execute("UPDATE counts SET n = n + 1", []).await?;
        Ok(())
    }
}

fn counts() -> SchemaSteps {
    let steps = [
        SchemaStep::new("CREATE TABLE counts (n BIGINT NOT NULL)"),
        SchemaStep::new("INSERT INTO counts VALUES (0)"),
    ];
    SchemaSteps::new("counts", steps).with_tables(["counts"])
}

fn builder(file: &Path) -> Builder {
    let handler = "persistence.state.sqlite.change-handler.Note";
    Persistence::builder()
        .config(Config::new().with(handler, "counts"))
        .sqlite(file)
        .change_handler("counts", Counts)
}

async fn count(persistence: &Persistence) -> i64 {
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            let row = session.select_one("SELECT n FROM counts", []).await?;
            Ok(row.ok_or("no row")?.get("n")?)
        })
    });
    persistence.transact(None, work).await.unwrap()
}

/// Returns the error of an open with these steps, with all its causes.
async fn refused(builder: Builder, steps: SchemaSteps) -> String {
    let error = builder.schema_steps(steps).open().await.unwrap_err();
    let mut causes = vec![error.to_string()];
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    causes.join(": ")
}

#[actix::test]
async fn tables_of_the_application_are_there_before_the_first_change() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    for changes in 1..=2 {
        let persistence = builder(&file).schema_steps(counts()).open().await.unwrap();
        let note = persistence.start(move || Note::named("1")).unwrap();
        note.send(Write('a')).await.unwrap().unwrap();
        assert_eq!(count(&persistence).await, changes);
    }
}

#[actix::test]
async fn a_step_that_fails_keeps_the_application_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    let steps = SchemaSteps::new("counts", [SchemaStep::new("CREATE TABLE counts")]);
    let opened = builder(&file).schema_steps(steps.clone()).open().await;
    let Err(OpenError::StateStore { source, .. }) = opened else {
        panic!("{opened:?}")
    };
    assert_eq!(source.kind(), StorageErrorKind::SchemaMismatch);
    let told = refused(builder(&file), steps).await;
    assert!(
        told.contains("step 1 of the schema steps 'counts' failed")
            && told.contains("incomplete input"),
        "{told}"
    );
    builder(&file).schema_steps(counts()).open().await.unwrap();
}

#[actix::test]
async fn steps_that_have_not_run_are_an_error_of_a_tool_that_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    drop(Persistence::sqlite(&file).await.unwrap());
    let told = refused(builder(&file).without_making(), counts()).await;
    assert!(
        told.contains("the steps 1 to 2 of the schema steps 'counts' have not run"),
        "{told}"
    );
    // Of a tool that opens no state store they are nothing.
    let tool = builder(&file).without_making().without_state_stores();
    tool.schema_steps(counts()).open().await.unwrap();
}

#[actix::test]
async fn steps_need_a_state_store_in_an_sql_database() {
    let told = refused(Persistence::builder().memory(), counts()).await;
    assert!(
        told.contains("'persistence.state.memory' has the schema steps 'counts', but is of kind 'code': a store in memory"),
        "{told}"
    );
    let config = Config::from_toml("[persistence.state.m]\nkind = \"memory\"", "app.toml").unwrap();
    let told = refused(
        Persistence::builder().config(config.clone()),
        counts().in_state_store("persistence.state.m"),
    )
    .await;
    assert!(
        told.contains("'persistence.state.m' has the schema steps 'counts', which the plugin kind 'memory' has not"),
        "{told}"
    );
    let told = refused(
        Persistence::builder().config(config),
        counts().in_state_store("n"),
    )
    .await;
    assert!(
        told.contains(
            "the schema steps 'counts' name the state store 'n', which the config does not have"
        ),
        "{told}"
    );
    let told = refused(Persistence::builder(), counts()).await;
    assert!(
        told.contains(
            "the schema steps 'counts' need a state store, and the config names no default one"
        ),
        "{told}"
    );
}

#[test]
fn the_steps_are_printed_with_the_tables_of_their_store() {
    let builder = builder(Path::new("no/such/folder/notes.db")).schema_steps(counts());
    let schemas = builder.schema(None).unwrap();
    let states = schemas.iter().find(|schema| schema.sort == "state store");
    let sql = states.unwrap().sql.as_ref().unwrap();
    for part in [
        "-- Step 2 of the schema steps 'counts', if it has not run yet.\nINSERT INTO counts VALUES (0);",
        "'application: counts', 2);",
    ] {
        assert!(sql.contains(part), "{part}: {sql}");
    }
}
