//! Extensions that the config binds to entity types work.

use std::path::Path;

use actix_persistence::prelude::*;
use actix_persistence::storage_api::{
    AdditionalColumn, ChangeHandler, ColumnValue, ExtensionError, FindStates, Session, SessionWork,
    Sql, StateChange,
};
use actix_persistence::{
    Config, OpenError,
    error::{RejectionCause, StorageErrorKind},
    sql::TransactError,
};
use async_trait::async_trait;
use tempfile::TempDir;

use crate::note::{Note, Write};

/// A column with the number of bytes of a state.
struct Length;

impl AdditionalColumn for Length {
    fn column_name(&self) -> &str {
        "length"
    }

    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        let length = change.payload().map(|payload| payload.len() as i64);
        Ok(length.into())
    }
}

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

const CONFIG: &str = r#"
[persistence.state]
plugin = "notes"
[persistence.state.notes]
kind = "sqlite"
[persistence.state.notes.additional-columns]
Note = "length"
[persistence.state-plugin-fallback.change-handler]
Note = "counts"
"#;

async fn open(file: &Path) -> Result<Persistence, OpenError> {
    let config = Config::from_toml(CONFIG, "app.toml").unwrap();
    let config = config.with("persistence.state.notes.url", file.to_str().unwrap());
    let builder = Persistence::builder()
        .additional_column("length", Length)
        .change_handler("counts", Counts);
    builder.config(config).open().await
}

fn statements(all: &'static [&'static str]) -> SessionWork {
    SessionWork::new(move |session| {
        Box::pin(async move {
            for sql in all {
                session.execute(Sql::from(*sql), []).await?;
            }
            Ok(())
        })
    })
}

async fn make_tables(file: &Path) {
    let persistence = Persistence::sqlite(file).await.unwrap();
    persistence.ready().await.unwrap();
    let work = statements(&[
        "ALTER TABLE durable_state ADD COLUMN length INTEGER",
        "CREATE TABLE counts (n BIGINT NOT NULL)",
        "INSERT INTO counts VALUES (0)",
    ]);
    persistence.transact(None, work).await.unwrap();
}

#[actix::test]
async fn columns_and_change_handlers_of_the_config_are_called_with_each_change() {
    let (_directory, persistence) = opened().await;
    for name in ["1", "2"] {
        let note = persistence.start(move || Note::named(name)).unwrap();
        note.send(Write('a')).await.unwrap().unwrap();
        note.send(Write('b')).await.unwrap().unwrap();
    }
    let states = persistence.states(None).unwrap();
    let query = FindStates::new("Note", "length > $1", [2_i64.into()], 10);
    let found = states.sql().unwrap().find(query).await.unwrap();
    assert_eq!(found.len(), 2);

    let count = persistence.transact(Some("notes"), count()).await;
    assert_eq!(count.unwrap(), 4);
}

/// Opens stores with tables in a folder of their own, which goes with the first value.
async fn opened() -> (TempDir, Persistence) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    make_tables(&file).await;
    let persistence = open(&file).await.unwrap();
    (directory, persistence)
}

/// Returns the number of changes that the handler has counted.
fn count() -> SessionWork<i64> {
    SessionWork::new(|session| {
        Box::pin(async move {
            let row = session.select_one("SELECT n FROM counts", []).await?;
            Ok(row.ok_or("no row")?.get("n")?)
        })
    })
}

#[cfg(all(feature = "mysql", feature = "postgres", feature = "sqlx-0_9"))]
#[actix::test]
async fn a_session_lends_the_connection_of_its_own_database_alone() {
    use actix_persistence::sql::{MysqlSession, PostgresSession, SqliteSession};

    let (_directory, persistence) = opened().await;
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            let errors = [
                session
                    .postgres()
                    .await
                    .err()
                    .map(|error| error.to_string()),
                session.mysql().await.err().map(|error| error.to_string()),
            ];
            sqlx::query("UPDATE counts SET n = 7")
                .execute(session.sqlite().await?)
                .await?;
            Ok(errors)
        })
    });
    let [postgres, mysql] = persistence.transact(None, work).await.unwrap();
    for (error, wanted) in [(postgres, "'postgres'"), (mysql, "'mysql'")] {
        let error = error.expect("it is a session of SQLite");
        assert!(
            error.contains("'sqlite'") && error.contains(wanted),
            "{error}"
        );
    }
    assert_eq!(persistence.transact(None, count()).await.unwrap(), 7);
}

#[actix::test]
async fn a_pool_that_the_program_did_not_bring_is_a_mistake_of_the_config() {
    let config = Config::from_toml(CONFIG, "app.toml").unwrap();
    let config = config.with("persistence.state.notes.pool", "main");
    let error = Persistence::builder()
        .additional_column("length", Length)
        .change_handler("counts", Counts)
        .config(config)
        .open()
        .await
        .unwrap_err();
    let text = error.to_string();
    let expected = "'persistence.state.notes.pool' must name a pool, and the application gave none";
    assert!(text.contains(expected), "{text}");
}

