//! Tables that the application alters between two statements that return all columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_sql_tests::Tables;
use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Payload, Session, SessionWork, StateChange, StateExtensions,
    StateUpdate, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use crate::place::{Place, id};

const READ: &str = "SELECT * FROM public.things";
const BY_STATEMENT: &str = "ALTER TABLE public.things ADD COLUMN b INTEGER";
/// A function of the server does what its caller cannot see.
const BY_FUNCTION: &str = "SELECT public.alter_things()";

async fn place() -> Place {
    let place = Place::new().await;
    place
        .run(
            "CREATE TABLE things (a INTEGER); INSERT INTO things VALUES (1);
             CREATE FUNCTION alter_things() RETURNS INTEGER LANGUAGE plpgsql AS $$
             BEGIN ALTER TABLE public.things ADD COLUMN b INTEGER; RETURN 1; END $$",
        )
        .await;
    place
}

/// Reads a table, alters it, and reads it again.
#[derive(Clone)]
struct Alters {
    by: &'static str,
    runs: Arc<AtomicUsize>,
}

impl Alters {
    fn new(by: &'static str) -> Self {
        let runs = Arc::default();
        Self { by, runs }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    async fn run(&self, session: &mut dyn Session) -> Result<(), ExtensionError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        for sql in [READ, self.by, READ] {
            session.select(sql, []).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl ChangeHandler for Alters {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.run(session).await
    }
}

fn assert_refused(error: &StorageError) {
    assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
}

#[tokio::test]
async fn a_handler_that_alters_what_it_has_read_is_refused_at_once() {
    let place = place().await;
    for by in [BY_STATEMENT, BY_FUNCTION] {
        let alters = Alters::new(by);
        let mut extensions = StateExtensions::default();
        extensions.entity_type("Test").change_handler = Some(Arc::new(alters.clone()));
        let store = place.open_with_handlers(&extensions).await;
        let update = StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1"));
        let error = store.upsert(update).await.unwrap_err();
        assert_refused(&error);
        assert_eq!(alters.runs(), 1, "{by}");
    }
}

#[tokio::test]
async fn a_transaction_that_alters_what_it_has_read_is_no_trouble() {
    let place = place().await;
    let store = place.open().await;
    for by in [BY_STATEMENT, BY_FUNCTION] {
        let alters = Alters::new(by);
        let work =
            SessionWork::new(move |session| Box::pin(async move { alters.run(session).await }));
        let error = store.sql().unwrap().transact(work).await.unwrap_err();
        assert_refused(&error);
    }
}

/// The connection keeps what it prepared before others altered the table.
#[tokio::test]
async fn what_others_have_altered_is_trouble_that_passes() {
    let place = place().await;
    // One connection, so that it is the same for each transaction.
    let section = place.section().with("writers", 1);
    let extensions = StateExtensions::default();
    let store = Tables::state_store_with(&place, section, &extensions).await;
    let read = || {
        SessionWork::new(|session| {
            Box::pin(async move { Ok(session.select(READ, []).await.map(drop)?) })
        })
    };
    store.sql().unwrap().transact(read()).await.unwrap();
    place.run(BY_STATEMENT).await;
    let error = store.sql().unwrap().transact(read()).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    store.sql().unwrap().transact(read()).await.unwrap();
}

/// The driver keeps a statement for each set of types: one that has run with a text has not run with NULL.
#[tokio::test]
async fn a_kept_statement_is_told_from_one_with_values_of_other_types() {
    const READ_WITH: &str = "SELECT * FROM public.things WHERE $1::text IS NULL OR a = 1";
    let place = place().await;
    let store = place.open().await;
    let read_with = |values: &'static [Option<&'static str>]| {
        SessionWork::new(move |session| {
            Box::pin(async move {
                for value in values {
                    session.select(READ_WITH, [(*value).into()]).await?;
                }
                Ok(())
            })
        })
    };
    let transact = async |work| store.sql().unwrap().transact(work).await;
    transact(read_with(&[None])).await.unwrap();
    place.run(BY_STATEMENT).await;
    let both: &[_] = &[Some("a"), None];
    let error = transact(read_with(both)).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    transact(read_with(both)).await.unwrap();
}

/// The driver prepares its statements on a connection that is lent for one transaction.
#[cfg(feature = "sqlx-0_9")]
#[tokio::test]
async fn a_table_altered_with_the_driver_is_no_trouble() {
    use actix_persistence_postgres::PostgresSession;

    let place = place().await;
    let store = place.open().await;
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            let connection = session.postgres().await?;
            for sql in [READ, BY_STATEMENT, READ] {
                sqlx::query(sql).fetch_all(&mut *connection).await?;
            }
            Ok(())
        })
    });
    let error = store.sql().unwrap().transact(work).await.unwrap_err();
    assert_refused(&error);
}