#[actix::test]
async fn a_transaction_returns_a_value_only_if_it_is_committed() {
    let (_directory, persistence) = opened().await;
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            session.execute("UPDATE counts SET n = 7", []).await?;
            // The transaction cannot be committed after this, whatever the code makes of it.
            let _ = session.execute("SELECT x FROM nowhere", []).await;
            Ok("seven".to_owned())
        })
    });
    let refused = persistence.transact(None, work).await;
    assert!(
        matches!(refused, Err(TransactError::Storage(_))),
        "{refused:?}"
    );
    assert_eq!(persistence.transact(None, count()).await.unwrap(), 0);

    let work = SessionWork::new(|session| {
        Box::pin(async move {
            session.execute("UPDATE counts SET n = 8", []).await?;
            Ok("eight".to_owned())
        })
    });
    assert_eq!(persistence.transact(None, work).await.unwrap(), "eight");
    assert_eq!(persistence.transact(None, count()).await.unwrap(), 8);
}

/// Takes no text that ends with an x.
struct NoX;

#[async_trait]
impl ChangeHandler for NoX {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.execute("UPDATE counts SET n = n + 1", []).await?;
        match change.payload() {
            Some(payload) if payload.bytes.ends_with(b"x") => Err("no x".into()),
            _ => Ok(()),
        }
    }
}

#[actix::test]
async fn a_change_that_its_handler_refuses_is_rejected_and_the_actor_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    make_tables(&file).await;
    let config = Config::from_toml(CONFIG, "app.toml").unwrap();
    let config = config.with("persistence.state.notes.url", file.to_str().unwrap());
    let builder = Persistence::builder()
        .additional_column("length", Length)
        .change_handler("counts", NoX);
    let persistence = builder.config(config).open().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    assert_eq!(note.send(Write('a')).await.unwrap().unwrap(), "a");
    let refused = note.send(Write('x')).await.unwrap();
    let Err(PersistError::Rejected(RejectionCause::Storage(error))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.kind(), StorageErrorKind::Extension);
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "no x");
    assert_eq!(note.send(Write('b')).await.unwrap().unwrap(), "ab");
    let stored = persistence.replay(Note::named("1")).await.unwrap();
    assert_eq!((stored.actor.text.as_str(), stored.sequence_nr), ("ab", 2));
}

#[actix::test]
async fn a_change_that_a_rule_of_the_table_refuses_is_rejected() {
    let (_directory, persistence) = opened().await;
    let rule = |sql| persistence.transact(Some("notes"), statements(sql));
    rule(&[
        "CREATE TRIGGER one_revision BEFORE UPDATE ON durable_state WHEN NEW.revision = 2 \
            BEGIN SELECT RAISE(ABORT, 'only one'); END",
    ])
    .await
    .unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    assert_eq!(note.send(Write('a')).await.unwrap().unwrap(), "a");
    let refused = note.send(Write('b')).await.unwrap();
    let Err(PersistError::Rejected(RejectionCause::Storage(error))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.kind(), StorageErrorKind::Constraint);
    rule(&["DROP TRIGGER one_revision"]).await.unwrap();
    // The same incarnation goes on with what is stored.
    assert_eq!(note.send(Write('c')).await.unwrap().unwrap(), "ac");
}

#[actix::test]
async fn a_column_that_the_table_lacks_makes_opening_fail() {
    let directory = tempfile::tempdir().unwrap();
    let error = open(&directory.path().join("notes.db"))
        .await
        .err()
        .unwrap();
    let OpenError::StateStore { plugin_id, source } = error else {
        panic!("{error}");
    };
    assert_eq!(plugin_id, "notes");
    assert_eq!(source.kind(), StorageErrorKind::SchemaMismatch);
    assert!(source.to_string().contains("length"), "{source}");
}

#[actix::test]
async fn a_transaction_needs_a_state_store_with_sql_and_statements_that_work() {
    let persistence = Persistence::memory().await.unwrap();
    let refused = persistence.transact(None, statements(&[])).await;
    let Err(TransactError::Storage(refused)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    let refused = persistence.transact(Some("x"), statements(&[])).await;
    assert!(matches!(refused, Err(TransactError::UnknownStore(_))));

    let directory = tempfile::tempdir().unwrap();
    let persistence = Persistence::sqlite(directory.path().join("notes.db"));
    let persistence = persistence.await.unwrap();
    let work = statements(&["CREATE TABLE counts (n BIGINT)", "SELECT x FROM nowhere"]);
    assert!(persistence.transact(None, work).await.is_err());
    // Nothing is left of it.
    let work = statements(&["CREATE TABLE counts (n BIGINT)"]);
    persistence.transact(None, work).await.unwrap();
}

#[actix::test]
async fn a_mistake_in_what_a_type_has_is_found_where_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let url = directory.path().join("notes.db");
    let text = format!(
        "[persistence.state.notes]\nkind = \"sqlite\"\nurl = {url:?}\n\ncustom-table.Good = \"good\"\n\
         custom-table.Note = \"event_journal\"\n"
    );
    let config = actix_persistence::Config::from_toml(&text, "app.toml").unwrap();
    let opened = Persistence::builder().config(config).open().await;
    let error = opened.err().unwrap();
    let text = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    let text: String = text.map(|error| format!("{error}\n")).collect();
    assert!(text.contains("app.toml:6: "), "{text}");
    assert!(
        text.contains("custom-table") && text.contains("\"Note\""),
        "{text}"
    );
}
